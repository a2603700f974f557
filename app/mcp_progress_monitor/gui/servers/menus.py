"""Menus of a server: the log level that is requested, and the resources that are subscribed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.formatting import clock, count, one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.snapshots.servers import ServerSnapshot


class LevelMenu(QMenu):
    """Chooses a log level, the most verbose first, or none."""

    level_chosen = Signal(object)  # `str`, or None for the server's default

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle("&Log level")
        self.setToolTipsVisible(True)
        self._group = QActionGroup(self)
        self._add("Server &default", None).setToolTip(
            "Request no level; in 2026-07-28 servers then send no messages"
        )
        self.addSeparator()
        for level in LOG_LEVELS:
            self._add(level, level)
        self._group.triggered.connect(self._on_triggered)

    def show_level(self, level: str | None) -> None:
        """Check the requested level."""
        for action in self._group.actions():
            action.setChecked(action.data() == level)

    def _add(self, text: str, level: str | None) -> QAction:
        action = self.addAction(text)
        action.setCheckable(True)
        action.setData(level)
        self._group.addAction(action)
        return action

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        self.level_chosen.emit(action.data())


_MOST: Final = 40  # resources in the menu: more would not fit on a screen


class ResourceMenu(QMenu):
    """One check for each subscribed resource, with its number of updates."""

    subscription_changed = Signal(str, bool)
    """The resource's URI, and whether its updates are wanted."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle("Resource &updates")
        self.setToolTipsVisible(True)
        self.triggered.connect(self._on_triggered)

    def show_server(self, server: ServerSnapshot) -> None:
        """Set the resources of a server, subscribed ones first."""
        self.clear()
        updates = {each.uri: each for each in server.resource_updates}
        uris = dict.fromkeys((*server.subscriptions, *(each.uri for each in server.resources)))
        for uri in list(uris)[:_MOST]:
            came = updates.get(uri)
            text = one_line(uri, 80).replace("&", "&&")
            if came is not None:
                often = count(came.number, "update", "updates")
                text = f"{text}\t{often}, {clock(came.when)[:8]}"
            action = self.addAction(text)
            action.setCheckable(True)
            action.setChecked(uri in server.subscriptions)
            action.setData(uri)
            action.setToolTip(plain_tip(f"Subscribe to updates of {one_line(uri)}"))
        hidden = len(uris) - _MOST
        if hidden > 0:
            more = self.addAction(f"{hidden} more are not shown")
            more.setEnabled(False)

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        uri = action.data()
        if isinstance(uri, str):
            self.subscription_changed.emit(uri, action.isChecked())
