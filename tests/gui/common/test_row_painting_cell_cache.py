"""Images of cells: painted once for what they show."""

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap

from mcp_progress_monitor.gui.common import row_painting
from mcp_progress_monitor.gui.common.row_painting import CellCache

_WHITE = QColor("white")
_SIZE = QSize(20, 10)


class Cell:
    """Paints one colour, and counts how often."""

    def __init__(self, colour: str) -> None:
        self.colour = QColor(colour)
        self.count = 0

    def __call__(self, painter: QPainter, area: QRect) -> None:
        self.count += 1
        painter.fillRect(area, self.colour)


@pytest.fixture
def view(qapp: object) -> QPixmap:
    view = QPixmap(40, 40)
    view.fill(Qt.GlobalColor.white)
    return view


def test_a_cell_is_painted_once_for_what_it_shows(view: QPixmap) -> None:
    cache, red, blue = CellCache(), Cell("red"), Cell("blue")
    made = [
        cache.of(view, _SIZE, shown, _WHITE, cell)[0].toImage().pixelColor(6, 1).name()
        for shown, cell in (("a", red), ("b", blue), ("a", red))
    ]
    assert (red.count, blue.count) == (1, 1)
    assert made == ["#ff0000", "#0000ff", "#ff0000"]


@pytest.mark.parametrize(("size", "ground"), [(QSize(21, 10), _WHITE), (_SIZE, QColor("black"))])
def test_another_size_or_ground_is_another_image(
    view: QPixmap, size: QSize, ground: QColor
) -> None:
    cache, cell = CellCache(), Cell("red")
    assert cache.of(view, _SIZE, "a", _WHITE, cell)[1]
    assert not cache.of(view, _SIZE, "a", _WHITE, cell)[1]
    assert cache.of(view, size, "a", ground, cell)[1]


def test_a_image_is_as_sharp_as_its_view(view: QPixmap) -> None:
    view.setDevicePixelRatio(2)
    image, _is_new = CellCache().of(view, _SIZE, "a", _WHITE, Cell("red"))
    assert (image.size(), image.devicePixelRatio()) == (QSize(40, 20), 2)


def test_forget_repaints_every_cell(view: QPixmap) -> None:
    cache, cell = CellCache(), Cell("red")
    cache.of(view, _SIZE, "a", _WHITE, cell)
    cache.forget()
    assert cache.of(view, _SIZE, "a", _WHITE, cell)[1]


def test_images_do_not_grow_without_end(view: QPixmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_painting, "MOST_PIXELS", 0)  # two views remain: 16 such images
    cache, cell = CellCache(), Cell("red")
    for number in range(17):
        cache.of(view, _SIZE, number, _WHITE, cell)
    assert not cache.of(view, _SIZE, 16, _WHITE, cell)[1]
    assert cache.of(view, _SIZE, 0, _WHITE, cell)[1]
