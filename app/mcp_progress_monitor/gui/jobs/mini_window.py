"""The mini window: the running jobs, always on top of other windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    QSortFilterProxyModel,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QKeySequence, QPainter, QShortcut
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.side_delegate import RIGHT, SideDelegate
from mcp_progress_monitor.gui.common.tables import EmptyText
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.delegate import BarPainter
from mcp_progress_monitor.gui.jobs.model import ROW
from mcp_progress_monitor.gui.jobs.row import JobRow
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance, Tone, state_icon
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtGui import QHideEvent, QShowEvent

    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.gui.preferences import Preferences

_GEOMETRY: Final = "mini/geometry"
_FIRST_SIZE: Final = QSize(340, 180)
_BAR: Final = 5
_SECOND_MS: Final = 1_000

_Index = QModelIndex | QPersistentModelIndex


class ActiveJobs(QSortFilterProxyModel):
    """The jobs that have not ended, without server requests on their behalf."""

    def __init__(self, jobs: JobsModel, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.setDynamicSortFilter(False)
        self.setSourceModel(jobs)
        jobs.groups_changed.connect(self._on_groups_changed)

    def filterAcceptsRow(self, source_row: int, _source_parent: _Index) -> bool:
        job = self._jobs.job_at(source_row)
        if job is None or self._jobs.parent_of(job) is not None:
            return False
        state = self._jobs.settled_state(job)
        return state is not None and not state.is_over

    @Slot()
    def _on_groups_changed(self) -> None:
        self.beginFilterChange()
        self.endFilterChange(self.Direction.Rows)


class _MiniDelegate(SideDelegate):
    """A job in two lines and a bar."""

    def __init__(self, appearance: Appearance, parent: QObject) -> None:
        super().__init__(appearance, parent)
        self._bars = BarPainter(appearance)

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        faces = self.faces(option.font)
        return QSize(160, faces.heavy.height + faces.second.height + _BAR + 3 * GAP_S + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row = index.data(ROW)
        if not isinstance(row, JobRow):
            return
        job = row.job
        painter.save()
        area = self.begin(painter, option, state_icon(job.state), row.tone)
        faces = self.faces(option.font)
        line = QRect(area.left(), area.top() + GAP_S, area.width(), faces.heavy.height)
        amount = row.cell(Column.PROGRESS).amount
        self.write(painter, faces.first, line, amount, Tone.TEXT, RIGHT)
        line.setRight(line.right() - faces.first.width(amount) - GAP)
        self.write(painter, faces.heavy, line, row.cell(Column.JOB).name, Tone.TEXT)
        bar = QRectF(area.left(), line.bottom() + GAP_S, area.width(), _BAR)
        self._bars.paint(painter, bar, job)
        line = QRect(area.left(), round(bar.bottom()) + 1, area.width(), faces.second.height)
        about = job_texts.time_left(job) or row.cell(Column.STATUS).state
        text = " · ".join(filter(None, (row.cell(Column.SERVER).server, about)))
        self.write(painter, faces.second, line, text, Tone.MUTED)
        painter.restore()


class MiniWindow(QWidget):
    """A small window that stays on top, if the desktop allows it."""

    job_opened = Signal(object)  # the `JobId` of the row that was opened
    closed = Signal()

    def __init__(
        self, jobs: JobsModel, appearance: Appearance, preferences: Preferences, owner: QWidget
    ) -> None:
        # Not a child of the main window: it stays when that is minimised.
        super().__init__(None, Qt.WindowType.Window | Qt.WindowType.WindowStaysOnTopHint)
        owner.destroyed.connect(self.deleteLater)
        self.setWindowTitle("Running jobs")
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._jobs = jobs
        self._preferences = preferences
        self._active = ActiveJobs(jobs, self)
        self.view: Final = QListView(self)
        EmptyText(self.view, "No running jobs")
        self.view.setFrameShape(QListView.Shape.NoFrame)
        self.view.setUniformItemSizes(True)
        self.view.setMouseTracking(True)
        self.view.setModel(self._active)
        self.view.setItemDelegate(_MiniDelegate(appearance, self.view))
        self.view.setAccessibleName("Running jobs")
        self.view.activated.connect(self._on_activated)
        appearance.changed.connect(self.view.viewport().update)
        in_column(self.view, of=self, margins=0)
        QShortcut(QKeySequence(Qt.Key.Key_Escape), self).activated.connect(self.close)
        self._second = QTimer(self)
        self._second.setInterval(_SECOND_MS)
        self._second.timeout.connect(self._on_second)
        jobs.groups_changed.connect(self._keep_time)
        self.resize(_FIRST_SIZE)
        self.restoreGeometry(preferences.bytes_of(_GEOMETRY))

    def showEvent(self, event: QShowEvent) -> None:
        """Update the rows every second."""
        super().showEvent(event)
        self._keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop updates, and remember the position."""
        super().hideEvent(event)
        self._preferences.keep_bytes(_GEOMETRY, self.saveGeometry())
        self._keep_time()
        self.closed.emit()

    @Slot()
    def _keep_time(self) -> None:
        is_wanted = self.isVisible() and self._jobs.is_anything_running
        if is_wanted and not self._second.isActive():
            self._second.start()
        elif not is_wanted:
            self._second.stop()

    @Slot()
    def _on_second(self) -> None:
        view, rows = self.view, self._active.rowCount()
        first, last = view.indexAt(view.rect().topLeft()), view.indexAt(view.rect().bottomLeft())
        seen = range(max(first.row(), 0), (last.row() if last.isValid() else rows - 1) + 1)
        source = (self._active.mapToSource(self._active.index(row, 0)).row() for row in seen)
        self._jobs.tick(list(source))

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        job = self._jobs.job_at(self._active.mapToSource(index).row())
        if job is not None:
            self.job_opened.emit(job)
