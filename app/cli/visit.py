"""One server for the length of one command: opened, watched, interruptible, closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from app.cli.exits import CommandFailed, ExitCode
from app.cli.interrupts import Interrupts
from app.monitor import Monitor
from app.problem import Problem, ProblemError
from app.protocol.facts import Side
from app.sessions import process_group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from app.cli.front import Front
    from app.cli.output import Output
    from app.monitor import Update
    from app.sessions.definitions import ServerDefinition
    from app.sessions.snapshot import ServerSnapshot
    from app.tracker.snapshot import JobId

    Work: TypeAlias = Callable[[Monitor, ServerSnapshot], Awaitable[ExitCode]]
    """What a command does with its server once it is connected."""

_NEWCOMERS_S = 0.1
"""How often to look for jobs that began after the user had already asked for their end."""


def run_visit(
    definition: ServerDefinition,
    output: Output,
    make_front: Callable[[Monitor], Front],
    work: Work,
) -> ExitCode:
    """Run a command's `work` with one server and return its exit code.

    `CommandFailed` when the server cannot be connected to, when `work` raises it, and when
    standard output cannot be written. The server's processes are gone in every case.
    """
    visit = Visit(definition, output, make_front, work)
    anyio.run(visit.run)
    return visit.verdict()


class Visit:
    """The course of one command; `run` goes through it once, `verdict` tells the end."""

    def __init__(
        self,
        definition: ServerDefinition,
        output: Output,
        make_front: Callable[[Monitor], Front],
        work: Work,
    ) -> None:
        """Nothing is started yet."""
        self._definition = definition
        self._output = output
        self._make_front = make_front
        self._work = work
        self._monitor = Monitor()
        self._code = ExitCode.CANCELLED
        self._failure: CommandFailed | None = None
        self._defect: Exception | None = None

    async def run(self) -> None:
        """Connect, work, disconnect; interruptible at every point."""
        front = self._make_front(self._monitor)
        try:
            with Interrupts(self._output, self._end_servers) as interrupts:
                async with anyio.create_task_group() as group:
                    scope = anyio.CancelScope()
                    self._output.on_gone = scope.cancel
                    group.start_soon(self._attend, interrupts, scope, front)
                    async with self._monitor as monitor:
                        monitor.subscribe(self._listener(front, scope))
                        with scope:
                            await self._work_shown(front)
                    group.cancel_scope.cancel()
        finally:
            front.close()

    def verdict(self) -> ExitCode:
        """The exit code; raises `CommandFailed` with what prevented the work."""
        if self._defect is not None:
            raise self._defect
        if self._output.failure is not None:
            reason = self._output.failure.strerror or str(self._output.failure)
            problem = Problem("Standard output cannot be written", detail=reason)
            raise CommandFailed(ExitCode.UNWRITABLE, problem) from self._output.failure
        if self._failure is not None:
            raise self._failure
        return self._code

    def _listener(self, front: Front, scope: anyio.CancelScope) -> Callable[[Update], None]:
        """Pass updates on; a defect of ours ends the command instead of every update's silence."""

        def listen(update: Update) -> None:
            if self._defect is None:
                try:
                    front.on_update(update)
                except Exception as error:  # noqa: BLE001 - raised again in verdict()
                    self._defect = error
                    scope.cancel()

        return listen

    async def _work_shown(self, front: Front) -> None:
        async with anyio.create_task_group() as animation:
            animation.start_soon(front.animate)
            try:
                self._code = await self._connect_and_work()
            except CommandFailed as failure:
                self._failure = failure
                front.fail(failure)
            animation.cancel_scope.cancel()

    async def _connect_and_work(self) -> ExitCode:
        name = self._monitor.add_server(self._definition)
        try:
            server = await self._monitor.connect(name)
        except ProblemError as error:
            raise CommandFailed(ExitCode.NOT_CONNECTED, error.problem) from error
        return await self._work(self._monitor, server)

    async def _attend(self, interrupts: Interrupts, scope: anyio.CancelScope, front: Front) -> None:
        """Act on Ctrl+C: cancel what runs and wait for it; leave when there is nothing to cancel.

        The second time, `Interrupts` has ended the servers' processes already.
        """
        await interrupts.polite.wait()
        asked: set[JobId] = set()
        if self._running():
            front.interrupt()
        else:
            scope.cancel()
        while not interrupts.firm.is_set():
            for job in self._running() - asked:
                asked.add(job)
                await self._monitor.cancel(job)
            with anyio.move_on_after(_NEWCOMERS_S):
                await interrupts.firm.wait()
        scope.cancel()

    def _running(self) -> set[JobId]:
        found = map(self._monitor.snapshot, self._monitor.jobs())
        return {
            job.id
            for job in found
            if job is not None and job.sender is Side.CLIENT and not job.state.is_over
        }

    def _end_servers(self) -> None:
        for server in self._monitor.servers():
            if server.pid is not None and server.state.is_up:
                process_group.kill(server.pid)
