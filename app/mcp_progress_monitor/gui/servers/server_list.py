"""The list of servers with their actions, and a filter by name once there are many."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QListView, QMenu, QToolButton, QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import CommandActions, CommandMenu, Commands, KeyTip
from mcp_progress_monitor.gui.common.controls import SideHeading
from mcp_progress_monitor.gui.common.layout import in_column, order_tabs
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate, dress_side_list
from mcp_progress_monitor.gui.common.tables import EmptyText, RowKeys
from mcp_progress_monitor.gui.servers.commands import (
    ADD,
    COPY,
    OPEN,
    RULES,
    SERVER_COMMANDS,
    SERVER_MENU,
    TASKS,
)
from mcp_progress_monitor.gui.servers.menus import LevelMenu, ResourceMenu
from mcp_progress_monitor.gui.servers.model import (
    ABOUT,
    BADGE,
    ROW,
    SEARCHED,
    STORY,
    ServerRow,
    ServersModel,
    Standing,
    has_resource_updates,
)
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Tone
from mcp_progress_monitor.gui.window_commands import (
    ADD_COMMAND,
    ADD_URL,
    EXPORT_SERVERS,
    IMPORT,
    WATCH,
)
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QStyleOptionViewItem

    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot

_Index = QModelIndex | QPersistentModelIndex

_LINES: Final = 2
_SERVERS: Final = {
    ServerState.IDLE: ("server-idle", Tone.MUTED),
    ServerState.CONNECTING: ("server-connecting", Tone.ACCENT),
    ServerState.CONNECTED: ("server-connected", Tone.GOOD),
    ServerState.FAILED: ("server-failed", Tone.BAD),
    ServerState.CLOSING: ("server-closing", Tone.MUTED),
    ServerState.CLOSED: ("server-idle", Tone.MUTED),
    ServerState.WAITING: ("server-waiting", Tone.WARNING),
}


class ServerFace(NamedTuple):
    """The look of a server's row; in trouble, its text has the icon's colour."""

    icon: str
    tone: Tone
    is_trouble: bool = False


class ServerDelegate(SideDelegate):
    """A server: its state as an icon, its name, and a line of details."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """One line for the name, two for details: an error seldom fits into one."""
        faces = self.faces(option.font)
        return QSize(120, faces.first.height + _LINES * faces.second.height + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a server, with its error as text."""
        row = index.data(ROW)
        if not isinstance(row, ServerRow):
            return
        painter.save()
        face = face_of(row)
        area = self.begin(painter, option, face.icon, face.tone)
        faces = self.faces(option.font)
        lines = faces.wrapped(faces.second, index.data(ABOUT), area.width(), _LINES)
        heights = (faces.heavy.height, faces.second.height)
        top = area.top() + (area.height() - heights[0] - len(lines) * heights[1]) // 2
        place = QRect(area.left(), top, area.width(), heights[0])
        room = self.paint_badge(painter, faces, place, index.data(BADGE))
        place.adjust(0, 0, -room, 0)
        ink = Tone.TEXT if row.server.state.is_up else Tone.MUTED
        name = faces.heavy.elided(formatting.one_line(row.name), place.width(), in_middle=True)
        self.write(painter, faces.heavy, place, name, ink)
        place = QRect(area.left(), place.top() + heights[0], area.width(), heights[1])
        tone = face.tone if face.is_trouble else Tone.MUTED
        for line in lines:
            self.write(painter, faces.second, place, line, tone)
            place.translate(0, heights[1])
        painter.restore()


def face_of(row: ServerRow) -> ServerFace:
    """The look of a server's row; errors and required actions take precedence over its state."""
    server = row.server
    if row.is_disabled and not server.state.is_up:
        return ServerFace("server-disabled", Tone.MUTED)
    if row.awaits_turn:
        return ServerFace("server-connecting", Tone.MUTED)
    if server.sign_in is not None:
        return ServerFace("server-sign-in", Tone.WARNING, is_trouble=True)
    if server.state is ServerState.CONNECTED and server.health is not None:
        tone = Tone.BAD if server.health.is_hung else Tone.WARNING
        return ServerFace("server-silent", tone, is_trouble=True)
    icon, tone = _SERVERS[server.state]
    if server.state is ServerState.CONNECTED and server.error is not None:
        return ServerFace(icon, Tone.WARNING, is_trouble=True)
    is_wrong = server.error is not None or server.retry is not None
    return ServerFace(icon, tone, is_trouble=is_wrong and tone is not Tone.MUTED)


MANY: Final = 12  # the filter field is shown from so many servers on


