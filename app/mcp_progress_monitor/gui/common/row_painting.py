"""Fast painting of rows: cached pixmaps of cells, and fonts that are measured once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPixmap,
    QStaticText,
    QTextLayout,
    QTransform,
)

from mcp_progress_monitor.gui.theme import emphasised

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from PySide6.QtCore import QSize
    from PySide6.QtGui import QColor, QPaintDevice
    from PySide6.QtWidgets import QHeaderView

MOST_PIXELS: Final = 2_000_000
"""8 MB of pixmaps, or two full views if that is more; then the cache is cleared."""


class CellCache:
    """Pixmaps of cells or rows, painted at first use.

    A pixmap is found by everything that it shows, so it is never out of date; call `forget` when
    anything else (colours, fonts) changes.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, QPixmap] = {}
        self._pixels = 0

    def forget(self) -> None:
        self._known.clear()
        self._pixels = 0

    def of(
        self,
        view: QPaintDevice,
        size: QSize,
        shown: Hashable,
        ground: QColor,
        paint: Callable[[QPainter, QRect], None],
    ) -> tuple[QPixmap, bool]:
        """The pixmap of `shown` on `ground` for a `view`, and whether `paint` had to paint it."""
        ratio = view.devicePixelRatioF()
        key = (shown, size.width(), size.height(), ground.rgba(), ratio)
        known = self._known.get(key)
        if known is not None:
            return known, False
        made = _blank(size, ratio, ground)
        painter = QPainter(made)
        paint(painter, QRect(QPoint(0, 0), size))
        painter.end()
        self._keep(key, made, round(view.width() * view.height() * ratio * ratio))
        return made, True

    def _keep(self, key: Hashable, picture: QPixmap, pixels_of_view: int) -> None:
        self._pixels += picture.width() * picture.height()
        if self._pixels > max(MOST_PIXELS, 2 * pixels_of_view):
            self.forget()
            self._pixels = picture.width() * picture.height()
        self._known[key] = picture


def cells_in_sight(header: QHeaderView, width: int) -> Iterator[tuple[int, int, int]]:
    """Column, left edge and width of the visible cells of each row, in a view of that width."""
    for column in range(header.count()):
        wide = header.sectionSize(column)
        if not wide:
            continue
        left = header.sectionViewportPosition(column)
        if left < width and left + wide > 0:
            yield column, left, wide


def _blank(size: QSize, ratio: float, ground: QColor) -> QPixmap:
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    # Opaque: on a transparent pixmap, letters would have different edges.
    picture.fill(ground)
    return picture


_SECOND_LINE: Final = 0.92  # of the font's size
_LINES = tuple[str, ...]
_REMEMBERED: Final = 4_000  # texts
_WIDE: Final = "@WMQOGD%&mw#_="  # of ASCII, in some font each
_RIGHT: Final = Qt.TextElideMode.ElideRight
_MIDDLE: Final = Qt.TextElideMode.ElideMiddle


class LaidOut(NamedTuple):
    """A text ready to be painted, and its size."""

    text: QStaticText
    width: float
    height: float


def _laid_out(text: str, font: QFont) -> LaidOut:
    made = QStaticText(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.prepare(QTransform(), font)
    size = made.size()
    return LaidOut(made, size.width(), size.height())


class Face:
    """A font with its metrics, and the height of a line in pixels. Texts are measured once."""

    def __init__(self, font: QFont) -> None:
        self.font: Final = font
        self.metrics: Final = QFontMetrics(font)
        self.height: Final = self.metrics.height()
        exact = QFontMetricsF(font)
        self.ascent: Final = exact.ascent()
        self.tall: Final = exact.height()
        """The height of a line, not rounded."""
        self.widest: Final = max(map(self.metrics.horizontalAdvance, _WIDE))
        """The width of ASCII's widest character."""
        self._widths: dict[str, int] = {}
        self._elided: dict[tuple[str, int, bool], str] = {}
        self._laid_out: dict[tuple[str, int], LaidOut | None] = {}
        """None of those that were seen once."""

    def width(self, text: str) -> int:
        known = self._widths.get(text)
        if known is None:
            if len(self._widths) >= _REMEMBERED:
                self._widths.clear()
            known = self._widths[text] = self.metrics.horizontalAdvance(text)
        return known

    def laid_out(self, text: str, width: int, *, is_kept: bool) -> LaidOut | None:
        """`text` in so many pixels laid out, if it `is_kept` or was asked for before.

        Painting it takes half the time, but making it twice as long as painting text once.
        """
        key = (text, width)
        known = self._laid_out.get(key)
        if known is None:
            if len(self._laid_out) >= _REMEMBERED:
                self._laid_out.clear()
            if is_kept or key in self._laid_out:
                known = _laid_out(self.elided(text, width), self.font)
            self._laid_out[key] = known
        return known

    def elided(self, text: str, width: int, *, in_middle: bool = False) -> str:
        """`text`, with an ellipsis at the end or `in_middle` if it is wider than `width`."""
        if len(text) * self.widest <= width and text.isascii() and text.isprintable():
            return text
        key = (text, width, in_middle)
        known = self._elided.get(key)
        if known is None:
            if len(self._elided) >= _REMEMBERED:
                self._elided.clear()
            place = _MIDDLE if in_middle else _RIGHT
            known = self._elided[key] = self.metrics.elidedText(text, place, width)
        return known


class RowFaces:
    """The fonts of a row: `first` line, `second` line, and `heavy` for names."""

    def __init__(self, font: QFont, of_second: float = _SECOND_LINE) -> None:
        """`of_second` is the relative font size of the second line."""
        self.base = QFont(font)
        first = QFont(font)
        first.setFeature(QFont.Tag("tnum"), 1)  # figures of equal width
        second = QFont(first)
        second.setPointSizeF(font.pointSizeF() * of_second)
        self.first = Face(first)
        self.second = Face(second)
        self.heavy = Face(emphasised(first))
        self.height: Final = self.first.height + self.second.height  # both lines together
        self._wrapped: dict[tuple[int, str, int, int], _LINES] = {}

    def wrapped(self, face: Face, text: str, width: int, lines: int) -> _LINES:
        """`text` in at most so many lines of `width` pixels; the last one holds the rest."""
        key = (id(face), text, width, lines)
        known = self._wrapped.get(key)
        if known is None:
            if len(self._wrapped) >= _REMEMBERED:
                self._wrapped.clear()
            known = self._wrapped[key] = wrapped(text, face.font, width, lines)
        return known


def wrapped(text: str, font: QFont, width: int, lines: int) -> _LINES:
    """`text` in at most so many lines of `width` pixels; the last one holds the rest."""
    found: list[str] = []
    layout = QTextLayout(text, font)
    layout.beginLayout()
    start = 0
    while len(found) + 1 < lines and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        end = line.textStart() + line.textLength()
        found.append(text[start:end].strip())
        start = end
    layout.endLayout()
    rest = text[start:].strip()
    return tuple(line for line in (*found, rest) if line)
