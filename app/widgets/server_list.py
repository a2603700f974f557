"""The list of servers: state, transport, revision, tools, and what can be done with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QListView, QMenu, QToolButton, QVBoxLayout, QWidget

from app.models.servers import SERVER, STORY, ServersModel, lists_tasks, tells_of_resources
from app.sessions.snapshot import ServerSnapshot
from app.widgets.level_menu import LevelMenu
from app.widgets.resource_menu import ResourceMenu
from app.widgets.side_delegate import ServerDelegate
from app.widgets.side_heading import SideHeading

if TYPE_CHECKING:
    from app.widgets.appearance import Appearance


class ServerList(QWidget):
    """One row for each server; it decides nothing, every wish is a signal to the shell."""

    connect_requested = Signal(str)
    disconnect_requested = Signal(str)
    server_remove_requested = Signal(str)
    server_opened = Signal(str)
    """Double click or Enter on a server that is up: its details are wanted."""
    server_add_requested = Signal()
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
        self.view = QListView(self)
        self._menu = QMenu(self)
        self._levels = LevelMenu(self)
        self._levels.level_chosen.connect(self._on_level_chosen)
        self._resources = ResourceMenu(self)
        self._resources.subscription_changed.connect(self._on_subscription_changed)
        self._is_read_only = False
        self._add = QToolButton(self)
        self._heading = SideHeading(self.tr("Servers"), appearance, self)
        self._set_up_view()
        self._set_up_actions()
        self._set_up_add()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._heading)
        layout.addWidget(self.view, 1)
        self.setFocusProxy(self.view)
        appearance.changed.connect(self._recolour)
        self._recolour()

    def current(self) -> ServerSnapshot | None:
        """The server that the keyboard acts on."""
        server = self.view.currentIndex().data(SERVER)
        return server if isinstance(server, ServerSnapshot) else None

    def set_read_only(self, why: str) -> None:
        """Offer nothing but to look at servers; `why` is told in the actions' tips."""
        self._is_read_only = True
        self._add.hide()
        changing = (self._open, self._connect, self._disconnect, self._remove)
        for action in (*changing, self._rules, self._roots, self._tasks):
            action.setEnabled(False)
            action.setToolTip(why)

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self._servers)
        view.setItemDelegate(ServerDelegate(self._appearance, view))
        view.setFrameShape(view.Shape.NoFrame)
        view.setMouseTracking(True)
        view.setUniformItemSizes(True)
        view.setEditTriggers(view.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(view.ScrollMode.ScrollPerPixel)
        view.viewport().setAutoFillBackground(False)
        view.setAccessibleName(self.tr("Servers"))
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._on_menu_requested)
        view.doubleClicked.connect(self._on_open)

    def _set_up_actions(self) -> None:
        enter = [QKeySequence(Qt.Key.Key_Return), QKeySequence(Qt.Key.Key_Enter)]
        self._open = self._action(self.tr("&Open"), enter)
        self._connect = self._action(self.tr("&Connect"), [QKeySequence("Ctrl+Return")])
        self._disconnect = self._action(self.tr("&Disconnect"), [QKeySequence("Ctrl+D")])
        self._copy = self._action(
            self.tr("Copy de&tails"), [QKeySequence(QKeySequence.StandardKey.Copy)]
        )
        self._rules = self._action(self.tr("Rules for &questions…"), [])
        self._roots = self._action(self.tr("&Folders (roots)…"), [])
        self._tasks = self._action(self.tr("&Tasks at the server…"), [])
        self._remove = self._action(self.tr("Re&move"), [QKeySequence(Qt.Key.Key_Delete)])
        self._open.triggered.connect(self._on_open)
        self._connect.triggered.connect(self._on_connect)
        self._disconnect.triggered.connect(self._on_disconnect)
        self._copy.triggered.connect(self._on_copy)
        self._rules.triggered.connect(self._on_rules)
        self._roots.triggered.connect(self._on_roots)
        self._tasks.triggered.connect(self._on_tasks)
        self._remove.triggered.connect(self._on_remove)

    def _action(self, words: str, keys: list[QKeySequence]) -> QAction:
        action = QAction(words, self.view)
        action.setShortcuts(keys)
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.view.addAction(action)
        return action

    def _set_up_add(self) -> None:
        self._add.setAutoRaise(True)
        self._add.setAccessibleName(self.tr("Add a server"))
        self._add.setToolTip(self.tr("Add a server"))
        self._add.clicked.connect(self.server_add_requested)
        self._heading.add_button(self._add)
        self._heading.set_buddy(self.view)

    @Slot()
    def _recolour(self) -> None:
        self._add.setIcon(self._appearance.icon("add"))
        for action, icon in (
            (self._connect, "connect"),
            (self._disconnect, "disconnect"),
            (self._copy, "copy"),
            (self._rules, "state-needs-you"),
            (self._roots, "open"),
            (self._tasks, "task"),
            (self._remove, "remove"),
        ):
            action.setIcon(self._appearance.icon(icon))
        self.view.viewport().update()

    @Slot(QPoint)
    def _on_menu_requested(self, place: QPoint) -> None:
        self._menu.clear()
        server = self.current() if self.view.indexAt(place).isValid() else None
        if server is not None:
            self._fill_menu(server)
        elif not self._is_read_only:
            self._menu.addAction(self.tr("&Add a server…")).triggered.connect(
                self.server_add_requested
            )
        self._menu.popup(self.view.viewport().mapToGlobal(place))

    def _fill_menu(self, server: ServerSnapshot) -> None:
        if self._is_read_only:
            self._menu.addAction(self._copy)
            return
        self._menu.addAction(self._disconnect if server.state.is_up else self._connect)
        self._menu.addAction(self._copy)
        self._menu.addSeparator()
        self._menu.addActions([self._rules, self._roots])
        self._levels.show_level(server.settings.log_level)
        self._menu.addMenu(self._levels)
        if tells_of_resources(server):
            self._resources.show_server(server)
            self._menu.addMenu(self._resources)
        if lists_tasks(server):
            self._menu.addAction(self._tasks)
        self._menu.addSeparator()
        self._menu.addAction(self._remove)

    @Slot()
    @Slot(QModelIndex)
    def _on_open(self) -> None:
        server = self.current()
        if server is None or self._is_read_only:
            return
        if server.state.is_up:
            self.server_opened.emit(server.name)
        else:
            self.connect_requested.emit(server.name)

    @Slot()
    def _on_connect(self) -> None:
        server = self.current()
        if server is not None and not server.state.is_up:
            self.connect_requested.emit(server.name)

    @Slot()
    def _on_disconnect(self) -> None:
        server = self.current()
        if server is not None and server.state.is_up:
            self.disconnect_requested.emit(server.name)

    @Slot()
    def _on_copy(self) -> None:
        words = self.view.currentIndex().data(STORY)
        if words:
            QGuiApplication.clipboard().setText(words)

    @Slot()
    def _on_rules(self) -> None:
        server = self.current()
        if server is not None:
            self.rules_requested.emit(server.name)

    @Slot()
    def _on_roots(self) -> None:
        server = self.current()
        if server is not None:
            self.roots_requested.emit(server.name)

    @Slot(object)
    def _on_level_chosen(self, level: str | None) -> None:
        server = self.current()
        if server is not None:
            self.log_level_requested.emit(server.name, level)

    @Slot()
    def _on_tasks(self) -> None:
        server = self.current()
        if server is not None:
            self.tasks_requested.emit(server.name)

    @Slot(str, bool)
    def _on_subscription_changed(self, uri: str, is_wanted: bool) -> None:
        server = self.current()
        if server is not None:
            self.subscription_requested.emit(server.name, uri, is_wanted)

    @Slot()
    def _on_remove(self) -> None:
        server = self.current()
        if server is not None:
            self.server_remove_requested.emit(server.name)
