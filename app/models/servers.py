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
from app.sessions.snapshot import ServerState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.sessions.snapshot import ServerSnapshot

SERVER: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `ServerSnapshot`."""

_Index = QModelIndex | QPersistentModelIndex


class ServerSource(Protocol):
    """Where servers come from; `app.monitor.Monitor` fits."""

    def servers(self) -> Sequence[ServerSnapshot]:
        """All servers in the order in which they were added."""


def state_word(state: ServerState) -> str:
    """The state's name in the user's language."""
    return QCoreApplication.translate("Servers", state.value)


def about(server: ServerSnapshot) -> str:
    """What is known of a server in one line: what went wrong, else tools, revision, transport."""
    if server.problem is not None:
        return text.one_line(server.problem.what)
    transport = server.definition.transport
    if server.state is not ServerState.CONNECTED:
        return f"{transport} · {state_word(server.state)}"
    parts = (text.count(len(server.tools), "tool"), server.revision or "", transport)
    return " · ".join(text.one_line(part) for part in parts if part)


def story(server: ServerSnapshot) -> str:
    """All that is known of a server, in lines of plain text."""
    problem = server.problem.as_text() if server.problem is not None else ""
    command = text.one_line(server.definition.command_line, 400)
    process = "" if server.pid is None else f"pid {server.pid}"
    head = f"{text.one_line(server.name)}: {state_word(server.state)}"
    known = about(server) if not problem else text.visible(problem, keep_line_ends=True)
    return "\n".join(part for part in (head, command, process, known) if part)


class ServersModel(QAbstractListModel):
    """One row for each server of a source."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: ServerSource | None = None
        self._servers: list[ServerSnapshot] = []

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

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of servers."""
        return 0 if parent.isValid() else len(self._servers)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name for display, the story for screen readers, the snapshot for delegates."""
        if not index.isValid():
            return None
        server = self._servers[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return text.one_line(server.name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{text.one_line(server.name)}, {state_word(server.state)}, {about(server)}"
        return server if role == SERVER else None

    def _place(self, row: int, server: ServerSnapshot, *, is_changed: bool) -> None:
        is_known = row < len(self._servers) and self._servers[row].name == server.name
        if not is_known:
            self.beginInsertRows(QModelIndex(), row, row)
            self._servers.insert(row, server)
            self.endInsertRows()
        elif is_changed:
            self._servers[row] = server
            self.dataChanged.emit(self.index(row), self.index(row))
