"""The servers that other clients run and taps let us watch: rows by client, and their list."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QListView, QMenu, QStyleOptionViewItem, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import CommandActions, Commands
from mcp_progress_monitor.gui.common.controls import SideHeading, plain_tip
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate, dress_side_list
from mcp_progress_monitor.gui.common.tables import RowKeys
from mcp_progress_monitor.gui.servers.commands import (
    WATCHED_COMMANDS,
    WATCHED_COPY,
    WATCHED_DISMISS,
    WATCHED_MENU,
    WATCHED_TRAFFIC,
)
from mcp_progress_monitor.gui.theme import GAP, Tone
from mcp_progress_monitor.snapshots.watched import WatchedSnapshot
from mcp_progress_monitor.wording import watched as watched_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QPainter

    from mcp_progress_monitor.engine.watching import Watching
    from mcp_progress_monitor.gui.common.labels import Badge
    from mcp_progress_monitor.gui.theme import Appearance

_Index = QModelIndex | QPersistentModelIndex

WATCHED: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `WatchedSnapshot`; None for the row of a client."""


BADGE: Final = WATCHED + 1  # role of the `Badge` of a row; None without findings
_ROWS_SHOWN: Final = 8  # rows that the list reserves room for


class _Row(NamedTuple):
    """A client, or one of its servers."""

    client: str
    server: WatchedSnapshot | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.client, "" if self.server is None else self.server.name


class WatchedModel(QAbstractListModel):
    """A row for each client, with its servers below; in the order in which they were found."""

    shown = Signal(object)  # the `WatchedSnapshot`s that are new or have changed

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: Watching | None = None
        self._servers: dict[str, WatchedSnapshot] = {}
        self._rows: list[_Row] = []
        self._badges: Mapping[str, Badge] = {}

    def set_source(self, source: Watching) -> None:
        self._source = source
        self._servers.clear()
        self.apply(frozenset(source.names()))

    @Slot(object)
    def apply(self, changed: frozenset[str]) -> None:
        """Update the servers in `changed` (`Feed.servers_changed`)."""
        source = self._source
        if source is None:
            return
        names = source.names()
        if not changed.intersection((*names, *self._servers)):
            return
        self._servers = {
            name: source.snapshot(name)
            if name in changed or name not in self._servers
            else self._servers[name]
            for name in names
        }
        self.shown.emit([each for name, each in self._servers.items() if name in changed])
        self._show(_grouped(list(self._servers.values())), changed)

    def set_badges(self, badges: Mapping[str, Badge]) -> None:
        """Set the number of findings of each server."""
        before, self._badges = self._badges, badges
        for at, row in enumerate(self._rows):
            if row.server is not None and before.get(row.key[1]) != badges.get(row.key[1]):
                self.dataChanged.emit(self.index(at), self.index(at))

    def servers(self) -> list[WatchedSnapshot]:
        return list(self._servers.values())

    def row_of(self, name: str) -> int | None:
        """The row of a server; None if there is none of that name."""
        found = (at for at, row in enumerate(self._rows) if row.key[1] == name)
        return next(found, None)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Clients are headings: only servers can be selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
        is_server = self._rows[index.row()].server is not None
        return flags | Qt.ItemFlag.ItemIsSelectable if is_server else flags

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name for display, all details for screen readers, the snapshot for the delegate."""
        if not index.isValid():
            return None
        client, server = self._rows[index.row()]
        if role == WATCHED:
            return server
        badge = None if server is None else self._badges.get(server.name)
        if role == BADGE:
            return badge
        if role == Qt.ItemDataRole.DisplayRole:
            return formatting.one_line(client if server is None else server.label)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if server is None:
                return f"Client {formatting.one_line(client)}"
            found = "" if badge is None else f", {badge.spoken}"
            return f"{formatting.one_line(server.label)}, {watched_texts.about(server)}{found}"
        if role == Qt.ItemDataRole.ToolTipRole and server is not None:
            return plain_tip(watched_texts.details(server))
        return None

    def _show(self, rows: list[_Row], changed: frozenset[str]) -> None:
        if [row.key for row in rows] != [row.key for row in self._rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        self._rows = rows
        for at, row in enumerate(rows):
            if row.key[1] in changed:
                self.dataChanged.emit(self.index(at), self.index(at))


def _grouped(servers: Sequence[WatchedSnapshot]) -> list[_Row]:
    clients = dict.fromkeys(server.client for server in servers)
    return [
        row
        for client in clients
        for row in (
            _Row(client),
            *(_Row(client, server) for server in servers if server.client == client),
        )
    ]


class WatchedDelegate(SideDelegate):
    """A client as a heading; a server with an eye, its name, and a line about it."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        faces = self.faces(option.font)
        height = faces.first.height + GAP
        return QSize(120, height if index.data(WATCHED) is None else height + faces.second.height)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        server, text = index.data(WATCHED), index.data(Qt.ItemDataRole.DisplayRole)
        painter.save()
        faces = self.faces(option.font)
        if not isinstance(server, WatchedSnapshot):
            area = option.rect.adjusted(GAP + 2, 0, -GAP, 0)
            text = faces.second.elided(text, area.width(), in_middle=True)
            self.write(painter, faces.second, area, text, Tone.MUTED)
            painter.restore()
            return
        tone = Tone.GOOD if server.is_live else Tone.MUTED
        is_trouble = server.is_live and bool(server.script or watched_texts.gap_text(server))
        area = self.begin(painter, option, "watched", Tone.WARNING if is_trouble else tone)
        heights = (faces.heavy.height, faces.second.height)
        top = area.top() + (area.height() - sum(heights)) // 2
        place = QRect(area.left(), top, area.width(), heights[0])
        room = self.paint_badge(painter, faces, place, index.data(BADGE))
        place.adjust(0, 0, -room, 0)
        ink = Tone.TEXT if server.is_live else Tone.MUTED
        name = faces.heavy.elided(text, place.width(), in_middle=True)
        self.write(painter, faces.heavy, place, name, ink)
        place = QRect(area.left(), top + heights[0], area.width(), heights[1])
        tone = Tone.WARNING if is_trouble else Tone.MUTED
        self.write(painter, faces.second, place, watched_texts.about(server), tone)
        painter.restore()


