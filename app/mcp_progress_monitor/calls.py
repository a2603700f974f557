"""Calls: requests, from being asked for to their outcome: a reply, a limit, or another end."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol.eras import LATEST_HANDSHAKE
from mcp_progress_monitor.protocol.frame import server_name
from mcp_progress_monitor.protocol.task_requests import TaskOffer, TaskWish, params_as_wished
from mcp_progress_monitor.protocol.tokens import AUTO
from mcp_progress_monitor.sessions import time_limit
from mcp_progress_monitor.sessions.arguments import check_in_thread, check_output
from mcp_progress_monitor.sessions.call_clock import Hold
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.sessions.exchange import End
from mcp_progress_monitor.sessions.limits import (
    USUAL,
    LimitChoice,
    Limits,
    chosen_limits,
    usual_limits,
)
from mcp_progress_monitor.sessions.task_end import TaskFate
from mcp_progress_monitor.tracker import endings
from mcp_progress_monitor.tracker.snapshot import Changes, Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.tokens import TokenChoice
    from mcp_progress_monitor.sessions.call_clock import CallClock, Clocks
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.task_run import TaskRun
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Tracker


@dataclasses.dataclass(frozen=True)
class AutoResume:
    """How to go on with a resumable job by itself: until it is done, or an error or `limit` stops.

    `limit` is how many attempts are made; `pauses_s` are the seconds before each of them, the last
    one repeated.
    """

    limit: int = 100
    pauses_s: tuple[float, ...] = (0, 1, 2, 5, 10)

    def pause_s(self, made: int) -> float:
        """Seconds to wait after `made` attempts."""
        return self.pauses_s[min(made, len(self.pauses_s) - 1)] if self.pauses_s else 0.0


@dataclasses.dataclass(frozen=True)
class Call:
    """A request to make of a server. `params` come without `_meta`.

    Limits are in seconds, None and 0 are off, the usual ones are those of the server or else of
    the protocol. The idle limit counts from the last message that belongs to the call, the total
    one from the call. With `auto_resume` the outcome is that of the last attempt; the limits hold
    for each.

    `as_task` has a tool called as a task or plainly; None as the tool demands. In 2026-07-28 the
    server decides, unless that is False. `task_ttl_ms` is how long a server of 2025-11-25 is asked
    to keep the task. The outcome of a task is that of its end.
    """

    server: str
    method: str
    params: JsonObject
    token: TokenChoice = AUTO
    allow_duplicate_token: bool = False
    idle_timeout_s: LimitChoice = USUAL
    total_timeout_s: LimitChoice = USUAL
    auto_resume: AutoResume | None = None
    as_task: bool | None = None
    task_ttl_ms: float | None = None


_TOO_LONG: Final = "It took too long"


class Outcome(NamedTuple):
    """How a call ended. `raw` is the reply's exact bytes, empty when there was none.

    `job` is None for a request that is no job, or was never written. `resume_id` names the saved
    chain of a job that stopped resumable; None if it is not saved.
    """

    job: JobId | None
    result: JsonObject | None
    failure: Failure | None
    state: JobState
    duration_s: float
    raw: bytes
    resume_id: int | None = None


async def _cancels_nothing(_job: JobSnapshot, _reason: str) -> bool:
    """Leave every cancel to the notification."""
    return False


async def _begins_nothing(
    _connection: Connection, _exchange: Exchange, _job: JobId
) -> TaskRun | None:
    """Take every reply for the end of its call."""
    return None


class Calls:
    """Makes requests and waits for what becomes of them."""

    def __init__(
        self,
        manager: Manager,
        tracker: Tracker,
        publish: Callable[[Changes], None],
        settled: Callable[[JobId], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        """Changes go to `publish`; `settled` waits until the end of a job is on disk."""
        self._manager = manager
        self._tracker = tracker
        self._publish = publish
        self._settled = settled
        self._now = now
        self._kept: dict[JobId, CallClock] = {}
        self.cancel_otherwise: Callable[[JobSnapshot, str], Awaitable[bool]] = _cancels_nothing
        """Asked before a job is cancelled by a notification: whether it did so in its own way.

        It is told of each job that the user cancels or that ran out of time, with the reason, and
        must not wait for what the server says to that.
        """
        self.begin_task: Callable[[Connection, Exchange, JobId], Awaitable[TaskRun | None]] = (
            _begins_nothing
        )
        """Asked with each reply whether it begins a task, which the call then waits for."""

    def ask(self, call: Call, clock: CallClock | None = None) -> tuple[Connection, Exchange]:
        """Post a request, with the clock of the call that it goes on with, else one of its own.

        `ProblemError` when the server is not connected, or the token or a limit is refused.
        """
        connection = self._manager.connection(call.server)
        limits = self._limits_of(call)
        try:
            exchange = connection.mail.ask(
                call.method,
                self._params_of(call, connection),
                token=call.token,
                allow_duplicate=call.allow_duplicate_token,
                clock=clock,
            )
        except anyio.ClosedResourceError as error:
            raise ProblemError(not_connected(call.server)) from error
        if clock is None:
            exchange.clock.set_limits(limits)
        return connection, exchange

    def _params_of(self, call: Call, connection: Connection) -> JsonObject:
        server = self._manager.snapshot(call.server)
        tool = call.params.get("name") if call.method == "tools/call" else None
        support = next((t.task_support for t in server.tools if t.name == tool), None)
        return params_as_wished(
            call.method,
            call.params,
            TaskWish(call.as_task, call.task_ttl_ms),
            TaskOffer.of(server.revision or LATEST_HANDSHAKE, server.capabilities),
            support,
            connection.mail.peer.stamps,
        )

    def _limits_of(self, call: Call) -> Limits:
        usual = usual_limits(call.method, self._manager.snapshot(call.server).definition)
        return chosen_limits(call.idle_timeout_s, call.total_timeout_s, usual)

    async def complete(
        self, connection: Connection, exchange: Exchange, limits: Limits | None = None
    ) -> Outcome:
        """Wait for the end of a request; without `limits`, with those of its clock.

        Cancelling cancels it.
        """
        try:
            end = await exchange.wait(limits, self._now)
        except anyio.get_cancelled_exc_class():
            connection.mail.cancel(exchange, "The caller gave up")
            connection.mail.give_up(exchange, End.CANCELLED)
            raise
        words = ""
        if end in {End.IDLE_TIMEOUT, End.TOTAL_TIMEOUT}:
            words = await self._run_out(connection, exchange)
        job = self._job_of(exchange)
        if job is not None:
            await self._settled(job)
            run = await self.begin_task(connection, exchange, job)
            if run is not None:
                return await self.complete_task(run, job, exchange.made_at)
        outcome = self._outcome(exchange, words)
        if exchange.request is not None:
            await self._check_output(connection, exchange.request, outcome)
        return outcome

    async def complete_task(self, run: TaskRun, job: JobId, made_at: float) -> Outcome:
        """Wait for the end of a job's task. Cancelling has the task cancelled."""
        with self.keeping(job, run.clock):
            try:
                reached = await run.clock.until(run.has_ended, self._now)
            except anyio.get_cancelled_exc_class():
                run.give_up("The caller gave up")
                raise
        if reached is None:
            await run.settled.wait()
        else:
            found = self._tracker.snapshot(job, self._now())
            tick_at = None if found is None else found.last_tick_at
            words = time_limit.words_of_task(run, reached, made_at, tick_at)
            with anyio.CancelScope(shield=True):
                await run.connection.tell("timed_out", request=run.request, text=words)
            run.give_up(words)
        found = self._tracker.snapshot(job, self._now())
        outcome = task_outcome(job, found, run, self._now() - made_at)
        await self._check_output(run.connection, run.request, outcome)
        return outcome

    async def cancel(self, job: JobSnapshot, reason: str) -> None:
        """Ask the server to cancel a job of ours; whoever waits for it goes on waiting."""
        if await self.cancel_otherwise(job, reason):
            return
        for connection, exchange in self._waiting(job):
            self._publish(self._tracker.note_cancel_requested(job.id))
            connection.mail.cancel(exchange, reason)
            # Once its stream is closed nothing more can come of a request: no silence is awaited.
            grace_s = 0.0 if connection.mail.closes_streams else self._tracker.cancel_grace_s
            fields = {"request": job.request, "reason": reason, "grace_s": grace_s}
            await connection.tell("cancel_requested", **fields)

    def let_go(self, job: JobId) -> None:
        """Stop waiting for a job that has ended by time alone."""
        found = self._tracker.snapshot(job, self._now())
        for connection, exchange in () if found is None else self._waiting(found):
            connection.mail.give_up(exchange, End.CANCELLED)

    # Clocks

    def clocks(self, job: JobId) -> Clocks | None:
        """Both clocks of a job that is waited for; None when it is not, or not by us."""
        clock = self.clock_of(job)
        return None if clock is None else clock.read(self._now())

    def extend(self, job: JobId, idle_s: float, total_s: float) -> None:
        """Move a job's limits on; `ProblemError` when that cannot be, or it is not waited for."""
        self._ticking(job).extend(idle_s, total_s)
        self._publish(Changes(progressed=frozenset({job})))

    def set_limits(self, job: JobId, limits: Limits) -> None:
        """Give a job other limits; `ProblemError` as for `extend`."""
        self._ticking(job).set_limits(limits)
        self._publish(Changes(progressed=frozenset({job})))

    def hold(self, connection: str, job: JobId | None) -> Hold:
        """Have the clocks of a job stand still, because a question to the user is open.

        Without a job those of all calls on the connection: each may be the one that asks.
        """
        if job is not None:
            found = self.clock_of(job)
            return Hold([] if found is None else [found], self._now)
        served = self._manager.connection_of(connection)
        return Hold([] if served is None else served.mail.clocks(), self._now)

    def hold_for(self, question: Question) -> Hold:
        """Have the clocks stand still of the call that a question is about."""
        job = question.job
        found = None if job is None else self._tracker.snapshot(job, self._now())
        if found is not None and found.state.is_over:
            return Hold((), self._now)
        if found is not None and found.parent_is_unclear:
            job = None
        elif found is not None and found.parent is not None:
            job = found.parent
        return self.hold(question.connection, job)

    @contextlib.contextmanager
    def keeping(self, job: JobId, clock: CallClock) -> Iterator[None]:
        """Have `clock` be that of a job whose request was answered, and which goes on."""
        self._kept[job] = clock
        try:
            yield
        finally:
            if self._kept.get(job) is clock:
                del self._kept[job]

    def clock_of(self, job: JobId) -> CallClock | None:
        """The clock of a job that is waited for; None when it is not, or not by us."""
        if job in self._kept:
            return self._kept[job]
        found = self._tracker.snapshot(job, self._now())
        waiting = () if found is None else self._waiting(found)
        return next((exchange.clock for _, exchange in waiting if exchange.end is None), None)

    def _ticking(self, job: JobId) -> CallClock:
        clock = self.clock_of(job)
        if clock is None:
            what = "There is nothing to be timed: no reply to this job is waited for"
            raise ProblemError(Problem(what, f"job {job}"))
        return clock

    # The rest

    def reconnect_stream(self, job: JobSnapshot) -> None:
        """Take up the HTTP stream that a job's reply is due on again, at once.

        `ProblemError` when it is on none that broke before.
        """
        if not any(
            connection.reconnect_stream(job.request) for connection, _ in self._waiting(job)
        ):
            what = "The reply to this job is not due on a stream that can be reconnected"
            hint = "Only an HTTP stream that broke and was resumed can be reconnected."
            raise ProblemError(Problem(what, f"job {job.id}", hint))

    def sent(self, job: JobId) -> bytes | None:
        """The bytes of the job's newest request; None unless its reply is being waited for."""
        found = self._tracker.snapshot(job, self._now())
        waiting = () if found is None else self._waiting(found)
        return next((exchange.outgoing.raw for _, exchange in waiting), None)

    async def _run_out(self, connection: Connection, exchange: Exchange) -> str:
        """End the job with the story of its silence, then tell the server."""
        job = self._job_of(exchange)
        found = None if job is None else self._tracker.snapshot(job, self._now())
        last_tick_at = None if found is None else found.last_tick_at
        words = time_limit.words(exchange, connection, last_tick_at)
        is_open = True
        if exchange.request is not None:
            with anyio.CancelScope(shield=True):
                await connection.tell("timed_out", request=exchange.request, text=words)
            is_open = connection.mail.exchange_of(exchange.request) is exchange
        if is_open and not (found and await self.cancel_otherwise(found, _TOO_LONG)):
            connection.mail.cancel(exchange, _TOO_LONG)
        connection.mail.give_up(exchange, exchange.end or End.IDLE_TIMEOUT)
        return words

    async def _check_output(self, connection: Connection, request: int, outcome: Outcome) -> None:
        """Put on record how a result breaks its tool's output schema, if it does."""
        schema = self._output_schema(connection, outcome)
        if schema is None:
            return
        found = await check_in_thread(functools.partial(check_output, schema, outcome.raw))
        if found.problems or found.unchecked:
            await connection.tell(
                "output_checked",
                request=request,
                problems=found.problems,
                unchecked=[*found.unchecked],
            )

    def _output_schema(self, connection: Connection, outcome: Outcome) -> JsonObject | None:
        """The schema that a call's result must match; None without a result or a schema."""
        if outcome.job is None or outcome.state is not JobState.DONE or not outcome.raw:
            return None
        job = self._tracker.snapshot(outcome.job, self._now())
        if job is None or job.method != "tools/call":
            return None
        tools = self._manager.snapshot(server_name(connection.id)).tools
        tool = next((tool for tool in tools if tool.name == job.name), None)
        schema = None if tool is None else tool.raw.get("outputSchema")
        return schema if isinstance(schema, dict) else None

    def _outcome(self, exchange: Exchange, words: str) -> Outcome:
        """What became of an exchange: as its job tells, or as its end does if it has none."""
        job, reply = self._job_of(exchange), exchange.reply
        found = None if job is None else self._tracker.snapshot(job, self._now())
        state, failure = _verdict(exchange, words)
        resume_id = None
        if found is not None and found.state.is_over:
            state, failure = found.state, found.failure
            resume_id = found.chain if state is JobState.RESUMABLE else None
        ended_at = self._now() if reply is None else reply.at
        result = None if reply is None else reply.result
        length_s = ended_at - exchange.made_at
        return Outcome(job, result, failure, state, length_s, exchange.raw, resume_id)

    def _job_of(self, exchange: Exchange) -> JobId | None:
        return None if exchange.request is None else self._tracker.job_of(exchange.request)

    def _waiting(self, job: JobSnapshot) -> Iterator[tuple[Connection, Exchange]]:
        """The exchange that waits for the end of a job of ours, if one does."""
        connection = self._manager.connection_of(job.connection)
        exchange = None if connection is None else connection.mail.exchange_of(job.request)
        if connection is not None and exchange is not None:
            yield connection, exchange


