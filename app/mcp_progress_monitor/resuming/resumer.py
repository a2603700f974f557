"""Goes on with resumable jobs: one attempt when asked to, or attempt after attempt by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.calls import AutoResume, Call, Outcome
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.resuming import parameters
from mcp_progress_monitor.resuming.comeback import Comebacks
from mcp_progress_monitor.resuming.servers import definition_to_add, known_server
from mcp_progress_monitor.tracker.endings import Ending
from mcp_progress_monitor.tracker.snapshot import Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from mcp_progress_monitor.calls import Calls
    from mcp_progress_monitor.resuming.keeper import Keeper
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.connector import Connector
    from mcp_progress_monitor.sessions.limits import Limits
    from mcp_progress_monitor.sessions.manager import Manager
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Tracker


class _Drive:
    """Somebody who makes a job's attempts, one at a time; there is at most one for each job."""

    def __init__(self) -> None:
        self.is_pausing = True
        self.wake = anyio.Event()
        self.over = anyio.Event()
        self.outcome: Outcome | None = None
        self.error: ProblemError | None = None

    async def joined(self) -> Outcome:
        """What the attempts come to, without waiting for the pause under way."""
        self.wake.set()
        await self.over.wait()
        if self.outcome is None:
            raise self.error or ProblemError(Problem("Resuming was given up"))
        return self.outcome


