"""Actions on servers by their state: rules, actions and menus."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from mcp_progress_monitor.formatting import clock, count, one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.tables import row_action
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.servers.model import ServerRow
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot


class ServerAction(enum.Enum):
    """An action on one server; the values are its names."""

    OPEN = "open"
    CONNECT = "connect"
    DISCONNECT = "disconnect"
    RESTART = "restart"
    EDIT = "edit"
    CLONE = "clone"
    DISABLE = "disable"
    ENABLE = "enable"
    AT_START = "at-start"
    KEEP = "keep"
    UP = "up"
    DOWN = "down"
    DOCTOR = "doctor"
    STDERR = "stderr"
    FINDINGS = "findings"
    JOBS = "jobs"
    TRAFFIC = "traffic"
    COPY = "copy"
    RULES = "rules"
    ROOTS = "roots"
    TASKS = "tasks"
    SIGN_OUT = "sign-out"
    WATCH = "watch"
    REMOVE = "remove"


FOR_MANY = frozenset(
    {
        ServerAction.CONNECT,
        ServerAction.DISCONNECT,
        ServerAction.RESTART,
        ServerAction.DISABLE,
        ServerAction.ENABLE,
        ServerAction.COPY,
    }
)
"""What makes sense for several servers at once, each of them on its own."""
WITHOUT_CHANGE = frozenset(
    {
        ServerAction.OPEN,
        ServerAction.COPY,
        ServerAction.FINDINGS,
        ServerAction.JOBS,
        ServerAction.TRAFFIC,
    }
)
"""What can be done with servers of a recording."""
_SETTINGS = frozenset(
    {ServerAction.RULES, ServerAction.ROOTS, ServerAction.DOCTOR, ServerAction.OPEN}
)


def can(
    row: ServerRow, *, has_catalogue: bool, lists_tasks: bool = False
) -> frozenset[ServerAction]:
    """The actions available for one server; the list decides about moving."""
    server = row.server
    is_up, is_waiting = server.state.is_up, server.state is ServerState.WAITING
    offered = {
        ServerAction.CONNECT: row.is_there and not is_up and not row.is_disabled,
        ServerAction.DISCONNECT: row.is_there and (is_up or is_waiting or row.awaits_turn),
        ServerAction.RESTART: server.state in {ServerState.CONNECTED, ServerState.CONNECTING},
        ServerAction.EDIT: has_catalogue,
        ServerAction.CLONE: has_catalogue,
        ServerAction.DISABLE: row.entry is not None and not row.is_disabled,
        ServerAction.ENABLE: row.is_disabled,
        ServerAction.AT_START: row.entry is not None and not row.is_disabled,
        ServerAction.KEEP: has_catalogue and row.entry is None,
        ServerAction.STDERR: server.definition.transport == "stdio",
        **dict.fromkeys((ServerAction.FINDINGS, ServerAction.JOBS, ServerAction.TRAFFIC), True),
        ServerAction.COPY: True,
        ServerAction.TASKS: lists_tasks,
        ServerAction.SIGN_OUT: has_catalogue and row.is_there and _signs_in(server),
        ServerAction.WATCH: row.entry is not None and server.definition.transport == "stdio",
        ServerAction.REMOVE: not is_up,
    }
    found = frozenset(request for request, is_offered in offered.items() if is_offered)
    return found | _SETTINGS if row.is_there else found


def can_all(offers: Sequence[frozenset[ServerAction]]) -> frozenset[ServerAction]:
    """The actions available for a selection: what at least one of its servers supports."""
    if len(offers) == 1:
        return offers[0]
    return frozenset().union(*offers) & FOR_MANY


def _signs_in(server: ServerSnapshot) -> bool:
    """Whether the user may have signed in to it in the browser."""
    definition = server.definition
    return definition.transport != "stdio" and definition.auth == "oauth"


_MADE: Final = (
    # action, text, icon, keys
    (ServerAction.OPEN, "&Open", "", ("Return", "Enter")),
    (ServerAction.CONNECT, "&Connect", "connect", ("Ctrl+Return",)),
    (ServerAction.DISCONNECT, "&Disconnect", "disconnect", ("Ctrl+D",)),
    (ServerAction.RESTART, "&Restart", "again", ("F5",)),
    (ServerAction.DOCTOR, "Connection d&octor", "doctor", ("Ctrl+I",)),
    (ServerAction.STDERR, "S&how stderr", "stderr", ("Ctrl+Shift+E",)),
    (ServerAction.FINDINGS, "Show fi&ndings", "warning", ()),
    (ServerAction.JOBS, "Show &jobs", "jobs", ()),
    (ServerAction.TRAFFIC, "Show in Tr&affic", "log", ()),
    (ServerAction.COPY, "Co&py details", "copy", ("Ctrl+C",)),
    (ServerAction.RULES, "Rules for &questions…", "state-needs-you", ()),
    (ServerAction.ROOTS, "&Folders (roots)…", "open", ()),
    (ServerAction.TASKS, "&Tasks on the server…", "task", ()),
    (ServerAction.SIGN_OUT, "S&ign out", "server-sign-in", ()),
    (ServerAction.WATCH, "&Watch in a client…", "watched", ()),
    (ServerAction.EDIT, "&Edit…", "edit", ("F2",)),
    (ServerAction.CLONE, "C&lone", "copy", ("Ctrl+Shift+C",)),
    (ServerAction.KEEP, "&Keep this server", "save", ("Ctrl+Alt+S",)),
    (ServerAction.AT_START, "Connect at &start", "", ("Ctrl+T",)),
    (ServerAction.DISABLE, "Disa&ble", "server-disabled", ("Ctrl+B",)),
    (ServerAction.ENABLE, "Ena&ble", "server", ("Ctrl+Shift+B",)),
    (ServerAction.UP, "Move &up", "previous", ("Ctrl+Up",)),
    (ServerAction.DOWN, "Move do&wn", "next", ("Ctrl+Down",)),
    (ServerAction.REMOVE, "Re&move", "remove", ("Del",)),
)


class ServerActions(QObject):
    """One `QAction` for each `ServerAction`; their keys work only in the list."""

    requested = Signal(object)
    """The `ServerAction` that was chosen."""

    def __init__(self, view: QWidget, appearance: Appearance, parent: QObject) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._actions: dict[ServerAction, QAction] = {}
        for request, text, _icon, keys in _MADE:
            action = row_action(view, f"servers.{request.value}", text, *keys)
            action.setData(request.value)
            action.triggered.connect(self._on_triggered)
            self._actions[request] = action
        self._actions[ServerAction.AT_START].setCheckable(True)
        appearance.changed.connect(self._recolour)
        self._recolour()

    def __getitem__(self, request: ServerAction) -> QAction:
        return self._actions[request]

    def offer(self, enabled: Collection[ServerAction]) -> None:
        """Enable exactly these actions."""
        for request, action in self._actions.items():
            action.setEnabled(request in enabled)

    def set_tips(self, why: str) -> None:
        """Explain in every tip why nothing can be changed."""
        for request, action in self._actions.items():
            if request not in WITHOUT_CHANGE:
                action.setToolTip(plain_tip(why))

    @Slot()
    def _on_triggered(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.requested.emit(ServerAction(action.data()))

    @Slot()
    def _recolour(self) -> None:
        for request, _text, icon, _keys in _MADE:
            if icon:
                self._actions[request].setIcon(self._appearance.icon(icon))


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
