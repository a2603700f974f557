"""The filter language once more, plain and slow: each message decoded, each node evaluated."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from mcp_progress_monitor.filtering.expressions import (
    And,
    Comparison,
    Expression,
    Moment,
    Not,
    Or,
    Text,
)
from mcp_progress_monitor.filtering.fields import LEVELS
from mcp_progress_monitor.protocol.facts import (
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Side,
)
from mcp_progress_monitor.protocol.frames import kind_of
from tests.unit.filtering.logs import Entry

_MISSING = object()
_OTHER = {Side.CLIENT: Side.SERVER, Side.SERVER: Side.CLIENT}
_CALLS = {"request", "progress", "notification"}
_RELATED = "io.modelcontextprotocol/related-task"


def shown(expression: Expression, entries: list[Entry]) -> list[int]:
    """The places of the entries that the expression lets through."""
    log = _Log(entries)
    return [place for place in range(len(entries)) if log.holds(expression, place)]


class _Log:
    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.requests = {
            entry.fact.number: entry.fact
            for entry in entries
            if isinstance(entry.fact, RequestMade)
        }

    def holds(self, node: Expression, place: int) -> bool:
        if isinstance(node, Text):
            return _has(self.entries[place].frame.raw, node.text)
        if isinstance(node, Not):
            return not self.holds(node.part, place)
        if isinstance(node, And):
            return all(self.holds(part, place) for part in node.parts)
        if isinstance(node, Or):
            return any(self.holds(part, place) for part in node.parts)
        return self.compares(node, place)

    def compares(self, node: Comparison, place: int) -> bool:
        if node.field == "text" and node.op == "contains":
            return _has(self.entries[place].frame.raw, str(node.value))
        value = self.value(node, place)
        if value is _MISSING:
            return False
        if node.op == "in":
            assert isinstance(node.value, tuple)
            return any(_compare(value, "==", one, node.field) for one in node.value)
        return _compare(value, node.op, node.value, node.field)

    def value(self, node: Comparison, place: int) -> Any:
        frame, fact = self.entries[place]
        kind = kind_of(frame.channel, fact).word
        known: dict[str, Callable[[], Any]] = {
            "kind": lambda: kind,
            "dir": lambda: frame.channel.name.lower(),
            "connection": lambda: frame.connection,
            "server": lambda: frame.connection.rpartition("#")[0],
            "method": lambda: _decoded(frame.raw)["method"] if kind in _CALLS else _MISSING,
            "number": lambda: frame.number,
            "size": lambda: len(frame.raw),
            "time": lambda: frame.when,
            "text": lambda: frame.raw.decode(errors="replace"),
            "dt": lambda: self.dt(place),
            "duration": lambda: self.duration(place),
            "request": lambda: self.request(place) or _MISSING,
            "token": lambda: self.token(place, _MISSING),
        }
        look_up = known.get(node.field)
        return _member(node, kind, frame.raw) if look_up is None else look_up()

    def request(self, place: int) -> int | None:
        fact = self.entries[place].fact
        if isinstance(fact, RequestMade):
            return fact.number
        if isinstance(fact, RequestAnswered | RequestCancelled | ProgressReceived):
            return fact.request
        return None

    def token(self, place: int, missing: Any = None) -> Any:
        fact = self.entries[place].fact
        if isinstance(fact, RequestAnswered | RequestCancelled):
            fact = self.requests.get(fact.request or 0)
        token = fact.token if isinstance(fact, RequestMade | ProgressReceived) else None
        return missing if token is None else token

    def owner(self, place: int) -> tuple[str, Side] | None:
        """Whose request the token of an entry is of."""
        fact = self.entries[place].fact
        if isinstance(fact, RequestMade | RequestCancelled):
            return fact.connection, fact.sender
        if isinstance(fact, RequestAnswered | ProgressReceived):
            return fact.connection, _OTHER[fact.sender]
        return None

    def dt(self, place: int) -> Any:
        token = self.token(place)
        if isinstance(token, str) and len(token) > 200:
            return _MISSING
        at, owner = self.entries[place].frame.at, self.owner(place)
        for before in range(place - 1, -1, -1):
            is_same = _same_token(self.token(before), token) and self.owner(before) == owner
            if token is None or is_same:
                return at - self.entries[before].frame.at
        return _MISSING

    def duration(self, place: int) -> Any:
        frame, fact = self.entries[place]
        if not isinstance(fact, RequestAnswered) or fact.request is None:
            return _MISSING
        return frame.at - self.requests[fact.request].at


def _same_token(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _member(node: Comparison, kind: str, raw: bytes) -> Any:
    message = _decoded(raw)
    for root, kinds, path in _places(node.field):
        if kind in kinds:
            value = _at(message, (root, *path, *node.path))
            if value is not _MISSING:
                return value
    return _MISSING


def _places(field: str) -> Iterable[tuple[str, set[str], tuple[str, ...]]]:
    match field:
        case "id":
            return [("id", {"request", "reply", "error"}, ())]
        case "progress" | "total":
            return [("params", {"progress"}, (field,))]
        case "level":
            return [("params", {"notification", "request"}, ("level",))]
        case "code":
            return [("error", {"error"}, ("code",))]
        case "task":
            return [
                ("params", _CALLS, ("taskId",)),
                ("params", _CALLS, ("_meta", _RELATED, "taskId")),
                ("result", {"reply"}, ("task", "taskId")),
                ("result", {"reply"}, ("taskId",)),
                ("result", {"reply"}, ("_meta", _RELATED, "taskId")),
            ]
    kinds = {"params": _CALLS, "result": {"reply"}, "error": {"error"}}[field]
    return [(field, kinds, ())]


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return _MISSING


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(value, str):
            return _MISSING
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _compare(value: Any, op: str, wanted: Any, field: str) -> bool:
    if isinstance(wanted, Moment):
        return _compare_moment(value, op, wanted)
    if op == "contains":
        return str(wanted).lower() in _text(value).lower()
    if op == "matches":
        return re.search(str(wanted), _text(value)) is not None
    same = value == wanted and _type(value) is _type(wanted)
    if op in ("==", "!="):
        return same is (op == "==")
    if field == "level" and wanted in LEVELS:
        if value not in LEVELS:
            return False
        value, wanted = LEVELS.index(value), LEVELS.index(wanted)
    if _type(value) is not _type(wanted) or _type(value) not in (str, float):
        return False
    return bool({"<": value < wanted, ">": value > wanted}.get(op[0]) or (same and "=" in op))


def _compare_moment(when: float, op: str, wanted: Moment) -> bool:
    moment = when
    if wanted.is_daily:
        local = datetime.fromtimestamp(when).astimezone()
        moment = local.hour * 3600 + local.minute * 60 + local.second + local.microsecond / 1e6
    is_before, is_after = moment < wanted.begin, moment >= wanted.end
    return {
        "==": not is_before and not is_after,
        "!=": is_before or is_after,
        "<": is_before,
        "<=": not is_after,
        ">": is_after,
        ">=": not is_before,
    }[op]


def _type(value: Any) -> Any:
    return float if type(value) is int else type(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _has(raw: bytes, message: str) -> bool:
    text = raw.decode(errors="replace")
    plain = re.sub(r'\\(u[0-9a-fA-F]{4}|["\\/nrt])', _unescaped, text)
    return any(message.lower() in each.lower() for each in (text, plain))


def _unescaped(found: re.Match[str]) -> str:
    return str(json.loads(f'"{found[0]}"'))
