"""The servers as rows: name, state, and a line of details."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Slot,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.tasks import TaskOffer
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, ServerState
from mcp_progress_monitor.wording.servers import about, details, state_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.gui.common.labels import Badge

SERVER: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `ServerSnapshot`
ABOUT: Final = SERVER + 1  # role of a server's details, in short
STORY: Final = SERVER + 2  # role of all details of a server, in lines
ROW: Final = SERVER + 3  # role of the row's `ServerRow`
SEARCHED: Final = SERVER + 4  # role of the searched text: name, command or URL, and title
BADGE: Final = SERVER + 5  # role of the `Badge` of a row; None without findings
_SECOND_MS: Final = 1000
_Index = QModelIndex | QPersistentModelIndex


class ServerSource(Protocol):
    """The source of servers; the parts of `Engine` and of `Playback` fit."""

    def names(self) -> Sequence[str]:
        """The names of all servers, in the order in which they were added."""

    def snapshot(self, name: str) -> ServerSnapshot:
        """One server, without snapshots of the others."""


class Standing(NamedTuple):
    """Position of a selected server among the others."""

    has_catalogue: bool = False  # servers can be saved
    can_move_up: bool = False
    can_move_down: bool = False
    is_alone: bool = True  # no other is selected


class ServerRow(NamedTuple):
    """A server with its entry in the catalogue, if it has one.

    `is_there` is False for one that is only in the catalogue: it cannot be connected. `has_turn` is
    True for one that waits for others to be connected first.
    """

    server: ServerSnapshot
    entry: CatalogueEntry | None = None
    is_there: bool = True
    has_turn: bool = False
    standing: Standing = Standing()

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def is_disabled(self) -> bool:
        """True if the user disabled it."""
        return self.entry is not None and self.entry.is_disabled

    @property
    def awaits_turn(self) -> bool:
        """True if the server will be connected after others."""
        return self.has_turn and not self.server.state.is_up and not self.is_disabled

    @property
    def counts_time(self) -> bool:
        """True if its text changes with time."""
        return self.server.retry is not None or self.server.health is not None


def lists_tasks(server: ServerSnapshot) -> bool:
    """Return whether a server can list its tasks now."""
    offer = TaskOffer.of(server.revision or "", server.capabilities)
    return server.state is ServerState.CONNECTED and offer.has_list


def has_resource_updates(server: ServerSnapshot) -> bool:
    offer = as_object(server.capabilities.get("resources"))
    has_any = bool(server.resources or server.subscriptions)
    return server.state is ServerState.CONNECTED and has_any and offer.get("subscribe") is True


class ServersModel(QAbstractListModel):
    """One row for each server of a source and of the catalogue, in the catalogue's order first.

    A change of a server costs only its own row, however many others there are.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: ServerSource | None = None
        self._unattached_ticks: Callable[[str], int] | None = None
        self._now: Callable[[], float] = time.monotonic
        self._entries: dict[str, CatalogueEntry] = {}
        self.has_catalogue = False
        """Whether servers can be saved: false in a recording."""
        self._turns: frozenset[str] = frozenset()
        self._rows: list[ServerRow] = []
        self._stray: dict[str, int] = {}
        self._badges: Mapping[str, Badge] = {}
        self._second = QTimer(self, interval=_SECOND_MS)
        self._second.timeout.connect(self._on_second)

    def set_source(
        self,
        source: ServerSource,
        unattached_ticks: Callable[[str], int] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Show the servers of `source` from now on; their clock is `now`.

        `unattached_ticks` counts the ticks of a connection whose token belongs to no job.
        """
        self.beginResetModel()
        self._source = source
        self._unattached_ticks = unattached_ticks
        self._now = now
        snapshots = {name: source.snapshot(name) for name in source.names()}
        self._rows = [self._row(name, snapshots.get(name)) for name in self._order(snapshots)]
        self.endResetModel()
        self._tick_while_needed()

    def set_catalogue(self, entries: Mapping[str, CatalogueEntry]) -> None:
        """Show the saved servers too, in their order and before the others."""
        before, self._entries = self._entries, dict(entries)
        self.has_catalogue = True
        differing = {
            name
            for name in before.keys() | entries.keys()
            if before.get(name) != self._entries.get(name)
        }
        self._show(frozenset(differing))

    @Slot(object)
    def set_turns(self, names: frozenset[str]) -> None:
        """Show that the servers in `names` wait for their turn (`Control.turns_changed`)."""
        differing, self._turns = names ^ self._turns, names
        self._show(differing)

    @Slot(object)
    def apply(self, changed: frozenset[str]) -> None:
        """Update the servers in `changed` (`Feed.servers_changed`)."""
        if self._source is not None:
            self._show(changed)
            self.count_again()

    @Slot()
    def count_again(self) -> None:
        """Count the ticks for unknown tokens again after each batch with findings."""
        stray = {row.name: self._count(row.server) for row in self._rows}
        before, self._stray = self._stray, stray
        for row, name in enumerate(stray):
            if stray[name] != before.get(name, 0):
                self._announce_row(row)

    def set_badges(self, badges: Mapping[str, Badge]) -> None:
        """Set the number of findings of each server."""
        before, self._badges = self._badges, badges
        for row, each in enumerate(self._rows):
            if before.get(each.name) != badges.get(each.name):
                self._announce_row(row)

    def servers(self) -> list[ServerSnapshot]:
        """The newest snapshots of the source's servers; builds none."""
        return [row.server for row in self._rows if row.is_there]

    def enabled(self) -> list[ServerSnapshot]:
        """Return the `servers` that the user has not disabled."""
        return [row.server for row in self._rows if row.is_there and not row.is_disabled]

    def row_of(self, name: str) -> int | None:
        """The row of a server; None if there is no such server."""
        return next((at for at, row in enumerate(self._rows) if row.name == name), None)

    def place(self, row: int) -> tuple[int, int]:
        """The position of a row in its group, and the group's size: saved servers, or the rest."""
        is_saved = self._rows[row].entry is not None
        like = [at for at, each in enumerate(self._rows) if (each.entry is not None) is is_saved]
        return like.index(row), len(like)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name for display, state and details for screen readers, the rest for delegates."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return formatting.one_line(row.name)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            is_well = row.server.state is ServerState.CONNECTED  # else its text begins with that
            state = f"{state_word(row.server.state)}, " if is_well else ""
            badge = self._badges.get(row.name)
            found = "" if badge is None else f", {badge.spoken}"
            return f"{formatting.one_line(row.name)}, {state}{self._details(row)}{found}"
        if role in (ABOUT, STORY):
            return self._details(row, is_whole=role == STORY)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self._details(row, is_whole=True))
        if role == BADGE:
            return self._badges.get(row.name)
        if role == SEARCHED:
            server = row.server
            return "\n".join((server.name, server.title, server.definition.address[:400]))
        return {SERVER: row.server, ROW: row}.get(role)

    def _details(self, row: ServerRow, *, is_whole: bool = False) -> str:
        text = details if is_whole else about
        stray, now = self._stray.get(row.name, 0), self._now()
        return text(row.server, stray, now, row.entry, awaits_turn=row.awaits_turn)

    def _count(self, server: ServerSnapshot) -> int:
        if self._unattached_ticks is None or server.connection is None:
            return 0
        return self._unattached_ticks(server.connection)

    def _order(self, names: Iterable[str]) -> list[str]:
        return [*self._entries, *(name for name in names if name not in self._entries)]

    def _row(self, name: str, server: ServerSnapshot | None) -> ServerRow:
        if server is not None:
            return ServerRow(server, self._entries.get(name), has_turn=name in self._turns)
        entry = self._entries[name]  # exists, or there would be no row
        return ServerRow(ServerSnapshot(name, entry.definition), entry, is_there=False)

    def _show(self, changed: frozenset[str]) -> None:
        """Update the rows; builds snapshots of new and `changed` servers."""
        names, snapshots = self._read(changed)
        order = self._order(names)
        there = frozenset(names)
        if [row.name for row in self._rows] != order:
            self._arrange(order, snapshots)
        for at, row in enumerate(self._rows):
            if row.name in changed or row.is_there is not (row.name in there):
                self._rows[at] = self._row(row.name, snapshots.get(row.name))
                self._announce_row(at)
        self._tick_while_needed()

    def _read(self, changed: frozenset[str]) -> tuple[Sequence[str], Mapping[str, ServerSnapshot]]:
        """The names of all servers, and snapshots of at least those that are new or changed."""
        source = self._source
        if source is None:
            return (), {}
        names = source.names()
        shown = {row.name for row in self._rows if row.is_there}
        wanted = [name for name in names if name in changed or name not in shown]
        return names, {name: source.snapshot(name) for name in wanted}

    def _arrange(self, order: Sequence[str], snapshots: Mapping[str, ServerSnapshot]) -> None:
        """Remove, move and insert rows until their names are `order`; selections move along."""
        wanted, top = frozenset(order), QModelIndex()
        for at in reversed(range(len(self._rows))):
            if self._rows[at].name not in wanted:
                self.beginRemoveRows(top, at, at)
                del self._rows[at]
                self.endRemoveRows()
        for at, name in enumerate(order):
            now = self.row_of(name)
            if now is None:
                self.beginInsertRows(top, at, at)
                self._rows.insert(at, self._row(name, snapshots.get(name)))
                self.endInsertRows()
            elif now != at:
                self.beginMoveRows(top, now, now, top, at)
                self._rows.insert(at, self._rows.pop(now))
                self.endMoveRows()

    def _announce_row(self, row: int) -> None:
        self.dataChanged.emit(self.index(row), self.index(row))

    def _tick_while_needed(self) -> None:
        is_needed = any(row.counts_time for row in self._rows)
        if is_needed and not self._second.isActive():
            self._second.start()
        elif not is_needed:
            self._second.stop()

    @Slot()
    def _on_second(self) -> None:
        for at, row in enumerate(self._rows):
            if row.counts_time:
                self._announce_row(at)
