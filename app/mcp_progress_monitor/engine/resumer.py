"""Resumes jobs: one attempt on request, or attempt after attempt automatically."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.engine import origins
from mcp_progress_monitor.engine.call import AutoResume, Call, Outcome
from mcp_progress_monitor.engine.origins import WatchedServerError, definition_to_add, known_server
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.messages import META, RESUME_TOKEN
from mcp_progress_monitor.store.watched import split_watched_key
from mcp_progress_monitor.tracker.endings import JobEnding
from mcp_progress_monitor.tracker.snapshot import Failure, JobId, JobSnapshot, JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

    from mcp_progress_monitor.engine.keeper import Keeper
    from mcp_progress_monitor.engine.requests import Requests
    from mcp_progress_monitor.engine.updates import LiveTracker
    from mcp_progress_monitor.sessions.connection.connector import Connector
    from mcp_progress_monitor.sessions.connection.manager import SessionManager
    from mcp_progress_monitor.sessions.connection.session import ReconnectPolicy
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.limits import Limits
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.chain import Chain


class ReconnectWait:
    """Tells whether and when a job's server will be reconnected."""

    def __init__(
        self, manager: SessionManager, connector: Connector, origins: Mapping[JobId, Origin]
    ) -> None:
        """`origins` are the jobs with their servers; `connector` reconnects those."""
        self._manager = manager
        self._connector = connector
        self._origins = origins

    def is_due(self, job: JobId) -> bool:
        """Return whether a job's server is about to be reconnected automatically."""
        reconnecting = self._reconnecting(job)
        return reconnecting is not None and reconnecting.is_reconnecting

    def due_at(self, job: JobId) -> float | None:
        """The time of the next reconnect, if one is scheduled."""
        reconnecting = self._reconnecting(job)
        return (
            None
            if reconnecting is None or reconnecting.retry is None
            else reconnecting.retry.due_at
        )

    async def over(self, job: JobId, wake: anyio.Event) -> bool:
        """Wait for the reconnect, or until `wake` is set; whether to continue.

        False if the server was given up meanwhile.
        """
        server = self._server(job)
        if server is None or not self.is_due(job):
            return True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_wake_ends, wake, tasks.cancel_scope)
            await self._connector.reconnected(server)
            tasks.cancel_scope.cancel()
        return wake.is_set() or self._is_up(job)

    def _is_up(self, job: JobId) -> bool:
        server = self._server(job)
        return server is not None and self._manager.snapshot(server).state.is_up

    def _reconnecting(self, job: JobId) -> ReconnectPolicy | None:
        server = self._server(job)
        return None if server is None else self._manager.reconnecting(server)

    def _server(self, job: JobId) -> str | None:
        origin = self._origins.get(job)
        servers = map(self._manager.snapshot, self._manager.names())
        return None if origin is None else known_server(origin, servers, self._manager.key_of)


async def _wake_ends(wake: anyio.Event, scope: anyio.CancelScope) -> None:
    """Cancel `scope` once `wake` is set."""
    await wake.wait()
    scope.cancel()


class _ResumeRun:
    """The attempts of a job, made one at a time; at most one run per job."""

    def __init__(self) -> None:
        self.is_pausing = True
        self.wake = anyio.Event()
        self.over = anyio.Event()
        self.outcome: Outcome | None = None
        self.error: UserError | None = None

    async def joined(self) -> Outcome:
        """The outcome of the run, ending its current pause."""
        self.wake.set()
        await self.over.wait()
        if self.outcome is None:
            raise self.error or UserError(ErrorDetails("Resume cancelled"))
        return self.outcome


