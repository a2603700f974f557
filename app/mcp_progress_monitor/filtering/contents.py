"""Tests that read the messages: their text as it came, or values decoded from it."""

from __future__ import annotations

import codecs
import time
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.columns import KindTest
from mcp_progress_monitor.filtering.judging import ABSENT
from mcp_progress_monitor.filtering.values import Finder, Huge
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.filtering.expression import Path
    from mcp_progress_monitor.filtering.judging import Judge
    from mcp_progress_monitor.filtering.patterns import Pattern
    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work
    from mcp_progress_monitor.filtering.words import Word
    from mcp_progress_monitor.protocol.frame_kind import FrameKind

_PAUSE_S: Final = 0.0003
_UTF8: Final = codecs.getincrementaldecoder("utf-8")


class WordsTest:
    """Chooses messages that have all of some words in their bytes."""

    cost = 10

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self._overlap = max(word.overlap for word in words)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
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


class PatternTest:
    """Chooses messages whose text has a match of a pattern."""

    cost = 40

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
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


class TextTest:
    """Compares the whole of a message, of which the beginning tells enough."""

    cost = 10

    def __init__(self, judge: Judge, longest: int) -> None:
        """`longest` are the characters of the longest text that it is compared with."""
        self._judge = judge
        self._characters = longest + 1
        self._bytes = 4 * (longest + 2)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
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


class ValueTest:
    """Compares the value at a path, or at the first of some paths where there is one."""

    cost = 20

    def __init__(self, kinds: Iterable[FrameKind], paths: Iterable[Path], judge: Judge) -> None:
        """Only messages of the `kinds` have such values."""
        self._kinds = KindTest.of(frozenset(kinds))
        self._finders = [Finder(path) for path in paths]
        self._judge = judge
        self._hint = _hint_of(judge)

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """See `filtering.compiling.Test`."""
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


def _hint_of(judge: Judge) -> Word | None:
    return judge.word if judge.word is not None and judge.word.has_hint else None


def _is_in_bytes(word: Word | None, raw: bytes) -> Work[bool]:
    """Whether a word is in JSON too large to be decoded."""
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
    """Decode a text in pieces."""
    decoder = _UTF8(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
