"""The list of servers: state, transport, revision, tools, and what can be done with each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QListView, QMenu, QToolButton, QVBoxLayout, QWidget

from app.models.servers import SERVER, STORY, ServersModel
from app.sessions.snapshot import ServerSnapshot
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

    def __init__(
        self, servers: ServersModel, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._servers = servers
        self._appearance = appearance
        self.view = QListView(self)
        self._menu = QMenu(self)
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
        for action in (self._open, self._connect, self._disconnect, self._remove):
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
        self._remove = self._action(self.tr("Re&move"), [QKeySequence(Qt.Key.Key_Delete)])
        self._open.triggered.connect(self._on_open)
        self._connect.triggered.connect(self._on_connect)
        self._disconnect.triggered.connect(self._on_disconnect)
        self._copy.triggered.connect(self._on_copy)
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
    def _on_remove(self) -> None:
        server = self.current()
        if server is not None:
            self.server_remove_requested.emit(server.name)
