"""Turns changes of jobs into log events, spans and durations.

Ids of a span are chosen when its attempt starts, so that the events of a running job already belong
to its trace: a span itself is only sent when it ends.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.messages import CALL_TOOL, META, STREAMS
from mcp_progress_monitor.protocol.trace_context import parse_traceparent, traceparent_of
from mcp_progress_monitor.telemetry.signals import (
    Attributes,
    Duration,
    JobGauges,
    LogEvent,
    SpanEnd,
    Texts,
    attributes_of,
    body_of,
    error_of,
    gauges_of,
    is_ours,
    metric_attributes,
    span_name,
    state_of,
)
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered, RequestMade
    from mcp_progress_monitor.protocol.trace_context import TraceContext
    from mcp_progress_monitor.telemetry.signals import Signal
    from mcp_progress_monitor.telemetry.span_ids import SpanIds
    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs

_PROGRESS_S: Final = 10.0  # between two progress events of a job whose message stays the same
_SILENT_S: Final = 60.0
_LOOK_S: Final = 1.0  # between two looks at a running job
_LOOKS_PER_S: Final = 400  # of all running jobs together: each costs up to 100 µs
_LONGEST_LOOK_S: Final = 10.0

_MOVES: Final = {
    JobState.STALLED: (names.STALLED, "stalled"),
    JobState.NEEDS_YOU: (names.QUESTION, "asks a question"),
    JobState.RESUMABLE: (names.RESUMABLE, "stopped, can be resumed"),
}


class _Attempt:
    """The newest attempt of a job, and what was last sent of it."""

    __slots__ = (
        *("attributes", "context", "ended", "look_at", "links", "message", "number", "parent"),
        *("progress_at", "request", "silent_at", "started_when", "state", "ticks"),
    )

    def __init__(
        self,
        job: JobSnapshot,
        context: TraceContext,
        parent: TraceContext | None,
        attributes: Attributes,
        links: tuple[TraceContext, ...],
    ) -> None:
        self.context = context
        self.parent = parent
        self.attributes = attributes
        self.links = links
        self.number = job.attempt_count
        self.request = job.request
        self.started_when = job.started_when
        self.state = JobState.RUNNING
        self.ended = False
        self.ticks = job.tick_count
        self.message = job.message
        self.look_at = self.progress_at = self.silent_at = float("-inf")


class JobSignals:
    """Follows jobs, and offers their signals.

    `note` only keeps the ids of what changed; `work` reads the snapshots, and may be called less
    often.
    """

    def __init__(
        self,
        jobs: Jobs,
        ids: SpanIds,
        offer: Callable[[Signal], object],
        role_of: Callable[[str], str],
        of_connection: Callable[[str], Mapping[str, str]],
        *,
        has_content: bool = False,
    ) -> None:
        self._jobs = jobs
        self._ids = ids
        self._offer = offer
        self._role_of = role_of
        self._of_connection = of_connection
        self._has_content = has_content
        self.texts: Final = Texts()
        self._active: Counter[tuple[str, str]] = Counter()
        self.lost = 0
        """Jobs that were gone before they were read."""
        self._attempts: dict[JobId, _Attempt] = {}
        self._running: dict[JobId, _Attempt] = {}
        self._due: deque[JobId] = deque()
        self._is_due: set[JobId] = set()
        self._progressed: set[JobId] = set()
        self._late: deque[tuple[JobId | None, RequestAnswered]] = deque(maxlen=1_000)
        self._made: dict[int, tuple[TraceContext, TraceContext | None]] = {}

    def new_traceparent(self, sent: object) -> object:
        """Choose the span of a request that is about to be sent, within the trace of `sent`.

        An invalid context is sent as it is: it may be what the user tries out.
        """
        parent = parse_traceparent(sent)
        if sent is not None and parent is None:
            return sent
        context = self._ids.span("", parent)
        self._made[context.span_id] = context, parent
        return context.traceparent

    def begin(self, now: float) -> None:
        """Follow the jobs that run already."""
        for job in self._jobs.ids():
            found = self._jobs.snapshot(job)
            if found is not None and not found.state.is_over:
                self._look(job, now)

    def note(self, changes: ChangeSet) -> None:
        """Keep the jobs of a change set until `work`."""
        for job in changes.added:
            self._make_due(job)
        for job in changes.moved:
            self._make_due(job)
        self._progressed |= changes.progressed
        for job in changes.removed:
            self._forget(job)

    def note_late(self, answer: RequestAnswered) -> None:
        """Keep a reply that came after the end of its request."""
        if answer.request is not None:
            self._late.append((self._jobs.job_of(answer.request), answer))

    def work(self, now: float, most: int) -> bool:
        """Read up to `most` of the jobs that changed; True if there are more."""
        for job in self._progressed:
            attempt = self._attempts.get(job)
            if attempt is None or now >= attempt.look_at:
                self._make_due(job)
        self._progressed.clear()
        for _ in range(min(most, len(self._due))):
            job = self._due.popleft()
            self._is_due.discard(job)
            self._look(job, now)
        while self._late and not self._due:
            self._say_late(*self._late.popleft())
        return bool(self._due)

    @property
    def unread(self) -> int:
        """The jobs that changed since they were read."""
        return len(self._due)

    def counted(self) -> dict[tuple[str, str], int]:
        """The running jobs by role and state; may be called on another thread."""
        return dict(self._active)

    def gauges(self, most: int) -> list[JobGauges]:
        """The figures of the newest running jobs."""
        found = (self._jobs.snapshot(job) for job in list(self._running)[-most:])
        running = [(job, self._running.get(job.id)) for job in found if job is not None]
        return [
            gauges_of(
                job, {**metric_attributes(at.attributes), names.JOB: at.attributes[names.JOB]}
            )
            for job, at in running
            if at is not None
        ]

    def _make_due(self, job: JobId) -> None:
        if job not in self._is_due:
            self._is_due.add(job)
            self._due.append(job)

    def _forget(self, job: JobId) -> None:
        attempt = self._attempts.pop(job, None)
        if attempt is not None:
            self._set_state(job, attempt, None)

    def _look(self, job: JobId, now: float) -> None:
        found = self._jobs.snapshot(job)
        if found is None:
            self.lost += job not in self._attempts
            return
        attempt = self._attempts.get(job)
        if attempt is None or found.attempt_count > attempt.number:
            attempt = self._start(found, attempt, now)
        busy_s = len(self._running) / _LOOKS_PER_S
        attempt.look_at = now + min(max(_LOOK_S, busy_s), _LONGEST_LOOK_S)
        if found.state is not attempt.state:
            self._move(found, attempt, now)
        elif not found.state.is_over:
            self._say_progress(found, attempt, now)
            self._say_silence(found, attempt, now)

    def _start(self, job: JobSnapshot, before: _Attempt | None, now: float) -> _Attempt:
        """Begin an attempt. A saved job has none until it is resumed."""
        made = self._jobs.request_of(job.id)
        links = () if before is None else (before.context,)
        context, parent = self._context(job, made)
        if before is not None:
            self._set_state(job.id, before, None)
        role = self._role_of(job.connection)
        attributes = attributes_of(job, role, self.texts)
        attributes |= self._of_connection(job.connection)
        attributes[names.REQUEST_ID] = self.texts.name(str(job.request_id))
        first = f"{context.span_id:016x}" if before is None else before.attributes[names.JOB]
        attributes[names.JOB] = first
        attempt = self._attempts[job.id] = _Attempt(job, context, parent, attributes, links)
        if made is not None and before is not None:
            attempt.started_when = made.when
        attempt.progress_at = now
        attempt.silent_at = now + _SILENT_S
        if job.request <= 0 and job.state.is_over:  # found on disk
            attempt.state, attempt.ended = job.state, True
            return attempt
        self._set_state(job.id, attempt, JobState.RUNNING)
        if job.request > 0:
            self._say(names.STARTED, job, attempt, attempt.started_when, "started")
        return attempt

    def _context(
        self, job: JobSnapshot, made: RequestMade | None
    ) -> tuple[TraceContext, TraceContext | None]:
        """The span of an attempt, and its parent: the client's, if it sent one."""
        sent = None if made is None else parse_traceparent(traceparent_of(made.params))
        if sent is not None and is_ours(job) and sent.span_id in self._made:
            return self._made.pop(sent.span_id)
        return self._ids.span(f"{job.connection} {job.request}", sent), sent

    def _set_state(self, job: JobId, attempt: _Attempt, state: JobState | None) -> None:
        """Count the job under `state`; None once it is not followed any more."""
        role = str(attempt.attributes[names.ROLE])
        if self._running.pop(job, None) is not None:
            self._active[role, attempt.state.name.lower()] -= 1
        if state is not None:
            attempt.state = state
            if not state.is_over:
                self._running[job] = attempt
                self._active[role, state.name.lower()] += 1

    def _move(self, job: JobSnapshot, attempt: _Attempt, now: float) -> None:
        if attempt.ended and not job.state.is_over:  # more arrived for a request that had ended
            attempt.ended = False
        self._set_state(job.id, attempt, job.state)
        found = _MOVES.get(job.state)
        when = _wall(job, now)
        if job.state.is_over:
            when = _wall(job, job.ended_at)
            if not attempt.ended:
                attempt.ended = True
                self._end(job, attempt, when)
            if found is None:
                found = names.FINISHED, job_texts.state(job).lower()
        if found is not None:
            self._say(found[0], job, attempt, when, found[1])

    def _end(self, job: JobSnapshot, attempt: _Attempt, when: float) -> None:
        """Offer the span of an attempt and its duration."""
        error = error_of(job)
        attributes = {**attempt.attributes, **state_of(job, self.texts), **error}
        if self._has_content and job.method == CALL_TOOL:
            attributes |= self._content(job)
        is_client = is_ours(job) and attributes[names.ROLE] == names.OWN
        began_when = min(attempt.started_when, when)
        message = attributes.get(names.MESSAGE, "")
        self._offer(
            SpanEnd(
                span_name(attempt.attributes, is_own=attributes[names.ROLE] == names.OWN),
                attempt.context,
                attempt.parent,
                is_client,
                began_when,
                when,
                attributes,
                attempt.links,
                str(message) if error else None,
            )
        )
        metric = names.DURATION if is_client else names.WATCHED_DURATION
        if job.sender is Side.CLIENT:
            self._offer(Duration(metric, when - began_when, metric_attributes(attributes)))

    def _content(self, job: JobSnapshot) -> Attributes:
        """The arguments and the result, which the user opted in to."""
        detail = self._jobs.detail(job.id)
        if detail is None or isinstance(detail.params, Elided):
            return {}
        arguments: JsonObject = {k: v for k, v in detail.params.items() if k != META}
        found: Attributes = {names.ARGUMENTS: self.texts.content(arguments.get("arguments", {}))}
        if detail.answer is not None and detail.answer.result is not None:
            found[names.RESULT] = self.texts.content(detail.answer.result)
        return found

    def _say_progress(self, job: JobSnapshot, attempt: _Attempt, now: float) -> None:
        if job.tick_count == attempt.ticks:
            return
        attempt.ticks = job.tick_count
        attempt.silent_at = now + _SILENT_S
        if job.message == attempt.message and now < attempt.progress_at:
            return
        attempt.message = job.message
        attempt.progress_at = now + _PROGRESS_S
        self._say(names.PROGRESSED, job, attempt, _wall(job, job.last_tick_at))

    def _say_silence(self, job: JobSnapshot, attempt: _Attempt, now: float) -> None:
        is_waited_for = job.sender is Side.CLIENT and job.method not in STREAMS
        if is_waited_for and now >= attempt.silent_at and job.silent_s >= _SILENT_S:
            attempt.silent_at = now + _SILENT_S
            self._say(names.SILENCE, job, attempt, _wall(job, now), job_texts.last_tick(job))

    def _say(
        self, name: str, job: JobSnapshot, attempt: _Attempt, when: float, what: str = ""
    ) -> None:
        attributes = {**attempt.attributes, **state_of(job, self.texts)}
        is_warning = name in {names.STALLED, names.SILENCE, names.RESUMABLE, names.LATE_RESULT}
        if name == names.FINISHED:
            error = error_of(job)
            attributes |= error
            is_warning = bool(error)
        body = body_of(job, self.texts, what)
        self._offer(LogEvent(name, when, body, attributes, attempt.context, is_warning))

    def _say_late(self, job: JobId | None, answer: RequestAnswered) -> None:
        found = None if job is None else self._jobs.snapshot(job)
        attempt = None if job is None else self._attempts.get(job)
        if found is not None and attempt is not None:
            self._say(names.LATE_RESULT, found, attempt, answer.when, "a result came too late")


def _wall(job: JobSnapshot, at: float | None) -> float:
    """The wall time of a moment of a job; that of its start without one."""
    return job.started_when + (0.0 if at is None else at - job.started_at)
