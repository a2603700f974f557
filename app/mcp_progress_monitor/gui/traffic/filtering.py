"""The search for a filter's matches, and filters made from a value or a cell.

Imported late: it needs the compiler of the filter language.
"""

from __future__ import annotations

import bisect
import math
from array import array
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.filtering.expressions import And, Comparison, Not, Or, Text
from mcp_progress_monitor.filtering.fields import ROOTS
from mcp_progress_monitor.filtering.language import parse, path_text, term, text_term
from mcp_progress_monitor.filtering.search import Search, compiled
from mcp_progress_monitor.formatting import date_and_clock
from mcp_progress_monitor.gui.traffic.cells import TrafficColumn
from mcp_progress_monitor.protocol.frames import Channel, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, Envelope, Kind, decode
from mcp_progress_monitor.protocol.messages import TASK_PATHS, TOKEN_PATHS
from mcp_progress_monitor.recording.index import NONE
from mcp_progress_monitor.wording.content import searchable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp_progress_monitor.filtering.expressions import Expression
    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.gui.traffic.rows import PlaceRows
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.recording.timeline import Timeline


class TrafficSearch:
    """Finds the places that match a filter, in ascending order.

    A search may run ahead of the `end` that the view knows, because the timeline grows between two
    batches or because the view is paused: matches beyond it are kept until the end has moved.

    Raises:
        FilterError: the filter's text is invalid.
    """

    def __init__(
        self,
        wanted: TrafficFilter,
        timeline: Timeline,
        requests_of: Callable[[int], Collection[int]],
        place: int,
    ) -> None:
        self._search = Search(timeline, compiled(wanted, timeline, requests_of), place)
        self._found = array("q")
        self.asks_for_ticks = asks_for_ticks(wanted)

    @property
    def undecided(self) -> int:
        """How many texts a regular expression took too long for; they count as no match."""
        return self._search.timed_out

    def left(self, first: int, end: int) -> int:
        """The number of frames between `first` and `end` that have not been searched."""
        return max(0, end - max(self._search.place, first))

    def run(self, end: int, budget_s: float) -> None:
        if self._search.place < end:
            self._found.extend(self._search.run(budget_s))

    def take(self, first: int, end: int) -> array[int]:
        """Return the new matches between `first` and `end`."""
        until = bisect.bisect_left(self._found, end)
        taken = self._found[bisect.bisect_left(self._found, first) : until]
        self._found = self._found[until:]
        return taken


_OF_CHANNELS: Final = frozenset({FrameKind.STDERR, FrameKind.EVENT})
_ABOUT_JOBS: Final = frozenset(
    {"dir", "id", "job", "number", "request", "server", "task", "time", "token"}
)
"""Fields of messages that choose a job or a time, not what its ticks hold."""


def asks_for_ticks(wanted: TrafficFilter) -> bool:
    """True if a filter looks into progress notifications, or shows hardly anything else."""
    expression = parse(wanted.text)
    is_into = expression is not None and not _is_about_jobs(expression)
    return is_into or not wanted.kinds - _OF_CHANNELS - {FrameKind.PROGRESS}


def _is_about_jobs(expression: Expression) -> bool:
    match expression:
        case And(parts) | Or(parts):
            return all(map(_is_about_jobs, parts))
        case Not(part):
            return _is_about_jobs(part)
        case Comparison(field):
            return field in _ABOUT_JOBS
        case Text():
            return False


_LONG: Final = 1_000  # longer texts are not compared completely, only their beginning
_BEGINNING: Final = 200
_MOST_DIGITS: Final = 4_000
_BY_KEYS: Final[dict[tuple[str | int, ...], str]] = {
    ("id",): "id",
    ("method",): "method",
    **dict.fromkeys(TOKEN_PATHS, "token"),
    **dict.fromkeys(TASK_PATHS, "task"),
}


def value_term(keys: Sequence[str | int], value: Any) -> str:
    """The comparison of the value at `keys` in a message; empty if there is none.

    A value to which the language has no path is searched for in the whole message.
    """
    if isinstance(value, int | float) and not _is_written(value):
        return ""
    field = _BY_KEYS.get(tuple(keys))
    if field is not None:
        return _term(field, (), value)
    if keys and keys[0] in ROOTS:
        return _term(str(keys[0]), tuple(keys[1:]), value)
    text = searchable(value)[:_BEGINNING]
    return text_term(text) if text else ""