class Resumer:
    """Makes attempts of resumable jobs, never two of one job at a time."""

    def __init__(
        self,
        keeper: Keeper,
        calls: Calls,
        manager: Manager,
        tracker: Tracker,
        clock: Clock,
        publish: Callable[[Changes], None],
        connector: Connector,
        look: Callable[[Iterable[JobId]], Awaitable[None]],
        spawn: Callable[[Callable[[JobId], Coroutine[object, object, None]], JobId], None],
    ) -> None:
        """Servers are connected by `connector`; what goes on by itself runs as a task of `spawn`.

        `look` finds out what another program has made of a job that cannot be claimed.
        """
        self._keeper = keeper
        self._calls = calls
        self._manager = manager
        self._tracker = tracker
        self._clock = clock
        self._publish = publish
        self._connector = connector
        self._comebacks = Comebacks(manager, connector, keeper.origins)
        self._look = look
        self._spawn = spawn
        self._drives: dict[JobId, _Drive] = {}
        self._automatic: dict[JobId, AutoResume] = {}
        self._limits: dict[JobId, Limits] = {}
        self._removed: set[str] = set()
        self._is_closing = False

    @property
    def size(self) -> int:
        """How many decisions on jobs are kept."""
        return len(self._drives) + len(self._automatic) + len(self._limits)

    def close(self) -> None:
        """Begin no further attempt."""
        self._is_closing = True
        self._automatic.clear()
        for drive in self._drives.values():
            drive.wake.set()

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget what was decided on jobs that have no row any more."""
        for job in jobs:
            self._automatic.pop(job, None)
            self._limits.pop(job, None)

    def use_server(self, job: JobId, name: str) -> None:
        """Let a saved job be resumed by another server than it was begun with."""
        definition = self._manager.snapshot(name).definition
        self._keeper.move(job, definition, self._manager.key_of(name))

    def note_removed(self, key: str) -> None:
        """The user removed a server: it is not brought back without asking."""
        self._removed.add(key)

    # Wishes

    async def resume(
        self, job: JobId, automatic: AutoResume | None, *, use_saved_definition: bool
    ) -> Outcome:
        """Make the next attempt, and further ones while the job is to go on by itself."""
        while (drive := self._drives.get(job)) is not None:
            if not (drive.is_pausing or self._rests(job)):
                raise ProblemError(Problem("This job is being resumed already"))
            if job in self._automatic:
                self._switch(job, automatic or self._automatic[job])
                return await drive.joined()
            await drive.over.wait()  # it has ended but for its last words
        self._check(job)
        drive = self._drives[job] = _Drive()
        if automatic is not None:
            self._switch(job, automatic)
        try:
            outcome = await self._attempt(drive, job, use_saved_definition)
            drive.outcome = await self._go_on(drive, job, outcome)
        except ProblemError as error:
            drive.error = error
            self._switch(job, None)
            raise
        finally:
            self._end(drive, job)
        return drive.outcome

    def set_automatic(self, job: JobId, automatic: AutoResume | None) -> None:
        """Go on with a job by itself from now on, or no more; `ProblemError` if that cannot be."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        chain = self._tracker.chains.of(job)
        if automatic is None or found is None:
            self._switch(job, None)
            return
        if chain is not None and chain.is_by_hand and found.state is JobState.RESUMABLE:
            what = "The server asks for a further step: such a job is not resumed automatically"
            raise ProblemError(Problem(what, found.server, "Resume it by hand."))
        if found.state.is_over and not found.can_resume and job not in self._drives:
            self._check(job)
        self._switch(job, automatic)
        if found.can_resume and job not in self._drives:
            self._drives[job] = _Drive()
            self._spawn(self._drive_alone, job)

    async def after_call(self, outcome: Outcome, call: Call, limits: Limits) -> Outcome:
        """Go on with what a call began, if that is wanted, by the limits that it ended with."""
        job = outcome.job
        if job is None or outcome.state is not JobState.RESUMABLE:
            if job is not None:
                self._automatic.pop(job, None)
            return outcome
        self._limits[job] = limits
        if call.auto_resume is not None:
            self._switch(job, call.auto_resume)
        if job not in self._automatic or job in self._drives:
            return outcome
        drive = self._drives[job] = _Drive()
        try:
            drive.outcome = await self._go_on(drive, job, outcome)
        finally:
            self._end(drive, job)
        return drive.outcome

    def refuse_known_token(self, call: Call) -> None:
        """`ProblemError` for a call that would resume a job behind its back."""
        meta = call.params.get("_meta")
        if not isinstance(meta, dict) or "resumeToken" not in meta:
            return
        key = self._manager.key_of(call.server)
        job = self._tracker.chains.find(key, call.method, meta["resumeToken"])
        if job is not None:
            raise ProblemError(
                Problem(
                    f"This resume token is that of job {job}",
                    call.server,
                    "Resume that job instead, so that only one attempt is in flight.",
                )
            )

    # Attempts by themselves

    async def _drive_alone(self, job: JobId) -> None:
        """Make attempts without anyone waiting for them: what goes wrong is told by the job."""
        drive = self._drives[job]
        try:
            drive.outcome = await self._go_on(drive, job, None)
        finally:
            self._end(drive, job)

    async def _go_on(self, drive: _Drive, job: JobId, outcome: Outcome | None) -> Outcome:
        """Make attempts while the job is to go on by itself, and the last one stopped well."""
        made = 0
        while (automatic := self._automatic.get(job)) is not None and (
            _stopped_well(outcome) or self._comes_back(job)
        ):
            if made >= automatic.limit:
                self._stop(job, f"Stopped after {automatic.limit:,} automatic attempts")
                break
            is_back = await self._server_is_back(drive, job)
            if not is_back or not await self._pause(drive, job, automatic.pause_s(made)):
                break
            made += 1
            try:
                outcome = await self._attempt(drive, job, use_saved_definition=False)
            except ProblemError as error:
                if not self._comes_back(job):  # else it ended once more, and is waited for again
                    self._stop(job, error.problem.what)
                outcome = self._standing_outcome(job, error.problem.what, outcome)
        self._switch(job, None)
        return outcome or self._standing_outcome(job, "", None)

    def _comes_back(self, job: JobId) -> bool:
        """Whether a job rests because its server ended, which is connected again by itself."""
        return not self._is_closing and self._rests(job) and self._comebacks.is_due(job)

    async def _server_is_back(self, drive: _Drive, job: JobId) -> bool:
        """Wait while the server is being connected again; whether it was, or is not waited for."""
        if not self._comebacks.is_due(job):
            return True
        due_at = self._comebacks.due_at(job)
        note = self._tracker.chains.note_automatic
        self._publish(note(job, is_automatic=True, next_attempt_at=due_at))
        drive.is_pausing = True
        if await self._comebacks.over(job, drive.wake):
            return True
        self._stop(job, "The server was not connected again")
        return False

    async def _pause(self, drive: _Drive, job: JobId, seconds: float) -> bool:
        """Wait before an attempt; whether it is still wanted."""
        due_at = self._clock.monotonic() + seconds
        note = self._tracker.chains.note_automatic
        self._publish(note(job, is_automatic=True, next_attempt_at=due_at))
        drive.is_pausing = True
        with anyio.move_on_after(seconds):
            await drive.wake.wait()
        drive.wake = anyio.Event()
        return job in self._automatic and not self._is_closing

    # One attempt

    async def _attempt(self, drive: _Drive, job: JobId, use_saved_definition: bool) -> Outcome:
        """Connect the server if need be, claim the job, send its request, wait for the end."""
        drive.is_pausing = False
        self._check(job)
        self._busy(job, "Connecting to the server")
        try:
            server = await self.reach(
                self._keeper.origins[job], use_saved_definition=use_saved_definition
            )
            clash = self._clash(server, self._keeper.origins[job])
            if clash is not None:
                raise ProblemError(clash)
            began_when = self._clock.wall()
            try:
                await self._keeper.claim(job)
            except ProblemError:
                await self._look([job])
                raise
            return await self._send(job, server, began_when)
        finally:
            self._busy(job, "")

    async def reach(self, origin: Origin, *, use_saved_definition: bool = False) -> str:
        """Connect the server of a chain, adding it if it is not known; its name."""
        manager = self._manager
        snapshots = map(manager.snapshot, manager.names())
        name = known_server(origin, snapshots, manager.key_of)
        if name is None:
            definition = definition_to_add(
                origin, manager.names(), self._removed, is_agreed=use_saved_definition
            )
            name = manager.add(definition, key=origin.server_key)
        await self._connector.connect(name)
        return name

    async def _send(self, job: JobId, server: str, began_when: float) -> Outcome:
        """Send the request of an attempt that was claimed, and wait for its end."""
        chain, origin = self._tracker.chains.of(job), self._keeper.origins.get(job)
        if chain is None or chain.token is None or origin is None:
            raise ProblemError(_not_resumable())
        params = parameters.resumed(origin.params, chain.token)
        try:
            connection, exchange = self._calls.ask(Call(server, origin.method, params, token=None))
        except ProblemError as error:
            problem = self._clash(server, origin) or error.problem
            self._note_unsent(job, Failure("local", problem.what), began_when)
            await self._keeper.settled(job)
            raise ProblemError(problem) from error
        outcome: Outcome | None = None
        self._tracker.chains.expect(job, connection.id, exchange.outgoing.id)
        try:
            outcome = await self._calls.complete(connection, exchange, self._limits.get(job))
            if job in self._limits:  # what was changed while it ran holds on
                self._limits[job] = exchange.clock.limits
        finally:
            self._tracker.chains.expect_no_more(connection.id, exchange.outgoing.id)
            if exchange.request is None:
                failure = Failure("local", "The request was never written")
                self._note_unsent(job, failure if outcome is None else outcome.failure, began_when)
        await self._keeper.settled(job)
        return self._standing_outcome(job, "", outcome) if outcome.job is None else outcome

    def _clash(self, server: str, origin: Origin) -> Problem | None:
        """Why the request cannot be sent while another one has its progress token."""
        token = parameters.progress_token(origin.params)
        try:
            connection = self._manager.connection(server)
        except ProblemError:  # gone meanwhile, which is another story
            return None
        if token is None or not connection.mail.peer.is_token_in_use(token):
            return None
        now = self._clock.monotonic()
        rows = (self._tracker.snapshot(job, now) for job in reversed(self._tracker.jobs()))
        holder = next((row for row in rows if _holds(row, connection.id, token)), None)
        whose = "another request" if holder is None else f"job {holder.id}"
        hint = "Wait for it or cancel it: a resumed request has the token of the first one."
        return Problem(f"The job's progress token is in use by {whose}", server, hint)

    def _note_unsent(self, job: JobId, failure: Failure | None, began_when: float) -> None:
        """Give back a claim whose request was never written."""
        ending = Ending(JobState.FAILED, failure)
        now = self._clock.monotonic()
        self._publish(self._tracker.chains.note_unsent(job, ending, began_when, now))

    def _standing_outcome(self, job: JobId, words: str, last: Outcome | None) -> Outcome:
        """The outcome of an attempt that never was: the job as it stands, and why."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        state = JobState.FAILED if found is None else found.state
        failure = Failure("local", words) if words else (found.failure if found else None)
        resume_id = None if found is None else found.chain
        if last is not None:
            return last._replace(job=job, state=state, failure=failure, resume_id=resume_id)
        return Outcome(job, None, failure, state, 0.0, b"", resume_id)

    # The rest

    def _rests(self, job: JobId) -> bool:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return found is not None and found.can_resume

    def _check(self, job: JobId) -> None:
        """`ProblemError` unless the job rests on a token that can be sent."""
        found = self._tracker.snapshot(job, self._clock.monotonic())
        chain = self._tracker.chains.of(job)
        if self._is_closing:
            raise ProblemError(Problem("The program is closing"))
        if found is None:
            raise ProblemError(Problem("There is no such job", f"job {job}"))
        if chain is not None and not found.state.is_over:
            raise ProblemError(Problem("This job is being resumed already", found.server))
        if chain is None or job not in self._keeper.origins or found.state is JobState.DONE:
            raise ProblemError(_not_resumable(found.server))
        if chain.token is None:
            hint = "Re-issue the request from the start."
            what = "The server refused this job's resume token"
            raise ProblemError(Problem(what, found.server, hint, chain.note))

    def _switch(self, job: JobId, automatic: AutoResume | None) -> None:
        """Decide on going on by itself; who waits for the next attempt is told."""
        if automatic is None:
            self._automatic.pop(job, None)
            if job in self._drives:
                self._drives[job].wake.set()
        else:
            self._automatic[job] = automatic
        is_automatic = automatic is not None
        found = self._tracker.snapshot(job, self._clock.monotonic())
        if found is not None and (found.is_automatic != is_automatic or found.next_attempt_at):
            note = self._tracker.chains.note_automatic
            self._publish(note(job, is_automatic=is_automatic))

    def _busy(self, job: JobId, words: str) -> None:
        chain = self._tracker.chains.of(job)
        if chain is not None and chain.busy != words:
            self._publish(self._tracker.chains.note_busy(job, words))

    def _stop(self, job: JobId, words: str) -> None:
        """Go on by itself no more, and say why."""
        self._switch(job, None)
        self._publish(self._tracker.chains.note_reason(job, words))

    def _end(self, drive: _Drive, job: JobId) -> None:
        drive.over.set()
        if self._drives.get(job) is drive:
            del self._drives[job]


def _stopped_well(outcome: Outcome | None) -> bool:
    """Whether an attempt ended with nothing but a token to go on with."""
    return outcome is None or (outcome.state is JobState.RESUMABLE and outcome.failure is None)


def _holds(row: JobSnapshot | None, connection: str, token: str | int) -> bool:
    """Whether a job is going on, on that connection, with a progress token of ours."""
    if row is None or row.state.is_over or row.connection != connection:
        return False
    return type(row.token) is type(token) and row.token == token


def _not_resumable(server: str = "") -> Problem:
    hint = "Re-issue the request from the start."
    return Problem("This job cannot be resumed", server, hint)
