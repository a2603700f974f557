"""A job's HTTP stream in words: that it broke, what is tried, how it was taken up again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, tr

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot, StreamPicture, StreamStep

TITLES: Final = tuple(
    str(title) for title in (QT_TRANSLATE_NOOP("Jobs", "Stream"), QT_TRANSLATE_NOOP("Jobs", "At"))
)
FRESH_S: Final = 10.0
"""So long a row says that its stream was taken up again; the job's pane says it for good."""


def note(job: JobSnapshot) -> str:
    """`"stream broken 12 s ago; trying again from event 41, attempt 2"`, or what became of it."""
    stream = job.stream
    if stream is None:
        return ""
    if stream.is_broken:
        return _broken(stream)
    if job.state.is_over:
        return _counted(stream)
    return _resumed(stream.newest)


def urgent(job: JobSnapshot) -> str:
    """The note while it is news: the stream is broken, or runs again for a few seconds."""
    stream = job.stream
    is_news = stream is not None and (stream.is_broken or stream.since_s < FRESH_S)
    return note(job) if is_news and not job.state.is_over else ""


def row(step: StreamStep, started_at: float) -> tuple[str, ...]:
    """The words of one step, in the order of `TITLES`; its time is since the job's start."""
    if not step.is_broken:
        words = _resumed(step)
    else:
        reason = line(step.reason)
        words = tr("broken: {}").format(reason) if reason else tr("broken")
        tried = _tried(step, _later(step.retry_s))
        words = f"{words}; {tried}" if tried else words
    return words, text.duration(max(step.at - started_at, 0.0))


def _broken(stream: StreamPicture) -> str:
    ago = tr("stream broken {} ago").format(text.duration(math.floor(stream.since_s)))
    tried = _tried(stream.newest, _later(stream.retry_in_s))
    return f"{ago}; {tried}" if tried else ago


def _later(seconds: float | None) -> str:
    """`" in 3 s"`, or nothing when it is tried now."""
    wait = 0 if seconds is None else math.ceil(seconds)
    return f" {tr('in {}').format(text.duration(wait))}" if wait else ""


def _tried(step: StreamStep, later: str) -> str:
    """`"trying again in 3 s from event 41, attempt 2"`; nothing when it is not tried again."""
    if step.attempt is None and step.retry_s is None:
        return ""
    words = tr("trying again{}").format(later) + _place(step)
    if step.attempt is not None:
        words += tr(", attempt {}").format(text.number(step.attempt))
    return words


def _resumed(step: StreamStep) -> str:
    away = "" if step.away_s is None else tr(" after {}").format(text.duration(step.away_s))
    return tr("taken up again{}").format(away) + _place(step)


def _place(step: StreamStep) -> str:
    return f" {tr('from event {}').format(line(step.last_event_id))}" if step.last_event_id else ""


def _counted(stream: StreamPicture) -> str:
    broke = text.count(stream.broken_count, "time")
    words = tr("the stream broke {}").format(broke)
    if not stream.resumed_count:
        return words
    again = text.count(stream.resumed_count, "time")
    return words + tr(" and was taken up again {}").format(again)
