"""The servers that other clients run and taps let us watch: rows by client, and their list."""

from __future__ import annotations

import time
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
from mcp_progress_monitor.formatting import on_machine
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
from mcp_progress_monitor.snapshots.watched import MachineSnapshot, MachineState, WatchedSnapshot
from mcp_progress_monitor.wording import watched as watched_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QPainter

    from mcp_progress_monitor.engine.machines import Machines
    from mcp_progress_monitor.engine.watching import Watching
    from mcp_progress_monitor.gui.common.labels import Badge
    from mcp_progress_monitor.gui.common.row_painting import RowFaces
    from mcp_progress_monitor.gui.theme import Appearance

_Index = QModelIndex | QPersistentModelIndex

WATCHED: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `WatchedSnapshot` or `MachineSnapshot`; None for the row of a client."""


ABOUT: Final = WATCHED + 2  # role of the line about a machine
BADGE: Final = WATCHED + 1  # role of the `Badge` of a row; None without findings
_ROWS_SHOWN: Final = 8  # rows that the list reserves room for


class _Row(NamedTuple):
    """A client or another machine, or one of its servers."""

    client: str
    server: WatchedSnapshot | None = None
    machine: MachineSnapshot | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.client, "" if self.server is None else self.server.name


class WatchedModel(QAbstractListModel):
    """A row for each client and other machine, with its servers below; as found."""

    shown = Signal(object)  # the `WatchedSnapshot`s that are new or have changed

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: Watching | None = None
        self._servers: dict[str, WatchedSnapshot] = {}
        self._rows: list[_Row] = []
        self._badges: Mapping[str, Badge] = {}
        self._machines: Machines | None = None

    def set_machines(self, machines: Machines) -> None:
        """Show the other machines that are watched, from now on."""
        self._machines = machines
        self.apply(frozenset(machines.names()))

    @Slot()
    def count_down(self) -> None:
        """Show how long it takes until machines are connected again."""
        for at, row in enumerate(self._rows):
            if row.machine is not None and row.machine.retry_at is not None:
                self.dataChanged.emit(self.index(at), self.index(at))

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
        machines = [] if self._machines is None else self._machines.snapshots()
        listed = [row.machine.name for row in self._rows if row.machine is not None]
        there = (machine.name for machine in machines)
        if not changed.intersection((*names, *self._servers, *there, *listed)):
            return
        self._servers = {
            name: source.snapshot(name)
            if name in changed or name not in self._servers
            else self._servers[name]
            for name in names
        }
        self.shown.emit([each for name, each in self._servers.items() if name in changed])
        self._show(_grouped(list(self._servers.values()), machines), changed)

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
        row = self._rows[index.row()]
        is_heading = row.server is None and row.machine is None
        return flags if is_heading else flags | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The name for display, all details for screen readers, the snapshot for the delegate."""
        if not index.isValid():
            return None
        client, server, machine = self._rows[index.row()]
        if machine is not None:
            return self._machine_data(machine, role)
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

    def _machine_data(self, machine: MachineSnapshot, role: int) -> Any:
        """The same for a machine."""
        count = self._live_count(machine)
        now = time.monotonic()
        match role:
            case _ if role == WATCHED:
                return machine
            case _ if role == ABOUT:
                return watched_texts.machine_about(machine, count, now)
            case Qt.ItemDataRole.DisplayRole:
                return formatting.one_line(machine.name)
            case Qt.ItemDataRole.AccessibleTextRole:
                about = watched_texts.machine_about(machine, count, now)
                return f"{watched_texts.machine_title(machine)}, {about}"
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(self.details(machine))
        return None

    def details(self, row: WatchedSnapshot | MachineSnapshot) -> str:
        """All details of a row as plain text."""
        if isinstance(row, WatchedSnapshot):
            return watched_texts.details(row)
        return watched_texts.machine_details(row, self._live_count(row), time.monotonic())

    def _live_count(self, machine: MachineSnapshot) -> int:
        """The number of servers that run on a machine."""
        return sum(each.machine == machine.name and each.is_live for each in self.servers())

    def _show(self, rows: list[_Row], changed: frozenset[str]) -> None:
        if [row.key for row in rows] != [row.key for row in self._rows]:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        self._rows = rows
        for at, row in enumerate(rows):
            is_machine = row.machine is not None  # its row counts servers
            if row.key[1] in changed or is_machine:
                self.dataChanged.emit(self.index(at), self.index(at))


