"""One request from sending to outcome, with its time limits and its cancel."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import LATEST_HANDSHAKE
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.protocol.messages import CALL_TOOL, META, TRACEPARENT
from mcp_progress_monitor.protocol.tasks import TaskAugmentation, TaskOffer, params_with_task
from mcp_progress_monitor.sessions.arguments import check_in_thread, check_output
from mcp_progress_monitor.sessions.connection.clocks import CallClock, Hold
from mcp_progress_monitor.sessions.connection.connection import evidence, queued_text
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, PendingRequest
from mcp_progress_monitor.sessions.tasks import TaskFate, TaskRun
from mcp_progress_monitor.snapshots.limits import (
    DEFAULT_LIMITS,
    DefaultLimits,
    Limit,
    Limits,
    chosen_limits,
    usual_limits,
)
from mcp_progress_monitor.snapshots.servers import not_connected
from mcp_progress_monitor.tracker import endings
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Failure, JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp_progress_monitor.engine.task_runs import TaskRuns
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.tracker.tracker import Tracker

_SHOWN: Final = 60


def timeout_report(
    exchange: PendingRequest, connection: Connection, last_tick_at: float | None
) -> str:
    """A report of why `exchange` reached a limit of its clock, in several lines."""
    waited = formatting.duration(connection.now() - exchange.made_at)
    outstanding = f"{exchange.method} (id {exchange.outgoing.id}) has no reply after {waited}"
    if exchange.request is None:
        outstanding += "; it was never sent"
    limit = Limit.TOTAL if exchange.end is ExchangeEnd.TOTAL_TIMEOUT else Limit.IDLE
    others = connection.outbox.due_count - 1
    return _report(limit, exchange.clock, outstanding, connection, last_tick_at, others)


def task_timeout_report(
    run: TaskRun, limit: Limit, made_at: float, last_tick_at: float | None
) -> str:
    """A report of why a task is no longer waited for after `limit`, in several lines."""
    connection, view = run.connection, run.view
    waited = formatting.duration(connection.now() - made_at)
    name, status = formatting.one_line(view.id, _SHOWN), formatting.one_line(view.status, _SHOWN)
    outstanding = f"task {name} has not finished after {waited}; its status is {status!r}"
    others = connection.outbox.due_count
    return _report(limit, run.clock, outstanding, connection, last_tick_at, others)


def _report(
    limit: Limit,
    clock: CallClock,
    outstanding: str,
    connection: Connection,
    last_tick_at: float | None,
    others: int,
) -> str:
    """`others` is the number of other requests pending at the server."""
    now = connection.now()
    last_byte, last_tick = _since(connection.last_received_at, now), _since(last_tick_at, now)
    last = f"Last byte from the server: {last_byte}. Last tick: {last_tick}"
    unread = queued_text(connection.outbox)
    parts = [
        f"{_limit(limit, clock.limits)}: {outstanding}.",
        f"{unread}." if unread else "",
        f"{last}. {_wire(connection, others)}.",
        evidence(connection),
    ]
    return "\n".join(filter(None, parts))


def _limit(limit: Limit, limits: Limits) -> str:
    if limit is Limit.TOTAL:
        return f"Total timeout of {_limit_text(limits.total_s)} reached"
    return f"Idle timeout of {_limit_text(limits.idle_s)} reached"


def _limit_text(seconds: float | None) -> str:
    """A limit as it was entered: without a fraction if it has none."""
    whole = int(seconds or 0)
    return formatting.duration(whole if whole == seconds else seconds or 0.0)


def _wire(connection: Connection, others: int) -> str:
    """Say whether the server is still running, and whether only this call is waiting."""
    state = _state(connection)
    if others > 0:
        return f"{state}; {formatting.count(others, 'other request')} pending"
    return f"{state}; no other request is pending"


def _state(connection: Connection) -> str:
    if connection.is_http:
        if connection.failure is not None:
            return f"The connection ended: {connection.failure.what}"
        return "The HTTP connection is still open"
    code = connection.exit_code
    process = f"The server's process {connection.pid}"
    return f"{process} is running" if code is None else f"{process} has exited ({code})"


def _since(at: float | None, now: float) -> str:
    return "none" if at is None else formatting.ago(now - at)


_TOO_LONG: Final = "Timed out"


class Requests:
    """Sends requests and waits for their outcomes: replies or the ends of tasks."""

    def __init__(
        self,
        manager: SessionManager,
        tracker: Tracker,
        publish: Callable[[ChangeSet], None],
        settled: Callable[[JobId], Awaitable[None]],
        runs: TaskRuns,
        now: Callable[[], float],
    ) -> None:
        """Changes go to `publish`; `settled` waits until a job's end is saved.

        A reply that begins a task is followed by `runs`, which also cancels tasks.
        """
        self._manager = manager
        self._tracker = tracker
        self._publish = publish
        self._settled = settled
        self._runs = runs
        self._now = now
        self.default_limits: DefaultLimits = DEFAULT_LIMITS
        """Limits of calls for which neither user nor server set any."""
        self.new_traceparent: Callable[[object], object] | None = None
        """Makes the trace context of each request of that of its sender, while they are traced."""

    def ask(self, call: Call, clock: CallClock | None = None) -> tuple[Connection, PendingRequest]:
        """Send a request, with the clock of the call that it continues or a new one.

        `UserError` if the server is not connected, or the token or a limit is refused.
        """
        connection = self._manager.connection(call.server)
        limits = self._limits_of(call)
        try:
            exchange = connection.outbox.ask(
                call.method,
                self._params_of(call, connection),
                token=call.token,
                allow_duplicate=call.allow_duplicate_token,
                clock=clock,
            )
        except anyio.ClosedResourceError as error:
            raise UserError(not_connected(call.server)) from error
        if clock is None:
            exchange.clock.set_limits(limits)
        return connection, exchange

    def _params_of(self, call: Call, connection: Connection) -> JsonObject:
        # Not by a snapshot: that takes as long as all the rest, and a thousand calls may be made.
        session = self._manager.session(call.server)
        agreement = None if session is None else session.agreement
        tools = () if session is None else session.tools
        tool = call.params.get("name") if call.method == CALL_TOOL else None
        support = next((t.task_support for t in tools if t.name == tool), None)
        return params_with_task(
            call.method,
            self._traced(call.params),
            TaskAugmentation(call.as_task, call.task_ttl_ms),
            TaskOffer.of(LATEST_HANDSHAKE, {})
            if agreement is None
            else TaskOffer.of(agreement.revision, agreement.capabilities),
            support,
            connection.outbox.peer.stamps,
        )

    def _traced(self, params: JsonObject) -> JsonObject:
        """The parameters with a trace context in `_meta`: a child of one that is there."""
        meta = params.get(META, {})
        if self.new_traceparent is None or not isinstance(meta, dict):
            return params
        return {**params, META: {**meta, TRACEPARENT: self.new_traceparent(meta.get(TRACEPARENT))}}

    def _limits_of(self, call: Call) -> Limits:
        server = self._manager.definition(call.server)
        usual = usual_limits(
            call.method, server.idle_timeout_s, server.total_timeout_s, self.default_limits
        )
        return chosen_limits(call.idle_timeout_s, call.total_timeout_s, usual)

    async def complete(
        self, connection: Connection, exchange: PendingRequest, limits: Limits | None = None
    ) -> Outcome:
        """Wait for the end of a request; without `limits`, with those of its clock.

        Cancelling cancels it.
        """
        try:
            end = await exchange.wait(limits, self._now)
        except anyio.get_cancelled_exc_class():
            connection.outbox.send_cancel(exchange, "Cancelled by the caller")
            connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
            raise
        finally:
            self._stop_clock(self._job_of(exchange), exchange.clock)
        text = ""
        if end in {ExchangeEnd.IDLE_TIMEOUT, ExchangeEnd.TOTAL_TIMEOUT}:
            text = await self._run_out(connection, exchange)
        job = self._job_of(exchange)
        if job is not None:
            await self._settled(job)
            run = await self._runs.begin(connection, exchange, job)
            if run is not None:
                return await self.complete_task(run, job, exchange.made_at)
        outcome = self._outcome(exchange, text)
        if exchange.request is not None:
            await self._check_output(connection, exchange.request, outcome)
        return outcome

    async def complete_task(self, run: TaskRun, job: JobId, made_at: float) -> Outcome:
        """Wait for the end of a job's task. Cancelling cancels the task."""
        with self.keeping(job, run.clock):
            try:
                reached = await run.clock.until(run.has_ended, self._now)
            except anyio.get_cancelled_exc_class():
                run.give_up("Cancelled by the caller")
                raise
        if reached is None:
            await run.settled.wait()
        else:
            found = self._tracker.snapshot(job, self._now())
            tick_at = None if found is None else found.last_tick_at
            text = task_timeout_report(run, reached, made_at, tick_at)
            with anyio.CancelScope(shield=True):
                await run.connection.record_event("timed_out", request=run.request, text=text)
            run.give_up(text)
        found = self._tracker.snapshot(job, self._now())
        outcome = task_outcome(job, found, run, self._now() - made_at)
        await self._check_output(run.connection, run.request, outcome)
        return outcome

    async def cancel(self, job: JobSnapshot, reason: str) -> None:
        """Ask the server to cancel a job of ours; its caller keeps waiting."""
        if await self._runs.cancel(job, reason):
            return
        for connection, exchange in self.waiting(job.id):
            self._publish(self._tracker.note_cancel_requested(job.id))
            connection.outbox.send_cancel(exchange, reason)
            # Once its stream is closed, nothing more can arrive for a request: no grace period is
            # needed.
            grace_s = 0.0 if connection.outbox.closes_streams else self._tracker.cancel_grace_s
            fields = {"request": job.request, "reason": reason, "grace_s": grace_s}
            await connection.record_event("cancel_requested", **fields)

    def release(self, job: JobId) -> None:
        """Stop waiting for a job that was ended by the clock."""
        for connection, exchange in self.waiting(job):
            connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)

    # Clocks

    def hold(self, connection: str, job: JobId | None) -> Hold:
        """Hold the clocks of a job while a question to the user is open.

        Without a job, hold those of all calls on the connection: any may be the one that asks.
        """
        if job is not None:
            found = self.clock_of(job)
            return Hold([] if found is None else [found], self._now)
        served = self._manager.connection_of(connection)
        return Hold([] if served is None else served.outbox.clocks(), self._now)

    def hold_for(self, question: Question) -> Hold:
        """Hold the clocks of the call that a question is about."""
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
        """Use `clock` for a job whose request was answered, and which continues."""
        self._tracker.set_clock(job, clock)
        try:
            yield
        finally:
            self._stop_clock(job, clock)

    def clock_of(self, job: JobId) -> CallClock | None:
        """The clock of a job that we wait for; None for others."""
        clock = self._tracker.clock_of(job)
        return clock if isinstance(clock, CallClock) else None

    def _stop_clock(self, job: JobId | None, clock: CallClock) -> None:
        if job is not None and self._tracker.clock_of(job) is clock:
            self._tracker.set_clock(job, None)

    def held_by(self, question: Question) -> tuple[JobId, ...]:
        """The jobs whose clocks an open question holds; empty if unknown."""
        made = None if question.job is None else self._tracker.snapshot(question.job, self._now())
        return () if made is None else tuple(filter(None, (made.id, made.parent)))

    # Helpers

    def waiting(self, job: JobId) -> tuple[()] | tuple[tuple[Connection, PendingRequest]]:
        """The pending exchange of a job of ours, if there is one."""
        made = self._tracker.request_of(job)
        connection = None if made is None else self._manager.connection_of(made.connection)
        if made is None or connection is None:
            return ()
        exchange = connection.outbox.exchange_of(made.number)
        return () if exchange is None else ((connection, exchange),)

    def sent(self, job: JobId) -> bytes | None:
        """The bytes of the job's newest request; None unless its reply is pending."""
        return next((exchange.outgoing.raw for _, exchange in self.waiting(job)), None)

    async def _run_out(self, connection: Connection, exchange: PendingRequest) -> str:
        """End a job with a timeout report, then cancel its request."""
        job = self._job_of(exchange)
        found = None if job is None else self._tracker.snapshot(job, self._now())
        last_tick_at = None if found is None else found.last_tick_at
        report = timeout_report(exchange, connection, last_tick_at)
        is_open = True
        if exchange.request is not None:
            with anyio.CancelScope(shield=True):
                await connection.record_event("timed_out", request=exchange.request, text=report)
            is_open = connection.outbox.exchange_of(exchange.request) is exchange
        if is_open and not (found and await self._runs.cancel(found, _TOO_LONG)):
            connection.outbox.send_cancel(exchange, _TOO_LONG)
        connection.outbox.give_up(exchange, exchange.end or ExchangeEnd.IDLE_TIMEOUT)
        return report

    async def _check_output(self, connection: Connection, request: int, outcome: Outcome) -> None:
        """Record how a result violates its tool's output schema, if it does."""
        schema = self._output_schema(connection, outcome)
        if schema is None:
            return
        found = await check_in_thread(functools.partial(check_output, schema, outcome.raw))
        if found.violations or found.unchecked:
            await connection.record_event(
                "output_checked",
                request=request,
                problems=found.violations,
                unchecked=[*found.unchecked],
            )

    def _output_schema(self, connection: Connection, outcome: Outcome) -> JsonObject | None:
        """The schema that a call's result must match; None without a result or a schema."""
        if outcome.job is None or outcome.state is not JobState.DONE or not outcome.raw:
            return None
        # Not by a snapshot of the server, and mostly by none of the job: a thousand calls may end.
        session = self._manager.session(server_name(connection.id))
        tools = () if session is None else session.tools
        if not any("outputSchema" in tool.raw for tool in tools):
            return None
        job = self._tracker.snapshot(outcome.job, self._now())
        if job is None or job.method != CALL_TOOL:
            return None
        tool = next((tool for tool in tools if tool.name == job.name), None)
        schema = None if tool is None else tool.raw.get("outputSchema")
        return schema if isinstance(schema, dict) else None

    def _outcome(self, exchange: PendingRequest, text: str) -> Outcome:
        """The outcome of an exchange: from its job, or else from how it ended."""
        job, reply = self._job_of(exchange), exchange.reply
        found = None if job is None else self._tracker.snapshot(job, self._now())
        state, failure = _state_of(exchange, text)
        resume_id = None
        if found is not None and found.state.is_over:
            state, failure = found.state, found.failure
            resume_id = found.chain if state is JobState.RESUMABLE else None
        ended_at = self._now() if reply is None else reply.at
        result = None if reply is None else reply.result
        length_s = ended_at - exchange.made_at
        return Outcome(job, result, failure, state, length_s, exchange.raw, resume_id)

    def _job_of(self, exchange: PendingRequest) -> JobId | None:
        return None if exchange.request is None else self._tracker.job_of(exchange.request)


