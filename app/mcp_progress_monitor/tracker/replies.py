"""The effect of replies on jobs: their end, another round, a continuing task; late replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.protocol.facts import (
    ConnectionNegotiated,
    RequestAnswered,
    RequestMade,
    RequestStanding,
)
from mcp_progress_monitor.protocol.messages import OF_TASKS
from mcp_progress_monitor.protocol.tasks import TaskOffer
from mcp_progress_monitor.tracker import endings, violations
from mcp_progress_monitor.tracker.chain import AttemptOutcome, is_usable, stopped
from mcp_progress_monitor.tracker.questions import QuestionReducer, is_open_round
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.tasks import becomes_task

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.tracker.chains import Chains
    from mcp_progress_monitor.tracker.endings import JobEnding
    from mcp_progress_monitor.tracker.job import Job
    from mcp_progress_monitor.tracker.requests import PlainRequests
    from mcp_progress_monitor.tracker.rows import PendingChanges, Rows


class Replies:
    """Handles replies to requests, and ends jobs."""

    def __init__(
        self,
        rows: Rows,
        chains: Chains,
        plain: PlainRequests,
        questions: QuestionReducer,
        begin: Callable[[RequestMade, PendingChanges], Job],
    ) -> None:
        """Replies to the requests of the jobs in `rows`, and to those in `plain`.

        `begin` makes one of the latter a job, `questions` knows what jobs wait for.
        """
        self._rows = rows
        self._chains = chains
        self._plain = plain
        self._questions = questions
        self._begin = begin
        self._offering_tasks: set[str] = set()  # connections

    def note_opening(self, fact: ConnectionNegotiated, _changes: PendingChanges) -> None:
        """Remember which servers support tasks."""
        offer = TaskOffer.of(fact.revision, fact.capabilities)
        if offer.has_calls:
            self._offering_tasks.add(fact.connection)

    def take(self, fact: RequestAnswered, changes: PendingChanges) -> None:
        """End the job of a reply, or keep a late reply with its job."""
        job = self._rows.of_request(fact.request) or self._begin_late(fact, changes)
        if job is None:
            return
        for finding in fact.findings:
            job.marks.add(finding, fact.number, violations.INVALID_REPLY)
        changes.progressed.add(job.id)
        if job.state.is_over or job.is_settling or fact.request != job.request.number:
            self._take_late_answer(job, fact, changes)
        elif not (becomes_task(fact, job.request) or self._asks_first(job, fact, changes)):
            if fact.connection in self._offering_tasks:
                _mark_plain(job, fact)
            job.answer = fact
            self.finish(job, _ending_of(job, fact), fact.at, changes)

    def _asks_first(self, job: Job, fact: RequestAnswered, changes: PendingChanges) -> bool:
        """Let a job wait for the input that a reply requires; whether it does."""
        is_round_trip = is_open_round(fact) and job.cancel_at is None
        if is_round_trip:
            self._questions.take_reply(job, fact, changes)
        return is_round_trip

    def _begin_late(self, fact: RequestAnswered, changes: PendingChanges) -> Job | None:
        """Make a plain request a job if its result can be resumed."""
        request = self._plain.answer(fact.request)
        if request is None or fact.result is None or not is_usable(fact.next_resume_token):
            return None
        if request.method.startswith(OF_TASKS):
            return None  # its content belongs to the task's job
        return self._begin(request, changes)

    def _take_late_answer(self, job: Job, fact: RequestAnswered, changes: PendingChanges) -> None:
        """Keep a reply to a job that has ended, unless it has one; mark it either way."""
        if job.answer is not None or fact.request != job.request.number:
            job.marks.note(rules.DUPLICATE_REPLY, fact.number)
            return
        job.answer = fact
        state, ended_at = job.over_state, job.over_at
        if fact.result is not None or state is not JobState.CANCELLED:
            late_s = fact.at - (ended_at or fact.at)
            job.marks.note(rules.LATE_REPLY, fact.number, late_s, state.value)
        if not job.is_settling:  # else it is counted and evaluated once that is saved
            self.keep_answer(job, changes)
            self._chains.learn_late(job, fact, changes)

    def finish(self, job: Job, ending: JobEnding, at: float, changes: PendingChanges) -> None:
        self._questions.close(job, at, changes)
        result = self._result_of(job, ending)
        ending = ending if result is None else result.ending
        if ending.finding is not None:
            source = job.request if job.answer is None else job.answer
            job.marks.add(ending.finding, source.number)
        if result is not None:
            self._chains.end(job, result, at, changes)
            return
        job.end(ending, at)
        changes.move(job)
        self._chains.leave(self._rows.end(job), changes)

    def _result_of(self, job: Job, ending: JobEnding) -> AttemptOutcome | None:
        """Return the result of an attempt's end for the job's chain; None if there is none."""
        if job.answer is not None:
            return self._chains.judge(job, job.answer, ending)
        if job.chain is not None and ending.state is JobState.DONE:  # a task: its result follows
            return AttemptOutcome(ending, ending.state, is_complete=True)
        return None if job.chain is None else stopped(ending)

    def keep_answer(self, job: Job, changes: PendingChanges) -> None:
        """Count the bytes of a reply that a job got after its end."""
        self._chains.leave(self._rows.keep_answer(job), changes)


def _mark_plain(job: Job, answer: RequestAnswered) -> None:
    """Mark that a server which supports tasks made none.

    Others must process the request as if it asked for none (2025-11-25, "Tasks").
    """
    if "task" in job.request.params and answer.result is not None:
        job.marks.note(rules.ANSWERED_AT_ONCE, answer.number)


def _ending_of(job: Job, answer: RequestAnswered) -> JobEnding:
    """Return the ending that a reply means for a job that has not ended.

    A result that arrived before the cancel was sent (its standing is active) ends the job as usual.
    """
    if job.cancel_at is None:
        return endings.of_answer(answer)
    if answer.error is None and answer.standing is RequestStanding.ACTIVE:
        if is_open_round(answer):  # nothing is pending that could be cancelled
            return endings.of_cancel(None, job.cancel_reason)
        return endings.of_answer(answer)
    return endings.of_cancel(answer, job.cancel_reason)
