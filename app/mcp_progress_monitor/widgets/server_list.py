"""The list of servers: state, transport, revision, tools, and what can be done with each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QShortcut
from PySide6.QtWidgets import QListView, QMenu, QToolButton, QVBoxLayout, QWidget

from mcp_progress_monitor.models.server_wishes import Wish, can, can_all
from mcp_progress_monitor.models.servers import (
    ROW,
    STORY,
    ServerRow,
    ServersModel,
    lists_tasks,
    tells_of_resources,
)
from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.widgets.appearance import GAP_S
from mcp_progress_monitor.widgets.level_menu import LevelMenu
from mcp_progress_monitor.widgets.resource_menu import ResourceMenu
from mcp_progress_monitor.widgets.server_actions import ServerActions
from mcp_progress_monitor.widgets.side_delegate import ServerDelegate
from mcp_progress_monitor.widgets.side_filter import ServerFilter, ServerFilterEdit
from mcp_progress_monitor.widgets.side_heading import SideHeading
from mcp_progress_monitor.widgets.tab_order import order_tabs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.sessions.snapshot import ServerSnapshot
    from mcp_progress_monitor.widgets.appearance import Appearance

_CHANGES: Final = {
    Wish.EDIT: "edit_requested",
    Wish.CLONE: "clone_requested",
    Wish.KEEP: "keep_requested",
    Wish.DOCTOR: "doctor_requested",
    Wish.STDERR: "stderr_requested",
    Wish.RULES: "rules_requested",
    Wish.ROOTS: "roots_requested",
    Wish.TASKS: "tasks_requested",
    Wish.SIGN_OUT: "sign_out_requested",
    Wish.REMOVE: "server_remove_requested",
    Wish.CONNECT: "connect_requested",
    Wish.DISCONNECT: "disconnect_requested",
    Wish.RESTART: "restart_requested",
}
"""The signals that name a server and nothing more."""


class ServerList(QWidget):
    """One row for each server; it decides nothing, every wish is a signal to the shell."""

    connect_requested = Signal(str)
    disconnect_requested = Signal(str)
    """Of a server that waits to be restarted: it is not to be."""
    restart_requested = Signal(str)
    sign_out_requested = Signal(str)
    """The tokens of a sign-in in the browser are to be forgotten."""
    edit_requested = Signal(str)
    clone_requested = Signal(str)
    keep_requested = Signal(str)
    """A server that was only added for now is to be saved in the catalogue."""
    disable_requested = Signal(str, bool)
    """A server's name, and whether it is to be disabled (or enabled)."""
    connect_at_start_requested = Signal(str, bool)
    move_requested = Signal(str, int)
    """A server's name and its new place, from 0: among the saved ones if it is saved."""
    server_remove_requested = Signal(str)
    doctor_requested = Signal(str)
    stderr_requested = Signal(str)
    server_opened = Signal(str)
    """Double click or Enter on a server that is up: its details are wanted."""
    server_add_requested = Signal()
    url_add_requested = Signal()
    import_requested = Signal()
    export_requested = Signal()
    rules_requested = Signal(str)
    """The rules for what a server asks are to be shown."""
    roots_requested = Signal(str)
    """The folders that a server may use are to be shown."""
    log_level_requested = Signal(str, object)
    """A server's name, and the level of log messages wanted; None for as it likes."""
    tasks_requested = Signal(str)
    """The tasks that a server knows are to be listed."""
    subscription_requested = Signal(str, str, bool)
    """A server's name, a resource's URI, and whether news of it are wanted."""

    def __init__(
        self, servers: ServersModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._servers = servers
        self._appearance = appearance
        self._is_read_only = False
        self.shown = ServerFilter(servers, self)
        self.view = QListView(self)
        self.filter = ServerFilterEdit(self.shown, appearance, self)
        self.actions_ = ServerActions(self.view, appearance, self)
        self._menu = QMenu(self)
        self._levels = LevelMenu(self)
        self._resources = ResourceMenu(self)
        self._add = QToolButton(self)
        self._adding = QMenu(self)
        self._heading = SideHeading(self.tr("Servers"), appearance, self)
        self._set_up_view()
        self._set_up_add()
        self._lay_out()
        self._connect()
        self._recolour()
        self._enable()

    def current(self) -> ServerSnapshot | None:
        """The server that the keyboard acts on."""
        row = self._current()
        return None if row is None else row.server

    def selected(self) -> list[ServerRow]:
        """The selected servers, from the top."""
        indexes = sorted(self.view.selectionModel().selectedRows(), key=QModelIndex.row)
        return [row for row in (index.data(ROW) for index in indexes) if isinstance(row, ServerRow)]

    def set_read_only(self, why: str) -> None:
        """Offer nothing but to look at servers; `why` is told in the actions' tips."""
        self._is_read_only = True
        self._add.hide()
        self.actions_.set_tips(why)
        self._enable()

    def _current(self) -> ServerRow | None:
        row = self.view.currentIndex().data(ROW)
        return row if isinstance(row, ServerRow) else None

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self.shown)
        view.setItemDelegate(ServerDelegate(self._appearance, view))
        view.setFrameShape(view.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setUniformItemSizes(True)
        view.setSelectionMode(view.SelectionMode.ExtendedSelection)
        view.setEditTriggers(view.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(view.ScrollMode.ScrollPerPixel)
        view.viewport().setAutoFillBackground(False)
        view.setAccessibleName(self.tr("Servers"))
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def _set_up_add(self) -> None:
        self._add.setAutoRaise(True)
        self._add.setAccessibleName(self.tr("Add a server"))
        self._add.setToolTip(self.tr("Add a server (Ins); the arrow has other ways"))
        self._add.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        for words, wanted in (
            (self.tr("By &command…"), self.server_add_requested),
            (self.tr("By &URL…"), self.url_add_requested),
            (self.tr("&Import…"), self.import_requested),
            (self.tr("&Export…"), self.export_requested),
        ):
            self._adding.addAction(words).triggered.connect(wanted)
        self._add.setMenu(self._adding)
        self._heading.add_button(self._add)
        self._heading.set_buddy(self.view)
        self._insert = QShortcut("Ins", self.view)
        self._insert.setContext(Qt.ShortcutContext.WidgetShortcut)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._heading)
        row = QVBoxLayout()
        row.setContentsMargins(GAP_S, 0, GAP_S, GAP_S)
        row.addWidget(self.filter)
        layout.addLayout(row)
        layout.addWidget(self.view, 1)
        order_tabs(self)
        self.setFocusProxy(self.view)

    def _connect(self) -> None:
        view = self.view
        self._add.clicked.connect(self.server_add_requested)
        self._insert.activated.connect(self._on_insert)
        self._levels.level_chosen.connect(self._on_level_chosen)
        self._resources.subscription_changed.connect(self._on_subscription_changed)
        self.actions_.wished.connect(self._on_wished)
        view.customContextMenuRequested.connect(self._on_menu_requested)
        view.doubleClicked.connect(self._on_open)
        view.selectionModel().selectionChanged.connect(self._enable)
        view.selectionModel().currentChanged.connect(self._enable)
        self._servers.dataChanged.connect(self._on_data_changed)
        for signal in (self._servers.rowsMoved, self.shown.rowsRemoved, self.shown.rowsInserted):
            signal.connect(self._enable)
        self._appearance.changed.connect(self._recolour)

    def _offers(self, row: ServerRow) -> frozenset[Wish]:
        has_tasks = lists_tasks(row.server)
        return can(row, has_catalogue=self._servers.has_catalogue, lists_tasks=has_tasks)

    def _moves(self, row: ServerRow) -> frozenset[Wish]:
        """Where a server may be moved: nowhere while some are hidden."""
        at = self._servers.row_of(row.name)
        if at is None or self.shown.is_on or not self._servers.has_catalogue:
            return frozenset()
        place, count = self._servers.place(at)
        found = {Wish.UP: place > 0, Wish.DOWN: place < count - 1}
        return frozenset(wish for wish, is_offered in found.items() if is_offered)

    @Slot()
    def _enable(self) -> None:
        """Let exactly that be chosen which can work now for what is selected."""
        rows = self.selected()
        wishes = can_all([self._offers(row) for row in rows]) if rows else frozenset()
        if len(rows) == 1:
            wishes |= self._moves(rows[0])
        self.actions_.offer(wishes & {Wish.COPY} if self._is_read_only else wishes)
        at_start = [row.entry.connects_at_start for row in rows if row.entry is not None]
        self.actions_[Wish.AT_START].setChecked(bool(at_start) and all(at_start))

    @Slot(QModelIndex, QModelIndex)
    def _on_data_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        """Offer anew what can work, if it was a selected server that changed."""
        chosen = self.view.selectionModel()
        for at in range(first.row(), last.row() + 1):
            if chosen.isSelected(self.shown.mapFromSource(self._servers.index(at))):
                self._enable()
                return

    @Slot()
    def _recolour(self) -> None:
        self._add.setIcon(self._appearance.icon("add"))
        self.view.viewport().update()

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        self._menu.clear()
        rows = self.selected() if self.view.indexAt(place).isValid() else []
        if rows:
            self._fill_menu(rows)
        elif not self._is_read_only:
            self._menu.addAction(self.tr("&Add a server…")).triggered.connect(
                self.server_add_requested
            )
            self._menu.addActions(self._adding.actions()[1:])
        self._menu.popup(self.view.viewport().mapToGlobal(place))

    def _fill_menu(self, rows: Sequence[ServerRow]) -> None:
        """What can be done with `rows`; what cannot is left out."""
        self._add_group(Wish.CONNECT, Wish.DISCONNECT, Wish.RESTART, Wish.SIGN_OUT)
        self._add_group(Wish.DOCTOR, Wish.STDERR, Wish.COPY)
        if len(rows) == 1 and rows[0].is_there and not self._is_read_only:
            self._add_settings(rows[0].server)
        self._add_group(Wish.EDIT, Wish.CLONE, Wish.KEEP, Wish.AT_START, Wish.DISABLE, Wish.ENABLE)
        self._add_group(Wish.UP, Wish.DOWN)
        self._add_group(Wish.REMOVE)
        self.actions_[Wish.DISCONNECT].setText(self._stop_words(rows))

    def _stop_words(self, rows: Sequence[ServerRow]) -> str:
        """What disconnecting is called, where there is no connection yet."""
        if len(rows) == 1 and rows[0].awaits_turn:
            return self.tr("S&top waiting")
        is_restarting = len(rows) == 1 and rows[0].server.state is ServerState.WAITING
        return self.tr("S&top restarting") if is_restarting else self.tr("&Disconnect")

    def _add_group(self, *wishes: Wish) -> None:
        offered = [self.actions_[wish] for wish in wishes if self.actions_[wish].isEnabled()]
        if offered and self._menu.actions():
            self._menu.addSeparator()
        self._menu.addActions(offered)

    def _add_settings(self, server: ServerSnapshot) -> None:
        self._add_group(Wish.RULES, Wish.ROOTS)
        self._levels.show_level(server.settings.log_level)
        self._menu.addMenu(self._levels)
        if tells_of_resources(server):
            self._resources.show_server(server)
            self._menu.addMenu(self._resources)
        if self.actions_[Wish.TASKS].isEnabled():
            self._menu.addAction(self.actions_[Wish.TASKS])

    @Slot()
    def _on_insert(self) -> None:
        if not self._is_read_only:
            self.server_add_requested.emit()

    @Slot(object)
    def _on_wished(self, wish: Wish) -> None:
        """Hand on a wish for each selected server that it can work for."""
        if wish is Wish.OPEN:
            self._on_open()
        elif wish is Wish.COPY:
            self._copy()
        else:
            for row in self.selected():
                if wish in self._offers(row) | self._moves(row):
                    self._ask(wish, row)

    def _ask(self, wish: Wish, row: ServerRow) -> None:
        if wish in _CHANGES:
            getattr(self, _CHANGES[wish]).emit(row.name)
        elif wish in {Wish.DISABLE, Wish.ENABLE}:
            self.disable_requested.emit(row.name, wish is Wish.DISABLE)
        elif wish is Wish.AT_START:
            is_wanted = self.actions_[Wish.AT_START].isChecked()
            self.connect_at_start_requested.emit(row.name, is_wanted)
        else:
            self._move(row, -1 if wish is Wish.UP else 1)

    def _move(self, row: ServerRow, by: int) -> None:
        at = self._servers.row_of(row.name)
        if at is not None:
            place, _count = self._servers.place(at)
            self.move_requested.emit(row.name, place + by)

    @Slot()
    @Slot(QModelIndex)
    def _on_open(self) -> None:
        row = self._current()
        if row is None or self._is_read_only or not row.is_there:
            return
        if row.server.state.is_up:
            self.server_opened.emit(row.name)
        elif not row.is_disabled:
            self.connect_requested.emit(row.name)

    def _copy(self) -> None:
        chosen = sorted(self.view.selectionModel().selectedRows(), key=QModelIndex.row)
        words = "\n\n".join(str(index.data(STORY)) for index in chosen)
        if words:
            QGuiApplication.clipboard().setText(words)

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
