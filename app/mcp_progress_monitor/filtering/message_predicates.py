"""Predicates that read the messages: their text as received, or values decoded from it."""

from __future__ import annotations

import codecs
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from mcp_progress_monitor.filtering.index_predicates import KindPredicate
from mcp_progress_monitor.filtering.matching import ABSENT, Pattern, ValueJudge, Word
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.protocol.outline import array_elements, finish, object_members, outlined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mcp_progress_monitor.filtering.expressions import Path
    from mcp_progress_monitor.filtering.index_predicates import Rows, Stride, Work
    from mcp_progress_monitor.protocol.frames import FrameKind

_UNSET: Final = msgspec.UNSET


class Huge(NamedTuple):
    """The JSON text of a value that is too large to decode."""

    raw: bytes


class ValueFinder:
    """Finds the value at a path of keys and indexes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._decode, self._decoded = _decoder(path)

    def find(self, raw: bytes) -> Any:
        """The value in a message; `ABSENT` if there is none, or the message is not JSON.

        Takes 0.2 µs for an ordinary message: everything but the value is skipped, not decoded.
        """
        try:
            found = self._decode(raw)
        except (ValueError, RecursionError):
            return _within(_leniently(raw), self._path)
        for _ in range(self._decoded):
            if found is None:
                return ABSENT
            found = found.value
            if found is _UNSET:
                return ABSENT
        return _within(found, self._path[self._decoded :])

    def find_in_slices(self, raw: bytes) -> Work[Any]:
        """Like `find`, for a message of many megabytes; large values are returned as `Huge`."""
        for step in self._path:
            try:
                if isinstance(step, str):
                    members = yield from object_members(raw)
                    part = members.get(step)
                else:
                    elements = yield from array_elements(raw)
                    part = elements[step] if step < len(elements) else None
            except NotJsonError:
                return ABSENT
            if part is None:
                return ABSENT
            raw = part
        return Huge(raw) if len(raw) > OVERSIZED else _leniently(raw)


def _decoder(path: Path) -> tuple[Callable[[bytes], Any], int]:
    """A decoder for the leading member names of the path, and how many steps it covers."""
    keys: list[str] = []
    for step in path:
        # msgspec compares names without their escapes.
        if not isinstance(step, str) or '"' in step or "\\" in step or not step.isprintable():
            break
        keys.append(step)
    kind: Any = Any
    for key in reversed(keys):
        members = [("value", kind | msgspec.UnsetType if kind is not Any else Any, _UNSET)]
        made = msgspec.defstruct("Found", members, rename={"value": key}, gc=False)
        kind = made | None
    return msgspec.json.Decoder(kind).decode, len(keys)


def _within(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, str):
            value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
        else:
            is_there = isinstance(value, list) and step < len(value)
            value = value[step] if is_there else ABSENT
    return value


def _leniently(raw: bytes) -> Any:
    try:
        return read_value(raw).value
    except NotJsonError:
        return ABSENT
    except TooDeepError:
        pass
    try:
        return finish(outlined(raw)).value
    except NotJsonError:
        return ABSENT


_PAUSE_S: Final = 0.0003
_UTF8: Final = codecs.getincrementaldecoder("utf-8")


class TermPredicate:
    """Chooses messages whose bytes contain all of some texts."""

    cost = 10

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self._overlap = max(word.overlap for word in words)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        found: list[int] = []
        for group in stride.groups(rows):
            if stride.is_long(group):
                if (yield from self._is_in_long(stride, group[0])):
                    found.append(group[0])
            else:
                found += self._chosen(group, stride.raws(group))
            yield
        return found

    def _chosen(self, rows: Rows, raws: Sequence[bytes]) -> list[int]:
        lowered = [raw.lower() for raw in raws]
        hits: Sequence[int] = range(len(raws))
        for word in self.words:
            hits = word.chosen(hits, raws, lowered)
        return [rows[hit] for hit in hits]

    def _is_in_long(self, stride: Stride, row: int) -> Work[bool]:
        missing = list(self.words)
        window = b""
        for piece in stride.pieces(row):
            window = window[-self._overlap :] + piece if self._overlap else piece
            lowered = window.lower()
            missing = [word for word in missing if not word.is_in(window, lowered)]
            if not missing:
                return True
            yield
        return False


class PatternPredicate:
    """Chooses messages whose text has a match of a pattern."""

    cost = 40

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        found: list[int] = []
        needed = self._pattern.required
        pause_at = time.perf_counter() + _PAUSE_S
        for group in stride.groups(rows):
            if stride.is_long(group):
                texts = _texts(stride.pieces(group[0]))
                if (yield from _any(self._pattern.steps(texts))):
                    found.append(group[0])
                continue
            for row, raw in zip(group, stride.raws(group), strict=True):
                if needed not in raw:
                    continue
                if self._pattern.search(raw.decode(errors="replace")):
                    found.append(row)
                if time.perf_counter() > pause_at:
                    yield
                    pause_at = time.perf_counter() + _PAUSE_S
            yield
        return found


class TextPredicate:
    """Compares the text of a message, of which only the beginning has to be read."""

    cost = 10

    def __init__(self, judge: ValueJudge, longest: int) -> None:
        """`longest` is the length in characters of the longest text to compare with."""
        self._judge = judge
        self._characters = longest + 1
        self._bytes = 4 * (longest + 2)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        found: list[int] = []
        for group in stride.groups(rows):
            is_long = stride.is_long(group)
            raws = [next(stride.pieces(group[0]))] if is_long else stride.raws(group)
            for row, raw in zip(group, raws, strict=True):
                text = raw[: self._bytes].decode(errors="replace")
                if self._judge.lets_through(text[: self._characters]):
                    found.append(row)
            yield
        return found


class ValuePredicate:
    """Compares the value at the first of some paths that has one."""

    cost = 20

    def __init__(
        self, kinds: Iterable[FrameKind], paths: Iterable[Path], judge: ValueJudge
    ) -> None:
        """`kinds` are the kinds of messages that may have such a value."""
        self._kinds = KindPredicate.of(frozenset(kinds))
        self._finders = [ValueFinder(path) for path in paths]
        self._judge = judge
        self._hint = judge.word if judge.word is not None and judge.word.has_hint else None

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        found: list[int] = []
        is_slow = self._judge.pattern is not None
        for group in stride.groups(self._kinds.chosen(stride.segment, rows)):
            if stride.segment.sizes[group[0]] > OVERSIZED:
                if (yield from self._is_in_huge(stride, group[0])):
                    found.append(group[0])
                continue
            chosen = zip(group, stride.raws(group), strict=True)
            if is_slow:
                for row, raw in chosen:
                    if self._lets_through(raw):
                        found.append(row)
                    yield
            else:
                found += [row for row, raw in chosen if self._lets_through(raw)]
            yield
        return found

    def _lets_through(self, raw: bytes) -> bool:
        if self._hint is not None and not self._hint.may_be_in(raw):
            return False
        for finder in self._finders:
            value = finder.find(raw)
            if value is not ABSENT:
                return self._judge.lets_through(value)
        return False

    def _is_in_huge(self, stride: Stride, row: int) -> Work[bool]:
        pieces = []
        for piece in stride.pieces(row):
            pieces.append(piece)
            yield
        raw = b"".join(pieces)
        for finder in self._finders:
            value = yield from finder.find_in_slices(raw)
            if isinstance(value, Huge):
                return (yield from _is_in_bytes(self._judge.word, value.raw))
            if value is not ABSENT:
                return self._judge.lets_through(value)
        return False


def _is_in_bytes(word: Word | None, raw: bytes) -> Work[bool]:
    """Return whether a text is in JSON that is too large to decode."""
    if word is None:
        return False
    step = 256 * 1024
    for begin in range(0, len(raw), step):
        window = raw[begin : begin + step + word.overlap]
        if word.is_in(window, window.lower()):
            return True
        yield
    return False


def _any(answers: Iterable[bool]) -> Work[bool]:
    for answer in answers:
        if answer:
            return True
        yield
    return False


def _texts(pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = _UTF8(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
