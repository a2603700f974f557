"""What the window does with the tasks that servers know, and with news of their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from mcp_progress_monitor.monitor import Call
from mcp_progress_monitor.problem import Problem, ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.models.server_tasks import ListedTask
    from mcp_progress_monitor.monitor import Monitor
    from mcp_progress_monitor.shell.aio import Tasks
    from mcp_progress_monitor.shell.main_window import MainWindow
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.widgets.appearance import Appearance
    from mcp_progress_monitor.widgets.tasks_dialog import TasksDialog


class Tasking(QObject):
    """Joins the lists of tasks and the resources followed to a window; a child of that.

    One dialog for each server; what goes wrong in it is told in it, as long as it is open.
    """

    def __init__(
        self,
        window: MainWindow,
        monitor: Monitor,
        tasks: Tasks,
        appearance: Appearance,
        tell: Callable[[Problem], None],
        open_job: Callable[[JobId], None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._monitor = monitor
        self._tasks = tasks
        self._appearance = appearance
        self._tell = tell
        self._open_job = open_job
        self._dialogs: dict[str, TasksDialog] = {}
        window.servers.tasks_requested.connect(self.show_tasks)
        window.servers.subscription_requested.connect(self.subscribe)

    @Slot(str)
    def show_tasks(self, server: str) -> None:
        """Open the list of a server's tasks, and fill it."""
        dialog = self._dialogs.get(server)
        if dialog is None:
            from mcp_progress_monitor.widgets.tasks_dialog import (
                TasksDialog,  # as in `dialogs`: not for every start
            )

            dialog = TasksDialog(server, self._appearance, self._window)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.refresh_requested.connect(self._on_refresh_requested)
            dialog.cancel_requested.connect(self._on_cancel_requested)
            dialog.job_opened.connect(self._on_job_opened)
            dialog.finished.connect(self._on_finished)
            self._dialogs[server] = dialog
            dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        dialog.ask()

    @Slot(str, str, bool)
    def subscribe(self, server: str, uri: str, is_wanted: bool) -> None:
        """Be told when a resource changes, or no more."""
        try:
            self._monitor.subscribe_resource(server, uri, is_wanted=is_wanted)
        except ProblemError as error:
            self._tell(error.problem)

    async def _list(self, server: str) -> None:
        try:
            views = await self._monitor.list_tasks(server)
        except ProblemError as error:
            self._show_problem(server, error.problem)
            return
        dialog = self._dialogs.get(server)
        if dialog is not None:
            from mcp_progress_monitor.models.server_tasks import ListedTask

            find = self._monitor.task_job
            dialog.show_tasks([ListedTask(view, find(server, view.id)) for view in views])

    async def _cancel(self, server: str, listed: ListedTask) -> None:
        """Cancel a task: with its job if there is one that is not over, else by its id alone."""
        try:
            found = None if listed.job is None else self._monitor.snapshot(listed.job)
            if found is not None and not found.state.is_over:
                await self._monitor.cancel(found.id)
            else:
                await self._cancel_alone(server, listed.view.id)
        except ProblemError as error:
            self._show_problem(server, error.problem)
        else:
            await self._list(server)

    async def _cancel_alone(self, server: str, task: str) -> None:
        call = Call(server, "tasks/cancel", {"taskId": task}, token=None)
        outcome = await self._monitor.call(call)
        if outcome.failure is not None:
            what = self.tr("The task was not cancelled: {}").format(outcome.failure.message)
            raise ProblemError(Problem(what, server))

    def _show_problem(self, server: str, problem: Problem) -> None:
        dialog = self._dialogs.get(server)
        if dialog is None:
            self._tell(problem)
        else:
            dialog.show_problem(problem)

    def _asking(self) -> TasksDialog | None:
        """The dialog that speaks."""
        return next((each for each in self._dialogs.values() if each is self.sender()), None)

    @Slot()
    def _on_refresh_requested(self) -> None:
        dialog = self._asking()
        if dialog is not None:
            self._tasks.start(f"list tasks of {dialog.server}", self._list, dialog.server)

    @Slot(object)
    def _on_cancel_requested(self, listed: ListedTask) -> None:
        dialog = self._asking()
        if dialog is not None:
            name = f"cancel a task of {dialog.server}"
            self._tasks.start(name, self._cancel, dialog.server, listed)

    @Slot(object)
    def _on_job_opened(self, job: JobId) -> None:
        self._open_job(job)

    @Slot()
    def _on_finished(self) -> None:
        self._dialogs = {
            name: each for name, each in self._dialogs.items() if each is not self.sender()
        }
