"""The menu of log levels: which messages a server is asked to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.sessions.log_levels import LOG_LEVELS

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class LevelMenu(QMenu):
    """One of the levels, the chattiest first, or none."""

    level_chosen = Signal(object)
    """`str`, or None for as the server likes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(self.tr("&Log level"))
        self.setToolTipsVisible(True)
        self._group = QActionGroup(self)
        self._add(self.tr("As the server &likes"), None).setToolTip(
            self.tr("No level is asked for; in 2026-07-28 that is no messages at all")
        )
        self.addSeparator()
        for level in LOG_LEVELS:
            self._add(level, level)
        self._group.triggered.connect(self._on_triggered)

    def show_level(self, level: str | None) -> None:
        """Tick the level that is asked for now."""
        for action in self._group.actions():
            action.setChecked(action.data() == level)

    def _add(self, words: str, level: str | None) -> QAction:
        action = self.addAction(words)
        action.setCheckable(True)
        action.setData(level)
        self._group.addAction(action)
        return action

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.level_chosen.emit(action.data())
