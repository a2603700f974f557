"""Which frames the log shows: chosen by words, channel and kind, searched in slices."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

from app.models.log_row import LogKind, kind_of
from app.protocol.frame import Channel

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from app.models.log_store import FrameSource
    from app.protocol.frame import Frame

_WINDOW = 256 * 1024
"""Bytes of one frame searched between two looks at the clock: some tenths of a millisecond."""

_STRIDE = 256
"""Frames searched between two looks at the clock, at most …"""

_STRIDE_BYTES = 64 * 1024
"""… and about how many bytes of them."""

_WORDS = re.compile(r'"([^"]+)"?|(\S+)')


class LogFilter(NamedTuple):
    """Which frames are shown: those with all words, of one of the channels and of the kinds.

    `words` are searched in the exact bytes, whatever their case; `irregular_only` leaves out all
    that break no rule.
    """

    words: tuple[str, ...] = ()
    channels: frozenset[Channel] = frozenset(Channel)
    kinds: frozenset[LogKind] = frozenset(LogKind)
    irregular_only: bool = False

    @property
    def shows_all(self) -> bool:
        """Whether no frame is left out."""
        return not self.words and not self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether frames are left out for what they are, not for their words."""
        is_whole = self.channels >= set(Channel) and self.kinds >= set(LogKind)
        return self.irregular_only or not is_whole


def words_in(text: str) -> tuple[str, ...]:
    """Split what a user typed into words; `"several words"` in quotes are searched as one."""
    return tuple(quoted or word for quoted, word in _WORDS.findall(text))


def as_word(text: str) -> str:
    """Return `text` as one search word, in quotes where it needs them."""
    return f'"{text}"' if re.search(r"\s", text) else text


class Matcher:
    """A filter made ready for many frames; `marked` has the numbers of those that break a rule."""

    def __init__(self, wanted: LogFilter, marked: Container[int] = ()) -> None:
        self._marked = marked if wanted.irregular_only else None
        self._channels = None if wanted.channels >= set(Channel) else wanted.channels
        self._kinds = None if wanted.kinds >= set(LogKind) else wanted.kinds
        self._plain = [word.lower().encode() for word in wanted.words if word.isascii()]
        self._patterns = [_pattern(word) for word in wanted.words if not word.isascii()]
        self._overlap = max((12 * len(word) for word in wanted.words), default=0)

    def matches(self, frame: Frame) -> bool:
        """Say whether `frame` is shown."""
        return bool(self.select([frame]))

    def select(self, frames: Sequence[Frame]) -> Sequence[int]:
        """Return the positions of those `frames` that are shown; cheap tests come first."""
        hits: Sequence[int] = range(len(frames))
        if self._marked is not None:
            hits = [hit for hit in hits if frames[hit].number in self._marked]
        if self._channels is not None:
            hits = [hit for hit in hits if frames[hit].channel in self._channels]
        if self._plain:
            lowered = {hit: frames[hit].raw.lower() for hit in hits}
            for word in self._plain:
                hits = [hit for hit in hits if word in lowered[hit]]
        for pattern in self._patterns:
            hits = [hit for hit in hits if pattern.search(frames[hit].raw)]
        if self._kinds is not None:
            hits = [hit for hit in hits if kind_of(frames[hit]) in self._kinds]
        return hits

    def steps(self, frame: Frame) -> Iterator[bool | None]:
        """Do the same for a long frame bit by bit: None while it goes on, then the answer."""
        if not self._may_match(frame):
            yield False
            return
        missing: set[object] = {*self._plain, *self._patterns}
        for start in range(0, len(frame.raw), _WINDOW):
            if not missing:
                break
            window = frame.raw[start : start + _WINDOW + self._overlap].lower()
            missing = {word for word in missing if not _occurs(word, window)}
            yield None
        yield not missing and (self._kinds is None or kind_of(frame) in self._kinds)

    def _may_match(self, frame: Frame) -> bool:
        if self._channels is not None and frame.channel not in self._channels:
            return False
        return self._marked is None or frame.number in self._marked


def _occurs(word: object, window: bytes) -> bool:
    if isinstance(word, re.Pattern):
        return word.search(window) is not None
    return isinstance(word, bytes) and word in window


def _pattern(word: str) -> re.Pattern[bytes]:
    r"""Match `word` in either case, as UTF-8 or as JSON escapes: `ü`, `Ü`, `\u00fc`."""
    return re.compile(b"".join(map(_either_case, word)), re.IGNORECASE)


def _either_case(character: str) -> bytes:
    forms = {
        form
        for cased in (character.lower(), character.upper())
        for form in (cased, _escaped(cased))
    }
    return b"(?:" + b"|".join(re.escape(form.encode()) for form in sorted(forms)) + b")"


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    if text.isascii():
        return text
    return "".join(rf"\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


class LogSearch:
    """One search through a source of frames, from `place` on, as many slices as it takes.

    New frames at the end are simply what is left to search.
    """

    def __init__(self, wanted: LogFilter, place: int, marked: Container[int] = ()) -> None:
        self._matcher = Matcher(wanted, marked)
        self._long: Iterator[bool | None] | None = None
        self.place = place

    def left(self, source: FrameSource) -> int:
        """How many frames of `source` have not been searched."""
        return source.end - max(self.place, source.first)

    def run(self, source: FrameSource, budget_s: float) -> list[int]:
        """Search for about `budget_s` seconds; return the places of the frames that are shown."""
        deadline = time.perf_counter() + budget_s
        found: list[int] = []
        if self.place < source.first:
            self.place, self._long = source.first, None
        while self.place < source.end:
            self._stride(source, found)
            if time.perf_counter() >= deadline:
                break
        return found

    def _stride(self, source: FrameSource, found: list[int]) -> None:
        frames = source.frames(self.place, min(self.place + _STRIDE, source.end))
        if self._long is not None or len(frames[0].raw) > _WINDOW:
            self._step(frames[0], found)
            return
        frames = frames[: _within_room(frames)]
        found.extend([self.place + hit for hit in self._matcher.select(frames)])
        self.place += len(frames)

    def _step(self, frame: Frame, found: list[int]) -> None:
        """Search one window of a long frame."""
        if self._long is None:
            self._long = self._matcher.steps(frame)
        answer = next(self._long)
        if answer is None:
            return
        if answer:
            found.append(self.place)
        self.place, self._long = self.place + 1, None


def _within_room(frames: Sequence[Frame]) -> int:
    """How many of `frames` to search at one go: those before a long one, or one too many."""
    room = _STRIDE_BYTES
    for count, frame in enumerate(frames):
        size = len(frame.raw)
        room -= size
        if size > _WINDOW or (room < 0 and count):
            return count
    return len(frames)
