"""Pictures of cells by what they show: a text is drawn ten times as fast from its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QPainter, QPixmap

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from PySide6.QtCore import QSize
    from PySide6.QtGui import QColor, QPaintDevice
    from PySide6.QtWidgets import QHeaderView

MOST_PIXELS: Final = 2_000_000
"""8 MB of pictures, or those of two views full if that is more; then all are made anew."""


class CellPictures:
    """Draws a cell from its picture, which is painted when it is first asked for.

    A picture is found by all that it shows, so it is never out of date; what it does not name
    (colours, fonts) must be followed by `forget`.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, QPixmap] = {}
        self._pixels = 0

    def forget(self) -> None:
        """Paint all anew from now on."""
        self._known.clear()
        self._pixels = 0

    def draw(
        self,
        painter: QPainter,
        area: QRect,
        shown: Hashable,
        ground: QColor,
        paint: Callable[[QPainter, QRect], None],
    ) -> None:
        """Draw what `paint` paints of `shown` on `ground`, at `area`.

        `paint` is given an area of the same size elsewhere.
        """
        if area.isEmpty():
            return
        picture, _is_new = self.of(painter.device(), area.size(), shown, ground, paint)
        painter.drawPixmap(QPoint(area.left(), area.top()), picture)

    def of(
        self,
        view: QPaintDevice,
        size: QSize,
        shown: Hashable,
        ground: QColor,
        paint: Callable[[QPainter, QRect], None],
    ) -> tuple[QPixmap, bool]:
        """The picture for a `view`, and whether it had to be painted."""
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
    """Column, left edge and width of what is to be painted of each row of a view of that width."""
    for column in range(header.count()):
        left, wide = header.sectionViewportPosition(column), header.sectionSize(column)
        if wide and left < width and left + wide > 0:
            yield column, left, wide


def _blank(size: QSize, ratio: float, ground: QColor) -> QPixmap:
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    # Without holes: on those, letters would have other edges than beside the picture.
    picture.fill(ground)
    return picture
