"""An icon that is drawn where and when it is first shown: most of a window's icons never are.

Drawing all of them in every size and mode took 5 % of the time until the window is there.
"""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer


class Drawing(NamedTuple):
    """A drawing (SVG, with `currentColor`), and its colours: of its own, selected, disabled."""

    svg: bytes
    normal: QColor
    selected: QColor
    disabled: QColor


class DrawnIcon(QIconEngine):
    """Draws for `QIcon`, which owns it; what was drawn once is kept."""

    def __init__(self, drawing: Drawing) -> None:
        super().__init__()
        self._drawing = drawing
        self._drawn: dict[tuple[int, QIcon.Mode], QPixmap] = {}
        _keep(self)

    def clone(self) -> QIconEngine:
        """Another one, for a copy of the `QIcon` that is changed; nothing here changes one."""
        return DrawnIcon(self._drawing)

    def pixmap(self, size: QSize, mode: QIcon.Mode, _state: QIcon.State) -> QPixmap:
        """The drawing in `size` pixels of the screen, as large as fits a square."""
        side = min(size.width(), size.height())
        if side < 1:  # a row that is squeezed to nothing
            return QPixmap()
        key = (side, mode)
        if key not in self._drawn:
            self._drawn[key] = drawn(self._drawing.svg, self._colour(mode), side)
        return self._drawn[key]

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Paint the drawing in the middle of `rect`, sharp on any screen."""
        ratio = painter.device().devicePixelRatio()
        pixmap = QPixmap(self.pixmap(rect.size() * ratio, mode, state))
        if pixmap.isNull():
            return
        pixmap.setDevicePixelRatio(ratio)
        side = round(pixmap.width() / ratio)
        place = QRect(0, 0, side, side)
        place.moveCenter(rect.center())
        painter.drawPixmap(place.topLeft(), pixmap)

    def _colour(self, mode: QIcon.Mode) -> QColor:
        if mode is QIcon.Mode.Selected:
            return self._drawing.selected
        return self._drawing.disabled if mode is QIcon.Mode.Disabled else self._drawing.normal


def _keep(engine: DrawnIcon) -> None:
    """Never let Python free what Qt deletes: a kilobyte for each icon and palette.

    Python's collector would take an engine apart under the `QIcon` that has it (seen as a crash).
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


def drawn(svg: bytes, colour: QColor, side: int) -> QPixmap:
    """A drawing in one colour, `side` pixels square."""
    pixmap = QPixmap(QSize(side, side))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer = QSvgRenderer(QByteArray(svg.replace(b"currentColor", colour.name().encode())))
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    return pixmap
