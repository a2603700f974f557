"""One running job: counts ticks, checks them, ends. Views read its snapshots instead."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.facts import (
    ProgressReceived,
    RequestAnswered,
    RequestMade,
    RequestStanding,
    Side,
)
from mcp_progress_monitor.protocol.frames import PlainTick, at_of, server_name
from mcp_progress_monitor.protocol.messages import STREAMS
from mcp_progress_monitor.tracker import requests, titles, violations
from mcp_progress_monitor.tracker.estimate import SAMPLE_S, Rates, as_float, is_above
from mcp_progress_monitor.tracker.history import Chart, PhaseLog
from mcp_progress_monitor.tracker.job_parts import JobParts, JobQuestions, JobStream, JobTask
from mcp_progress_monitor.tracker.snapshot import ChartPoint, Failure, JobId, JobState
from mcp_progress_monitor.tracker.stalls import TickGaps
from mcp_progress_monitor.tracker.violations import ViolationCounts

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import PartReceived, StreamBroken, StreamResumed
    from mcp_progress_monitor.tracker.chain import Chain
    from mcp_progress_monitor.tracker.endings import JobEnding
    from mcp_progress_monitor.tracker.snapshot import Clocks

# Skips the named tuple's own constructor.
_new = tuple.__new__
TICKS_KEPT: Final = 200
_CONDENSED_TICKS: Final = 16
_CONDENSED_POINTS: Final = 128
_CONDENSED_PHASES: Final = 32
# Looking up an enum member takes ten times as long as a global.
_STALLED: Final = JobState.STALLED
_ACTIVE: Final = RequestStanding.ACTIVE
_UNKNOWN: Final = RequestStanding.UNKNOWN
_NEVER: Final = float("-inf")
_ENDLESS: Final = float("inf")
_DELIVERED: Final = {
    RequestStanding.IN_BATCH: rules.TICK_LATE_IN_BATCH,
    RequestStanding.ELSEWHERE: rules.TICK_LATE_ELSEWHERE,
}
_LATE: Final = {
    JobState.CANCELLING: rules.TICK_AFTER_CANCELLED_END,
    JobState.CANCELLED: rules.TICK_AFTER_CANCELLED_END,
    JobState.TIMED_OUT: rules.TICK_AFTER_TIMEOUT,
}


class ProgressHistory:
    """A job's progress: created with its first tick, so that other jobs stay small."""

    __slots__ = ("chart", "gaps", "phases", "rates")

    def __init__(self, at: float) -> None:
        self.chart = Chart()
        self.phases = PhaseLog()
        self.gaps = TickGaps(at)
        self.rates: Rates | None = None


class JobClock(Protocol):
    """Limits of a call that are counted down elsewhere."""

    def read(self, now: float) -> Clocks:
        """The limits at `now`."""


