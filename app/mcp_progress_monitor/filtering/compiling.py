"""From what a filter says to a predicate over the columns of the index, its cheapest test first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp_progress_monitor.filtering.columns import (
    Durations,
    JobTest,
    KindTest,
    MomentTest,
    NumberTest,
    SecondsTest,
    numbers,
    requests,
    sizes,
)
from mcp_progress_monitor.filtering.combining import AllTest, AnyTest, NotTest
from mcp_progress_monitor.filtering.contents import PatternTest, TextTest, ValueTest, WordsTest
from mcp_progress_monitor.filtering.deltas import Deltas
from mcp_progress_monitor.filtering.expression import And, Comparison, Moment, Not, Or, Text
from mcp_progress_monitor.filtering.fields import FIELDS, Type
from mcp_progress_monitor.filtering.judging import Judge
from mcp_progress_monitor.filtering.names import (
    Directions,
    Methods,
    NameTest,
    Servers,
    Sources,
    Tokens,
)
from mcp_progress_monitor.filtering.parsing import parse
from mcp_progress_monitor.filtering.stride import Escapes
from mcp_progress_monitor.filtering.words import Word
from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mcp_progress_monitor.filtering.chosen import LogFilter
    from mcp_progress_monitor.filtering.expression import Expression, Path
    from mcp_progress_monitor.filtering.names import Table
    from mcp_progress_monitor.filtering.patterns import Pattern
    from mcp_progress_monitor.filtering.stride import Rows, Stride, Work
    from mcp_progress_monitor.recording.timeline import Timeline

_RELATED: Final = "io.modelcontextprotocol/related-task"
_CALLS: Final = (FrameKind.REQUEST, FrameKind.PROGRESS, FrameKind.NOTIFICATION)
_TABLES: Final[dict[str, type[Table]]] = {
    "method": Methods,
    "token": Tokens,
    "server": Servers,
    "connection": Sources,
    "dir": Directions,
}
_VALUES: Final[dict[str, tuple[tuple[FrameKind, ...], tuple[Path, ...]]]] = {
    "id": ((FrameKind.REQUEST, FrameKind.REPLY, FrameKind.ERROR), (("id",),)),
    "task": (
        (*_CALLS, FrameKind.REPLY),
        (
            ("params", "taskId"),
            ("params", "_meta", _RELATED, "taskId"),
            ("result", "task", "taskId"),
            ("result", "taskId"),
            ("result", "_meta", _RELATED, "taskId"),
        ),
    ),
    "progress": ((FrameKind.PROGRESS,), (("params", "progress"),)),
    "total": ((FrameKind.PROGRESS,), (("params", "total"),)),
    "level": ((FrameKind.NOTIFICATION, FrameKind.REQUEST), (("params", "level"),)),
    "code": ((FrameKind.ERROR,), (("error", "code"),)),
    "params": (_CALLS, (("params",),)),
    "result": ((FrameKind.REPLY,), (("result",),)),
    "error": ((FrameKind.ERROR,), (("error",),)),
}


class Test(Protocol):
    """Chooses rows."""

    @property
    def cost(self) -> int:
        """What a row costs, for putting tests in order: up to 1 without reading its bytes."""

    def select(self, stride: Stride, rows: Rows) -> Work[Rows]:
        """Those of the stride's `rows` that are chosen, in their order; pauses now and then."""


class Predicate:
    """A filter made ready for one search through one timeline; see `filtering.search`."""

    def __init__(self, test: Test | None, deltas: Deltas | None, patterns: list[Pattern]) -> None:
        self._test = test
        self._deltas = deltas
        self._patterns = patterns
        self.escapes = Escapes()

    @property
    def timed_out(self) -> int:
        """How often a regular expression was given up, which counts as no match."""
        return sum(pattern.timed_out for pattern in self._patterns)

    def select(self, stride: Stride) -> Work[Rows]:
        """The rows of a stride that are shown. Strides are to come in order of places."""
        if self._test is None:
            return stride.rows
        if self._deltas is None:
            return (yield from self._test.select(stride, stride.rows))
        yield from self._deltas.begin(stride)
        found = yield from self._test.select(stride, stride.rows)
        self._deltas.end(stride)
        return found


