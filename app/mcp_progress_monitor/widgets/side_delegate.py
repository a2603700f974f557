"""Paints the rows of the lists at the side of the window: groups of jobs, and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QHelpEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from mcp_progress_monitor import text
from mcp_progress_monitor.models.filters import COUNT, GROUP, JobGroup
from mcp_progress_monitor.models.servers import ABOUT, ROW, STORY, ServerRow
from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.row_faces import Face, RowFaces

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

_Index = QModelIndex | QPersistentModelIndex

_GROUPS: Final = {
    JobGroup.ALL: ("jobs", Tone.MUTED),
    JobGroup.RUNNING: ("state-running", Tone.ACCENT),
    JobGroup.NEEDS_YOU: ("state-needs-you", Tone.WARNING),
    JobGroup.STALLED: ("state-stalled", Tone.WARNING),
    JobGroup.RESUMABLE: ("state-resumable", Tone.ACCENT),
    JobGroup.FINISHED: ("state-done", Tone.GOOD),
    JobGroup.FAILED: ("state-failed", Tone.BAD),
}
_LINES: Final = 2
_SECOND_LINE: Final = 0.9  # of the font's size
_ONE_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
# Combining flags is slow in Python, and is done for every text painted.
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | _ONE_LINE)
_RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | _ONE_LINE)
_SELECTED: Final = int(QStyle.StateFlag.State_Selected.value)
_HOVERED: Final = int(QStyle.StateFlag.State_MouseOver.value)
_FOCUSED: Final = int(QStyle.StateFlag.State_HasFocus.value)
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
    """What a server's row looks like: with trouble, its words have the icon's colour."""

    icon: str
    tone: Tone
    is_trouble: bool = False


class SideDelegate(QStyledItemDelegate):
    """The ground, the icon and the lines that both lists share."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._measured: RowFaces | None = None

    def faces(self, font: QFont) -> RowFaces:
        """The faces of rows in `font`."""
        if self._measured is None or self._measured.base != font:
            self._measured = RowFaces(font, _SECOND_LINE)
        return self._measured

    def begin(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        icon: str,
        tone: Tone,
    ) -> QRect:
        """Paint ground and icon; what is left of the row."""
        area = option.rect.adjusted(GAP_S, 1, -GAP_S, -1)
        state = int(option.state.value)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & (_SELECTED | _HOVERED):
            ground = (Tone.ACCENT, 0.20) if state & _SELECTED else (Tone.TEXT, 0.06)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._appearance.ground(*ground))
            painter.drawRoundedRect(area, 5, 5)
        if state & _FOCUSED:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(self._appearance.colour(Tone.ACCENT))
            painter.drawRoundedRect(area, 5, 5)
        side = round(self.faces(option.font).first.height * 1.1)
        place = QRect(area.left() + GAP_S + 2, area.center().y() - side // 2 + 1, side, side)
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(place, self._appearance.pixmap(icon, tone, side, ratio))
        return area.adjusted(side + 2 * GAP, 0, -GAP, 0)

    def write(
        self,
        painter: QPainter,
        face: Face,
        area: QRect,
        words: str,
        tone: Tone,
        flags: int = _LEFT,
    ) -> None:
        """Write one line of plain text, elided to `area`, in one of `faces`."""
        painter.setFont(face.font)
        painter.setPen(self._appearance.colour(tone))
        if self._measured is not None:
            words = self._measured.elided(face, words, area.width())
        painter.drawText(area, flags, words)


class GroupDelegate(SideDelegate):
    """A group of jobs: icon, name, and the count at the right."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """One line."""
        return QSize(120, option.fontMetrics.height() + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a group; one without jobs is muted."""
        group, count = index.data(GROUP), int(index.data(COUNT))
        icon, tone = _GROUPS[group]
        painter.save()
        area = self.begin(painter, option, icon, tone if count else Tone.MUTED)
        words, face = text.number(count), self.faces(option.font).first
        room = face.width(words) + GAP
        ink = Tone.TEXT if count or group is JobGroup.ALL else Tone.MUTED
        self.write(painter, face, area.adjusted(0, 0, -room, 0), index.data(), ink)
        self.write(painter, face, area, words, Tone.MUTED, _RIGHT)
        painter.restore()


class ServerDelegate(SideDelegate):
    """A server: its state as an icon, its name, and a line about it."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """A line for the name, two for what is known: a problem seldom fits into one."""
        faces = self.faces(option.font)
        return QSize(120, faces.first.height + _LINES * faces.second.height + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a server; what went wrong with it in words."""
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
        ink = Tone.TEXT if row.server.state.is_up else Tone.MUTED
        self.write(painter, faces.heavy, place, text.one_line(row.name), ink)
        place = QRect(area.left(), place.top() + heights[0], area.width(), heights[1])
        tone = face.tone if face.is_trouble else Tone.MUTED
        for line in lines:
            self.write(painter, faces.second, place, line, tone)
            place.translate(0, heights[1])
        painter.restore()

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: _Index,
    ) -> bool:
        """Show all that is known of the server, as plain text."""
        if event.type() is not QEvent.Type.ToolTip or not isinstance(index.data(ROW), ServerRow):
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), plain_tip(index.data(STORY)), view)
        return True


def face_of(row: ServerRow) -> ServerFace:
    """What a server's row looks like; what needs the user or is wrong comes before its state."""
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
