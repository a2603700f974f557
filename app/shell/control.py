"""What the window's wishes do: every signal of a pane ends here, and every task starts here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

from PySide6.QtCore import QObject, Signal, Slot

from app.demo.scenes import DEMO_CALLS
from app.monitor import Call
from app.problem import Problem, ProblemError
from app.widgets.row_actions import is_removable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from app.monitor import Monitor
    from app.sessions.definitions import ServerDefinition
    from app.sessions.limits import Limits
    from app.shell.aio import Tasks
    from app.tracker.snapshot import JobId

P = ParamSpec("P")


class Control(QObject):
    """Turns wishes into calls of the monitor. What goes wrong is told in words, once."""

    consent_wanted = Signal(object, object)
    """Path of a configuration file and its definitions: to be shown before any of them runs."""

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
        self.tell = tell
        """Shows a problem to the user."""

    # Servers

    @Slot(object)
    def add_server(self, definition: ServerDefinition) -> None:
        """Take a server in and connect to it."""
        name = self._monitor.add_server(definition)
        self.connect_server(name)

    @Slot(object)
    def add_servers(self, definitions: Iterable[ServerDefinition]) -> None:
        """Take in several."""
        for definition in definitions:
            self.add_server(definition)

    @Slot(str)
    def connect_server(self, name: str) -> None:
        """Start a server; a failure is told in words."""
        self._tasks.start(f"connect {name}", self._monitor.connect, name)

    @Slot(str)
    def disconnect_server(self, name: str) -> None:
        """Stop a server politely."""
        self._tasks.start(f"disconnect {name}", self._monitor.disconnect, name)

    @Slot(str)
    def remove_server(self, name: str) -> None:
        """Stop a server and forget it; its jobs stay."""
        self._tasks.start(f"remove {name}", self._remove_server, name)

    async def _remove_server(self, name: str) -> None:
        await self._monitor.disconnect(name)
        self._monitor.remove_server(name)

    @Slot(str)
    def open_config(self, path: str) -> None:
        """Read a configuration file; nothing of it runs before consent."""
        from app.sessions.config_file import load_config  # with pydantic: not for every start

        try:
            config = load_config(Path(path))
        except ProblemError as error:
            self.tell(error.problem)
            return
        for problem in config.problems:
            self.tell(problem)
        self.consent_wanted.emit(path, tuple(config.definitions))

    @Slot()
    def start_demo(self) -> None:
        """Connect the bundled server and start its ten calls."""
        self._tasks.start("demo", self._run_demo)

    async def _run_demo(self) -> None:
        from app.sessions.definitions import demo_definition  # with pydantic, as above

        name = self._monitor.add_server(demo_definition())
        await self._monitor.connect(name)
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