def compiled(
    wanted: LogFilter, timeline: Timeline, requests_of: Callable[[int], Collection[int]]
) -> Predicate:
    """A predicate for a search through `timeline`; `requests_of` gives a job's requests' numbers.

    It has a memory of its own (see `Deltas`): one for each search.

    Raises:
        FilterError: the text cannot be understood.
    """
    expression = parse(wanted.text)
    compiler = _Compiler(requests_of)
    parts = [*_chosen(wanted)]
    if expression is not None:
        parts.append(compiler.test(expression))
    return Predicate(_all(parts), compiler.deltas, compiler.patterns)


def _chosen(wanted: LogFilter) -> Iterable[Test]:
    if not wanted.kinds >= set(FrameKind):
        yield KindTest.of(wanted.kinds)
    if not wanted.channels >= set(Channel):
        yield NameTest(Directions(), _OneOf({channel.name.lower() for channel in wanted.channels}))
    if wanted.irregular_only:
        yield KindTest.of_irregular(wanted=True)


def _all(parts: list[Test]) -> Test | None:
    return AllTest(parts) if len(parts) > 1 else parts[0] if parts else None


class _OneOf:
    """Lets through what is in a set."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted

    def lets_through(self, value: Any) -> bool:
        return value in self._wanted


class _Compiler:
    """Makes tests; those that look at time differences share what they remember."""

    def __init__(self, requests_of: Callable[[int], Collection[int]]) -> None:
        self._requests_of = requests_of
        self.deltas: Deltas | None = None
        self.patterns: list[Pattern] = []

    def test(self, node: Expression) -> Test:
        """The test of a node."""
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, Text):
            return WordsTest([Word(node.words)])
        if isinstance(node, Not):
            return NotTest(self.test(node.part))
        if isinstance(node, Or):
            return AnyTest(map(self.test, node.parts))
        return self._both(node)

    def _both(self, node: And) -> Test:
        """All words are searched at once: a message is read but once for them."""
        words = [Word(part.words) for part in node.parts if isinstance(part, Text)]
        others = [self.test(part) for part in node.parts if not isinstance(part, Text)]
        return AllTest([WordsTest(words), *others] if words else others)

    def _comparison(self, node: Comparison) -> Test:
        match node.field:
            case "method" | "token" | "server" | "connection" | "dir":
                judge = self._judge(node)
                slow = judge.pattern is not None
                return NameTest(_TABLES[node.field](), judge, pauses_often=slow)
            case "kind":
                judge = self._judge(node)
                return KindTest.of([kind for kind in FrameKind if judge.lets_through(kind.word)])
            case "text":
                return self._text(node)
            case "number" | "size" | "request" | "dt" | "duration":
                return self._number(node)
            case "time" | "job" | "irregular":
                return self._special(node)
        kinds, paths = _VALUES[node.field]
        return ValueTest(kinds, [(*path, *node.path) for path in paths], self._judge(node))

    def _judge(self, node: Comparison) -> Judge:
        judge = Judge(node)
        if judge.pattern is not None:
            self.patterns.append(judge.pattern)
        return judge

    def _text(self, node: Comparison) -> Test:
        judge = self._judge(node)
        if judge.word is not None:
            return WordsTest([judge.word])
        if judge.pattern is not None:
            return PatternTest(judge.pattern)
        return TextTest(judge, max(len(str(value)) for value in _listed(node)))

    def _number(self, node: Comparison) -> Test:
        wanted: Any = node.value
        test = SecondsTest if FIELDS[node.field].type is Type.SECONDS else NumberTest
        return test(self._values_of(node.field), node.op, wanted)

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

    def _special(self, node: Comparison) -> Test:
        values = _listed(node)
        if node.field == "job":
            return JobTest(self._requests_of, node.op, [int(str(job)) for job in values])
        op = "==" if node.op == "in" else node.op
        if node.field == "irregular":
            is_wanted = op == "=="
            return _any([KindTest.of_irregular(wanted=bool(is_) is is_wanted) for is_ in values])
        return _any([MomentTest(op, one) for one in values if isinstance(one, Moment)])


def _listed(node: Comparison) -> tuple[Any, ...]:
    return node.value if isinstance(node.value, tuple) else (node.value,)


def _any(parts: list[Any]) -> Test:
    test: Test = AnyTest(parts) if len(parts) > 1 else parts[0]
    return test
