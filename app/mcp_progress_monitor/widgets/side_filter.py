"""The field that looks for servers by name, seen once there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSortFilterProxyModel, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QLineEdit

from mcp_progress_monitor.models.servers import SEARCHED, ServersModel

if TYPE_CHECKING:
    from PySide6.QtCore import QObject
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.widgets.appearance import Appearance

MANY: Final = 12
"""From so many servers on the field is there."""


class ServerFilter(QSortFilterProxyModel):
    """Lets through the servers whose name, title, command or URL hold some words."""

    def __init__(self, servers: ServersModel, parent: QObject) -> None:
        super().__init__(parent)
        self.servers = servers
        """What is filtered. `sourceModel` would do, but each object it returned is never freed."""
        self.setFilterRole(SEARCHED)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setSourceModel(servers)

    @property
    def is_on(self) -> bool:
        """Whether servers may be hidden."""
        return bool(self.filterRegularExpression().pattern())


class ServerFilterEdit(QLineEdit):
    """Shows itself when there are many servers, or while it hides some; Escape empties it."""

    def __init__(self, shown: ServerFilter, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = shown
        self._appearance = appearance
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self.setClearButtonEnabled(True)
        self.setPlaceholderText(self.tr("Filter servers"))
        self.setAccessibleName(self.tr("Filter servers by name, command or URL"))
        self.setToolTip(self.tr("Filter servers by name, command or URL; Escape shows all"))
        self.textChanged.connect(self._on_text_changed)
        servers = shown.servers
        for signal in (servers.rowsInserted, servers.rowsRemoved, servers.modelReset):
            signal.connect(self.show_if_needed)
        appearance.changed.connect(self._recolour)
        self._recolour()
        self.show_if_needed()

    @Slot()
    def show_if_needed(self) -> None:
        """Be there when there are many servers, or some are hidden."""
        is_needed = self._shown.servers.rowCount() >= MANY or bool(self.text())
        if is_needed is self.isHidden():
            self.setVisible(is_needed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Empty the field by Escape."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    @Slot(str)
    def _on_text_changed(self, words: str) -> None:
        self._shown.setFilterFixedString(words.strip())
        self.show_if_needed()

    @Slot()
    def _recolour(self) -> None:
        self._glass.setIcon(self._appearance.icon("search"))
