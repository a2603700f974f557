"""Paints the rows of the lists at the side of the window: groups of jobs, and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QHelpEvent, QPainter, QTextLayout
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from app import text
from app.models.filters import COUNT, GROUP, JobGroup
from app.models.servers import ABOUT, SERVER, STORY
from app.sessions.snapshot import ServerSnapshot, ServerState
from app.widgets.appearance import GAP, GAP_S, Appearance, Tone, emphasised
from app.widgets.plain_text import plain_tip

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
_SERVERS: Final = {
    ServerState.IDLE: ("server-idle", Tone.MUTED),
    ServerState.CONNECTING: ("server-connecting", Tone.ACCENT),
    ServerState.CONNECTED: ("server-connected", Tone.GOOD),
    ServerState.FAILED: ("server-failed", Tone.BAD),
    ServerState.CLOSING: ("server-closing", Tone.MUTED),
    ServerState.CLOSED: ("server-idle", Tone.MUTED),
}


class SideDelegate(QStyledItemDelegate):
    """The ground, the icon and the lines that both lists share."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def begin(
        self, painter: QPainter, option: QStyleOptionViewItem, icon: str, tone: Tone
    ) -> QRect:
        """Paint ground and icon; what is left of the row."""
        area = option.rect.adjusted(GAP_S, 1, -GAP_S, -1)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if is_selected or is_hovered:
            ground = (Tone.ACCENT, 0.20) if is_selected else (Tone.TEXT, 0.06)
            painter.setBrush(self._appearance.ground(*ground))
            painter.drawRoundedRect(area, 5, 5)
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(self._appearance.colour(Tone.ACCENT))
            painter.drawRoundedRect(area, 5, 5)
        side = round(option.fontMetrics.height() * 1.1)
        place = QRect(area.left() + GAP_S + 2, area.center().y() - side // 2 + 1, side, side)
        ratio = painter.device().devicePixelRatioF()
        painter.drawPixmap(place, self._appearance.pixmap(icon, tone, side, ratio))
        return area.adjusted(side + 2 * GAP, 0, -GAP, 0)

    def write(
        self,
        painter: QPainter,
        font: QFont,
        area: QRect,
        words: str,
        tone: Tone,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        """Write one line of plain text, elided to `area`."""
        painter.setFont(font)
        painter.setPen(self._appearance.colour(tone))
        shown = QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideRight, area.width())
        flags = side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(area, int(flags), shown)


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
        words = text.number(count)
        room = option.fontMetrics.horizontalAdvance(words) + GAP
        ink = Tone.TEXT if count or group is JobGroup.ALL else Tone.MUTED
        self.write(painter, option.font, area.adjusted(0, 0, -room, 0), index.data(), ink)
        self.write(painter, option.font, area, words, Tone.MUTED, Qt.AlignmentFlag.AlignRight)
        painter.restore()


class ServerDelegate(SideDelegate):
    """A server: its state as an icon, its name, and a line about it."""

    def sizeHint(self, option: QStyleOptionViewItem, _index: _Index) -> QSize:
        """A line for the name, two for what is known: a problem seldom fits into one."""
        small = QFontMetrics(_smaller(option.font)).height()
        return QSize(120, option.fontMetrics.height() + _LINES * small + GAP + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a server; what went wrong with it in words."""
        server = index.data(SERVER)
        if not isinstance(server, ServerSnapshot):
            return
        painter.save()
        area = self.begin(painter, option, *_SERVERS[server.state])
        small = _smaller(option.font)
        lines = wrapped(index.data(ABOUT), small, area.width(), _LINES)
        heights = (option.fontMetrics.height(), QFontMetrics(small).height())
        top = area.top() + (area.height() - heights[0] - len(lines) * heights[1]) // 2
        place = QRect(area.left(), top, area.width(), heights[0])
        font = emphasised(option.font)
        ink = Tone.TEXT if server.state.is_up else Tone.MUTED
        self.write(painter, font, place, text.one_line(server.name), ink)
        place = QRect(area.left(), place.top() + heights[0], area.width(), heights[1])
        tone = Tone.MUTED if server.problem is None else _problem_tone(server)
        for line in lines:
            self.write(painter, small, place, line, tone)
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
        server = index.data(SERVER)
        if event.type() is not QEvent.Type.ToolTip or not isinstance(server, ServerSnapshot):
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), plain_tip(index.data(STORY)), view)
        return True


def _problem_tone(server: ServerSnapshot) -> Tone:
    return Tone.WARNING if server.state is ServerState.CONNECTED else Tone.BAD


def wrapped(words: str, font: QFont, width: int, lines: int) -> list[str]:
    """`words` in at most so many lines of `width` pixels; the last one holds all that is left."""
    found: list[str] = []
    layout = QTextLayout(words, font)
    layout.beginLayout()
    start = 0
    while len(found) + 1 < lines and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        end = line.textStart() + line.textLength()
        found.append(words[start:end].strip())
        start = end
    layout.endLayout()
    rest = words[start:].strip()
    return [line for line in (*found, rest) if line]


def _smaller(font: QFont) -> QFont:
    smaller = QFont(font)
    smaller.setPointSizeF(font.pointSizeF() * 0.9)
    return smaller
