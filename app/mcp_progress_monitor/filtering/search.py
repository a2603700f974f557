"""Compiles a filter to a predicate over the index, and searches a timeline with it in slices.

The cheapest predicate comes first; typing and painting never wait for a search.
"""

from __future__ import annotations

import time
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.expressions import And, Comparison, Moment, Not, Or, Text
from mcp_progress_monitor.filtering.fields import FIELDS, FieldType
from mcp_progress_monitor.filtering.index_predicates import (
    CONNECTIONS,
    DIRECTIONS,
    METHODS,
    SERVERS,
    TOKENS,
    Deltas,
    Durations,
    Escapes,
    JobPredicate,
    KindPredicate,
    NamePredicate,
    NumberPredicate,
    RowPredicate,
    Rows,
    Span,
    Stride,
    Work,
    about,
    exactly,
    numbers,
    requests,
    sizes,
    times_of_day,
    walls,
)
from mcp_progress_monitor.filtering.language import parse
from mcp_progress_monitor.filtering.matching import Pattern, ValueJudge, Word
from mcp_progress_monitor.filtering.message_predicates import (
    PatternPredicate,
    TermPredicate,
    TextPredicate,
    ValuePredicate,
)
from mcp_progress_monitor.protocol.frames import Channel, FrameKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mcp_progress_monitor.filtering.expressions import Expression
    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.recording.timeline import Timeline


class AllPredicate:
    """Matches rows that match all parts; the cheapest comes first."""

    def __init__(self, parts: Iterable[RowPredicate]) -> None:
        self._parts = sorted(parts, key=attrgetter("cost"))
        self.cost: int = self._parts[-1].cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        for part in self._parts:
            if not rows:
                break
            rows = yield from part.select(stride, rows)
        return rows


class AnyPredicate:
    """Matches rows that match any part; each part sees only what the cheaper ones left."""

    def __init__(self, parts: Iterable[RowPredicate]) -> None:
        self._parts = sorted(parts, key=attrgetter("cost"))
        self.cost: int = self._parts[-1].cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        found: list[int] = []
        for part in self._parts:
            hits = yield from part.select(stride, rows)
            if hits:
                found += hits
                rows = _without(rows, hits)
            if not rows:
                break
        return sorted(found)


class NotPredicate:
    """Matches rows that do not match its part."""

    def __init__(self, part: RowPredicate) -> None:
        self._part = part
        self.cost: int = part.cost

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        hits = yield from self._part.select(stride, rows)
        return _without(rows, hits)


def _without(rows: Rows, hits: Rows) -> Rows:
    excluded = set(hits)
    return [row for row in rows if row not in excluded]


_TABLES: Final = {
    "method": METHODS,
    "token": TOKENS,
    "server": SERVERS,
    "connection": CONNECTIONS,
    "dir": DIRECTIONS,
}


class Predicate:
    """A filter prepared for one search through one timeline; see `filtering.search`."""

    def __init__(
        self, rows: RowPredicate | None, deltas: Deltas | None, patterns: list[Pattern]
    ) -> None:
        self._rows = rows
        self._deltas = deltas
        self._patterns = patterns
        self.escapes = Escapes()

    @property
    def timed_out(self) -> int:
        """How often a regular expression timed out, which counts as no match."""
        return sum(pattern.timed_out for pattern in self._patterns)

    def select(self, stride: Stride) -> Work[Rows]:
        """The rows of a stride that match. Strides must be passed in order of places."""
        if self._rows is None:
            return stride.rows
        if self._deltas is None:
            return (yield from self._rows.select(stride, stride.rows))
        yield from self._deltas.begin(stride)
        found = yield from self._rows.select(stride, stride.rows)
        self._deltas.end(stride)
        return found


def compiled(
    wanted: TrafficFilter, timeline: Timeline, requests_of: Callable[[int], Collection[int]]
) -> Predicate:
    """A predicate for one search through `timeline`; it has state of its own (see `Deltas`).

    `requests_of` returns the numbers of a job's requests.

    Raises:
        FilterError: the text is not a valid filter.
    """
    expression = parse(wanted.text)
    compiler = _Compiler(requests_of)
    parts = list(_chosen(wanted))
    if expression is not None:
        parts.append(compiler.predicate(expression))
    rows = AllPredicate(parts) if len(parts) > 1 else parts[0] if parts else None
    return Predicate(rows, compiler.deltas, compiler.patterns)


