"""The status filters with their counts, and the field that looks for words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListView, QSizePolicy, QVBoxLayout, QWidget

from mcp_progress_monitor.models.filters import GROUP, GroupsModel, JobGroup
from mcp_progress_monitor.widgets.side_delegate import GroupDelegate
from mcp_progress_monitor.widgets.side_heading import SideHeading

if TYPE_CHECKING:
    from mcp_progress_monitor.widgets.appearance import Appearance


class JobFilters(QWidget):
    """One row for each group of jobs; the chosen one is told by `group_selected`."""

    group_selected = Signal(object)
    """A `JobGroup`."""

    def __init__(
        self, groups: GroupsModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._groups = groups
        self.view = _FittingList(self)
        self.view.setModel(groups)
        self.view.setItemDelegate(GroupDelegate(appearance, self.view))
        self.view.setAccessibleName(self.tr("Show jobs by state"))
        self.view.setToolTip(self.tr("Show the jobs of one state"))
        self.view.selectionModel().currentChanged.connect(self._on_current_changed)
        heading = SideHeading(self.tr("Jobs"), appearance, self)
        heading.set_buddy(self.view)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(heading)
        layout.addWidget(self.view)
        self.setFocusProxy(self.view)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        appearance.changed.connect(self.view.viewport().update)
        self.select(JobGroup.ALL)

    def select(self, group: JobGroup) -> None:
        """Choose a group."""
        self.view.setCurrentIndex(self._groups.index(tuple(JobGroup).index(group)))

    @Slot(QModelIndex)
    def _on_current_changed(self, index: QModelIndex) -> None:
        group = index.data(GROUP)
        if isinstance(group, JobGroup):
            self.group_selected.emit(group)


class JobFilterEdit(QLineEdit):
    """Looks for words in the jobs; Escape empties it. Connect `textChanged` to the filter."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self.setClearButtonEnabled(True)
        self.setPlaceholderText(self.tr("Filter jobs"))
        self.setAccessibleName(self.tr("Filter jobs by name, arguments, server or token"))
        self.setToolTip(self.tr("Filter jobs by name, arguments, server or token (Ctrl+F)"))
        self.setMinimumWidth(self.fontMetrics().averageCharWidth() * 22)
        self._recolour()
        appearance.changed.connect(self._recolour)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Empty the field by Escape."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _recolour(self) -> None:
        self._glass.setIcon(self._appearance.icon("search"))


class _FittingList(QListView):
    """A list as high as its rows, so that the servers below begin where the groups end."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(self.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.viewport().setAutoFillBackground(False)

    def sizeHint(self) -> QSize:
        """The height of all rows."""
        return QSize(170, self.model().rowCount() * max(self.sizeHintForRow(0), 1) + 2)

    def minimumSizeHint(self) -> QSize:
        """The rows are few: all of them stay in sight."""
        return QSize(120, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Take the height of another font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self.updateGeometry()
