"""Paints the rows of the servers in the side list: state, name, and details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate
from mcp_progress_monitor.gui.servers.model import ABOUT, BADGE, ROW, ServerRow
from mcp_progress_monitor.gui.theme import GAP, Tone
from mcp_progress_monitor.snapshots.servers import ServerState

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QStyleOptionViewItem

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
        """One line for the name, two for details: a problem seldom fits into one."""
        faces = self.faces(option.font)
        return QSize(120, faces.first.height + _LINES * faces.second.height + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a server, with its problem as text."""
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
        self.write(painter, faces.heavy, place, formatting.one_line(row.name), ink)
        place = QRect(area.left(), place.top() + heights[0], area.width(), heights[1])
        tone = face.tone if face.is_trouble else Tone.MUTED
        for line in lines:
            self.write(painter, faces.second, place, line, tone)
            place.translate(0, heights[1])
        painter.restore()


def face_of(row: ServerRow) -> ServerFace:
    """The look of a server's row; problems and required actions take precedence over its state."""
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
    if server.state is ServerState.CONNECTED and server.problem is not None:
        return ServerFace(icon, Tone.WARNING, is_trouble=True)
    is_wrong = server.problem is not None or server.retry is not None
    return ServerFace(icon, tone, is_trouble=is_wrong and tone is not Tone.MUTED)
