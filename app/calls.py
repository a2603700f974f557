"""Calls: requests, from being asked for to their outcome: a reply, a limit, or another end."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import anyio

from app.problem import ProblemError
from app.protocol.tokens import AUTO
from app.sessions import time_limit
from app.sessions.exchange import End, Limits
from app.sessions.session import not_connected
from app.tracker import endings
from app.tracker.snapshot import Changes, Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from app.protocol.facts import JsonObject
    from app.protocol.tokens import TokenChoice
    from app.sessions.connection import Connection
    from app.sessions.exchange import Exchange
    from app.sessions.manager import Manager
    from app.tracker.snapshot import JobId, JobSnapshot
    from app.tracker.tracker import Tracker


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
    """A request to make of a server. `params` come without `_meta`; limits in seconds, None is off.

    The idle limit counts from the last progress, the total one from the call. With `auto_resume`
    the outcome is that of the last attempt; the limits hold for each.
    """

    server: str
    method: str
    params: JsonObject
    token: TokenChoice = AUTO
    allow_duplicate_token: bool = False
    idle_timeout_s: float | None = 1800
    total_timeout_s: float | None = None
    auto_resume: AutoResume | None = None

    @property
    def limits(self) -> Limits:
        """How long to wait for the reply."""
        return Limits(self.idle_timeout_s, self.total_timeout_s)


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

    def ask(self, call: Call) -> tuple[Connection, Exchange]:
        """Post a request; `ProblemError` when the server is not connected or the token refused."""
        connection = self._manager.connection(call.server)
        try:
            exchange = connection.mail.ask(
                call.method,
                call.params,
                token=call.token,
                allow_duplicate=call.allow_duplicate_token,
            )
        except anyio.ClosedResourceError as error:
            raise ProblemError(not_connected(call.server)) from error
        return connection, exchange

    async def complete(self, connection: Connection, exchange: Exchange, limits: Limits) -> Outcome:
        """Wait for the end of a request. Cancelling cancels it."""
        try:
            end = await exchange.wait(limits, self._now)
        except anyio.get_cancelled_exc_class():
            connection.mail.cancel(exchange, "The caller gave up")
            connection.mail.give_up(exchange, End.CANCELLED)
            raise
        words = ""
        if end in {End.IDLE_TIMEOUT, End.TOTAL_TIMEOUT}:
            words = await self._run_out(connection, exchange, limits)
        job = self._job_of(exchange)
        if job is not None:
            await self._settled(job)
        return self._outcome(exchange, words)

    async def cancel(self, job: JobSnapshot, reason: str) -> None:
        """Ask the server to cancel a job of ours; whoever waits for it goes on waiting."""
        for connection, exchange in self._waiting(job):
            self._publish(self._tracker.note_cancel_requested(job.id))
            connection.mail.cancel(exchange, reason)
            grace_s = self._tracker.cancel_grace_s
            fields = {"request": job.request, "reason": reason, "grace_s": grace_s}
            await connection.tell("cancel_requested", **fields)

    def let_go(self, job: JobId) -> None:
        """Stop waiting for a job that has ended by time alone."""
        found = self._tracker.snapshot(job, self._now())
        for connection, exchange in () if found is None else self._waiting(found):
            connection.mail.give_up(exchange, End.CANCELLED)

    def sent(self, job: JobId) -> bytes | None:
        """The bytes of the job's newest request; None unless its reply is being waited for."""
        found = self._tracker.snapshot(job, self._now())
        waiting = () if found is None else self._waiting(found)
        return next((exchange.outgoing.raw for _, exchange in waiting), None)

    async def _run_out(self, connection: Connection, exchange: Exchange, limits: Limits) -> str:
        """End the job with the story of its silence, then tell the server."""
        job = self._job_of(exchange)
        found = None if job is None else self._tracker.snapshot(job, self._now())
        last_tick_at = None if found is None else found.last_tick_at
        words = time_limit.words(exchange, limits, connection, last_tick_at)
        is_open = True
        if exchange.request is not None:
            with anyio.CancelScope(shield=True):
                await connection.tell("timed_out", request=exchange.request, text=words)
            is_open = connection.mail.exchange_of(exchange.request) is exchange
        if is_open:
            connection.mail.cancel(exchange, "It took too long")
        connection.mail.give_up(exchange, exchange.end or End.IDLE_TIMEOUT)
        return words

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
        return JobState.LOST, Failure("local", "The connection ended before the reply")
    if exchange.end is End.CANCELLED:
        return JobState.CANCELLED, Failure("local", "Cancelled")
    return JobState.TIMED_OUT, Failure("local", words)