class WatchedList(QWidget):
    """Lists the watched servers, with the commands on them; hidden while there are none."""

    def __init__(
        self,
        model: WatchedModel,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._appearance = appearance
        self._kept = ""
        self.view = QListView(self)
        self._heading = SideHeading("Watched", appearance, self)
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self.commands: Final = CommandActions(
            WATCHED_COMMANDS,
            commands,
            self.view,
            appearance,
            self._chosen,
            id_of=attrgetter("name"),
        )
        commands.carry_out(WATCHED_COPY, self._copy)
        self._set_up_view()
        in_column(self._heading, (self.view, 1), of=self, margins=0, spacing=0)
        self._heading.set_buddy(self.view)
        self.setFocusProxy(self.view)
        self._connect()
        self._recolour()
        self._show_if_any()

    def current(self) -> WatchedSnapshot | None:
        """The current server."""
        found = self.view.currentIndex().data(WATCHED)
        return found if isinstance(found, WatchedSnapshot) else None

    def wanted_height(self) -> int:
        """The height that shows a few rows: our own servers are above."""
        rows = range(min(self._model.rowCount(), _ROWS_SHOWN))
        height = sum(self.view.sizeHintForRow(row) for row in rows)
        if self.isHidden():
            return 0
        return self._heading.sizeHint().height() + max(height, 60) + GAP

    def _chosen(self) -> list[WatchedSnapshot]:
        current = self.current()
        return [] if current is None else [current]

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self._model)
        dress_side_list(view, WatchedDelegate(self._appearance, view), "Watched servers")
        view.setVerticalScrollMode(view.ScrollMode.ScrollPerPixel)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(view)

    def _connect(self) -> None:
        self.view.customContextMenuRequested.connect(self._on_menu_requested)
        self.view.doubleClicked.connect(self._on_double_clicked)
        self.view.selectionModel().currentChanged.connect(self._enable)
        self._model.dataChanged.connect(self._enable)
        self._model.modelAboutToBeReset.connect(self._on_about_to_be_reset)
        self._model.modelReset.connect(self._on_reset)
        self._appearance.changed.connect(self._recolour)

    @Slot()
    def _on_about_to_be_reset(self) -> None:
        current = self.current()
        self._kept = "" if current is None else current.name

    @Slot()
    def _on_reset(self) -> None:
        row = self._model.row_of(self._kept) if self._kept else None
        if row is not None:
            self.view.setCurrentIndex(self._model.index(row))
        self._show_if_any()

    def _show_if_any(self) -> None:
        self.setVisible(self._model.rowCount() > 0)
        self._enable()

    @Slot()
    def _enable(self) -> None:
        """Enable the commands that apply to the current server, or to any that ended."""
        self.commands.refresh()
        is_any_over = any(not server.is_live for server in self._model.servers())
        self.commands[WATCHED_DISMISS].setEnabled(is_any_over)

    @Slot()
    def _recolour(self) -> None:
        self.view.viewport().update()

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        if isinstance(self.view.indexAt(place).data(WATCHED), WatchedSnapshot):
            self.commands.fill(self._menu, WATCHED_MENU)
            self._enable()
            self._menu.popup(self.view.viewport().mapToGlobal(place))

    @Slot(QModelIndex)
    def _on_double_clicked(self, _index: QModelIndex) -> None:
        self.commands.run(WATCHED_TRAFFIC, self._chosen())

    def _copy(self, _name: str) -> None:
        for current in self._chosen():
            QGuiApplication.clipboard().setText(watched_texts.details(current))
