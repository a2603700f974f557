"""Ticks read from the frames, and as CSV with one row per progress notification."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import UNSET

from mcp_progress_monitor.exports.frames import JobNumbers, rows_of_kind
from mcp_progress_monitor.formatting import iso
from mcp_progress_monitor.protocol.frames import Frame, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.messages import PROGRESS_TOKEN
from mcp_progress_monitor.protocol.progress import decode_plain
from mcp_progress_monitor.recording.format import unescaped
from mcp_progress_monitor.tracker.estimate import as_float, fraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.recording.index import FrameSource, Segment


class RecordedTick(NamedTuple):
    """One progress notification; numbers are as received, None if absent or of a wrong type."""

    number: int
    when: float
    at: float
    token: Any
    progress: int | float | None
    total: int | float | None
    message: str | None

    @property
    def share(self) -> float | None:
        return fraction(self.progress, self.total)


class TickMembers(NamedTuple):
    """The members of a progress notification, as in `RecordedTick`."""

    token: Any
    progress: int | float | None
    total: int | float | None
    message: str | None


def tick_of(frame: Frame) -> RecordedTick:
    """Read a frame that the index says is progress."""
    members = _members(frame.raw, is_complete=frame.is_complete)
    return RecordedTick(frame.number, frame.when, frame.at, *members)


def read_tick(raw: bytes, source: FrameSource) -> TickMembers:
    """The members of a tick from its bytes on disk."""
    if source.is_escaped:
        raw = unescaped(raw)
    try:
        params = decode_plain(raw).params
    except ValueError:  # something is unusual about it
        return _members(raw, is_complete=source.is_complete)
    total, message = params.total, params.message
    return TickMembers(
        params.progressToken,
        params.progress,
        None if total is UNSET else total,
        None if message is UNSET else message,
    )


def _members(raw: bytes, *, is_complete: bool) -> TickMembers:
    params: Any = decode(raw, is_complete=is_complete).params
    members: dict[str, Any] = params if isinstance(params, dict) else {}
    message = members.get("message")
    return TickMembers(
        members.get(PROGRESS_TOKEN),
        _number(members.get("progress")),
        _number(members.get("total")),
        message if isinstance(message, str) else None,
    )


def difference(later: float | None, earlier: float | None) -> float | None:
    """The difference in progress between two ticks; None if one of them had none."""
    if later is None or earlier is None:
        return None
    if isinstance(later, int) and isinstance(earlier, int):
        return later - earlier
    return round(as_float(later) - as_float(earlier), 12)


def per_second(gained: float | None, seconds: float | None) -> float | None:
    """Progress per second; None if no time has passed."""
    if gained is None or seconds is None or seconds <= 0:
        return None
    rate = as_float(gained) / seconds
    return rate if math.isfinite(rate) else None


def _number(value: Any) -> int | float | None:
    is_number = type(value) is int or (type(value) is float and math.isfinite(value))
    return value if is_number else None


COLUMNS: Final = (
    "job",
    "name",
    "server",
    "token",
    "n",
    "time",
    "at",
    "dt",
    "progress",
    "dprogress",
    "total",
    "percent",
    "rate",
    "message",
)
"""`n` counts a job's ticks; `at` and `dt` are in seconds; `d…` and `rate` (per second) are relative
to the job's previous tick. Unknown values are empty."""

_FORMULAS: Final = (*"=+-@\t\r\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - these begin formulas, too
_SKIPPED: Final = " \xa0\u3000\u200b\ufeff"  # what programs skip before a formula


class _JobState:
    """A job's name as a cell, and its last tick."""

    __slots__ = ("at", "name", "progress", "ticks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ticks = 0
        self.at: float | None = None
        self.progress: int | float | None = None


class _Moment(NamedTuple):
    """A time and its two cells, cached because the ticks of a chunk share it."""

    at: float
    wall: str | None
    seconds: str


class TicksCsv:
    """Makes the rows; text that a spreadsheet would treat as a formula is quoted.

    Reads the index and plain ticks without making frames, in 10 µs per tick instead of 40.
    """

    def __init__(self, source: ExportSource, redaction: Redaction) -> None:
        self._source = source
        self._timeline = source.timeline
        self._redaction = redaction
        self._jobs = JobNumbers(source)
        self._states: dict[Any, _JobState] = {}
        self._servers: dict[str, str] = {}
        self._moment = _Moment(math.nan, None, "")
        self.count = 0

    def lines(self, slices: Iterable[Sequence[int]]) -> Iterator[bytes]:
        """The header, then groups of rows for the places that are ticks."""
        yield csv_rows([COLUMNS])
        for places in slices:
            for segment, rows in rows_of_kind(self._timeline, places, FrameKind.PROGRESS):
                yield csv_rows(self._rows(segment, rows))
            yield b""

    def _rows(self, segment: Segment, rows: Sequence[int]) -> Iterator[Sequence[Any]]:
        timeline, ats, exchanges = self._timeline, segment.ats, segment.exchanges
        for row, raw in zip(rows, timeline.raws(segment, rows), strict=True):
            if not raw:  # dropped meanwhile
                continue
            self.count += 1
            source = timeline.source(segment, row)
            tick = read_tick(raw, source)
            at = ats[row]
            if at != self._moment.at:
                wall = iso(timeline.columns.when(segment.first + row, at))
                self._moment = _Moment(at, wall, f"{at:.6f}")
            yield self._row(self._jobs.of(exchanges[row]), source.connection, tick)

    def _row(self, job: int | None, connection: str, tick: TickMembers) -> Sequence[Any]:
        token, progress, total, message = tick
        at, wall, at_cell = self._moment
        # Ticks without a job are grouped by token.
        key = (connection, repr(token)[:200]) if job is None else job
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = _JobState(self._name(job))
        state.ticks += 1
        seconds = None if state.at is None else round(at - state.at, 6)
        gained = difference(progress, state.progress)
        state.at, state.progress = at, progress
        share = fraction(progress, total)
        return (
            job,
            state.name,
            self._server(connection),
            _token_cell(token),
            state.ticks,
            wall,
            at_cell,
            seconds,
            progress,
            gained,
            total,
            None if share is None else round(share * 100, 3),
            _rounded(per_second(gained, seconds)),
            self._redaction.text(message) if message else "",
        )

    def _server(self, connection: str) -> str:
        cell = self._servers.get(connection)
        if cell is None:
            cell = self._servers[connection] = server_name(connection)
        return cell

    def _name(self, job: int | None) -> str:
        snapshot = None if job is None else self._source.jobs.snapshot(job)
        return "" if snapshot is None else snapshot.name


def safe_cell(text: str) -> str:
    """Text that no spreadsheet evaluates (OWASP, "CSV Injection"), without NUL characters."""
    text = text.replace("\x00", "\\x00")
    return f"'{text}" if text.lstrip(_SKIPPED).startswith(_FORMULAS) else text


def _token_cell(token: Any) -> Any:
    if (
        token is None
        or isinstance(token, str)
        or (isinstance(token, int | float) and not isinstance(token, bool))
    ):
        return token
    return json.dumps(token, default=str)


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else float(f"{rate:.6g}")


def csv_rows(rows: Iterable[Iterable[Any]], separator: str = ",") -> bytes:
    """Rows as CSV; a text that a spreadsheet would evaluate is quoted."""
    written = io.StringIO(newline="")
    # Everything is quoted: with this line end, Python would leave a carriage return bare, and
    # other readers take it for the end of a row.
    cells = ([safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    out = csv.writer(written, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    out.writerows(cells)
    return written.getvalue().encode("utf-8", "backslashreplace")
