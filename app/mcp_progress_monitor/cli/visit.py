"""A monitor for the length of one command: opened, watched, interruptible, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import anyio

from mcp_progress_monitor.cli.asking.asker import Asker
from mcp_progress_monitor.cli.asking.means import NO_MEANS
from mcp_progress_monitor.cli.asking.rules import WindowRules
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.interrupts import Interrupts
from mcp_progress_monitor.cli.saved import NOTHING_SAVED
from mcp_progress_monitor.cli.sign_ins import SignInTeller
from mcp_progress_monitor.cli.starts import StartTeller
from mcp_progress_monitor.monitor import Monitor
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.sessions.keyring_system import SystemKeyring
from mcp_progress_monitor.sessions.process_guard import guard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from mcp_progress_monitor.cli.asking.means import Means
    from mcp_progress_monitor.cli.asking.rules import Ruled
    from mcp_progress_monitor.cli.front import Front
    from mcp_progress_monitor.cli.output import Output
    from mcp_progress_monitor.cli.recorded import Recorded
    from mcp_progress_monitor.cli.saved import Saved
    from mcp_progress_monitor.monitor import Update
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.log_levels import LogLevel
    from mcp_progress_monitor.sessions.questions import Question
    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

    Work: TypeAlias = Callable[[Monitor], Awaitable[ExitCode]]
    """What a command does with its monitor once that is open."""

_NEWCOMERS_S = 0.1
"""How often to look for jobs, and attempts, that began after the user had asked for their end."""

_CANCEL_GRACE_S = 1.0
"""Most servers never reply to what was cancelled, as the specification asks of them.

Time is looked at once a second: who interrupts waits two seconds at most for those.
"""


class Terms(NamedTuple):
    """What servers are asked for beside the command's work.

    `lists` are read once, as soon as a server is connected: no others, and nothing is listened for,
    so that nothing of ours stands between a request and its answer. `server_log` is the level of
    log messages to ask for.
    """

    lists: frozenset[str] = frozenset({"tools"})
    server_log: LogLevel | None = None


USUAL_TERMS = Terms()


def _owns_all(_job: JobId) -> bool:
    return True


def run_visit(
    output: Output,
    make_front: Callable[[Monitor], Front],
    work: Work,
    recorded: Recorded,
    saved: Saved = NOTHING_SAVED,
    means: Means = NO_MEANS,
    owns: Callable[[JobId], bool] = _owns_all,
    terms: Terms = USUAL_TERMS,
) -> ExitCode:
    """Run a command's `work` with a monitor that records, and keeps resume tokens, as told.

    Questions of servers are answered by `means`; jobs that the command `owns` are those that it
    cancels. `CommandFailed` when `work` raises it, and when
    standard output cannot be written. The servers' processes are gone in every case.
    """
    visit = Visit(output, make_front, work, recorded, saved, means, owns, terms)
    anyio.run(visit.run)
    return visit.verdict()


async def connected(monitor: Monitor, definition: ServerDefinition) -> ServerSnapshot:
    """A server of the monitor's, taken in and connected; `CommandFailed` when it cannot be."""
    try:
        name = monitor.add_server(definition)
        return await monitor.connect(name)
    except ProblemError as error:
        raise CommandFailed(ExitCode.NOT_CONNECTED, error.problem) from error


