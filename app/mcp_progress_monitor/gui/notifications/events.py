"""Changes of jobs that are worth a notification, as events and as text."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.formatting import count, duration, one_line
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.gui.user_settings import NotificationSettings
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_NAMED_AT_MOST: Final = 4
_LONGEST_NAME: Final = 60
_LONGEST_REASON: Final = 200


class EventKind(enum.Enum):
    """Kinds of events, the most urgent first; the values are the settings that enable them."""

    NEEDS_YOU = "on_needs_you"
    FAILED = "on_failed"
    STALLED = "on_stalled"
    RESUMABLE = "on_resumable"
    DONE = "on_done"


_URGENCY: Final = {kind: place for place, kind in enumerate(EventKind)}
_KINDS: Final = {
    JobState.NEEDS_YOU: EventKind.NEEDS_YOU,
    JobState.FAILED: EventKind.FAILED,
    JobState.TIMED_OUT: EventKind.FAILED,
    JobState.LOST: EventKind.FAILED,
    JobState.STALLED: EventKind.STALLED,
    JobState.RESUMABLE: EventKind.RESUMABLE,
    JobState.DONE: EventKind.DONE,
}
_SAID: Final = {
    JobState.NEEDS_YOU: "needs an answer",
    JobState.FAILED: "failed",
    JobState.TIMED_OUT: "timed out",
    JobState.LOST: "lost its connection",
    JobState.STALLED: "has stalled",
    JobState.RESUMABLE: "can be resumed",
    JobState.DONE: "is done",
}
_SUMMED_UP: Final = {
    EventKind.NEEDS_YOU: "waiting for an answer",
    EventKind.FAILED: "failed",
    EventKind.STALLED: "stalled",
    EventKind.RESUMABLE: "can be resumed",
    EventKind.DONE: "done",
}


class JobEvent(NamedTuple):
    """A job entered a state that is worth a notification; `job` is its snapshot then."""

    kind: EventKind
    job: JobSnapshot


class Notice(NamedTuple):
    """One notification: plain text of bounded length, and the job that a click opens."""

    title: str
    body: str
    job: JobId
    is_urgent: bool


class JobEvents:
    """Turns snapshots of jobs into events: each new state of a job once."""

    def __init__(self, since_when: float) -> None:
        """Jobs that ended before `since_when` (wall seconds) are history."""
        self._since_when = since_when
        self._known: dict[JobId, JobState] = {}

    def prime(self, jobs: Iterable[JobSnapshot | None]) -> None:
        self._known.update((job.id, job.state) for job in jobs if job is not None)

    def forget(self, jobs: Iterable[JobId]) -> None:
        for job in jobs:
            self._known.pop(job, None)

    def changed(self, jobs: Iterable[JobSnapshot | None]) -> list[JobEvent]:
        """The events of new or changed `jobs`."""
        found = []
        for job in jobs:
            if job is None:
                continue
            before = self._known.get(job.id)
            self._known[job.id] = job.state
            kind = _KINDS.get(job.state)
            if kind is not None and before is not job.state and self._counts(job, before):
                found.append(JobEvent(kind, job))
        return found

    def _counts(self, job: JobSnapshot, before: JobState | None) -> bool:
        if job.parent is not None or (job.failure is not None and job.failure.is_wanted):
            return False
        if job.sender is Side.SERVER and job.state is not JobState.NEEDS_YOU:
            return False
        if job.state is JobState.RESUMABLE and job.is_automatic:
            return False
        return self._is_of_now(job, before)

    def _is_of_now(self, job: JobSnapshot, before: JobState | None) -> bool:
        """False for what an earlier run left, or a tap recorded before this one began."""
        if before is None and job.request <= 0:
            return False
        if job.ended_at is not None:
            ended_when = job.started_when + (job.ended_at - job.started_at)
            return ended_when >= self._since_when
        return before is not None or job.started_when >= self._since_when


def is_wanted(event: JobEvent, settings: NotificationSettings, now: datetime.time) -> bool:
    """True if the settings allow a notification of `event` at the local time of day `now`."""
    job, kind = event.job, event.kind
    if not settings.is_on or settings.is_quiet(now) or not getattr(settings, kind.value):
        return False
    if job.watched_client is not None and not settings.includes_watched:
        return False
    if kind is not EventKind.NEEDS_YOU and job.elapsed_s < settings.least_s:
        return False
    rule = settings.rule(job_texts.server(job))
    return rule == "all" or (rule == "attention" and kind is not EventKind.DONE)


def notice_of(events: Sequence[JobEvent]) -> Notice:
    """One notification for `events`, at least one; a click opens the most urgent."""
    ordered = sorted(events, key=lambda event: _URGENCY[event.kind])
    first = ordered[0]
    is_urgent = first.kind is EventKind.NEEDS_YOU
    if len(ordered) == 1:
        return Notice(_line(first.job), _about(first.job), first.job.id, is_urgent)
    counts: dict[EventKind, int] = {}
    for event in ordered:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    title = ", ".join(f"{number} {_SUMMED_UP[kind]}" for kind, number in counts.items())
    lines = [_line(event.job) for event in ordered[:_NAMED_AT_MOST]]
    if len(ordered) > _NAMED_AT_MOST:
        lines.append(f"and {count(len(ordered) - _NAMED_AT_MOST, 'more job')}")
    return Notice(f"Jobs: {title}", "\n".join(lines), first.job.id, is_urgent)


def _line(job: JobSnapshot) -> str:
    return f"{one_line(job_texts.name(job), _LONGEST_NAME)} {_SAID[job.state]}"


def _about(job: JobSnapshot) -> str:
    where = one_line(job_texts.server(job), _LONGEST_NAME)
    if job.watched_client is not None:
        where = f"{where} of {one_line(job.watched_client, _LONGEST_NAME)}"
    head = f"{where} · {duration(job.elapsed_s)}"
    reason = job.failure.message if job.failure is not None else ""
    if job.state in {JobState.NEEDS_YOU, JobState.STALLED}:
        reason = job.message or ""
    return "\n".join(filter(None, (head, one_line(reason, _LONGEST_REASON))))
