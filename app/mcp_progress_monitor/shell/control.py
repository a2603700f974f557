"""What the window's wishes do: every signal of a pane ends here, and every task starts here."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final, ParamSpec

from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.monitor import Call
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.connect_failure import not_connected
from mcp_progress_monitor.widgets.row_actions import is_removable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.limits import Limits
    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.tracker.snapshot import JobId

P = ParamSpec("P")

_AT_ONCE: Final = 8
"""How many of many servers are started at the same time: each has a limit to be ready in."""


class Control(QObject):
    """Turns wishes into calls of the monitor. What goes wrong is told in words, once."""

    turns_changed = Signal(object)
    """The names of the servers that are to be connected when their turn comes."""

    def __init__(
        self,
        monitor: Monitor,
        tasks: Tasks,
        tell: Callable[[Problem], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._monitor = monitor
        self._tasks = tasks
        self._turn: collections.deque[str] = collections.deque()
        self._taking_turns = 0
        self.tell = tell
        """Shows a problem to the user."""

    # Servers

    @Slot(object)
    def add_server(self, definition: ServerDefinition) -> None:
        """Take a server in and connect to it."""
        name = self._monitor.add_server(definition)
        self.connect_server(name)

    @Slot(str)
    def connect_server(self, name: str) -> None:
        """Start a server; a failure is told in words."""
        self._forgo_turn(name)
        self._tasks.start(f"connect {name}", self._unless_unwanted, self._monitor.connect, name)

    def connect_servers(self, names: Iterable[str]) -> None:
        """Start several servers in their order, a few at the same time; failures are told."""
        self._turn.extend(names)
        for _ in range(min(_AT_ONCE - self._taking_turns, len(self._turn))):
            self._taking_turns += 1
            self._tasks.start("connect in turn", self._connect_in_turn)
        self._tell_turns()

    async def _connect_in_turn(self) -> None:
        """Connect one after the other of those whose turn has not come, and which still wait."""
        try:
            while self._turn:
                name = self._turn.popleft()
                self._tell_turns()
                if name not in self._monitor.server_names():
                    continue  # removed or disabled meanwhile
                try:
                    await self._unless_unwanted(self._monitor.connect, name)
                except ProblemError as error:
                    self.tell(error.problem)
        finally:
            self._taking_turns -= 1

    def _forgo_turn(self, name: str) -> None:
        if name in self._turn:
            self._turn.remove(name)
            self._tell_turns()

    def _tell_turns(self) -> None:
        self.turns_changed.emit(frozenset(self._turn))

    @Slot(str)
    def disconnect_server(self, name: str) -> None:
        """Stop a server politely; one that waits for its turn is not to be started."""
        self._forgo_turn(name)
        self._tasks.start(f"disconnect {name}", self._monitor.disconnect, name)

    @Slot(str)
    def restart_server(self, name: str) -> None:
        """Stop a server and start it again."""
        self._tasks.start(f"restart {name}", self._unless_unwanted, self._monitor.restart, name)

    async def _unless_unwanted(
        self, connect: Callable[[str], Coroutine[object, object, object]], name: str
    ) -> None:
        """Connect a server; that the user disconnected it meanwhile is no news to the user."""
        try:
            await connect(name)
        except ProblemError as error:
            if error.problem != not_connected(name):
                raise

    @Slot()
    def start_demo(self) -> None:
        """Connect the bundled server and start its ten calls."""
        self._tasks.start("demo", self._run_demo)

    async def _run_demo(self) -> None:
        from mcp_progress_monitor.demo.scenes import DEMO_CALLS  # late: no start waits for it
        from mcp_progress_monitor.sessions.definitions import (
            demo_definition,  # with pydantic, as above
        )

        name = self._monitor.add_server(demo_definition())
        await self._unless_unwanted(self._monitor.connect, name)
        if not self._monitor.server(name).state.is_up:
            return
        for scene in DEMO_CALLS:
            params = {"name": scene.tool, "arguments": dict(scene.arguments)}
            self.call(Call(server=name, method="tools/call", params=params))

    # Jobs

    @Slot(object)
    def call(self, call: Call) -> None:
        """Start a call; it becomes a job as soon as it is written."""
        self._tasks.start(f"{call.method} on {call.server}", self._monitor.call, call)

    @Slot(object)
    def cancel(self, jobs: Iterable[JobId]) -> None:
        """Ask the servers to cancel `jobs`."""
        for job in jobs:
            self._tasks.start(f"cancel job {job}", self._monitor.cancel, job)

    @Slot(object)
    def reconnect_streams(self, jobs: Iterable[JobId]) -> None:
        """Take up the HTTP streams again that the replies to `jobs` are due on."""
        for job in jobs:
            self._told(self._monitor.reconnect_stream, job)

    @Slot(object, object)
    def extend(self, job: JobId, step: Limits) -> None:
        """Move the limits of a job on by the seconds in `step`."""
        self._told(self._monitor.extend, job, idle_s=step.idle_s or 0, total_s=step.total_s or 0)

    @Slot(object, object)
    def set_limits(self, job: JobId, limits: Limits) -> None:
        """Give a job other limits while it runs."""
        self._told(self._monitor.set_limits, job, limits)

    def _told(self, work: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
        """Do what takes no time; what is wrong with it is told."""
        try:
            work(*given, **named)
        except ProblemError as error:
            self.tell(error.problem)

    @Slot(object)
    def remove(self, jobs: Iterable[JobId]) -> None:
        """Take jobs that are over out of the list."""
        self._monitor.remove_jobs(jobs)

    @Slot()
    def remove_finished(self) -> None:
        """Take all jobs that are over out of the list, but for those that can be gone on with."""
        self._monitor.remove_jobs(self._over())

    def _over(self) -> list[JobId]:
        found = (self._monitor.snapshot(job) for job in self._monitor.jobs())
        return [job.id for job in found if job is not None and is_removable(job)]
