"""The task that a job has become: its state, times and history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHeaderView, QLabel, QSizePolicy, QToolButton, QWidget

from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.tables import PlainTable
from mcp_progress_monitor.gui.jobs.history import FIRST_FRAME, PlainTableModel
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance
from mcp_progress_monitor.wording import jobs as job_texts
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobDetail

_ID: Final = 40  # characters: a UUID and a little more; the whole id can be copied
_STATUS: Final = 17  # digits
_TIME: Final = 16
_WAY: Final = 27


class TaskSection(QWidget):
    """The current state of the task, above one row for each change, oldest first.

    What does not fit into a narrow pane is in tool tips.
    """

    frame_followed = Signal(object)  # the number of the frame that reported a change

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._task = ""
        self.identity = self._label("Task id")
        self.standing = self._label("Task status")
        self.numbers = self._label("Time to live, polling and rounds of input")
        self.copy_id = QToolButton(self)
        self.copy_id.setText("Copy i&d")
        self.copy_id.setToolTip("Copy the task's id (Alt+D)")
        self.copy_id.setAutoRaise(True)
        self.copy_id.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.copy_id.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.copy_id.clicked.connect(self._on_copy)
        self.model = PlainTableModel(job_texts.TASK_TITLES, self, text_columns=(0, 1, 2, 3))
        self.table = PlainTable(self.model, "Task history", self, empty="No states yet")
        self.table.setToolTip("Show the message in Traffic (Enter)")
        self.table.activated.connect(self._on_activated)
        self._size_columns()
        self._lay_out()
        self.copy_id.setIcon(appearance.icon("copy"))

    def show_detail(self, detail: JobDetail) -> None:
        """Show the task of a job; nothing for other jobs."""
        job, task = detail.snapshot, detail.snapshot.task
        steps = () if task is None else detail.task_steps
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum()
        self.model.show_rows(
            [job_texts.task_row(step, job) for step in steps], [step.number for step in steps]
        )
        if is_at_end:
            self.table.scrollToBottom()
        if task is None:
            return
        self._task = task.id
        _put(self.identity, elide(line(task.id), _ID) or "(empty id)")
        _put(self.standing, job_texts.task_standing(job, task))
        _put(self.numbers, job_texts.task_numbers(detail, task))

    def _size_columns(self) -> None:
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        digit = self.table.fontMetrics().horizontalAdvance("0")
        for column, digits in ((0, _STATUS), (2, _TIME), (3, _WAY)):
            self.table.setColumnWidth(column, digit * digits)

    def _lay_out(self) -> None:
        self.identity.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        first = in_row((self.standing, 1), self.identity, self.copy_id, spacing=GAP)
        facts = in_column(first, self.numbers, margins=(GAP, GAP_S, GAP, GAP_S), spacing=GAP_S // 2)
        in_column(facts, (self.table, 1), of=self, margins=0, spacing=0)

    def _label(self, name: str) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setMinimumWidth(1)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        label.setAccessibleDescription(name)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        label.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        return label

    @Slot()
    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._task)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        number = index.data(FIRST_FRAME)
        if number is not None:
            self.frame_followed.emit(number)


def _put(label: QLabel, text: str) -> None:
    """Set a label's text only if it changed, so that a selection in it stays."""
    if label.text() != text:
        label.setText(text)
        label.setToolTip(plain_tip(text))