def _chosen(wanted: TrafficFilter) -> Iterable[RowPredicate]:
    if not wanted.kinds >= set(FrameKind):
        yield KindPredicate.of(wanted.kinds)
    if not wanted.channels >= set(Channel):
        names = tuple(each.name.lower() for each in wanted.channels)
        yield NamePredicate(DIRECTIONS, ValueJudge(Comparison("dir", (), "in", names)))
    if wanted.irregular_only:
        yield KindPredicate.of_findings(wanted=True)


class _Compiler:
    """Makes predicates; those that compare `dt` share their `Deltas`."""

    def __init__(self, requests_of: Callable[[int], Collection[int]]) -> None:
        self._requests_of = requests_of
        self.deltas: Deltas | None = None
        self.patterns: list[Pattern] = []

    def predicate(self, node: Expression) -> RowPredicate:
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, Text):
            return TermPredicate([Word(node.text)])
        if isinstance(node, Not):
            return NotPredicate(self.predicate(node.part))
        if isinstance(node, Or):
            return AnyPredicate(map(self.predicate, node.parts))
        return self._both(node)

    def _both(self, node: And) -> RowPredicate:
        """All texts in one predicate, so that a message is read only once for them."""
        words = [Word(part.text) for part in node.parts if isinstance(part, Text)]
        others = [self.predicate(part) for part in node.parts if not isinstance(part, Text)]
        return AllPredicate([TermPredicate(words), *others] if words else others)

    def _comparison(self, node: Comparison) -> RowPredicate:
        members = FIELDS[node.field].members
        if members is not None:
            paths = [(*path, *node.path) for path in members.paths]
            return ValuePredicate(members.kinds, paths, self._judge(node))
        if node.field in _TABLES:
            judge = self._judge(node)
            slow = judge.pattern is not None
            return NamePredicate(_TABLES[node.field], judge, pauses_often=slow)
        match node.field:
            case "kind":
                judge = self._judge(node)
                return KindPredicate.of(
                    [kind for kind in FrameKind if judge.lets_through(kind.word)]
                )
            case "text":
                return self._text(node)
            case "time" | "job" | "irregular":
                return self._special(node)
        return self._number(node)

    def _judge(self, node: Comparison) -> ValueJudge:
        judge = ValueJudge(node)
        if judge.pattern is not None:
            self.patterns.append(judge.pattern)
        return judge

    def _text(self, node: Comparison) -> RowPredicate:
        judge = self._judge(node)
        if judge.word is not None:
            return TermPredicate([judge.word])
        if judge.pattern is not None:
            return PatternPredicate(judge.pattern)
        return TextPredicate(judge, max(len(str(value)) for value in _listed(node)))

    def _number(self, node: Comparison) -> RowPredicate:
        span_of = about if FIELDS[node.field].type is FieldType.SECONDS else exactly
        spans = [span_of(value) for value in _listed(node)]
        return NumberPredicate(self._values_of(node.field), node.op, spans)

    def _values_of(self, field: str) -> Callable[[Stride, Rows], Any]:
        match field:
            case "dt":
                self.deltas = self.deltas or Deltas()
                return self.deltas.of
            case "duration":
                return Durations().of
            case "size":
                return sizes
        return numbers if field == "number" else requests

    def _special(self, node: Comparison) -> RowPredicate:
        values = _listed(node)
        if node.field == "job":
            return JobPredicate(self._requests_of, node.op, [int(str(job)) for job in values])
        op = "==" if node.op == "in" else node.op
        if node.field == "irregular":
            is_wanted = op == "=="
            return _any(
                [KindPredicate.of_findings(wanted=bool(is_) is is_wanted) for is_ in values]
            )
        moments = [one for one in values if isinstance(one, Moment)]
        return _any(
            [
                NumberPredicate(
                    times_of_day if one.is_daily else walls, op, [Span(one.begin, one.end)]
                )
                for one in moments
            ]
        )


