"""The lists at the side of the window: one follows the other, each as high as its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QSplitter, QWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.gui.calls.recent import RecentList
    from mcp_progress_monitor.gui.jobs.filters import JobFilters
    from mcp_progress_monitor.gui.servers.server_list import ServerList
    from mcp_progress_monitor.gui.servers.watched import WatchedList

_LEAST_SERVERS: Final = 110
_FEW_SERVERS: Final = 1


class Side(QSplitter):
    """Job filters, servers, and below them the lists that have rows.

    The user may move the borders; they are set again when rows come or go.
    """

    def __init__(
        self,
        filters: JobFilters,
        servers: ServerList,
        lists: Sequence[WatchedList | RecentList],
        parent: QWidget,
    ) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._filters = filters
        self._servers = servers
        self._lists = lists
        self._due = QTimer(self, singleShot=True, interval=0)
        self._due.timeout.connect(self._arrange)
        self.setChildrenCollapsible(False)
        for part in (filters, servers, *lists):
            self.addWidget(part)
        self.setStretchFactor(self.count() - 1, 1)
        for view in (filters.view, servers.view, *(each.view for each in lists)):
            model = view.model()
            for changed in (model.rowsInserted, model.rowsRemoved, model.modelReset):
                changed.connect(self._due.start)

    @Slot()
    def _arrange(self) -> None:
        """Give the lists the room they need, as far as the servers allow."""
        wanted = [each.wanted_height() for each in self._lists]
        if not any(wanted):
            return  # the servers have all
        filters = self._filters.sizeHint().height()
        room = max(sum(self.sizes()) - filters, 0)
        rows, of_servers = self._servers.view.model().rowCount(), self._servers.wanted_height()
        least = min(of_servers, room // 2 if rows > _FEW_SERVERS else _LEAST_SERVERS)
        share = min(1.0, max(room - least, 0) / sum(wanted))
        heights = [round(height * share) for height in wanted]
        of_servers = min(of_servers, room - sum(heights))
        last = max(place for place, height in enumerate(heights) if height)
        heights[last] += room - of_servers - sum(heights)
        self.setSizes([filters, of_servers, *heights])
