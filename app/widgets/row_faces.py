"""The fonts of a row of two lines, measured once: making a QFontMetrics costs as much as text."""

from __future__ import annotations

from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics

from app.widgets.appearance import emphasised

_SECOND_LINE: Final = 0.92  # of the font's size
_REMEMBERED: Final = 4_000  # texts


class Face(NamedTuple):
    """A font with its metrics and the height of a line, in pixels."""

    font: QFont
    metrics: QFontMetrics
    height: int

    def width(self, words: str) -> int:
        """How wide `words` are, in pixels."""
        return self.metrics.horizontalAdvance(words)


class RowFaces:
    """The faces of a row: `first` line, `second` line, and `heavy` for names."""

    def __init__(self, font: QFont) -> None:
        self.base = QFont(font)
        second = QFont(font)
        second.setPointSizeF(font.pointSizeF() * _SECOND_LINE)
        self.first = _face(self.base)
        self.second = _face(second)
        self.heavy = _face(emphasised(font))
        self._elided: dict[tuple[int, str, int, Qt.TextElideMode], str] = {}

    @property
    def height(self) -> int:
        """Both lines together."""
        return self.first.height + self.second.height

    def elided(
        self,
        face: Face,
        words: str,
        width: int,
        place: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> str:
        """`words`, with an ellipsis at `place` if they are wider than `width` in `face`.

        Most words of a list are the same ten times a second: they are measured once.
        """
        key = (id(face), words, width, place)
        known = self._elided.get(key)
        if known is None:
            if len(self._elided) >= _REMEMBERED:
                self._elided.clear()
            known = face.metrics.elidedText(words, place, width)
            self._elided[key] = known
        return known

    def lines(self, cell: QRect) -> tuple[QRect, QRect]:
        """The places of both lines, in the middle of `cell`."""
        top = cell.top() + (cell.height() - self.height) // 2
        return (
            QRect(cell.left(), top, cell.width(), self.first.height),
            QRect(cell.left(), top + self.first.height, cell.width(), self.second.height),
        )


def _face(font: QFont) -> Face:
    metrics = QFontMetrics(font)
    return Face(font, metrics, metrics.height())