class Resumer:
    """Makes the attempts of resumable jobs, never two of one job at a time."""

    def __init__(
        self,
        keeper: Keeper,
        requests: Requests,
        manager: SessionManager,
        live: LiveTracker,
        connector: Connector,
        poll: Callable[[Iterable[JobId]], Awaitable[None]],
        spawn: Callable[[Callable[[JobId], Coroutine[object, object, None]], JobId], None],
    ) -> None:
        """`connector` connects servers; automatic attempts run as tasks of `spawn`.

        `poll` checks what another program did with a job that cannot be claimed.
        """
        self._keeper = keeper
        self._requests = requests
        self._manager = manager
        self._tracker, self._clock, self._publish = live
        self._connector = connector
        self._reconnect_wait = ReconnectWait(manager, connector, keeper.origins)
        self._poll = poll
        self._spawn = spawn
        self._runs: dict[JobId, _ResumeRun] = {}
        self._automatic: dict[JobId, AutoResume] = {}
        self._limits: dict[JobId, Limits] = {}
        self._removed: set[str] = set()
        self._here: dict[str, ServerDefinition] = {}
        self._is_closing = False

    @property
    def size(self) -> int:
        """The number of items kept for resumable jobs, for tests of its bounds."""
        decisions = len(self._runs) + len(self._automatic) + len(self._limits)
        return self._tracker.chains.size + len(self._keeper.origins) + decisions

    @property
    def error(self) -> ErrorDetails | None:
        """Why resume tokens are not saved, to be reported once; None if they are."""
        return self._keeper.error

    def find(self, resume_id: int) -> JobId | None:
        """The job with this saved chain; None if there is none."""
        of = self._tracker.chains.of
        found = (job for job in self._tracker.jobs() if _has_id(of(job), resume_id))
        return next(found, None)

    def close(self) -> None:
        """Start no further attempts."""
        self._is_closing = True
        self._automatic.clear()
        for run in self._runs.values():
            run.wake.set()

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget the settings of jobs that no longer have a row."""
        for job in jobs:
            self._automatic.pop(job, None)
            self._limits.pop(job, None)

    def use_server(self, job: JobId, name: str) -> None:
        """Let a saved job be resumed by another server than the one it began with.

        While this program runs: the saved data does not change.
        """
        definition = self._manager.snapshot(name).definition
        self._keeper.move(job, definition, self._manager.key_of(name))

    def use_here(self, origin: Origin, definition: ServerDefinition) -> None:
        """Use a definition approved by the user to reach a server that another client started.

        While this program runs, for all jobs of that server.
        """
        self._here[origin.server_key] = definition

    def note_removed(self, key: str) -> None:
        """Do not add a removed server again without asking."""
        self._removed.add(key)

    # Requests

    async def resume(
        self,
        job: JobId,
        *,
        auto_resume: AutoResume | None = None,
        use_saved_definition: bool = False,
    ) -> Outcome:
        """Resume a job: send the same request with its newest token.

        The server is connected first if necessary. With `auto_resume`, or if that was switched on,
        attempts follow each other and the outcome is that of the last one.

        Raises:
            ServerChangedError: the server was redefined; `use_saved_definition` starts it as
                saved.
            UserError: the job cannot be resumed, is in flight here or in another program, or
                its
                server cannot be reached.
        """
        while (run := self._runs.get(job)) is not None:
            if not (run.is_pausing or self._can_resume(job)):
                raise UserError(ErrorDetails("This job is already being resumed"))
            if job in self._automatic:
                self._switch(job, auto_resume or self._automatic[job])
                return await run.joined()
            await run.over.wait()  # only its last messages are outstanding
        self._check(job)
        run = self._runs[job] = _ResumeRun()
        if auto_resume is not None:
            self._switch(job, auto_resume)
        try:
            outcome = await self._attempt(run, job, use_saved_definition)
            run.outcome = await self._run_attempts(run, job, outcome)
        except UserError as error:
            run.error = error
            self._switch(job, None)
            raise
        finally:
            self._end(run, job)
        return run.outcome

    def set_automatic(self, job: JobId, automatic: AutoResume | None) -> None:
        """Switch automatic resuming of a job on or off; `UserError` if that is impossible."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        chain = self._tracker.chains.of(job)
        if automatic is None or found is None:
            self._switch(job, None)
            return
        if found.watched_client is not None:
            raise origins.only_watched(found.watched_client, found.server)
        if chain is not None and chain.is_by_hand and found.state is JobState.RESUMABLE:
            what = "The server requires further input: jobs like this are not resumed automatically"
            raise UserError(ErrorDetails(what, found.server, "Resume it manually."))
        if found.state.is_over and not found.can_resume and job not in self._runs:
            self._check(job)
        self._switch(job, automatic)
        if found.can_resume and job not in self._runs:
            self._runs[job] = _ResumeRun()
            self._spawn(self._run_in_background, job)

    async def after_call(self, outcome: Outcome, call: Call, limits: Limits) -> Outcome:
        """Resume a call's job if requested, with the limits that the call ended with."""
        job = outcome.job
        if job is None or outcome.state is not JobState.RESUMABLE:
            if job is not None:
                self._automatic.pop(job, None)
            return outcome
        self._limits[job] = limits
        if call.auto_resume is not None:
            self._switch(job, call.auto_resume)
        if job not in self._automatic or job in self._runs:
            return outcome
        run = self._runs[job] = _ResumeRun()
        try:
            run.outcome = await self._run_attempts(run, job, outcome)
        finally:
            self._end(run, job)
        return run.outcome

    def refuse_known_token(self, call: Call) -> None:
        """Raise `UserError` for a call that would use the resume token of a known job."""
        meta = call.params.get(META)
        if not isinstance(meta, dict) or RESUME_TOKEN not in meta:
            return
        key = self._manager.key_of(call.server)
        job = self._tracker.chains.find(key, call.method, meta[RESUME_TOKEN])
        if job is not None:
            raise UserError(
                ErrorDetails(
                    f"This resume token belongs to job {job}",
                    call.server,
                    "Resume that job instead, so that only one attempt is in flight.",
                )
            )

    # Automatic attempts

    async def _run_in_background(self, job: JobId) -> None:
        """Make attempts that nobody awaits: errors are shown on the job."""
        run = self._runs[job]
        try:
            run.outcome = await self._run_attempts(run, job, None)
        finally:
            self._end(run, job)

    async def _run_attempts(self, run: _ResumeRun, job: JobId, outcome: Outcome | None) -> Outcome:
        """Make attempts while automatic resuming is on and the last one ended resumable."""
        made = fruitless = 0
        while (automatic := self._automatic.get(job)) is not None and (
            _ended_resumable(outcome) or self._awaits_reconnect(job)
        ):
            if made >= automatic.limit:
                self._stop(job, f"Stopped after {automatic.limit:,} automatic attempts")
                break
            is_back = await self._wait_for_server(run, job)
            if not is_back or not await self._pause(run, job, automatic.pause_s(fruitless)):
                break
            made += 1
            fruitless += 1
            reached = self._reached(job)
            try:
                outcome = await self._attempt(run, job, use_saved_definition=False)
            except UserError as error:
                if not self._awaits_reconnect(job):  # else wait for it once more
                    self._stop(job, error.details.what)
                outcome = self._unchanged_outcome(job, error.details.what, outcome)
            if self._reached(job) > reached:
                fruitless = 0
        self._switch(job, None)
        return outcome or self._unchanged_outcome(job, "", None)

    def _reached(self, job: JobId) -> float:
        """The progress of a job's last tick."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return -math.inf if found is None or found.progress is None else found.progress

    def _awaits_reconnect(self, job: JobId) -> bool:
        """Return whether a job stopped because its server ended and is being reconnected."""
        return not self._is_closing and self._can_resume(job) and self._reconnect_wait.is_due(job)

    async def _wait_for_server(self, run: _ResumeRun, job: JobId) -> bool:
        """Wait while the server is being reconnected; whether the attempt can be made."""
        if not self._reconnect_wait.is_due(job):
            return True
        due_at = self._reconnect_wait.due_at(job)
        note = self._tracker.chains.note_automatic
        self._publish(note(job, is_automatic=True, next_attempt_at=due_at))
        run.is_pausing = True
        if await self._reconnect_wait.over(job, run.wake):
            return True
        self._stop(job, "Could not reconnect to the server")
        return False

    async def _pause(self, run: _ResumeRun, job: JobId, seconds: float) -> bool:
        """Wait before an attempt; whether it is still wanted."""
        due_at = self._clock.monotonic() + seconds
        note = self._tracker.chains.note_automatic
        self._publish(note(job, is_automatic=True, next_attempt_at=due_at))
        run.is_pausing = True
        with anyio.move_on_after(seconds):
            await run.wake.wait()
        run.wake = anyio.Event()
        return job in self._automatic and not self._is_closing

    # One attempt

    async def _attempt(self, run: _ResumeRun, job: JobId, use_saved_definition: bool) -> Outcome:
        """Connect the server if necessary, claim the job, send its request, wait for the end."""
        run.is_pausing = False
        self._check(job)
        self._busy(job, "Connecting to the server")
        try:
            server = await self.reach(
                self._keeper.origins[job], use_saved_definition=use_saved_definition
            )
            self._keeper.move_here(
                job, self._manager.snapshot(server), self._manager.key_of(server)
            )
            clash = self._clash(server, self._keeper.origins[job])
            if clash is not None:
                raise UserError(clash)
            began_when = self._clock.wall()
            try:
                await self._keeper.claim(job)
            except UserError:
                await self._poll([job])
                raise
            return await self._send(job, server, began_when)
        finally:
            self._busy(job, "")

    async def reach(self, origin: Origin, *, use_saved_definition: bool = False) -> str:
        """Connect the server of a chain, adding it if unknown; returns its name.

        `WatchedServerError` for another client's job whose command is not approved here.
        """
        watched = split_watched_key(origin.server_key)
        if watched is not None:
            return await self._reach_here(origin, watched[0])
        manager = self._manager
        snapshots = map(manager.snapshot, manager.names())
        name = known_server(origin, snapshots, manager.key_of)
        if name is None:
            definition = definition_to_add(
                origin, manager.names(), self._removed, is_approved=use_saved_definition
            )
            name = manager.add(definition, key=origin.server_key)
        await self._connector.connect(name)
        return name

    async def _reach_here(self, origin: Origin, client: str) -> str:
        """Connect the server approved in place of another client's."""
        definition = self._here.get(origin.server_key)
        if definition is None:
            raise WatchedServerError(origin, client)
        manager = self._manager
        key = definition.job_key
        same = [name for name in manager.names() if manager.newest(name).job_key == key]
        same.sort(key=lambda name: not manager.snapshot(name).state.is_up)
        name = same[0] if same else manager.add(definition)
        await self._connector.connect(name)
        return name

    async def _send(self, job: JobId, server: str, began_when: float) -> Outcome:
        """Send the request of a claimed attempt, and wait for its end."""
        chain, origin = self._tracker.chains.of(job), self._keeper.origins.get(job)
        if chain is None or chain.token is None or origin is None:
            raise UserError(_not_resumable())
        params = origins.resumed(origin.params, chain.token)
        try:
            connection, exchange = self._requests.ask(
                Call(server, origin.method, params, token=None)
            )
        except UserError as error:
            details = self._clash(server, origin) or error.details
            self._note_unsent(job, Failure("local", details.what), began_when)
            await self._keeper.settled(job)
            raise UserError(details) from error
        outcome: Outcome | None = None
        self._tracker.chains.expect(job, connection.id, exchange.outgoing.id)
        try:
            outcome = await self._requests.complete(connection, exchange, self._limits.get(job))
            if job in self._limits:  # keep limits that were changed while it ran
                self._limits[job] = exchange.clock.limits
        finally:
            self._tracker.chains.expect_no_more(connection.id, exchange.outgoing.id)
            if exchange.request is None:
                failure = Failure("local", "The request was never sent")
                self._note_unsent(job, failure if outcome is None else outcome.failure, began_when)
        await self._keeper.settled(job)
        return self._unchanged_outcome(job, "", outcome) if outcome.job is None else outcome

    def _clash(self, server: str, origin: Origin) -> ErrorDetails | None:
        """The error if another request uses the request's progress token; else None."""
        token = origins.progress_token(origin.params)
        try:
            connection = self._manager.connection(server)
        except UserError:  # handled elsewhere
            return None
        if token is None or not connection.outbox.peer.is_token_in_use(token):
            return None
        now = self._clock.monotonic()
        rows = (self._tracker.snapshot(job, now) for job in reversed(self._tracker.jobs()))
        holder = next((row for row in rows if _holds(row, connection.id, token)), None)
        whose = "another request" if holder is None else f"job {holder.id}"
        hint = "Wait for it or cancel it: a resumed request uses the first request's token."
        return ErrorDetails(f"The job's progress token is in use by {whose}", server, hint)

    def _note_unsent(self, job: JobId, failure: Failure | None, began_when: float) -> None:
        """Release a claim whose request was never written."""
        ending = JobEnding(JobState.FAILED, failure)
        now = self._clock.monotonic()
        self._publish(self._tracker.chains.note_unsent(job, ending, began_when, now))

    def _unchanged_outcome(self, job: JobId, text: str, last: Outcome | None) -> Outcome:
        """The outcome of an attempt that was not made: the job's current state, and the reason."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        state = JobState.FAILED if found is None else found.state
        failure = Failure("local", text) if text else (found.failure if found else None)
        resume_id = None if found is None else found.chain
        if last is not None:
            return last._replace(job=job, state=state, failure=failure, resume_id=resume_id)
        return Outcome(job, None, failure, state, 0.0, b"", resume_id)

    # Helpers

    def _can_resume(self, job: JobId) -> bool:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return found is not None and found.can_resume

    def _check(self, job: JobId) -> None:
        """Raise `UserError` unless the job has a token that can be sent."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        chain = self._tracker.chains.of(job)
        if self._is_closing:
            raise UserError(ErrorDetails("The program is closing"))
        if found is None:
            raise UserError(ErrorDetails("Job not found", f"job {job}"))
        if found.watched_client is not None and not found.state.is_over:
            raise origins.only_watched(found.watched_client, found.server)
        if chain is not None and not found.state.is_over:
            raise UserError(ErrorDetails("This job is already being resumed", found.server))
        if chain is None or job not in self._keeper.origins or found.state is JobState.DONE:
            raise UserError(_not_resumable(found.server))
        if chain.token is None:
            hint = "Re-issue the request from the start."
            what = "The server refused this job's resume token"
            raise UserError(ErrorDetails(what, found.server, hint, chain.note))

    def _switch(self, job: JobId, automatic: AutoResume | None) -> None:
        """Switch automatic resuming, and wake a pending attempt."""
        if automatic is None:
            self._automatic.pop(job, None)
            if job in self._runs:
                self._runs[job].wake.set()
        else:
            self._automatic[job] = automatic
        is_automatic = automatic is not None
        found = self._tracker.snapshot(job, self._clock.monotonic())
        if found is not None and (found.is_automatic != is_automatic or found.next_attempt_at):
            note = self._tracker.chains.note_automatic
            self._publish(note(job, is_automatic=is_automatic))

    def _busy(self, job: JobId, text: str) -> None:
        chain = self._tracker.chains.of(job)
        if chain is not None and chain.busy != text:
            self._publish(self._tracker.chains.note_busy(job, text))

    def _stop(self, job: JobId, text: str) -> None:
        """Stop resuming automatically, and show why."""
        self._switch(job, None)
        self._publish(self._tracker.chains.note_reason(job, text))

    def _end(self, run: _ResumeRun, job: JobId) -> None:
        run.over.set()
        if self._runs.get(job) is run:
            del self._runs[job]


def _ended_resumable(outcome: Outcome | None) -> bool:
    """Return whether an attempt ended without a failure, and with a resume token."""
    return outcome is None or (outcome.state is JobState.RESUMABLE and outcome.failure is None)


def _holds(row: JobSnapshot | None, connection: str, token: str | int) -> bool:
    """Return whether a job is running on that connection with this progress token."""
    if row is None or row.state.is_over or row.connection != connection:
        return False
    return type(row.token) is type(token) and row.token == token


def _not_resumable(server: str = "") -> ErrorDetails:
    hint = "Re-issue the request from the start."
    return ErrorDetails("This job cannot be resumed", server, hint)


def _has_id(chain: Chain | None, resume_id: int) -> bool:
    return chain is not None and chain.id == resume_id