def cell_term(timeline: Timeline, frame: Frame, place: int, column: int) -> str:
    """The comparison for a cell; empty for a cell without one.

    Time, size and duration are compared with "at least": equal ones are not useful.
    """
    if column in _AT_LEAST:
        return _least(timeline, frame, place, column)
    match column:
        case TrafficColumn.DIRECTION:
            return _term("dir", (), frame.channel.name.lower())
        case TrafficColumn.SERVER:
            return _term("server", (), server_name(frame.connection))
        case TrafficColumn.KIND:
            kind = timeline.kind(place)
            return "" if kind is None else _term("kind", (), kind.word)
        case TrafficColumn.METHOD:
            method = _envelope(frame).method
            return _term("method", (), method) if method else ""
        case TrafficColumn.NUMBER:
            return _term("number", (), frame.number)
        case TrafficColumn.KEY:
            return token_term(timeline, frame, place) or _id_term(frame)
        case _:
            return ""


_AT_LEAST: Final = frozenset({TrafficColumn.TIME, TrafficColumn.SIZE, TrafficColumn.DURATION})


def _least(timeline: Timeline, frame: Frame, place: int, column: int) -> str:
    if column == TrafficColumn.TIME:
        return f'time >= "{date_and_clock(frame.when)}"'
    if column == TrafficColumn.SIZE:
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
    if token is None:  # one of too many, or a long one: read it from the message
        token = _first(frame, TOKEN_PATHS)
    return "" if isinstance(token, dict | list | None) else _term("token", (), token)


def rows_term(rows: PlaceRows, first: int, last: int) -> str:
    """The filter for the messages from one row to another, with those folded into them."""
    number, beside = rows.timeline.number, rows.beside(first, last)
    begin, end = number(rows.place(first)), number(beside.last)
    terms = [f"number >= {begin} and number <= {number(beside.end)}"]
    for requests, where in (
        (beside.before, f"number <= {number(rows.end_of_ticks(first))}"),
        (beside.after, f"number > {end}"),
    ):
        if requests:
            listed = ", ".join(map(str, sorted(requests)))
            terms.append(f"not (kind == progress and request in ({listed}) and {where})")
    return " and ".join(terms)


def request_term(timeline: Timeline, place: int) -> str:
    """The filter for a request with its ticks and its reply; empty outside of a request."""
    request = timeline.exchange(place)
    return f"request == {request}" if request else ""


def task_term(frame: Frame) -> str:
    """The comparison with the id of a message's task; empty without one."""
    task = _first(frame, TASK_PATHS)
    return _term("task", (), task) if isinstance(task, str) else ""


def job_term(job: int) -> str:
    """The filter for all messages of a job."""
    return f"job == {job}"


def _term(field: str, path: tuple[str | int, ...], value: Any) -> str:
    if isinstance(value, str) and len(value) > _LONG:
        return term(path_text(field, path), "contains", value[:_BEGINNING])
    return term(path_text(field, path), "==", value)


def _is_written(value: float) -> bool:
    """True if a number can be written in JSON, in no more digits than a filter has room for."""
    if isinstance(value, int):
        return value.bit_length() < 3 * _MOST_DIGITS
    return math.isfinite(value)


def _first(frame: Frame, places: Sequence[Sequence[str]]) -> Any:
    """The first value found at several places in a message."""
    envelope = _envelope(frame)
    for root, *keys in places:
        value: Any = envelope.params if root == "params" else envelope.result
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def _envelope(frame: Frame) -> Envelope:
    """The decoded message; an empty envelope for other frames and very large ones."""
    if frame.channel not in (Channel.SENT, Channel.RECEIVED) or len(frame.raw) > OVERSIZED:
        return Envelope(Kind.GARBAGE)
    return decode(frame.raw, is_complete=frame.is_complete)


def _id_term(frame: Frame) -> str:
    identity = _envelope(frame).id
    if identity is None or not (isinstance(identity, str) or _is_written(identity)):
        return ""
    return _term("id", (), identity)
