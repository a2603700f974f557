"""A job's HTTP stream as text: when it broke, reconnects and resumes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot, StreamSnapshot, StreamStep

TITLES: Final = ("Stream", "At")
FRESH_S: Final = 10.0
"""How long a row shows that its stream was resumed; the job's pane always does."""


def note(job: JobSnapshot) -> str:
    """`"stream broken 12 s ago; reconnecting from event 41, attempt 2"`, or the outcome."""
    stream = job.stream
    if stream is None:
        return ""
    if stream.is_broken:
        return _broken(stream)
    if job.state.is_over:
        return broken_and_resumed(stream)
    return _resumed(stream.newest)


def urgent(job: JobSnapshot) -> str:
    """The note while it is news: the stream is broken, or was resumed a few seconds ago."""
    stream = job.stream
    is_news = stream is not None and (stream.is_broken or stream.since_s < FRESH_S)
    return note(job) if is_news and not job.state.is_over else ""


def row(step: StreamStep, started_at: float) -> tuple[str, ...]:
    """The texts of one step, in the order of `TITLES`; its time is since the job's start."""
    if not step.is_broken:
        words = _resumed(step)
    else:
        reason = line(step.reason)
        words = f"broken: {reason}" if reason else "broken"
        tried = _tried(step, _later(step.retry_s))
        words = f"{words}; {tried}" if tried else words
    return words, formatting.duration(max(step.at - started_at, 0.0))


def _broken(stream: StreamSnapshot) -> str:
    ago = f"stream broken {formatting.duration(math.floor(stream.since_s))} ago"
    tried = _tried(stream.newest, _later(stream.retry_in_s))
    return f"{ago}; {tried}" if tried else ago


def _later(seconds: float | None) -> str:
    """`" in 3 s"`; empty if it is tried now."""
    wait = 0 if seconds is None else math.ceil(seconds)
    return f" in {formatting.duration(wait)}" if wait else ""


def _tried(step: StreamStep, later: str) -> str:
    """`"reconnecting in 3 s from event 41, attempt 2"`; empty if it is not tried again."""
    if step.attempt is None and step.retry_s is None:
        return ""
    words = f"reconnecting{later}" + _place(step)
    if step.attempt is not None:
        words += f", attempt {formatting.number(step.attempt)}"
    return words


def _resumed(step: StreamStep) -> str:
    away = "" if step.away_s is None else f" after {formatting.duration(step.away_s)}"
    return f"resumed{away}" + _place(step)


def _place(step: StreamStep) -> str:
    return f" from event {line(step.last_event_id)}" if step.last_event_id else ""


def broken_and_resumed(stream: StreamSnapshot) -> str:
    """`"the stream broke 2 times and was resumed 1 time"`."""
    broke = f"the stream broke {formatting.count(stream.broken_count, 'time')}"
    if not stream.resumed_count:
        return f"{broke} and was not resumed"
    return f"{broke} and was resumed {formatting.count(stream.resumed_count, 'time')}"