class Visit:
    """The course of one command; `run` goes through it once, `verdict` tells the end."""

    def __init__(
        self,
        output: Output,
        make_front: Callable[[Monitor], Front],
        work: Work,
        recorded: Recorded,
        saved: Saved,
        means: Means,
        owns: Callable[[JobId], bool],
        terms: Terms,
    ) -> None:
        """Nothing is started yet."""
        self._output = output
        self._make_front = make_front
        self._work = work
        self._recorded = recorded
        self._saved = saved
        self._means = means
        self._owns = owns
        self._uncancelled: set[JobId] = set()
        self._told: set[Problem] = set()
        self._rules = WindowRules(recorded.folder, means.answers, terms.server_log)
        self._monitor = Monitor(
            store=saved.store,
            restores=saved.restores,
            cancel_grace_s=_CANCEL_GRACE_S,
            recorder=recorded.recorder,
            settings=self._rules,
            keyring=SystemKeyring(),
            folder=recorded.folder,
            lists=terms.lists,
            follows_lists=False,
        )
        self._code = ExitCode.CANCELLED
        self._failure: CommandFailed | None = None
        self._defect: Exception | None = None

    async def run(self) -> None:
        """Open, work, close; interruptible at every point."""
        front = self._make_front(self._monitor)
        asker = self._asker = Asker(self._monitor, front, self._means, self._ruled)
        try:
            with Interrupts(self._output, guard.end_all) as interrupts:
                interrupts.divert = asker.interrupt
                async with anyio.create_task_group() as group:
                    scope = anyio.CancelScope()
                    self._output.on_gone = scope.cancel
                    group.start_soon(self._attend, interrupts, scope, front)
                    async with self._monitor as monitor:
                        monitor.subscribe(self._listener(front, scope))
                        monitor.subscribe(asker.on_update)
                        monitor.subscribe(SignInTeller(monitor, front).on_update)
                        monitor.subscribe(StartTeller(monitor, front).on_update)
                        self._warn(front)
                        with scope:
                            await self._work_shown(front)
                    self._warn(front)
                    group.cancel_scope.cancel()
        finally:
            front.close()

    def verdict(self) -> ExitCode:
        """The exit code; raises `CommandFailed` with what prevented the work."""
        if self._defect is not None:
            raise self._defect
        self._output.check()
        if self._failure is not None:
            raise self._failure
        return self._code

    def _ruled(self, question: Question) -> Ruled | None:
        """What is set for the questions of a server, whatever it is called here."""
        definition = self._monitor.server(question.server).definition
        return self._rules.automatic(definition.fingerprint, question.kind)

    def _listener(self, front: Front, scope: anyio.CancelScope) -> Callable[[Update], None]:
        """Pass updates on; a defect of ours ends the command instead of every update's silence.

        What they tell is in the recording's file before anything is printed.
        """

        def listen(update: Update) -> None:
            if self._defect is None:
                try:
                    self._recorded.recorder.flush()
                    front.on_update(update)
                except Exception as error:  # noqa: BLE001 - raised again in verdict()
                    self._defect = error
                    scope.cancel()

        return listen

    async def _work_shown(self, front: Front) -> None:
        async with anyio.create_task_group() as animation:
            animation.start_soon(front.animate)
            animation.start_soon(self._asker.run)
            try:
                self._code = await self._work(self._monitor)
            except CommandFailed as failure:
                self._failure = failure
                front.fail(failure)
            else:
                self._asker.tell_unused()
            animation.cancel_scope.cancel()

    def _warn(self, front: Front) -> None:
        """Tell, once, why resume tokens or a recording cannot be kept: it goes on without."""
        kept = (self._saved.problem, self._monitor.store_problem)
        recorded = (self._recorded.problem, self._recorded.recorder.problem)
        for problem in (*kept, *recorded, self._rules.problem):
            if problem is not None and problem not in self._told:
                self._told.add(problem)
                front.warn(problem)

    async def _attend(self, interrupts: Interrupts, scope: anyio.CancelScope, front: Front) -> None:
        """Act on Ctrl+C: cancel what runs and wait for it; leave when there is nothing to cancel.

        The second time, `Interrupts` has ended the servers' processes already.
        """
        await interrupts.polite.wait()
        self._asker.stop()
        if interrupts.firm.is_set():
            front.terminate()
        elif self._busy():
            front.interrupt()
        else:
            scope.cancel()
        while not interrupts.firm.is_set():
            for job in self._busy():
                await self._cancel(job.id, front)
            with anyio.move_on_after(_NEWCOMERS_S):
                await interrupts.firm.wait()
        self._monitor.leave_tasks()  # who leaves at once has not asked them to stop, or in vain
        front.leave()  # before the loop can learn that the servers' processes are gone
        scope.cancel()

    async def _cancel(self, job: JobId, front: Front) -> None:
        """Cancel a job, which does nothing where it was asked before; tell if it cannot be."""
        if job in self._uncancelled:
            return
        try:
            await self._monitor.cancel(job)
        except ProblemError as error:
            self._uncancelled.add(job)
            front.warn(error.problem)

    def _busy(self) -> list[JobSnapshot]:
        """Jobs of ours that run, or wait to be resumed automatically."""
        found = map(self._monitor.snapshot, self._monitor.jobs())
        return [
            job
            for job in found
            if job is not None
            and job.sender is Side.CLIENT
            and self._owns(job.id)
            and (job.task is None or job.task.is_followed)
            and (not job.state.is_over or job.next_attempt_at is not None)
        ]
