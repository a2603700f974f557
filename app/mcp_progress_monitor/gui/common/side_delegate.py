"""The shared part of the delegates in the side lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem

from mcp_progress_monitor.gui.common.labels import ICON, Badge
from mcp_progress_monitor.gui.common.layout import viewport_of
from mcp_progress_monitor.gui.common.row_painting import Face, RowFaces
from mcp_progress_monitor.gui.theme import (
    FOCUSED,
    GAP,
    GAP_S,
    SELECTED,
    UNDER_MOUSE,
    Appearance,
    Tone,
    pixel_ratio,
)

if TYPE_CHECKING:
    from PySide6.QtCore import QObject

_SECOND_LINE: Final = 0.9  # of the font's size
_ONE_LINE: Final = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
# Combining flags is slow in Python, and is done for every text painted.
_LEFT: Final = int(Qt.AlignmentFlag.AlignLeft | _ONE_LINE)
RIGHT: Final = int(Qt.AlignmentFlag.AlignRight | _ONE_LINE)


class SideDelegate(QStyledItemDelegate):
    """The background, icon and lines of a side list's row."""

    def __init__(self, appearance: Appearance, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._measured: RowFaces | None = None

    def faces(self, font: QFont) -> RowFaces:
        """The fonts of rows for `font`."""
        if self._measured is None or self._measured.base != font:
            self._measured = RowFaces(font, _SECOND_LINE)
        return self._measured

    def begin(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        icon: str,
        tone: Tone,
        known_state: int | None = None,
    ) -> QRect:
        """Paint background and icon; returns the rest of the row.

        `known_state` has the flags of `QStyle.StateFlag`, by default those of the option.
        """
        area = option.rect.adjusted(GAP_S, 1, -GAP_S, -1)
        state = int(option.state.value) if known_state is None else known_state
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & (SELECTED | UNDER_MOUSE):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._appearance.row_ground(state))
            painter.drawRoundedRect(area, 5, 5)
        if state & FOCUSED:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(self._appearance.colour(Tone.ACCENT))
            painter.drawRoundedRect(area, 5, 5)
        side = round(self.faces(option.font).first.height * 1.1)
        place = QRect(area.left() + GAP_S + 2, area.center().y() - side // 2 + 1, side, side)
        ratio = pixel_ratio(painter)
        painter.drawPixmap(place, self._appearance.pixmap(icon, tone, side, ratio))
        return area.adjusted(side + 2 * GAP, 0, -GAP, 0)

    def paint_badge(
        self, painter: QPainter, faces: RowFaces, line: QRect, badge: Badge | None
    ) -> int:
        """Paint the number of findings at the right of `line`; returns its width with the gap."""
        if badge is None:
            return 0
        side = round(line.height() * 0.8)
        width = side + GAP_S + faces.second.width(badge.text)
        icon = QRect(line.right() + 1 - width, line.center().y() - side // 2, side, side)
        ratio = pixel_ratio(painter)
        painter.drawPixmap(icon, self._appearance.pixmap(ICON, badge.tone, side, ratio))
        self.write(painter, faces.second, line, badge.text, badge.tone, RIGHT)
        return width + GAP

    def write(
        self, painter: QPainter, face: Face, area: QRect, text: str, tone: Tone, flags: int = _LEFT
    ) -> None:
        """Write one line of plain text, elided to `area`."""
        painter.setFont(face.font)
        painter.setPen(self._appearance.colour(tone))
        painter.drawText(area, flags, face.elided(text, area.width()))


def dress_side_list(view: QListView, delegate: SideDelegate, name: str) -> None:
    """Let a list show rows of `delegate` on the background of the window; `name` is spoken."""
    view.setItemDelegate(delegate)
    view.setFrameShape(view.Shape.NoFrame)
    view.setMouseTracking(True)
    view.setEditTriggers(view.EditTrigger.NoEditTriggers)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    viewport_of(view).setAutoFillBackground(False)
    view.setAccessibleName(name)
