"""The tasks of a server: list, open as jobs, cancel."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QHeaderView, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import count, one_line, visible
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import plain_label, push_button, set_text_colour
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row
from mcp_progress_monitor.gui.common.tables import PlainTable, TitledTable
from mcp_progress_monitor.gui.page_commands import CANCEL_TASK, REFRESH_TASKS
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone
from mcp_progress_monitor.protocol.facts import parsed_moment
from mcp_progress_monitor.protocol.messages import is_terminal
from mcp_progress_monitor.wording.jobs import line, moment
from mcp_progress_monitor.wording.statuses import status_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.protocol.facts import TaskView
    from mcp_progress_monitor.tracker.snapshot import JobId

LISTED: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `ListedTask`
TITLES: Final = ("Id", "Status", "Message", "Created", "Kept for", "Job")
_Index = QModelIndex | QPersistentModelIndex


class ListedTask(NamedTuple):
    """A task as listed by its server, and its job if there is one."""

    view: TaskView
    job: JobId | None


class ServerTasksModel(TitledTable):
    """One row for each task, in the server's order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TITLES, parent)
        self._rows: Sequence[ListedTask] = ()

    def show_tasks(self, tasks: Sequence[ListedTask]) -> None:
        self.beginResetModel()
        self._rows = tasks
        self.endResetModel()

    def row_of(self, task: str) -> int | None:
        return next((row for row, each in enumerate(self._rows) if each.view.id == task), None)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        listed = self._rows[index.row()]
        if role == LISTED:
            return listed
        return _text(listed)[index.column()] if role == Qt.ItemDataRole.DisplayRole else None


def _text(listed: ListedTask) -> tuple[str, ...]:
    view = listed.view
    job = "none" if listed.job is None else f"job {listed.job}"
    return (
        line(view.id) or "(empty id)",
        status_text(view.status),
        line(view.message or ""),
        _created(view),
        _kept(view),
        job,
    )


def _created(view: TaskView) -> str:
    when = parsed_moment(view.created)
    return line(view.created or "") if when is None else moment(when)


def _kept(view: TaskView) -> str:
    """The task's time to live after its creation, and how much of it is left."""
    if view.ttl_ms is None:
        return "unknown"
    length_s = min(view.ttl_ms, 1e15) / 1000
    when = parsed_moment(view.created)
    if when is None:
        return formatting.duration(length_s)
    left_s = max(when + length_s - time.time(), 0.0)
    text = "{length}, {left} left"
    return text.format(
        length=formatting.duration(length_s), left=formatting.duration(math.ceil(left_s))
    )


_SECOND_MS = 1000
_ID, _MESSAGE = 0, 2


class TasksDialog(QDialog):
    """A table of one server's tasks; every action is a signal."""

    refresh_requested = Signal()
    cancel_requested = Signal(object)  # the `ListedTask` to be cancelled
    job_opened = Signal(object)  # `JobId` of the task

    def __init__(self, server: str, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.server = server
        self.setWindowTitle(f"Tasks on {visible(server[:60])}")
        self.model = ServerTasksModel(self)
        self.table = PlainTable(self.model, "Tasks on the server", self)
        self.table.setFrameShape(self.table.Shape.StyledPanel)
        self.table.activated.connect(self._on_open)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.message = plain_label(self)
        self.refresh = push_button(self, "&Refresh")
        KeyAction(REFRESH_TASKS, self, self.refresh.click, self.refresh)
        self.cancel = push_button(self, "Cancel &task")
        KeyAction(CANCEL_TASK, self, self.cancel.click, self.cancel)
        self.open_job = push_button(self, "&Open job", "Open the job of the task (Enter)")
        self.refresh.clicked.connect(self.ask)
        self.cancel.clicked.connect(self._on_cancel)
        self.open_job.clicked.connect(self._on_open)
        self._second = QTimer(self, interval=_SECOND_MS)
        self._second.timeout.connect(self.table.viewport().update)
        self._second.start()
        self._lay_out()
        fit_to_screen(self, QSize(880, 340))

    @Slot()
    def ask(self) -> None:
        self.refresh.setEnabled(False)
        self._show_note("Loading tasks…", Tone.MUTED)
        self.refresh_requested.emit()

    def show_tasks(self, tasks: Sequence[ListedTask]) -> None:
        before = self._selected()
        self.model.show_tasks(tasks)
        self.refresh.setEnabled(True)
        self._show_note(count(len(tasks), "task", "tasks"), Tone.MUTED)
        row = None if before is None else self.model.row_of(before.view.id)
        if tasks:
            self.select(row or 0)
        self._enable()

    def show_error(self, error: ErrorDetails) -> None:
        """Show why a request failed; the list stays unchanged."""
        self.refresh.setEnabled(True)
        self._show_note(one_line(error.as_text(), 600), Tone.BAD)

    def _lay_out(self) -> None:
        header = self.table.horizontalHeader()
        for column in (_ID, _MESSAGE):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        digit = self.table.fontMetrics().horizontalAdvance("0")
        for column, digits in ((1, 18), (3, 15), (4, 24), (5, 9)):
            self.table.setColumnWidth(column, digit * digits)
        close = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        close.rejected.connect(self.reject)
        buttons = in_row(self.refresh, self.cancel, self.open_job, 0, close, spacing=GAP)
        in_column((self.table, 1), self.message, buttons, of=self)
        self._enable()

    def select(self, row: int) -> None:
        """Select a row, regardless of modifier keys, which affect Qt's `selectRow`."""
        flags = QItemSelectionModel.SelectionFlag
        wanted = flags.ClearAndSelect | flags.Rows
        self.table.selectionModel().setCurrentIndex(self.model.index(row, 0), wanted)

    def _selected(self) -> ListedTask | None:
        rows = self.table.selectionModel().selectedRows()
        listed = rows[0].data(LISTED) if rows else None
        return listed if isinstance(listed, ListedTask) else None

    def _show_note(self, text: str, tone: Tone) -> None:
        self.message.setText(text)
        set_text_colour(self.message, self._appearance, tone)

    @Slot()
    def _enable(self) -> None:
        listed = self._selected()
        self.cancel.setEnabled(listed is not None and not is_terminal(listed.view.status))
        self.open_job.setEnabled(listed is not None and listed.job is not None)

    @Slot()
    def _on_cancel(self) -> None:
        listed = self._selected()
        if listed is not None:
            self.cancel_requested.emit(listed)

    @Slot()
    def _on_open(self) -> None:
        listed = self._selected()
        if listed is not None and listed.job is not None:
            self.job_opened.emit(listed.job)
