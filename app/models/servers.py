"""The servers as rows: name, state, and what is known of each in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Slot,
)

from app import text
from app.protocol.eras import as_object
from app.protocol.task_requests import TaskOffer
from app.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.sessions.snapshot import ServerSnapshot

SERVER: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `ServerSnapshot`."""
ABOUT: Final = SERVER + 1
"""Role of what is known of a server, in short."""
STORY: Final = SERVER + 2
"""Role of all that is known of a server, in lines."""
_UPDATES_TOLD: Final = 10

_Index = QModelIndex | QPersistentModelIndex


class ServerSource(Protocol):
    """Where servers come from; `app.monitor.Monitor` fits."""

    def servers(self) -> Sequence[ServerSnapshot]:
        """All servers in the order in which they were added."""

    def unattached_ticks(self, connection: str) -> int:
        """How many of a connection's ticks had a token that belongs to no job."""


def state_word(state: ServerState) -> str:
    """The state's name in the user's language."""
    return QCoreApplication.translate("Servers", state.value)


def about(server: ServerSnapshot, stray_ticks: int = 0) -> str:
    """What is known of a server in short: what went wrong, else tools, revision, transport.

    `stray_ticks` is how much of its progress had a token that belongs to no job.
    """
    if server.problem is not None:
        return text.one_line(server.problem.what)
    transport = server.definition.transport
    stray = _of_stray(stray_ticks)
    if server.state is not ServerState.CONNECTED:
        return " · ".join(part for part in (stray, transport, state_word(server.state)) if part)
    tools = text.count(len(server.tools), "tool")
    parts = (stray, _of_updates(server), tools, server.revision or "", transport)
    return " · ".join(text.one_line(part) for part in parts if part)


def _of_updates(server: ServerSnapshot) -> str:
    """That resources were updated, and how often; nothing when none was."""
    number = sum(each.number for each in server.resource_updates)
    words = QCoreApplication.translate("Servers", "resource update")
    return text.count(number, words) if number else ""


def _updates(server: ServerSnapshot) -> str:
    """The newest updates of resources, a line each, the last one first."""
    words = QCoreApplication.translate("Servers", "{uri} updated {count}, last at {time}")
    return "\n".join(
        words.format(
            uri=text.one_line(each.uri),
            count=text.count(each.number, "time"),
            time=text.clock(each.when)[:8],
        )
        for each in reversed(server.resource_updates[-_UPDATES_TOLD:])
    )


def _of_stray(ticks: int) -> str:
    if not ticks:
        return ""
    words = QCoreApplication.translate("Servers", "{ticks} for unknown tokens")
    return words.format(ticks=text.count(ticks, "tick"))


def story(server: ServerSnapshot, stray_ticks: int = 0) -> str:
    """All that is known of a server, in lines of plain text; for `stray_ticks` see `about`."""
    problem = server.problem.as_text() if server.problem is not None else ""
    command = text.one_line(server.definition.command_line, 400)
    process = "" if server.pid is None else f"pid {server.pid}"
    head = f"{text.one_line(server.name)}: {state_word(server.state)}"
    known = text.visible(problem, keep_line_ends=True) if problem else about(server)
    parts = (head, command, process, known, _of_stray(stray_ticks), _updates(server))
    return "\n".join(part for part in parts if part)


def lists_tasks(server: ServerSnapshot) -> bool:
    """Whether a server can be asked now for the tasks that it knows."""
    offer = TaskOffer.of(server.revision or "", server.capabilities)
    return server.state is ServerState.CONNECTED and offer.has_list


def tells_of_resources(server: ServerSnapshot) -> bool:
    """Whether a server can be asked now to tell when a resource of its changes."""
    offer = as_object(server.capabilities.get("resources"))
    has_any = bool(server.resources or server.subscriptions)
    return server.state is ServerState.CONNECTED and has_any and offer.get("subscribe") is True


class ServersModel(QAbstractListModel):
    """One row for each server of a source."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: ServerSource | None = None
        self._servers: list[ServerSnapshot] = []
        self._stray: dict[str, int] = {}

    def set_source(self, source: ServerSource) -> None:
        """Show the servers of `source` from now on."""
        self.beginResetModel()
        self._source = source
        self._servers = list(source.servers())
        self.endResetModel()

    @Slot(object)
    def apply(self, changed: frozenset[str]) -> None:
        """Show the servers named in `changed` as they are now (`Feed.servers_changed`)."""
        if self._source is None:
            return
        now = list(self._source.servers())
        names = {server.name for server in now}
        for row in reversed(range(len(self._servers))):
            if self._servers[row].name not in names:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._servers[row]
                self.endRemoveRows()
        for row, server in enumerate(now):
            self._place(row, server, is_changed=server.name in changed)
        self.count_again()

    @Slot()
    def count_again(self) -> None:
        """Count the ticks for unknown tokens anew: after each batch with marks, not each tick."""
        stray = {server.name: self._count(server) for server in self._servers}
        before, self._stray = self._stray, stray
        for row, name in enumerate(stray):
            if stray[name] != before.get(name, 0):
                self.dataChanged.emit(self.index(row), self.index(row))

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of servers."""
        return 0 if parent.isValid() else len(self._servers)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name for display, state and news for screen readers, the rest for delegates."""
        if not index.isValid():
            return None
        server = self._servers[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text.one_line(server.name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            known = about(server, self._stray.get(server.name, 0))
            return f"{text.one_line(server.name)}, {state_word(server.state)}, {known}"
        if role in (ABOUT, STORY):
            words = about if role == ABOUT else story
            return words(server, self._stray.get(server.name, 0))
        return server if role == SERVER else None

    def _count(self, server: ServerSnapshot) -> int:
        if self._source is None or server.connection is None:
            return 0
        return self._source.unattached_ticks(server.connection)

    def _place(self, row: int, server: ServerSnapshot, *, is_changed: bool) -> None:
        is_known = row < len(self._servers) and self._servers[row].name == server.name
        if not is_known:
            self.beginInsertRows(QModelIndex(), row, row)
            self._servers.insert(row, server)
            self.endInsertRows()
        elif is_changed:
            self._servers[row] = server
            self.dataChanged.emit(self.index(row), self.index(row))
