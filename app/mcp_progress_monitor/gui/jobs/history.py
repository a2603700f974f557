"""A job's history: the chart, its phases, findings and stream, as small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt, Signal, Slot
from PySide6.QtWidgets import QHeaderView, QSplitter, QTableView, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import SideHeading
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.tables import PlainTable, TitledTable, fill
from mcp_progress_monitor.gui.jobs.chart import ProgressChart
from mcp_progress_monitor.tracker.work_clock import WorkClock
from mcp_progress_monitor.wording import jobs
from mcp_progress_monitor.wording.jobs import line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.tracker.snapshot import JobDetail, Phase, ViolationCount

FIRST_FRAME: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of the frame number of a row, None without one."""

_Index = QModelIndex | QPersistentModelIndex
_Row: TypeAlias = tuple[str, ...]


class PlainTableModel(TitledTable):
    """Rows of text: by default the first column is text and the others are numbers.

    Used for phases, findings and attempts. Unchanged rows are not announced again, so that the
    selection and the scroll position survive ten updates a second.
    """

    def __init__(
        self,
        titles: Sequence[str],
        parent: QObject | None = None,
        *,
        text_columns: Collection[int] = (0,),
    ) -> None:
        numbers = set(range(len(titles))) - set(text_columns)
        super().__init__(titles, parent, numbers=numbers)
        self._rows: list[_Row] = []
        self._frames: list[int | None] = []

    def show_phases(self, detail: JobDetail) -> None:
        """Show the phases of a job, oldest first."""
        clock = WorkClock(detail)
        self.show_rows([_phase_row(phase, clock.length_s(phase)) for phase in detail.phases], [])

    def show_marks(self, marks: Sequence[ViolationCount]) -> None:
        """Show the violations."""
        rows: list[_Row] = [(line(mark.text), formatting.number(mark.count)) for mark in marks]
        self.show_rows(rows, [mark.first for mark in marks])

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of rows."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == FIRST_FRAME and self._frames:
            return self._frames[index.row()]
        is_alignment = role == Qt.ItemDataRole.TextAlignmentRole
        return self.alignment(index.column()) if is_alignment else None

    def show_rows(self, rows: list[_Row], frames: list[int | None]) -> None:
        """Show `rows`, one text for each title, with their `frames`, or none."""
        common = min(len(rows), len(self._rows))
        changed = [row for row in range(common) if rows[row] != self._rows[row]]
        if len(rows) < len(self._rows) or len(changed) > 1:
            self.beginResetModel()
            self._rows, self._frames = rows, frames
            self.endResetModel()
            return
        self._rows[:common], self._frames = rows[:common], frames[:common]
        for row in changed:
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(self._titles) - 1))
        if len(rows) > common:
            self.beginInsertRows(QModelIndex(), common, len(rows) - 1)
            self._rows, self._frames = rows, frames
            self.endInsertRows()


def _phase_row(phase: Phase, length_s: float) -> _Row:
    text = line(phase.message) or "(no message)"
    return text, formatting.duration(length_s), formatting.number(phase.tick_count)


class HistorySection(QWidget):
    """The chart, the phases, the findings, and the events of the HTTP stream."""

    frame_followed = Signal(object)
    """The number of the first frame with a finding, or of the stream event."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart = ProgressChart(appearance, self)
        self.phases = PlainTableModel(("Phase", "Duration", "Ticks"), self)
        self.marks = PlainTableModel(("Finding", "Count"), self)
        self._phase_table = PlainTable(self.phases, "Phases", self, empty="No messages yet")
        self.marks_table = PlainTable(self.marks, "Findings", self)
        self.marks_table.setToolTip("Show the message in Traffic (Enter)")
        self.marks_table.activated.connect(self._on_mark_activated)
        self.stream = PlainTableModel(jobs.STREAM_TITLES, self)
        self.stream_table = PlainTable(self.stream, "Stream", self)
        self.stream_table.setToolTip("Show the message in Traffic (Enter)")
        self.stream_table.activated.connect(self._on_mark_activated)
        self.parts = PlainTableModel(jobs.PART_TITLES, self)
        self.parts_table = PlainTable(self.parts, "Events and partial results", self)
        self.parts_table.setToolTip("Show the message in Traffic (Enter)")
        self.parts_table.activated.connect(self._on_mark_activated)
        tables = (self._phase_table, self.marks_table, self.stream_table, self.parts_table)
        for table in tables:
            _stretch_first(table)
            # Three of them have to fit into a small window.
            table.setMinimumHeight(2 * table.verticalHeader().defaultSectionSize())
        self._marks = _titled(SideHeading("Findings", appearance), self.marks_table)
        side = QSplitter(Qt.Orientation.Vertical, self)
        side.addWidget(_titled(SideHeading("Phases", appearance), self._phase_table))
        side.addWidget(self._marks)
        self._stream = _titled(SideHeading("Stream", appearance), self.stream_table)
        side.addWidget(self._stream)
        self._stream.hide()
        heading = SideHeading("Events and partial results", appearance)
        self._parts = _titled(heading, self.parts_table)
        side.addWidget(self._parts)
        self._parts.hide()
        halves = QSplitter(self)
        halves.setChildrenCollapsible(False)
        halves.addWidget(self.chart)
        halves.addWidget(side)
        halves.setStretchFactor(0, 1)
        halves.setSizes([600, self.fontMetrics().averageCharWidth() * 52])
        fill(self, halves)

    def show_detail(self, detail: JobDetail) -> None:
        """Show the history of a job."""
        job = detail.snapshot
        self.chart.show_history(detail)
        self.phases.show_phases(detail)
        self.marks.show_marks(job.marks)
        self._marks.setVisible(bool(job.marks))
        steps = detail.stream_steps
        rows = [jobs.stream_row(step, job.started_at) for step in steps]
        self.stream.show_rows(rows, [step.number for step in steps])
        self._stream.setVisible(bool(rows))
        newest = detail.parts[::-1]
        parts = [jobs.part_row(part, job.started_at) for part in newest]
        self.parts.show_rows(parts, [part.number for part in newest])
        self._parts.setVisible(bool(parts))

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
    in_column(heading, table, of=whole, margins=0, spacing=0)
    return whole
