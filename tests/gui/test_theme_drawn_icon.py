"""Icons that are drawn when they are shown."""

import gc

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPixmap

from mcp_progress_monitor.gui.theme import Drawing, DrawnIcon, Tone

SQUARE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4">'
    b'<rect width="4" height="4" fill="currentColor"/></svg>'
)
COLOURS = (QColor("#ff0000"), QColor("#0000ff"))


def icon() -> QIcon:
    colours = {Tone.ACCENT: COLOURS[0], None: COLOURS[1]}
    made = QIcon(DrawnIcon(Drawing(SQUARE, Tone.ACCENT, colours)))
    gc.collect()
    return made


@pytest.mark.parametrize(
    ("mode", "colour"),
    [
        (QIcon.Mode.Normal, COLOURS[0]),
        (QIcon.Mode.Selected, COLOURS[0]),  # on the ground of a selected row
        (QIcon.Mode.Disabled, COLOURS[1]),
    ],
)
def test_each_mode_has_its_colour(mode: QIcon.Mode, colour: QColor) -> None:
    drawn = icon().pixmap(QSize(16, 16), mode)
    assert drawn.toImage().pixelColor(8, 8) == colour


def test_it_is_drawn_in_the_size_that_is_asked_for_and_sharp() -> None:
    drawn = icon().pixmap(QSize(24, 24), 2.0)
    assert (drawn.width(), drawn.devicePixelRatio()) == (48, 2.0)
    assert not icon().isNull()


def test_it_is_painted_in_the_middle_of_its_place() -> None:
    image = QImage(40, 20, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    icon().paint(painter, QRect(0, 0, 40, 20))
    painter.end()
    row = [image.pixelColor(x, 10).name() for x in (5, 15, 25, 35)]
    assert row == ["#ffffff", "#ff0000", "#ff0000", "#ffffff"]


def test_a_copy_that_is_changed_goes_on_drawing() -> None:
    first = icon()
    second = QIcon(first)
    second.addPixmap(QPixmap(4, 4))
    gc.collect()
    assert second.pixmap(16, 16).toImage().pixelColor(8, 8) == COLOURS[0]
    del first
    gc.collect()
    assert second.pixmap(24, 24).toImage().pixelColor(8, 8) == COLOURS[0]


def test_nothing_is_drawn_where_there_is_no_room() -> None:
    made = icon()
    assert made.pixmap(QSize(0, 0)).isNull()
    image = QImage(8, 8, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    made.paint(painter, QRect(2, 2, 4, 0))
    painter.end()
    assert image.pixelColor(3, 2) == QColor("white")
