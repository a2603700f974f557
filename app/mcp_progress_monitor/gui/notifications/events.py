"""Changes of jobs that are worth a notification, as events and as text."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.formatting import count, duration, number, one_line
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.engine.call import SeriesEnd
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
    SLOW = "on_slow"
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
    EventKind.SLOW: "slower than usual",
    EventKind.RESUMABLE: "can be resumed",
    EventKind.DONE: "done",
}


class JobEvent(NamedTuple):
    """A job entered a state that is worth a notification; `job` is its snapshot then."""

    kind: EventKind
    job: JobSnapshot


class NoticeAction(enum.Enum):
    """The actions of a notification's button on its job; the values are its text."""

    ANSWER = "Answer"
    RESUME = "Resume"
    REISSUE = "Re-issue"


_ACTIONS: Final = {
    EventKind.NEEDS_YOU: NoticeAction.ANSWER,
    EventKind.RESUMABLE: NoticeAction.RESUME,
    EventKind.FAILED: NoticeAction.REISSUE,
}


class Notice(NamedTuple):
    """One notification: plain text of bounded length, and the job that a click opens.

    `action` can be carried out on that job at once.
    """

    title: str
    body: str
    job: JobId
    is_urgent: bool
    action: NoticeAction | None = None


class JobEvents:
    """Turns snapshots of jobs into events: each new state of a job once."""

    def __init__(self, since_when: float) -> None:
        """Jobs that ended before `since_when` (wall seconds) are history."""
        self._since_when = since_when
        self._known: dict[JobId, JobState] = {}
        self._slow: set[JobId] = set()

    def prime(self, jobs: Iterable[JobSnapshot | None]) -> None:
        self._known.update((job.id, job.state) for job in jobs if job is not None)

    def forget(self, jobs: Iterable[JobId]) -> None:
        for job in jobs:
            self._known.pop(job, None)
            self._slow.discard(job)

    def slow(self, jobs: Iterable[JobSnapshot | None]) -> list[JobEvent]:
        """The events of `jobs` that became slower than usual: each once."""
        fresh = [j for j in jobs if j is not None and j.is_slow and j.id not in self._slow]
        self._slow.update(job.id for job in fresh)
        return [JobEvent(EventKind.SLOW, job) for job in fresh]

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


def is_wanted(
    event: JobEvent,
    settings: NotificationSettings,
    now: datetime.time,
    lasted_s: float | None = None,
) -> bool:
    """True if the settings allow a notification of `event` at the local time of day `now`.

    `lasted_s` is the duration of what it stands for, if not that of its job.
    """
    job, kind = event.job, event.kind
    if not settings.is_on or settings.is_quiet(now) or not getattr(settings, kind.value):
        return False
    if job.watched_client is not None and not settings.includes_watched:
        return False
    lasted_s = job.elapsed_s if lasted_s is None else lasted_s
    if kind is not EventKind.NEEDS_YOU and lasted_s < settings.least_s:
        return False
    rule = settings.rule(job_texts.server(job))
    return rule == "all" or (rule == "attention" and kind is not EventKind.DONE)


def notice_of(events: Sequence[JobEvent]) -> Notice:
    """One notification for `events`, at least one; a click opens the most urgent."""
    ordered = sorted(events, key=lambda event: _URGENCY[event.kind])
    first = ordered[0]
    is_urgent = first.kind is EventKind.NEEDS_YOU
    if len(ordered) == 1:
        job = first.job
        return Notice(_line(job), _about(job), job.id, is_urgent, _action_of(first))
    counts: dict[EventKind, int] = {}
    for event in ordered:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    title = ", ".join(f"{times} {_SUMMED_UP[kind]}" for kind, times in counts.items())
    lines = [_line(event.job) for event in ordered[:_NAMED_AT_MOST]]
    if len(ordered) > _NAMED_AT_MOST:
        lines.append(f"and {count(len(ordered) - _NAMED_AT_MOST, 'more job')}")
    return Notice(f"Jobs: {title}", "\n".join(lines), first.job.id, is_urgent)


def _action_of(event: JobEvent) -> NoticeAction | None:
    """The action that is possible; none on another client's job."""
    action, job = _ACTIONS.get(event.kind), event.job
    if job.watched_client is not None:
        return None
    if action is NoticeAction.REISSUE and not (job.sender is Side.CLIENT and job.is_reissuable):
        return None
    return None if action is NoticeAction.RESUME and not job.can_resume else action


def notice_of_series(series: SeriesEnd, jobs: Sequence[JobSnapshot]) -> Notice:
    """One notification for several calls made in a row; a click opens the first that failed."""
    failed = [job for job in jobs if job.state is not JobState.DONE]
    first = (failed or jobs)[0]
    name = one_line(job_texts.name(first), _LONGEST_NAME)
    more = f", {number(len(failed))} failed" if failed else ""
    where = one_line(job_texts.server(first), _LONGEST_NAME)
    lines = (f"{where} · {duration(series.duration_s)}", *map(_line, failed[:_NAMED_AT_MOST]))
    title = f"{name}: {number(len(jobs))} of {number(series.total)}{more}"
    return Notice(title, "\n".join(lines), first.id, is_urgent=False)


def _line(job: JobSnapshot) -> str:
    said = _SAID.get(job.state, job.state.value.lower())
    how = "is slower than usual" if job.is_slow else said
    return f"{one_line(job_texts.name(job), _LONGEST_NAME)} {how}"


def _about(job: JobSnapshot) -> str:
    where = one_line(job_texts.server(job), _LONGEST_NAME)
    if job.watched_client is not None:
        where = f"{where} of {one_line(job.watched_client, _LONGEST_NAME)}"
    head = f"{where} · {duration(job.elapsed_s)}"
    reason = job.failure.message if job.failure is not None else ""
    if job.state in {JobState.NEEDS_YOU, JobState.STALLED}:
        reason = job.message or ""
    return "\n".join(filter(None, (head, one_line(reason, _LONGEST_REASON))))
