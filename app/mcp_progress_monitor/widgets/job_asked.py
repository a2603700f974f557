"""The section of a job's pane that lists what was asked because of it, and the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QHeaderView, QWidget

from mcp_progress_monitor.models.asked import TEXT_COLUMNS, TITLES, asked_rows
from mcp_progress_monitor.models.course import FIRST_FRAME, CourseModel
from mcp_progress_monitor.widgets.job_sections import PlainTable, fill

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobId

_TIME: Final = 25  # digits: with a date
_AFTER: Final = 12


class AskedSection(QWidget):
    """One row for each question, oldest first; reads what was recorded, and changes nothing."""

    frame_followed = Signal(object)
    """The number of the frame that asked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = CourseModel(TITLES, self, text_columns=TEXT_COLUMNS)
        self.table = PlainTable(self.model, self.tr("Questions asked"), self)
        self.table.setToolTip(self.tr("Enter shows the question in the log"))
        self.table.activated.connect(self._on_activated)
        header = self.table.horizontalHeader()
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        digit = self.table.fontMetrics().horizontalAdvance("0")
        self.table.setColumnWidth(0, digit * _TIME)
        self.table.setColumnWidth(3, digit * _AFTER)
        fill(self, self.table)

    def show_detail(
        self, detail: JobDetail, detail_of: Callable[[JobId], JobDetail | None]
    ) -> None:
        """Show the questions of a job; `detail_of` finds those that are jobs themselves."""
        rows = asked_rows(detail, detail_of)
        self.model.show_rows([row.words for row in rows], [row.number for row in rows])

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        number = index.data(FIRST_FRAME)
        if number is not None:
            self.frame_followed.emit(number)