def _grouped(
    servers: Sequence[WatchedSnapshot], machines: Sequence[MachineSnapshot] = ()
) -> list[_Row]:
    """Servers below their clients, and below their machines those of other ones."""
    listed = {machine.name for machine in machines}
    here = [server for server in servers if server.machine not in listed]
    clients = [on_machine(server.client, server.machine) for server in here]
    rows = [
        row
        for client in dict.fromkeys(clients)
        for row in (
            _Row(client),
            *(_Row(client, each) for each, of in zip(here, clients, strict=True) if of == client),
        )
    ]
    for machine in machines:
        title = watched_texts.machine_title(machine)
        rows.append(_Row(title, machine=machine))
        rows += [_Row(title, each) for each in servers if each.machine == machine.name]
    return rows


_MACHINE_TONES: Final = {
    MachineState.LIVE: Tone.GOOD,
    MachineState.CONNECTING: Tone.MUTED,
    MachineState.WAITING: Tone.WARNING,
    MachineState.STOPPED: Tone.MUTED,
}


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
        if isinstance(server, MachineSnapshot):
            of_state = _MACHINE_TONES[server.state]
            area = self.begin(painter, option, "server", of_state)
            told = (index.data(ABOUT), Tone.WARNING if server.error else Tone.MUTED)
            self._two_lines(painter, faces, area, (text, Tone.TEXT), told)
            painter.restore()
            return
        if not isinstance(server, WatchedSnapshot):
            area = option.rect.adjusted(GAP + 2, 0, -GAP, 0)
            text = faces.second.elided(text, area.width(), in_middle=True)
            self.write(painter, faces.second, area, text, Tone.MUTED)
            painter.restore()
            return
        tone = Tone.GOOD if server.is_live else Tone.MUTED
        is_trouble = server.is_live and (
            not server.is_reached or bool(server.script or watched_texts.gap_text(server))
        )
        area = self.begin(painter, option, "watched", Tone.WARNING if is_trouble else tone)
        ink = Tone.TEXT if server.is_live else Tone.MUTED
        tone = Tone.WARNING if is_trouble else Tone.MUTED
        about = watched_texts.about(server)
        self._two_lines(painter, faces, area, (text, ink), (about, tone), index.data(BADGE))
        painter.restore()

    def _two_lines(
        self,
        painter: QPainter,
        faces: RowFaces,
        area: QRect,
        first: tuple[str, Tone],
        second: tuple[str, Tone],
        badge: Badge | None = None,
    ) -> None:
        """Write a name with its badge, and a line about it."""
        heights = (faces.heavy.height, faces.second.height)
        top = area.top() + (area.height() - sum(heights)) // 2
        place = QRect(area.left(), top, area.width(), heights[0])
        place.adjust(0, 0, -self.paint_badge(painter, faces, place, badge), 0)
        name = faces.heavy.elided(first[0], place.width(), in_middle=True)
        self.write(painter, faces.heavy, place, name, first[1])
        place = QRect(area.left(), top + heights[0], area.width(), heights[1])
        self.write(painter, faces.second, place, *second)


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

    def current(self) -> WatchedSnapshot | MachineSnapshot | None:
        """The current server or machine."""
        found = self.view.currentIndex().data(WATCHED)
        return found if isinstance(found, WatchedSnapshot | MachineSnapshot) else None

    def wanted_height(self) -> int:
        """The height that shows a few rows: our own servers are above."""
        rows = range(min(self._model.rowCount(), _ROWS_SHOWN))
        height = sum(self.view.sizeHintForRow(row) for row in rows)
        if self.isHidden():
            return 0
        return self._heading.sizeHint().height() + max(height, 60) + GAP

    def _chosen(self) -> list[WatchedSnapshot | MachineSnapshot]:
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
        if self.view.indexAt(place).data(WATCHED) is not None:
            self.commands.fill(self._menu, WATCHED_MENU)
            self._enable()
            self._menu.popup(self.view.viewport().mapToGlobal(place))

    @Slot(QModelIndex)
    def _on_double_clicked(self, _index: QModelIndex) -> None:
        self.commands.run(WATCHED_TRAFFIC, self._chosen())

    def _copy(self, _name: str) -> None:
        for current in self._chosen():
            QGuiApplication.clipboard().setText(self._model.details(current))
