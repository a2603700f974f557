"""The menu of a server's resources: which of them it is to tell of when they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.text import clock, count, one_line
from mcp_progress_monitor.widgets.plain_text import plain_tip

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot

_MOST: Final = 40
"""Resources in the menu: more of them would be higher than a screen."""


class ResourceMenu(QMenu):
    """One tick for each resource that is followed, with the updates that came."""

    subscription_changed = Signal(str, bool)
    """The resource's URI, and whether its updates are wanted."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTitle(self.tr("Resource &updates"))
        self.setToolTipsVisible(True)
        self.triggered.connect(self._on_triggered)

    def show_server(self, server: ServerSnapshot) -> None:
        """Offer the resources of a server, those followed first."""
        self.clear()
        updates = {each.uri: each for each in server.resource_updates}
        uris = dict.fromkeys((*server.subscriptions, *(each.uri for each in server.resources)))
        for uri in list(uris)[:_MOST]:
            came = updates.get(uri)
            words = one_line(uri, 80).replace("&", "&&")
            if came is not None:
                often = count(came.number, self.tr("update"), self.tr("updates"))
                words = f"{words}\t{often}, {clock(came.when)[:8]}"
            action = self.addAction(words)
            action.setCheckable(True)
            action.setChecked(uri in server.subscriptions)
            action.setData(uri)
            action.setToolTip(plain_tip(self.tr("Be told when {} changes").format(one_line(uri))))
        hidden = len(uris) - _MOST
        if hidden > 0:
            more = self.addAction(self.tr("{} more are not shown").format(hidden))
            more.setEnabled(False)

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        uri = action.data()
        if isinstance(uri, str):
            self.subscription_changed.emit(uri, action.isChecked())
