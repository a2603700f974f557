"""Ticks read back from the frames, and as CSV: one row for each progress notification."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.exports.frames import frames_at
from mcp_progress_monitor.exports.jsonl import iso
from mcp_progress_monitor.protocol.frames import Frame, FrameKind, server_name
from mcp_progress_monitor.protocol.jsonrpc import decode
from mcp_progress_monitor.protocol.messages import PROGRESS_TOKEN
from mcp_progress_monitor.tracker.estimate import as_float, fraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource
    from mcp_progress_monitor.exports.redaction import Redaction


class RecordedTick(NamedTuple):
    """One progress notification. Numbers are as received, None when absent or of a wrong type."""

    number: int
    when: float
    at: float
    token: Any
    progress: int | float | None
    total: int | float | None
    message: str | None

    @property
    def share(self) -> float | None:
        """The fraction of the bar, None where there is none."""
        return fraction(self.progress, self.total)


def tick_of(frame: Frame) -> RecordedTick:
    """Read a frame that the index says is progress."""
    params: Any = decode(frame.raw, is_complete=frame.is_complete).params
    members: dict[str, Any] = params if isinstance(params, dict) else {}
    message = members.get("message")
    return RecordedTick(
        frame.number,
        frame.when,
        frame.at,
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
    """Progress a second; None where no time passed."""
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
"""`n` counts a job's ticks; `at`, `dt` seconds; `d…` since the job's tick before; `rate` per second
since then. Empty is unknown."""

_FORMULAS: Final = (*"=+-@\t\r\n", "＝", "＋", "－", "＠")  # noqa: RUF001 - these begin formulas, too


class _Course(NamedTuple):
    """A job's name and its last tick."""

    name: str
    ticks: int
    last: RecordedTick | None


class TicksCsv:
    """Makes the rows. Texts that a spreadsheet would treat as a formula get a quote before them."""

    def __init__(self, source: ExportSource, redaction: Redaction) -> None:
        self._source = source
        self._timeline = source.timeline
        self._redaction = redaction
        self._courses: dict[Any, _Course] = {}
        self.count = 0

    def lines(self, slices: Iterable[Sequence[int]]) -> Iterator[bytes]:
        """The header, then some rows at a time for those of the places that are ticks."""
        yield _written([COLUMNS])
        for places in slices:
            ticks = [p for p in places if self._timeline.kind(p) is FrameKind.PROGRESS]
            for frames in frames_at(self._timeline, ticks):
                self.count += len(frames)
                yield _written([self._row(place, frame) for place, frame in frames])
            yield b""

    def _row(self, place: int, frame: Frame) -> list[Any]:
        tick = tick_of(frame)
        exchange = self._timeline.exchange(place)
        job = self._source.jobs.job_of(exchange) if exchange else None
        # Ticks of no job are counted by their token: they may belong together.
        key = (frame.connection, repr(tick.token)[:200]) if job is None else job
        before = self._courses.get(key) or _Course(self._name(job), 0, None)
        self._courses[key] = before._replace(ticks=before.ticks + 1, last=tick)
        seconds = None if before.last is None else round(tick.at - before.last.at, 6)
        gained = None if before.last is None else difference(tick.progress, before.last.progress)
        share = tick.share
        return [
            job,
            safe_cell(before.name),
            safe_cell(server_name(frame.connection)),
            _token_cell(tick.token),
            before.ticks + 1,
            iso(tick.when),
            f"{tick.at:.6f}",
            seconds,
            tick.progress,
            gained,
            tick.total,
            None if share is None else round(share * 100, 3),
            _rounded(per_second(gained, seconds)),
            safe_cell(self._redaction.text(tick.message or "")),
        ]

    def _name(self, job: int | None) -> str:
        snapshot = None if job is None else self._source.jobs.snapshot(job)
        return "" if snapshot is None else snapshot.name


def safe_cell(words: str) -> str:
    """A text that no spreadsheet calculates (OWASP, "CSV Injection"), without NUL characters."""
    words = words.replace("\x00", "\\x00")
    return f"'{words}" if words.lstrip(" ").startswith(_FORMULAS) else words


def _token_cell(token: Any) -> Any:
    if isinstance(token, str):
        return safe_cell(token)
    if token is None or (isinstance(token, int | float) and not isinstance(token, bool)):
        return token
    return safe_cell(json.dumps(token, default=str))


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else float(f"{rate:.6g}")


def _written(rows: Iterable[Iterable[Any]]) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue().encode("utf-8", "backslashreplace")
