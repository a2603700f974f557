"""Filters made from what a reader points at: a value of a message, a cell of a row."""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.fields import ROOTS
from mcp_progress_monitor.filtering.terms import path_text, term, text_term
from mcp_progress_monitor.models.json_text import searchable
from mcp_progress_monitor.models.log import LogColumn
from mcp_progress_monitor.protocol.frame import Channel, server_name
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode
from mcp_progress_monitor.recording.names import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.timeline import Timeline

_LONG: Final = 1_000
"""Longer texts are not compared: their beginning is looked for."""
_BEGINNING: Final = 200
_MOST_DIGITS: Final = 4_000
_RELATED: Final = "io.modelcontextprotocol/related-task"
_TOKENS: Final = (("params", "progressToken"), ("params", "_meta", "progressToken"))
_TASKS: Final = (
    ("params", "taskId"),
    ("params", "_meta", _RELATED, "taskId"),
    ("result", "task", "taskId"),
    ("result", "taskId"),
    ("result", "_meta", _RELATED, "taskId"),
)
_BY_KEYS: Final[dict[tuple[str | int, ...], str]] = {
    ("id",): "id",
    ("method",): "method",
    **dict.fromkeys(_TOKENS, "token"),
    **dict.fromkeys(_TASKS, "task"),
}


def value_term(keys: Sequence[str | int], value: Any) -> str:
    """The comparison of what lies at `keys` in a message with `value`; empty if there is none.

    What the language has no path to is searched for in the whole message.
    """
    if isinstance(value, int | float) and not _is_written(value):
        return ""
    field = _BY_KEYS.get(tuple(keys))
    if field is not None:
        return _term(field, (), value)
    if keys and keys[0] in ROOTS:
        return _term(str(keys[0]), tuple(keys[1:]), value)
    words = searchable(value)[:_BEGINNING]
    return text_term(words) if words else ""


def cell_term(timeline: Timeline, frame: Frame, place: int, column: int) -> str:
    """The comparison that a cell stands for; empty for a cell without one.

    Time, size and duration are compared with "at least": equal ones are no use.
    """
    if column in _AT_LEAST:
        return _least(timeline, frame, place, column)
    match column:
        case LogColumn.DIRECTION:
            return _term("dir", (), frame.channel.name.lower())
        case LogColumn.SERVER:
            return _term("server", (), server_name(frame.connection))
        case LogColumn.KIND:
            kind = timeline.kind(place)
            return "" if kind is None else _term("kind", (), kind.word)
        case LogColumn.METHOD:
            method = _method(frame)
            return _term("method", (), method) if method else ""
        case LogColumn.KEY:
            return token_term(timeline, frame, place) or _id_term(frame)
        case _:
            return ""


_AT_LEAST: Final = frozenset({LogColumn.TIME, LogColumn.SIZE, LogColumn.DURATION})


def _least(timeline: Timeline, frame: Frame, place: int, column: int) -> str:
    if column == LogColumn.TIME:
        local = datetime.datetime.fromtimestamp(frame.when, datetime.UTC).astimezone()
        stamp = local.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        return f'time >= "{stamp}"'
    if column == LogColumn.SIZE:
        return f"size >= {timeline.size(place)}"
    duration = timeline.duration_s(place)
    return "" if duration is None else f"duration >= {math.floor(duration * 1000)}ms"


def token_term(timeline: Timeline, frame: Frame, place: int) -> str:
    """The comparison with the progress token of a message; empty without one."""
    found = timeline.columns.locate(place)
    if found is None:
        return ""
    number = found[0].tokens[found[1]]
    if number == NONE:
        return ""
    token = timeline.columns.tokens.value(number)
    if token is None:  # one of too many, or a long one: the message has it
        token = _first(frame, _TOKENS)
    return "" if isinstance(token, dict | list | None) else _term("token", (), token)


def request_term(timeline: Timeline, place: int) -> str:
    """What shows a request with its ticks and its reply; empty for a message of no request."""
    request = timeline.exchange(place)
    return f"request == {request}" if request else ""


def task_term(frame: Frame) -> str:
    """The comparison with the id of the task that a message is about; empty without one."""
    task = _first(frame, _TASKS)
    return _term("task", (), task) if isinstance(task, str) else ""


def job_term(job: int) -> str:
    """What shows all messages of a job."""
    return f"job == {job}"


def _term(field: str, path: tuple[str | int, ...], value: Any) -> str:
    if isinstance(value, str) and len(value) > _LONG:
        return term(path_text(field, path), "contains", value[:_BEGINNING])
    return term(path_text(field, path), "==", value)


def _is_written(value: float) -> bool:
    """Whether JSON has digits for a number, and not more than a filter has room for."""
    if isinstance(value, int):
        return value.bit_length() < 3 * _MOST_DIGITS
    return math.isfinite(value)


def _first(frame: Frame, places: Sequence[Sequence[str]]) -> Any:
    """The first value found at one of some places in a message."""
    if frame.channel not in (Channel.SENT, Channel.RECEIVED) or len(frame.raw) > OVERSIZED:
        return None
    envelope = decode(frame.raw, is_complete=frame.is_complete)
    for root, *keys in places:
        value: Any = envelope.params if root == "params" else envelope.result
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _method(frame: Frame) -> str:
    if frame.channel not in (Channel.SENT, Channel.RECEIVED) or len(frame.raw) > OVERSIZED:
        return ""
    return decode(frame.raw, is_complete=frame.is_complete).method or ""


def _id_term(frame: Frame) -> str:
    if frame.channel not in (Channel.SENT, Channel.RECEIVED) or len(frame.raw) > OVERSIZED:
        return ""
    identity = decode(frame.raw, is_complete=frame.is_complete).id
    if identity is None or not (isinstance(identity, str) or _is_written(identity)):
        return ""
    return _term("id", (), identity)