class ServerFilter(QSortFilterProxyModel):
    """Shows the servers whose name, title, command or URL contains a text."""

    def __init__(self, servers: ServersModel, parent: QObject) -> None:
        super().__init__(parent)
        self.servers = servers
        """`sourceModel` would do, but each object that it returns is never freed."""
        self.setFilterRole(SEARCHED)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setSourceModel(servers)

    @property
    def is_on(self) -> bool:
        """True if servers may be hidden."""
        return bool(self.filterRegularExpression().pattern())


class ServerFilterEdit(QLineEdit):
    """A filter field, visible when there are many servers or a filter; Escape clears it."""

    def __init__(self, shown: ServerFilter, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._shown = shown
        self._appearance = appearance
        self._glass = QAction(self)
        self.addAction(self._glass, QLineEdit.ActionPosition.LeadingPosition)
        self.setClearButtonEnabled(True)
        self.setPlaceholderText("Filter servers")
        self.setAccessibleName("Filter servers by name, command or URL")
        self.setToolTip("Show only servers whose name, command or URL matches (Esc clears)")
        self.textChanged.connect(self._on_text_changed)
        servers = shown.servers
        for signal in (servers.rowsInserted, servers.rowsRemoved, servers.modelReset):
            signal.connect(self.show_if_needed)
        self._glass.setIcon(appearance.icon("search"))
        self.show_if_needed()

    @Slot()
    def show_if_needed(self) -> None:
        """Show the field if there are many servers, or some are hidden."""
        is_needed = self._shown.servers.rowCount() >= MANY or bool(self.text())
        if is_needed is self.isHidden():
            self.setVisible(is_needed)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Clear the field on Escape."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)

    @Slot(str)
    def _on_text_changed(self, text: str) -> None:
        self._shown.setFilterFixedString(text.strip())
        self.show_if_needed()


_ADDING: Final = (
    ADD_COMMAND._replace(text="By &command…"),
    ADD_URL._replace(text="By &URL…"),
    IMPORT._replace(text="&Import…"),
    EXPORT_SERVERS._replace(text="&Export…"),
    WATCH._replace(text="&Watch another client's…"),
)
"""The menu of the button *Add a server*, whose title says the rest."""


class ServerList(QWidget):
    """One row for each server, with the commands on the selection."""

    log_level_requested = Signal(str, object)
    """A server's name, and the requested level of log messages; None for its default."""
    subscription_requested = Signal(str, str, bool)
    """A server's name, a resource's URI, and whether to subscribe to its updates."""

    def __init__(
        self,
        servers: ServersModel,
        appearance: Appearance,
        commands: Commands,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._servers = servers
        self._appearance = appearance
        self._is_read_only = bool(commands.why_read_only)
        self.shown = ServerFilter(servers, self)
        self.view = QListView(self)
        self.filter = ServerFilterEdit(self.shown, appearance, self)
        self.commands: Final = CommandActions(
            (ADD, *SERVER_COMMANDS),
            commands,
            self.view,
            appearance,
            self._chosen,
            id_of=attrgetter("name"),
        )
        commands.carry_out(COPY, self._copy)
        commands.carry_out(ADD, commands.run, ADD_COMMAND)
        self._menu = QMenu(self)
        self._levels = LevelMenu(self)
        self._resources = ResourceMenu(self)
        self._add = QToolButton(
            self, autoRaise=True, popupMode=QToolButton.ToolButtonPopupMode.MenuButtonPopup
        )
        self._adding = CommandMenu(_ADDING, self.commands, self)
        self._heading = SideHeading("Servers", appearance, self)
        self._set_up_view()
        self._set_up_add()
        self._lay_out()
        self._connect()
        self._add.setIcon(self._appearance.icon("add"))
        self.commands.refresh()

    def wanted_height(self) -> int:
        """The height that shows all rows."""
        rows = self.shown.rowCount() * max(self.view.sizeHintForRow(0), 0)
        return self.minimumSizeHint().height() - self.view.minimumSizeHint().height() + rows + GAP

    def current(self) -> ServerSnapshot | None:
        """The current server."""
        row = self._current()
        return None if row is None else row.server

    def selected(self) -> list[ServerRow]:
        indexes = sorted(self.view.selectionModel().selectedRows(), key=QModelIndex.row)
        return [row for row in (index.data(ROW) for index in indexes) if isinstance(row, ServerRow)]

    def _chosen(self) -> list[ServerRow]:
        """The selected servers, and where each stands."""
        rows = self.selected()
        has_catalogue = self._servers.has_catalogue
        may_move = has_catalogue and not self.shown.is_on and len(rows) == 1
        found = []
        for row in rows:
            at = self._servers.row_of(row.name) if may_move else None
            place, count = (0, 1) if at is None else self._servers.place(at)
            standing = Standing(has_catalogue, place > 0, place < count - 1, len(rows) == 1)
            found.append(row._replace(standing=standing))
        return found

    def _current(self) -> ServerRow | None:
        row = self.view.currentIndex().data(ROW)
        return row if isinstance(row, ServerRow) else None

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self.shown)
        dress_side_list(view, ServerDelegate(self._appearance, view), "Servers")
        view.setUniformItemSizes(True)
        view.setSelectionMode(view.SelectionMode.ExtendedSelection)
        view.setVerticalScrollMode(view.ScrollMode.ScrollPerPixel)
        EmptyText(view, "No servers")
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        RowKeys(view)

    def _set_up_add(self) -> None:
        self._add.setAccessibleName("Add a server")
        KeyTip(self._add, self.commands[ADD])
        self._add.setMenu(self._adding)
        self._add.setHidden(self._is_read_only)
        self._heading.add_button(self._add)
        self._heading.set_buddy(self.view)

    def _lay_out(self) -> None:
        layout = in_column(self._heading, of=self, margins=0, spacing=0)
        row = in_column(self.filter, margins=(GAP_S, 0, GAP_S, GAP_S))
        layout.addLayout(row)
        layout.addWidget(self.view, 1)
        order_tabs(self)
        self.setFocusProxy(self.view)

    def _connect(self) -> None:
        view = self.view
        self._add.clicked.connect(self.commands[ADD].trigger)
        self._levels.level_chosen.connect(self._on_level_chosen)
        self._resources.subscription_changed.connect(self._on_subscription_changed)
        view.customContextMenuRequested.connect(self._on_menu_requested)
        view.doubleClicked.connect(self._on_open)
        view.selectionModel().selectionChanged.connect(self.commands.refresh)
        view.selectionModel().currentChanged.connect(self.commands.refresh)
        self._servers.dataChanged.connect(self._on_data_changed)
        for signal in (self._servers.rowsMoved, self.shown.rowsRemoved, self.shown.rowsInserted):
            signal.connect(self.commands.refresh)
        self._appearance.changed.connect(self.view.viewport().update)

    @Slot(QModelIndex, QModelIndex)
    def _on_data_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        chosen = self.view.selectionModel()
        for at in range(first.row(), last.row() + 1):
            if chosen.isSelected(self.shown.mapFromSource(self._servers.index(at))):
                self.commands.refresh()
                return

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        self._menu.clear()
        rows = self.selected() if self.view.indexAt(place).isValid() else []
        if rows:
            self._fill_menu(rows)
        elif not self._is_read_only:
            self._menu.addAction("&Add a server…").triggered.connect(self.commands[ADD].trigger)
            self._menu.addActions(self._adding.actions()[1:])
        self._menu.popup(self.view.viewport().mapToGlobal(place))

    def _fill_menu(self, rows: Sequence[ServerRow]) -> None:
        """Offer what can be done with `rows`, and leave out the rest."""
        self.commands.refresh()
        for group in ((OPEN,), *SERVER_MENU) if self._is_read_only else SERVER_MENU:
            actions = [each for each in self.commands.some(group) if each.isEnabled()]
            if actions and self._menu.actions():
                self._menu.addSeparator()
            self._menu.addActions(actions)
            if RULES in group and actions and len(rows) == 1:
                self._add_settings(rows[0].server, self.commands[TASKS])

    def _add_settings(self, server: ServerSnapshot, before: QAction) -> None:
        self._levels.show_level(server.settings.log_level)
        self._menu.insertMenu(before, self._levels)
        if has_resource_updates(server):
            self._resources.show_server(server)
            self._menu.insertMenu(before, self._resources)

    @Slot(QModelIndex)
    def _on_open(self) -> None:
        row = self._current()
        if row is not None:
            self.commands.run(OPEN, [row])

    def _copy(self, _names: Sequence[str]) -> None:
        chosen = sorted(self.view.selectionModel().selectedRows(), key=QModelIndex.row)
        QGuiApplication.clipboard().setText("\n\n".join(str(i.data(STORY)) for i in chosen))

    @Slot(object)
    def _on_level_chosen(self, level: str | None) -> None:
        server = self.current()
        if server is not None:
            self.log_level_requested.emit(server.name, level)

    @Slot(str, bool)
    def _on_subscription_changed(self, uri: str, is_wanted: bool) -> None:
        server = self.current()
        if server is not None:
            self.subscription_requested.emit(server.name, uri, is_wanted)
