"""The fonts of a row of two lines, measured once: making a QFontMetrics costs as much as text."""

from __future__ import annotations

from typing import Final, NamedTuple

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFont, QFontMetrics, QTextLayout

from mcp_progress_monitor.widgets.appearance import emphasised

_SECOND_LINE: Final = 0.92  # of the font's size
_LINES = tuple[str, ...]
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

    def __init__(self, font: QFont, of_second: float = _SECOND_LINE) -> None:
        """`of_second` is the share of the font's size that the second line has."""
        self.base = QFont(font)
        second = QFont(font)
        second.setPointSizeF(font.pointSizeF() * of_second)
        self.first = _face(self.base)
        self.second = _face(second)
        self.heavy = _face(emphasised(font))
        self._elided: dict[tuple[int, str, int, int], str] = {}
        self._wrapped: dict[tuple[int, str, int, int], _LINES] = {}

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
        # An enumeration is hashed in Python.
        key = (id(face), words, width, place.value)
        known = self._elided.get(key)
        if known is None:
            if len(self._elided) >= _REMEMBERED:
                self._elided.clear()
            known = face.metrics.elidedText(words, place, width)
            self._elided[key] = known
        return known

    def wrapped(self, face: Face, words: str, width: int, lines: int) -> _LINES:
        """`words` in at most so many lines of `width` pixels; the last holds all that is left."""
        key = (id(face), words, width, lines)
        known = self._wrapped.get(key)
        if known is None:
            if len(self._wrapped) >= _REMEMBERED:
                self._wrapped.clear()
            known = self._wrapped[key] = wrapped(words, face.font, width, lines)
        return known

    def lines(self, cell: QRect) -> tuple[QRect, QRect]:
        """The places of both lines, in the middle of `cell`."""
        top = cell.top() + (cell.height() - self.height) // 2
        return (
            QRect(cell.left(), top, cell.width(), self.first.height),
            QRect(cell.left(), top + self.first.height, cell.width(), self.second.height),
        )


def wrapped(words: str, font: QFont, width: int, lines: int) -> _LINES:
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
    return tuple(line for line in (*found, rest) if line)


def _face(font: QFont) -> Face:
    metrics = QFontMetrics(font)
    return Face(font, metrics, metrics.height())
