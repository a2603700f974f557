"""Lists and cancels the tasks of a server, and subscribes to its resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.messages import CANCEL_TASK, TASK_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.tasks.dialog import ListedTask, TasksDialog
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobId


class TasksController(QObject):
    """Connects task lists and resource subscriptions to the engine.

    Each server has one dialog, which shows errors while it is open.
    """

    def __init__(
        self,
        parent: QWidget,
        engine: Engine,
        tasks: BackgroundTasks,
        appearance: Appearance,
        report: Callable[[ErrorDetails], None],
        open_job: Callable[[JobId], None],
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._engine = engine
        self._tasks = tasks
        self._appearance = appearance
        self._report = report
        self._open_job = open_job
        self._dialogs: dict[str, TasksDialog] = {}

    @Slot(str)
    def show_tasks(self, server: str) -> None:
        """Open the list of a server's tasks, and load it."""
        dialog = self._dialogs.get(server)
        if dialog is None:
            from mcp_progress_monitor.gui.tasks.dialog import TasksDialog

            dialog = TasksDialog(server, self._appearance, self._parent)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.refresh_requested.connect(self._on_refresh_requested)
            dialog.cancel_requested.connect(self._on_cancel_requested)
            dialog.job_opened.connect(self._open_job)
            dialog.finished.connect(self._on_finished)
            self._dialogs[server] = dialog
            dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        dialog.ask()

    @Slot(str, str, bool)
    def subscribe(self, server: str, uri: str, is_wanted: bool) -> None:
        try:
            self._engine.servers.subscribe_resource(server, uri, is_wanted=is_wanted)
        except UserError as error:
            self._report(error.details)

    async def _list(self, server: str) -> None:
        try:
            listed = await self._engine.tasks.list_at(server)
        except UserError as error:
            self._show_error(server, error.details)
            return
        dialog = self._dialogs.get(server)
        if dialog is not None:
            from mcp_progress_monitor.gui.tasks.dialog import ListedTask

            find = self._engine.tasks.job_of
            dialog.show_tasks([ListedTask(view, find(server, view.id)) for view in listed.items])
            if listed.error is not None:
                dialog.show_error(listed.error)

    async def _cancel(self, server: str, listed: ListedTask) -> None:
        """Cancel a task: through its job if that has not ended, otherwise by its id."""
        try:
            found = None if listed.job is None else self._engine.jobs.snapshot(listed.job)
            if found is not None and not found.state.is_over:
                await self._engine.calls.cancel(found.id)
            else:
                await self._cancel_alone(server, listed.view.id)
        except UserError as error:
            self._show_error(server, error.details)
        else:
            await self._list(server)

    async def _cancel_alone(self, server: str, task: str) -> None:
        call = Call(server, CANCEL_TASK, {TASK_ID: task}, token=None)
        outcome = await self._engine.calls.make(call)
        if outcome.failure is not None:
            what = f"Cannot cancel the task: {outcome.failure.message}"
            raise UserError(ErrorDetails(what, server))

    def _show_error(self, server: str, error: ErrorDetails) -> None:
        dialog = self._dialogs.get(server)
        if dialog is None:
            self._report(error)
        else:
            dialog.show_error(error)

    def _asking(self) -> TasksDialog | None:
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

    @Slot()
    def _on_finished(self) -> None:
        self._dialogs = {
            name: each for name, each in self._dialogs.items() if each is not self.sender()
        }