def _state_of(exchange: PendingRequest, text: str) -> tuple[JobState, Failure | None]:
    if exchange.reply is not None:
        ending = endings.of_answer(exchange.reply)
        return ending.state, ending.failure
    if exchange.end is ExchangeEnd.LOST:
        text = exchange.reason or "The connection ended before the reply"
        return JobState.LOST, Failure("local", text)
    if exchange.end is ExchangeEnd.CANCELLED:
        return JobState.CANCELLED, Failure("local", exchange.reason or "Cancelled")
    if exchange.end is ExchangeEnd.GIVEN_UP:
        return JobState.FAILED, Failure("local", exchange.reason)
    return JobState.TIMED_OUT, Failure("local", text)


def task_outcome(job: JobId, found: JobSnapshot | None, run: TaskRun, duration_s: float) -> Outcome:
    """The outcome of a task: from its job if that has ended, else from how following it ended."""
    end = run.end
    result, raw = (None, b"") if end is None else (end.result, end.raw)
    state: JobState = JobState.CANCELLED
    failure: Failure | None = Failure("local", "Cancelled")
    if found is not None and found.state.is_over:
        state, failure = found.state, found.failure
    elif end is not None:
        state = _STATES.get(end.fate, JobState.LOST)
        failure = Failure("local", end.text or "The connection ended before its task was finished")
    if end is not None and end.fate is TaskFate.NO_RESULT and state is JobState.DONE:
        state, failure = JobState.FAILED, Failure("server", end.text)
    return Outcome(job, result, failure, state, duration_s, raw)


_STATES: Final = {
    TaskFate.ENDED: JobState.DONE,
    TaskFate.NO_RESULT: JobState.FAILED,
    TaskFate.GIVEN_UP: JobState.CANCELLED,
}
