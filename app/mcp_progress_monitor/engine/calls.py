"""Makes, cancels and re-issues calls."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.engine.call import Call, Outcome, SeriesEnd
from mcp_progress_monitor.engine.origins import (
    from_the_start,
    only_watched,
    origin_params,
    token_like,
)
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.sessions.arguments import check_in_thread, check_value, named_tool
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.call import CallSeries
    from mcp_progress_monitor.engine.keeper import Keeper
    from mcp_progress_monitor.engine.requests import Requests
    from mcp_progress_monitor.engine.resumer import Resumer
    from mcp_progress_monitor.engine.servers import Servers
    from mcp_progress_monitor.engine.updates import LiveTracker
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.arguments import Checked
    from mcp_progress_monitor.sessions.connection.clocks import CallClock
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.snapshots.limits import DefaultLimits, Limit, Limits
    from mcp_progress_monitor.store.chains import Origin


class Calls:
    """Our requests: send, cancel, extend limits, re-issue."""

    def __init__(
        self,
        requests: Requests,
        resumer: Resumer,
        keeper: Keeper,
        manager: SessionManager,
        servers: Servers,
        live: LiveTracker,
        origin_of: Callable[[JobId], Origin],
    ) -> None:
        """Jobs that stop resumable go to `resumer`; `servers` connects servers.

        `origin_of` returns the request of another client's job with its server.
        """
        self._origin_of = origin_of
        self._requests = requests
        self._resumer = resumer
        self._keeper = keeper
        self._manager = manager
        self._servers = servers
        self._tracker, self._clock, self._publish = live
        self._turn = anyio.Lock()
        self._integers = itertools.count(int(live.clock.wall() * 1000))

    @property
    def default_limits(self) -> DefaultLimits:
        """The limits of future calls for which neither user nor server set any."""
        return self._requests.default_limits

    @default_limits.setter
    def default_limits(self, limits: DefaultLimits) -> None:
        self._requests.default_limits = limits

    def trace(self, new_traceparent: Callable[[object], object] | None) -> None:
        """Send a trace context with each call and attempt, made of one that is there, or None."""
        self._requests.new_traceparent = new_traceparent

    async def make(self, call: Call) -> Outcome:
        """Send a request and wait for a reply, a timeout or the server's end.

        Never raises for what a server does. `UserError` if the server is not connected, or a
        progress token or limit is refused. Cancelling cancels the request.
        """
        self._resumer.refuse_known_token(call)
        await self._manager.listed(call.server)
        async with self._turn:  # one in a turn of the loop: a thousand at once would hold it
            connection, exchange = self._requests.ask(call)
        outcome = await self._requests.complete(connection, exchange)
        return await self._resumer.after_call(outcome, call, exchange.clock.limits)

    async def make_series(
        self,
        series: CallSeries,
        may_start: Callable[[int], bool] = lambda _count: True,
        on_end: Callable[[JobId], object] = lambda _job: None,
    ) -> SeriesEnd:
        """Make many calls and wait for all; `on_end` is called with each job that has ended.

        `may_start` is asked before each, with the number of calls including it; the first False
        ends the series. So does the first call that cannot be made: its `UserError` is raised after
        the others have ended. Cancelling cancels all.
        """
        refused: list[UserError] = []
        jobs: list[JobId] = []
        began = self._clock.monotonic()
        free = anyio.Semaphore(series.at_once or len(series.calls))

        async def make(call: Call) -> None:
            async with free:
                started.set()
                try:
                    outcome = await self.make(call)
                except UserError as error:
                    refused.append(error)
                else:
                    for job in () if outcome.job is None else (outcome.job,):
                        jobs.append(job)
                        on_end(job)

        async with anyio.create_task_group() as tasks:
            for count, call in enumerate(series.calls, 1):
                async with free:  # wait for a free slot
                    pass
                if count > 1 and series.pause_s:
                    await anyio.sleep(series.pause_s)
                if refused or not may_start(count):
                    break
                started = anyio.Event()
                tasks.start_soon(make, call)
                await started.wait()
        if refused:
            raise refused[0]
        return SeriesEnd(tuple(jobs), len(series.calls), self._clock.monotonic() - began)

    async def cancel(self, job: JobId, reason: str = "Cancelled by the user") -> None:
        """Ask the server to cancel a job of ours; does nothing if already asked.

        `make` keeps waiting. The job ends when the server confirms, or after the grace period. A
        resumable job stays resumable, but is not resumed automatically.
        """
        found = self._snapshot(job)
        if found is None or found.state is JobState.CANCELLING:
            return
        if found.watched_client is not None:
            raise only_watched(found.watched_client, found.server)
        if found.is_automatic:
            self._resumer.set_automatic(job, None)
        if not found.state.is_over:
            await self._requests.cancel(found, reason)

    async def reissue(self, job: JobId) -> Outcome:
        """Send a job's request again from the start: work may be done twice.

        It becomes a new job, with a new progress token of the same kind. Errors as for `reach`.
        """
        call = await self.reach(job)
        return await self.make(call._replace(params=from_the_start(call.params)))

    async def reach(self, job: JobId) -> Call:
        """Connect the server of a job and return its request, to send it again.

        `UserError` if the job or its server no longer exists, or the request is not available.
        `WatchedServerError` for a job of another client whose server is not approved here.
        """
        detail = self._tracker.detail(job, self._clock.monotonic())
        if detail is None:
            raise _no_such_job(job)
        origin = self._keeper.origins.get(job)
        if origin is None and detail.snapshot.watched_client is not None:
            origin = self._origin_of(job)
        if origin is None:
            server, params = detail.snapshot.server, origin_params(None, detail.params)
            await self._servers.connect(server)
        else:
            server, params = await self._resumer.reach(origin), origin.params
        token = token_like(detail.snapshot.token, self._integers)
        return Call(server, detail.snapshot.method, params, token)

    async def check_arguments(self, server: str, tool: str, arguments: JsonObject) -> Checked:
        """Say how `arguments` violate the tool's schema, and what could not be checked.

        `UserError` if there is no such server or tool.
        """
        schema = named_tool(self._manager.snapshot(server), tool).input_schema
        return await check_in_thread(functools.partial(check_value, schema, arguments))

    def reconnect_stream(self, job: JobId) -> None:
        """Resume the HTTP stream that carries a job's reply, immediately.

        For servers that went silent on it; this also happens automatically after a while.
        `UserError` if there is no such stream.
        """
        found = self._snapshot(job)
        if found is None:
            raise _no_such_job(job)
        waiting = self._requests.waiting(job)
        if not any(connection.reconnect_stream(found.request) for connection, _ in waiting):
            what = "This job is not waiting for a reply on a stream that can be reconnected"
            hint = "Only an interrupted HTTP stream that was resumed can be reconnected."
            raise UserError(ErrorDetails(what, f"job {job}", hint))

    def extend(self, job: JobId, *, idle_s: float = 0.0, total_s: float = 0.0) -> None:
        """Extend the limits of a job that are not disabled.

        `UserError` if there are none, or the job is not being waited for.
        """
        self._ticking(job).extend(idle_s, total_s)
        self._publish(ChangeSet(progressed=frozenset({job})))

    def set_limits(self, job: JobId, limits: Limits) -> None:
        """Set the limits of a running job; None and 0 disable them. `UserError` as above."""
        self._ticking(job).set_limits(limits)
        self._publish(ChangeSet(progressed=frozenset({job})))

    def turn_limit(self, job: JobId, limit: Limit, *, is_on: bool) -> None:
        """Turn a limit of a running job off, or on again. `UserError` as above."""
        clock = self._ticking(job)
        if is_on:
            clock.turn_on(limit, self._clock.monotonic())
        else:
            clock.turn_off(limit)
        self._publish(ChangeSet(progressed=frozenset({job})))

    def _ticking(self, job: JobId) -> CallClock:
        clock = self._requests.clock_of(job)
        if clock is None:
            what = "This job has no limits to change: it is not waiting for a reply"
            raise UserError(ErrorDetails(what, f"job {job}"))
        return clock

    def _snapshot(self, job: JobId) -> JobSnapshot | None:
        return self._tracker.snapshot(job, self._clock.monotonic())


def _no_such_job(job: JobId) -> UserError:
    return UserError(ErrorDetails("Job not found", f"job {job}"))