class Job:
    """One long operation, from its request to its end.

    The loop's attributes: a tick is plain if `progress` < its number <= `limit` and its total
    equals `total`. `progress` is minus infinity before the first number; `limit` is minus infinity
    while every tick needs checking, infinity while no total is known. From `sample_at` on a tick is
    also sampled; minus infinity samples the next one. `ticks` and `last` are facts but for their
    type: see `PlainTick`.

    A resumed job stays one job: `first` is its first request, `request` the newest attempt's,
    `chain` what only resumable jobs have, `is_automatic` that it is resumed automatically.
    `pauses` are the times between attempts, `paused_s` their sum. With `is_fresh`, numbers of an
    earlier attempt prove nothing against the next tick. `task` is its task on the server,
    `questions` what is asked for it, `parent` the job on whose behalf it was requested, `parts`
    what arrived of its outcome before the reply: all None with most jobs. `clock` counts down the
    limits of a call of ours that is being waited for. `heard_at` is the newest
    message except ticks.
    """

    __slots__ = (
        "answer",
        "attempt_at",
        "attempt_ticks",
        "cancel_at",
        "cancel_due_at",
        "cancel_grace_s",
        "cancel_reason",
        "chain",
        "clock",
        "ended_at",
        "failure",
        "first",
        "heard_at",
        "history",
        "id",
        "is_automatic",
        "is_cancel_sent",
        "is_fresh",
        "known_total",
        "last",
        "late_count",
        "limit",
        "marks",
        "message",
        "name",
        "odd_count",
        "parent",
        "parent_is_unclear",
        "parts",
        "paused_s",
        "pauses",
        "progress",
        "questions",
        "request",
        "sample_at",
        "server",
        "state",
        "stream",
        "summary",
        "task",
        "tick_count",
        "ticks",
        "total",
    )

    def __init__(self, job: JobId, request: RequestMade) -> None:
        self.id = job
        self.request = self.first = request
        self.chain: Chain | None = None
        self.clock: JobClock | None = None
        self.task: JobTask | None = None
        self.questions: JobQuestions | None = None
        self.stream: JobStream | None = None
        self.parts: JobParts | None = None
        self.parent: JobId | None = None
        self.parent_is_unclear = False
        self.attempt_at = self.heard_at = request.at
        self.attempt_ticks = 0
        self.pauses: tuple[tuple[float, float], ...] = ()
        self.paused_s = 0.0
        self.is_fresh = False
        self.is_automatic = False
        self.server = server_name(request.connection)
        self.name = titles.name(request)
        self.summary = titles.summary(request)
        self.state = JobState.RUNNING
        self.marks = ViolationCounts()
        self.history: ProgressHistory | None = None
        self.ticks: collections.deque[PlainTick] = collections.deque(maxlen=TICKS_KEPT)
        self.tick_count = 0
        self.odd_count = 0
        self.late_count = 0
        self.progress: int | float = _NEVER
        self.total: int | float | None = None
        self.known_total: int | float | None = None
        self.limit: int | float = _NEVER
        self.sample_at = _NEVER
        self.message: str | None = None
        self.last: PlainTick | None = None
        self.answer: RequestAnswered | None = None
        self.failure: Failure | None = None
        self.ended_at: float | None = None
        self.cancel_at: float | None = None
        self.cancel_due_at: float | None = None
        self.cancel_grace_s: float | None = None
        self.cancel_reason: str | None = None
        self.is_cancel_sent = False
        for finding in request.findings:
            self.marks.add(finding, request.number, violations.INVALID_REQUEST)

    @property
    def is_settling(self) -> bool:
        """True if an attempt has ended and that is not saved yet: nothing is expected now."""
        return self.chain is not None and self.chain.settling is not None

    @property
    def is_resuming(self) -> bool:
        return not (self.state.is_over or self.is_settling)

    @property
    def needs_user(self) -> bool:
        """True if a question is open that only the user can answer."""
        has_question = self.questions is not None and bool(self.questions.open)
        return (
            has_question
            or requests.is_question(self.request)
            or (self.task is not None and self.task.needs_user)
        )

    def sample(self, at: float) -> bool:
        """Enter the newest tick, a valid one at `at`, into rate, chart and phases.

        True if the job was stalled and runs again.
        """
        self.sample_at = at + SAMPLE_S
        value = as_float(self.progress)
        history = self.history = self.history or ProgressHistory(at)
        if history.rates is None or self.state is _STALLED:
            history.rates = Rates(at, value, self.tick_count - self.odd_count)
        else:
            history.rates.add(at, value)
        history.chart.add(at, value)
        history.gaps.add(at)
        if self.message is not None:
            self.turn_phase(at)
        return self.state is _STALLED and self._wake()

    def turn_phase(self, at: float) -> None:
        """Compare the newest message with the current phase."""
        if self.message is not None and self.history is not None:
            self.history.phases.turn(self.message, at, self.tick_count)

    def take(self, fact: ProgressReceived) -> None:
        """Handle any tick, however wrong: count it, mark it, show its number; never raises."""
        self.tick_count += 1
        self.ticks.append(fact)
        is_other = fact.standing is _UNKNOWN  # another token, but the task's own progress
        is_over = self.over_state.is_over
        is_late = is_over or not (fact.standing is _ACTIVE or is_other)
        for finding in fact.findings:
            self.marks.add(finding, fact.number, violations.WRONG_TYPE)
        if is_late:
            self._mark_late(fact)
        if is_over:
            self.odd_count += 1
            self._take_delivered(fact)
            return
        self._keep_extremes()
        is_good = self._take_numbers(fact) and not is_late
        is_good = is_good and not (fact.findings and violations.spoils(fact.findings))
        self.message = self.message if fact.message is None else fact.message
        self.last = fact
        if is_good:
            self._sample_if_due(fact.at)
        else:
            self._take_odd(fact.at)

    def fall(self, tick: PlainTick) -> Finding:
        """Handle a tick that is plain but for a number that has not increased."""
        number, (_, at, _), _, _, progress, _, message = tick
        history = self.history
        if history is None:
            history = self.history = ProgressHistory(at)
        elif self.last is not None:
            history.chart.add(at_of(self.last), as_float(self.progress))
        finding = _new(Finding, (rules.NOT_INCREASING, (progress, self.progress)))
        self.marks.add(finding, number)
        self.tick_count += 1
        self.odd_count += 1
        self.ticks.append(tick)
        self.progress, self.last = progress, tick
        history.gaps.add(at)
        history.chart.add(at, as_float(progress))
        if message is not None:
            self.message = message
        self.turn_phase(at)
        self._wake()
        return finding

    def _take_delivered(self, fact: ProgressReceived) -> None:
        """Show the number of a tick that was queued until after the reply.

        Such a server delivers most of its ticks like this: without them its jobs would end with no
        progress. They do not enter the rate, since they do not say when the work was done.
        """
        progress = fact.progress
        is_rise = progress is not None and progress > self.progress and not fact.findings
        if fact.standing not in _DELIVERED or not is_rise or progress is None:
            return
        self.progress = progress
        self.total = self.known_total = fact.total if fact.total is not None else self.total
        self.message = self.message if fact.message is None else fact.message
        self.last = fact
        self.history = self.history or ProgressHistory(fact.at)
        self._keep_extremes()

    def take_stream(self, fact: StreamBroken | StreamResumed) -> None:
        self.stream = self.stream or JobStream()
        is_current = self.is_resuming and fact.request == self.request.number
        self.stream.take(fact, is_current=is_current)
        if is_current:
            self.heard_at = max(self.heard_at, fact.at)

    def take_part(self, fact: PartReceived) -> bool:
        """Keep a part of the outcome; whether a stalled job runs again."""
        self.parts = self.parts or JobParts()
        self.parts.take(fact)
        self.heard_at = max(self.heard_at, fact.at)
        return self._wake()

    def take_stale(self, fact: ProgressReceived) -> None:
        """Count a tick of an earlier attempt: it says nothing about the one in flight."""
        self.tick_count += 1
        self.odd_count += 1
        self.late_count += 1
        self.ticks.append(fact)
        self.marks.note(rules.TICK_AFTER_ATTEMPT, fact.number)

    def _sample_if_due(self, at: float) -> None:
        """Sample after a valid tick that was not plain, if due."""
        if at >= self.sample_at:
            self.sample(at)
        else:
            self.turn_phase(at)

    def _take_odd(self, at: float) -> None:
        """Handle an invalid tick: it ends a silence and is drawn, but does not enter the rate."""
        self.odd_count += 1
        history = self.history = self.history or ProgressHistory(at)
        history.gaps.add(at)
        self._keep_extremes()
        self.turn_phase(at)
        self._wake()

    def _wake(self) -> bool:
        """Leave the stalled state; whether it was stalled."""
        is_woken = self.state is _STALLED
        if is_woken:
            self.state = JobState.RUNNING
        return is_woken

    def _keep_extremes(self) -> None:
        """Draw the newest number. Between two calls numbers only rise: no peak is lost."""
        if self.last is not None and self.history is not None and self.progress != _NEVER:
            self.history.chart.add(at_of(self.last), as_float(self.progress))

    def _mark_late(self, fact: ProgressReceived) -> None:
        """Mark a tick that arrived after the end, or after a cancel."""
        self.late_count += 1
        since, state = self.over_at, self.over_state
        delivered = _DELIVERED.get(fact.standing)
        if delivered is not None and since is not None:
            late_s = None if fact.at <= since else fact.at - since
            self.marks.note(delivered, fact.number, late_s)
        elif (
            since is not None
            and self.task is not None
            and self.task.is_over
            and not self.task.is_flat
        ):
            self.marks.note(rules.TICK_AFTER_TASK, fact.number, fact.at - since, self.task.status)
        elif since is not None:
            rule = _LATE.get(state, rules.TICK_AFTER_END)
            self.marks.note(rule, fact.number, fact.at - since, state.value)
        elif self.cancel_at is not None:
            self.marks.note(rules.TICK_LATE_AFTER_CANCEL, fact.number, fact.at - self.cancel_at)
        else:
            self.marks.note(rules.TICK_OF_TASK, fact.number)

    def _take_numbers(self, fact: ProgressReceived) -> bool:
        """Show the tick's numbers and mark their violations; whether they only rise."""
        was_above = self._is_above()
        self._take_total(fact)
        progress, before = fact.progress, self.progress
        if progress is None:
            return False
        self.progress = progress
        is_increasing = progress > before or self.is_fresh
        self.is_fresh = False
        if not is_increasing:
            self.marks.note(rules.NOT_INCREASING, fact.number, progress, before)
        if self._is_above():
            self.marks.note(rules.ABOVE_TOTAL, fact.number, progress, self.total)
        elif was_above:
            self._restart_rate()
        return is_increasing

    def _is_above(self) -> bool:
        """Return whether the newest number is clearly above a positive total."""
        total = self.total
        return total is not None and total > 0 and is_above(self.progress, total)

    def _take_total(self, fact: ProgressReceived) -> None:
        before, total = self.total, fact.total
        if total is None and fact.findings:
            return  # unreadable, which is already marked
        if total == before:
            total = before  # 50 and 50.0 are one total, written as it first was
        elif before is not None and not self.is_fresh:
            self.marks.note(rules.TOTAL_CHANGED, fact.number, total, before)
        self.total = total
        self.limit = _ENDLESS if total is None else total
        if total is None:
            return
        if self.known_total is not None and total != self.known_total:
            self._restart_rate()
        self.known_total = total
        if total <= 0:
            self.limit = _NEVER
            self.marks.note(rules.TOTAL_NOT_POSITIVE, fact.number, total)

    def _restart_rate(self) -> None:
        """Forget the rate: the next good tick starts a new one."""
        if self.history is not None:
            self.history.rates = None
        self.sample_at = _NEVER

    def stall_if_silent(self, now: float) -> bool:
        """Become stalled if that is due; whether it did."""
        if self.state is not JobState.RUNNING or self.history is None or self.last is None:
            return False
        if self.request.method in STREAMS:
            return False
        if self.request.sender is Side.SERVER:  # we are the silent side: the user is thinking
            return False
        silence_s = now - max(at_of(self.last), self.heard_at)
        if self.is_settling or not self.history.gaps.is_stalled(silence_s):
            return False
        self.state = JobState.STALLED
        self.sample_at = _NEVER
        return True

    def cancel(self, at: float, reason: str | None, due_at: float) -> None:
        """Wait from `at` until `due_at` for the other side's reaction to a cancel."""
        self.state = JobState.CANCELLING
        self.cancel_at, self.cancel_due_at = at, due_at
        self.cancel_reason = reason or self.cancel_reason

    @property
    def over_state(self) -> JobState:
        """The job's state, or the one to be shown once it is saved."""
        settling = None if self.chain is None else self.chain.settling
        return self.state if settling is None else settling.result.ending.state

    @property
    def over_at(self) -> float | None:
        settling = None if self.chain is None else self.chain.settling
        return self.ended_at if settling is None else settling.at

    def settle(self) -> None:
        """End without showing it yet: no tick counts any more."""
        self.state = JobState.RUNNING
        self.limit = _NEVER

    def end(self, ending: JobEnding, at: float) -> None:
        """End. The data of a running job is freed; its history stays for display."""
        self.state = ending.state
        self.failure = ending.failure
        self.ended_at = at
        self.clock = None
        if self.stream is not None:
            self.stream.settle()
        self.is_automatic = self.is_automatic and ending.state is JobState.RESUMABLE
        self._keep_extremes()
        if self.last is not None:
            self.turn_phase(at_of(self.last))
        if self.history is not None:
            self.history.rates = None

    def begin_attempt(self, request: RequestMade) -> None:
        """Continue with another request: numbers, chart and ticks stay, the rate starts again."""
        if self.ended_at is not None:
            begins_at = max(request.at, self.ended_at)
            self.pauses += ((self.ended_at, begins_at),)
            self.paused_s += begins_at - self.ended_at
        self.server = server_name(request.connection)
        self.attempt_at = request.at
        self.attempt_ticks = self.tick_count
        self.state = JobState.RUNNING
        self.answer = None
        self.failure = None
        self.ended_at = None
        self.cancel_at = self.cancel_due_at = self.cancel_grace_s = None
        self.cancel_reason = None
        self.is_cancel_sent = False
        self.ticks = collections.deque(self.ticks, maxlen=TICKS_KEPT)
        self.begin_round_trip(request)

    def begin_round_trip(self, request: RequestMade) -> None:
        """Continue within an attempt with another request, whose progress may start again."""
        self.request = request
        self.heard_at = request.at
        if self.stream is not None:
            self.stream.settle()
        self.is_fresh = self.progress != _NEVER
        self.limit = self.sample_at = _NEVER
        if self.history is not None:
            self.history.rates = None
            self.history.gaps.pause()

    def wake(self) -> None:
        """Run again without a new request: more has arrived for the last one."""
        self.state = JobState.RUNNING
        self.failure = self.ended_at = None

    def follow(self, request: RequestMade, at: float) -> None:
        """Continue over another connection to the server, where `request` asks for the task."""
        self.begin_round_trip(request)
        self.server = server_name(request.connection)
        self.heard_at = at

    def chart(self) -> list[ChartPoint]:
        self._keep_extremes()
        return [] if self.history is None else self.history.chart.points()

    def condense(self) -> None:
        """Keep only an outline of the history, for an older finished row."""
        self.ticks = collections.deque(self.ticks, maxlen=_CONDENSED_TICKS)
        self.marks.shrink(_CONDENSED_TICKS)
        if self.history is not None:
            self.history.chart.condense_to(_CONDENSED_POINTS)
            self.history.phases.shrink(_CONDENSED_PHASES)