def _listed(node: Comparison) -> tuple[Any, ...]:
    return node.value if isinstance(node.value, tuple) else (node.value,)


def _any(parts: list[Any]) -> RowPredicate:
    predicate: RowPredicate = AnyPredicate(parts) if len(parts) > 1 else parts[0]
    return predicate


_FIRST: Final = 256
_LARGEST: Final = 1 << 14
_QUICK_S: Final = 0.0005
"""After a faster stride the next is larger: reading the index alone is fast."""
_SLOW_S: Final = 0.05
"""After a slower one the next is smaller: results are published at the end of a stride."""
_LONGEST_STEP_S: Final = 0.001  # as it is after one that ran longer than this without a pause


class Search:
    """Searches the frames from `place` on, including those that arrive meanwhile.

    A stride is some frames of one segment. The predicate pauses while it reads their bytes, so a
    slice exceeds its budget by a stride of the index (1 to 2 ms) or, in the worst case, by one
    regular expression that times out (10 ms).
    """

    def __init__(self, timeline: Timeline, predicate: Predicate, place: int = 0) -> None:
        self._timeline = timeline
        self._predicate = predicate
        self._columns = timeline.columns
        self._stride: Stride | None = None
        self._work: Work[Rows] | None = None
        self._length = _FIRST
        self._spent_s = 0.0
        self._longest_step_s = 0.0
        self.place = place  # everything before it has been searched

    @property
    def left(self) -> int:
        place = max(self.place, self._timeline.first)
        gap = self._timeline.gap
        gone = max(0, gap.stop - max(place, gap.start))
        return max(0, self._timeline.end - place - gone)

    @property
    def timed_out(self) -> int:
        """How often a regular expression timed out: no match."""
        return self._predicate.timed_out

    def run(self, budget_s: float) -> list[int]:
        """Search for about `budget_s` seconds; return the places of the frames found, in order."""
        now_s = time.perf_counter()
        deadline_s = now_s + budget_s
        found: list[int] = []
        self._skip_dropped()
        while self._stride is not None or self._begin():
            self._step(found)
            now_s, before_s = time.perf_counter(), now_s
            self._spent_s += now_s - before_s
            self._longest_step_s = max(self._longest_step_s, now_s - before_s)
            if self._stride is None:
                self._adapt()
            if now_s >= deadline_s:
                break
        return found

    def _skip_dropped(self) -> None:
        """Continue after frames that were dropped; start over if the timeline was cleared."""
        if self._columns is not self._timeline.columns:
            self._columns = self._timeline.columns
            self.place, self._stride = 0, None
        if self.place < self._timeline.first:
            self.place, self._stride = self._timeline.first, None
        gap, stride = self._timeline.gap, self._stride
        if self.place in gap:
            self.place, self._stride = gap.stop, None
        elif stride is not None and gap and gap.start < stride.segment.first + stride.stop:
            self._stride = None if self.place < gap.start else stride

    def _begin(self) -> bool:
        self.place = self._timeline.columns.after(self.place)
        found = self._timeline.columns.locate(self.place)
        if found is None:
            return False
        segment, row = found
        stop = min(len(segment), row + self._length)
        escapes = self._predicate.escapes
        escapes.refresh(self._timeline.columns.sources)
        self._stride = Stride(self._timeline, segment, row, stop, escapes.numbers)
        self._work = self._predicate.select(self._stride)
        self._spent_s = self._longest_step_s = 0.0
        return True

    def _step(self, found: list[int]) -> None:
        stride, work = self._stride, self._work
        if stride is None or work is None:
            return
        try:
            next(work)
        except StopIteration as stop:
            first = stride.segment.first
            found += [first + row for row in stop.value]
            self.place = first + stride.stop
            self._stride = self._work = None

    def _adapt(self) -> None:
        if self._spent_s < _QUICK_S:
            self._length = min(self._length * 2, _LARGEST)
        elif self._spent_s > _SLOW_S or self._longest_step_s > _LONGEST_STEP_S:
            self._length = max(self._length // 2, _FIRST)