def _verdict(exchange: Exchange, words: str) -> tuple[JobState, Failure | None]:
    """State and failure by the exchange alone."""
    if exchange.reply is not None:
        ending = endings.of_answer(exchange.reply)
        return ending.state, ending.failure
    if exchange.end is End.LOST:
        words = exchange.words or "The connection ended before the reply"
        return JobState.LOST, Failure("local", words)
    if exchange.end is End.CANCELLED:
        return JobState.CANCELLED, Failure("local", exchange.words or "Cancelled")
    if exchange.end is End.GIVEN_UP:
        return JobState.FAILED, Failure("local", exchange.words)
    return JobState.TIMED_OUT, Failure("local", words)


def task_outcome(job: JobId, found: JobSnapshot | None, run: TaskRun, duration_s: float) -> Outcome:
    """What became of a task: as its job tells where that is over, else as following it ended."""
    end = run.end
    result, raw = (None, b"") if end is None else (end.result, end.raw)
    state: JobState = JobState.CANCELLED
    failure: Failure | None = Failure("local", "Cancelled")
    if found is not None and found.state.is_over:
        state, failure = found.state, found.failure
    elif end is not None:
        state = _STATES.get(end.fate, JobState.LOST)
        failure = Failure("local", end.words or "The connection ended before its task was over")
    if end is not None and end.fate is TaskFate.NO_RESULT and state is JobState.DONE:
        state, failure = JobState.FAILED, Failure("server", end.words)
    return Outcome(job, result, failure, state, duration_s, raw)


_STATES: Final = {
    TaskFate.ENDED: JobState.DONE,
    TaskFate.NO_RESULT: JobState.FAILED,
    TaskFate.GIVEN_UP: JobState.CANCELLED,
}
