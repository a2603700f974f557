"""The first section of a job's pane: its course, as a chart and small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.models import stream_texts
from mcp_progress_monitor.models.course import FIRST_FRAME, CourseModel
from mcp_progress_monitor.widgets.progress_chart import ProgressChart
from mcp_progress_monitor.widgets.side_heading import SideHeading

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import JobDetail
    from mcp_progress_monitor.widgets.appearance import Appearance


class PlainTable(QTableView):
    """A dense, read-only table of plain text; Ctrl+C copies the selected rows."""

    def __init__(self, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName(name)
        self.setFrameShape(self.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.horizontalHeader().setHighlightSections(False)
        copy = QAction(self.tr("Copy"), self)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        """Begin in sight where no row is chosen yet: Qt would take the very first."""
        row = self.rowAt(0)
        if self.currentIndex().isValid() or row < 0:
            return super().moveCursor(action, modifiers)
        return self.model().index(row, 0)

    @Slot()
    def _on_copy(self) -> None:
        rows = sorted(self.selectionModel().selectedRows(), key=QModelIndex.row)
        every = range(self.model().columnCount())
        columns = [column for column in every if not self.isColumnHidden(column)]
        lines = (
            "\t".join(str(row.siblingAtColumn(c).data() or "") for c in columns) for row in rows
        )
        QGuiApplication.clipboard().setText("\n".join(lines))


class CourseSection(QWidget):
    """The chart, the phases, what was irregular, and how its HTTP stream fared."""

    frame_followed = Signal(object)
    """The number of the frame in which a mark was seen first, or that tells of the stream."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart = ProgressChart(appearance, self)
        self.phases = CourseModel(("Phase", "Duration", "Ticks"), self)
        self.marks = CourseModel(("Mark", "Times"), self)
        self._phase_table = PlainTable(self.phases, self.tr("Phases"), self)
        self.marks_table = PlainTable(self.marks, self.tr("Marks"), self)
        self.marks_table.setToolTip(self.tr("Enter shows the message in the log"))
        self.marks_table.activated.connect(self._on_mark_activated)
        self.stream = CourseModel(stream_texts.TITLES, self)
        self.stream_table = PlainTable(self.stream, self.tr("Stream"), self)
        self.stream_table.setToolTip(self.tr("Enter shows the message in the log"))
        self.stream_table.activated.connect(self._on_mark_activated)
        for table in (self._phase_table, self.marks_table, self.stream_table):
            _stretch_first(table)
            # Three of them are to fit a small window.
            table.setMinimumHeight(2 * table.verticalHeader().defaultSectionSize())
        self._marks = _titled(SideHeading(self.tr("Marks"), appearance), self.marks_table)
        side = QSplitter(Qt.Orientation.Vertical, self)
        side.addWidget(_titled(SideHeading(self.tr("Phases"), appearance), self._phase_table))
        side.addWidget(self._marks)
        self._stream = _titled(SideHeading(self.tr("Stream"), appearance), self.stream_table)
        side.addWidget(self._stream)
        self._stream.hide()
        halves = QSplitter(self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.chart)
        halves.addWidget(side)
        halves.setStretchFactor(0, 1)
        halves.setSizes([600, self.fontMetrics().averageCharWidth() * 52])
        fill(self, halves)

    def show_detail(self, detail: JobDetail) -> None:
        """Show the course of a job."""
        job = detail.snapshot
        self.chart.show_course(detail)
        self.phases.show_phases(detail.phases, job.started_at + job.elapsed_s)
        self.marks.show_marks(job.marks)
        self._marks.setVisible(bool(job.marks))
        course = detail.stream_course
        rows = [stream_texts.row(step, job.started_at) for step in course]
        self.stream.show_rows(rows, [step.number for step in course])
        self._stream.setVisible(bool(rows))

    @Slot(QModelIndex)
    def _on_mark_activated(self, index: QModelIndex) -> None:
        self.frame_followed.emit(index.data(FIRST_FRAME))


def _stretch_first(table: QTableView) -> None:
    header = table.horizontalHeader()
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    digit = table.fontMetrics().horizontalAdvance("0")
    for column in range(1, table.model().columnCount()):
        table.setColumnWidth(column, digit * (12 if column == 1 else 9))
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)


def _titled(heading: SideHeading, table: QTableView) -> QWidget:
    """A table under its heading; the heading is its accessible buddy."""
    whole = QWidget()
    heading.set_buddy(table)
    layout = QVBoxLayout(whole)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(heading)
    layout.addWidget(table)
    return whole


def fill(whole: QWidget, part: QWidget) -> None:
    """Let `part` be all that `whole` shows."""
    layout = QVBoxLayout(whole)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(part)
