"""Logs and filters that hypothesis makes up, from few enough values that they meet."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from mcp_progress_monitor.filtering.expressions import (
    And,
    Comparison,
    Expression,
    Not,
    Or,
    Text,
    moment,
)
from tests.unit.filtering.logs import Log, error, notification

TOKENS: list[Any] = ["a", "b", "7", 7, 8, 7.0, "x" * 300, "y" * 300]
_STRINGS = ["abc", "Über", "a b", 'say "hi"', "a/b", "7", "true", ""]
_JSON = st.recursive(
    st.sampled_from([1, 7, 7.0, -2.5, True, False, None, *_STRINGS]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["n", "text", "odd name", "taskId"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_IDS = st.sampled_from([1, 2, 3, "1"])
_DT = st.sampled_from([0.0, 0.5, 2.0, 2.5, 61.0])
_RANKING = ("<", "<=", ">", ">=")
_LEVELS = st.sampled_from(["debug", "info", "warning", "error", "silly"])


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A log of some messages of all kinds."""
    log = Log()
    for _ in range(draw(st.integers(1, 14))):
        _grow(draw, log)
    return log


def _grow(draw: st.DrawFn, log: Log) -> None:
    dt, identity, value = draw(_DT), draw(_IDS), draw(_JSON)
    token = draw(st.sampled_from(TOKENS))
    connection = draw(st.sampled_from(["demo#1", "db#2"]))
    content = [{"type": "text", "text": value}]
    said = notification("notifications/message", level=draw(_LEVELS), data=value)
    cancelled = notification("notifications/cancelled", requestId=identity)
    line = draw(st.sampled_from([b"ABC \xff", "über".encode()]))
    reply = {"jsonrpc": "2.0", "id": identity, "result": {"n": value}}
    progress, code = draw(st.sampled_from([1, 5, 7.5, "7"])), draw(st.sampled_from([7, -32603]))
    ways: list[Callable[[], object]] = [
        lambda: log.call(identity, token, dt, connection=connection, arguments=value),
        lambda: log.tick(token, progress, dt, connection=connection, message=value),
        lambda: log.ask(identity, token, dt),
        lambda: log.tell(token, progress, dt),
        lambda: log.send(reply, dt=dt),
        lambda: log.reply(identity, dt, content=content),
        lambda: log.receive(error(identity, code), dt=dt),
        lambda: log.send(cancelled, dt=dt),
        lambda: log.receive(said, connection=connection, dt=dt),
        lambda: log.stderr(line, connection=connection),
        lambda: log.event("opened", connection=connection, pid=7),
        lambda: log.receive(b"no json abc", connection=connection, dt=dt),
        lambda: log.receive([reply], dt=dt),
    ]
    draw(st.sampled_from(ways))()


_VALUES = st.sampled_from([1, 7, 7.0, -2.5, True, False, None, *_STRINGS, *TOKENS])
_TERMS = st.sampled_from(["abc", "ABC", "über", "7", "a b", '"hi"', "a/b", '"text"', "zz", ""])
_PATTERNS = st.sampled_from(["^a", "[a-c]+$", "7", r"\d\d", "."])
_EQUALITIES = st.sampled_from(["==", "!="])
_ORDERS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_PATHS = st.sampled_from(
    [
        ("params", ()),
        ("params", ("arguments",)),
        ("params", ("arguments", "odd name")),
        ("params", ("message", 0)),
        ("params", ("data", "text")),
        ("result", ("content", 0, "text")),
        ("result", ("content", 0, "text", "n")),
        ("result", ("n",)),
        ("error", ("code",)),
        ("id", ()),
        ("token", ()),
        ("progress", ()),
        ("code", ()),
    ]
)
_NAMES = {
    "method": ["tools/call", "notifications/progress", "x"],
    "server": ["demo", "db", "x"],
    "connection": ["demo#1", "db#2"],
    "level": ["info", "warning", "silly"],
    "task": ["abc", "7"],
    "text": ["no json abc", "abc"],
}
_CHOICES = {"kind": ["reply", "error", "progress", "batch"], "dir": ["sent", "event", "stderr"]}
_MEASURES: dict[str, list[float]] = {
    "dt": [0, 0.5, 2, 61],
    "duration": [0, 2.5, 4],
    "size": [10, 90, 120],
    "number": [1, 3, 7],
    "request": [1, 2, 5],
}
_MOMENTS = [
    found
    for text in ("08:00", "08:01:01", "2027-01-15", "2027-01-15T08:00:02Z", "2027-01-15 09:01")
    if (found := moment(text)) is not None
]


def _lists(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, min_size=1, max_size=3).map(tuple)


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Any comparison that the language allows, with values that occur."""
    match draw(st.integers(0, 5)):
        case 0 | 1:
            field, path = draw(_PATHS)
            return draw(_compared(field, path, _VALUES, _ORDERS, is_textual=True))
        case 2:
            field = draw(st.sampled_from([*_NAMES]))
            values = st.sampled_from(_NAMES[field])
            # A level that is none has no rank: the parser refuses to order by it.
            named = _compared(field, (), values, _ORDERS, is_textual=True)
            return draw(named.filter(_is_ranked))
        case 3:
            field = draw(st.sampled_from([*_CHOICES]))
            values = st.sampled_from(_CHOICES[field])
            return draw(_compared(field, (), values, _EQUALITIES, is_textual=True))
        case 4:
            field = draw(st.sampled_from([*_MEASURES]))
            measures = st.sampled_from(_MEASURES[field])
            return draw(_compared(field, (), measures, _ORDERS, is_textual=False))
    return draw(_compared("time", (), st.sampled_from(_MOMENTS), _ORDERS, is_textual=False))


@st.composite
def _compared(
    draw: st.DrawFn,
    field: str,
    path: tuple[str | int, ...],
    values: st.SearchStrategy[Any],
    ops: st.SearchStrategy[str],
    *,
    is_textual: bool,
) -> Comparison:
    op = draw(ops | st.sampled_from(["in", *(["contains", "matches"] if is_textual else [])]))
    wanted = {"in": _lists(values), "contains": _TERMS, "matches": _PATTERNS}.get(op, values)
    return Comparison(field, path, op, draw(wanted))


def _is_ranked(node: Comparison) -> bool:
    return node.value != "silly" or node.op not in _RANKING


def _joined(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    negated = inner.filter(_is_not_negated).map(Not)
    return parts.map(And) | parts.map(Or) | negated


def _is_not_negated(node: Expression) -> bool:
    return not isinstance(node, Not)


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    comparisons() | _TERMS.map(Text), _joined, max_leaves=5
)
