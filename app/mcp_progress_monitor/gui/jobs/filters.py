"""The groups of jobs with their counts, and the field that filters jobs by text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QCursor, QKeyEvent, QPainter
from PySide6.QtWidgets import QLineEdit, QListView, QSizePolicy, QStyleOptionViewItem, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import SideHeading
from mcp_progress_monitor.gui.common.layout import in_column, viewport_of
from mcp_progress_monitor.gui.common.side_delegate import RIGHT, SideDelegate
from mcp_progress_monitor.gui.jobs.filter_model import COUNT, GROUP, GroupsModel, JobGroup
from mcp_progress_monitor.gui.theme import ACTIVE, FOCUSED, GAP, SELECTED, UNDER_MOUSE, Tone

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.theme import Appearance

_Index = QModelIndex | QPersistentModelIndex

_GROUPS: Final = {
    JobGroup.ALL: ("jobs", Tone.MUTED),
    JobGroup.RUNNING: ("state-running", Tone.ACCENT),
    JobGroup.NEEDS_YOU: ("state-needs-you", Tone.WARNING),
    JobGroup.STALLED: ("state-stalled", Tone.WARNING),
    JobGroup.RESUMABLE: ("state-resumable", Tone.ACCENT),
    JobGroup.FINISHED: ("state-done", Tone.GOOD),
    JobGroup.FAILED: ("state-failed", Tone.BAD),
}


class JobFilters(QWidget):
    """One row for each group that has jobs; emits `group_selected`."""

    group_selected = Signal(object)  # a `JobGroup`

    def __init__(
        self, groups: GroupsModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._groups = groups
        self.view = _FittingList(self)
        self.view.setModel(groups)
        self.view.setItemDelegate(GroupDelegate(appearance, self.view))
        self.view.setAccessibleName("Filter jobs by state")
        self.view.setToolTip("Show only jobs in one state")
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        self.heading = SideHeading("Jobs", appearance, self)
        self.heading.set_buddy(self.view)
        in_column(self.heading, self.view, of=self, margins=0, spacing=0)
        self.setFocusProxy(self.view)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self.view.viewport().update)
        for changed in (groups.rowsInserted, groups.rowsRemoved):
            changed.connect(self.view.updateGeometry)
        self.select(JobGroup.ALL)

    def select(self, group: JobGroup) -> None:
        self.view.setCurrentIndex(self._groups.index(self._groups.keep(group)))

    @Slot(QModelIndex)
    def _on_current_changed(self, index: QModelIndex) -> None:
        group = index.data(GROUP)
        if isinstance(group, JobGroup):
            self._groups.keep(group)
            self.group_selected.emit(group)


class JobFilterEdit(QLineEdit):
    """Filters jobs by text; Escape clears it. Connect `textChanged` to the filter."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self.setClearButtonEnabled(True)
        self.setPlaceholderText("Filter jobs")
        self.setAccessibleName("Filter jobs by name, arguments, server or token")
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 22)
        self._glass.setIcon(appearance.icon("search"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear the field on Escape."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class _FittingList(QListView):
    """A list as high as its rows, so that the servers follow directly below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(self.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        viewport_of(self).setAutoFillBackground(False)

    def sizeHint(self) -> QSize:
        return QSize(170, self.model().rowCount() * max(self.sizeHintForRow(0), 1) + 2)

    def minimumSizeHint(self) -> QSize:
        """All of the few rows stay in sight."""
        return QSize(120, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Follow a change of the font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self.updateGeometry()


class GroupDelegate(SideDelegate):
    """A group of jobs: icon, name, and the count on the right."""

    def __init__(self, appearance: Appearance, view: QListView) -> None:
        super().__init__(appearance, view)
        self._view = view

    def state(self, index: _Index) -> int:
        """The flags of a row: asked for `option.state`, PySide creates `QStyle`.

        That takes 8 ms before the window is painted.
        """
        view, viewport = self._view, self._view.viewport()
        state = SELECTED if view.selectionModel().isSelected(index) else 0
        if view.hasFocus():
            state |= ACTIVE | (FOCUSED if index == view.currentIndex() else 0)
        place = viewport.mapFromGlobal(QCursor.pos())
        is_hovered = viewport.underMouse() and index == view.indexAt(place)
        return state | UNDER_MOUSE if is_hovered else state

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        return QSize(120, option.fontMetrics.height() + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        group, count = index.data(GROUP), int(index.data(COUNT))
        icon, tone = _GROUPS[group]
        painter.save()
        ink = tone if count else Tone.MUTED
        area = self.begin(painter, option, icon, ink, self.state(index))
        text, face = formatting.number(count), self.faces(option.font).first
        room = face.width(text) + GAP
        ink = Tone.TEXT if count or group is JobGroup.ALL else Tone.MUTED
        self.write(painter, face, area.adjusted(0, 0, -room, 0), index.data(), ink)
        self.write(painter, face, area, text, Tone.MUTED, RIGHT)
        painter.restore()
