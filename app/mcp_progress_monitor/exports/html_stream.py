"""How a job's HTTP stream broke and was taken up again, as a table of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor import text
from mcp_progress_monitor.exports.html_parts import Html, table

if TYPE_CHECKING:
    from mcp_progress_monitor.exports.html_parts import Words
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot, StreamStep


def told(job: JobSnapshot) -> str:
    """One sentence on the streams of a job; nothing where none broke."""
    stream = job.stream
    if stream is None:
        return ""
    broke = f"Its HTTP stream broke {text.count(stream.broken_count, 'time')}"
    if stream.resumed_count:
        again = text.count(stream.resumed_count, "time")
        return f"{broke} and was taken up again {again}: what the server kept of it was not lost."
    return f"{broke} and was never taken up again."


def stream_course(detail: JobDetail, words: Words) -> Html:
    """Each break and each taking-up that is kept, oldest first."""
    begun_at = detail.snapshot.started_at
    rows = [_row(step, begun_at, words) for step in detail.stream_course]
    return table(("After", "What", "From event"), rows, numbers=(0,)) if rows else Html("")


def _row(step: StreamStep, begun_at: float, words: Words) -> tuple[str, str, str]:
    after = text.duration(max(step.at - begun_at, 0.0))
    return after, _what(step, words), words.line(step.last_event_id or "")


def _what(step: StreamStep, words: Words) -> str:
    if not step.is_broken:
        away = "" if step.away_s is None else f" after {text.duration(step.away_s)}"
        return f"taken up again{away}"
    tried = "" if step.attempt is None else f"; attempt {text.number(step.attempt)} to go on"
    later = "" if step.retry_s is None else f" in {text.duration(step.retry_s)}"
    return words.line(f"broken: {step.reason}{tried}{later}" if step.reason else f"broken{tried}")
