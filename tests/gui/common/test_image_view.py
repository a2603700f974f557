"""Images from servers: decoded with bounds, or refused as text."""

import base64
import struct
import zlib

import pytest
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.image_view import ImageView
from mcp_progress_monitor.gui.theme import Appearance


@pytest.fixture
def view(qtbot: QtBot, appearance: Appearance) -> ImageView:
    made = ImageView(appearance)
    qtbot.addWidget(made)
    made.resize(300, 200)
    return made


def encoded(image: QImage) -> str:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # The stub asks for bytes, the function for a string.
    assert image.save(buffer, "PNG")  # type: ignore[call-overload]
    return base64.b64encode(bytes(buffer.data().data())).decode()


def red(width: int, height: int) -> QImage:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    return image


def png_claiming(width: int, height: int) -> bytes:
    """A tiny file that says it holds a huge image."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 64)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def test_an_image_is_shown_in_its_own_size(view: ImageView) -> None:
    view.show_base64(encoded(red(40, 30)))
    assert view.text.startswith("PNG, 40 x 30, ")
    drawn = view.grab().toImage()
    dots = sum(drawn.pixelColor(x, y) == QColor("red") for x in range(300) for y in range(200))
    assert dots == pytest.approx(1200, abs=150)


def test_a_large_image_is_shrunk_to_fit(view: ImageView) -> None:
    view.show_base64(encoded(red(3000, 300)))
    drawn = view.grab().toImage()
    assert drawn.pixelColor(150, 90) == QColor("red")
    assert drawn.pixelColor(150, 10) != QColor("red")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("not base64!", "The image is not valid base64."),
        (base64.b64encode(b"hello").decode(), "The image format is not supported."),
        (
            base64.b64encode(
                b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
            ).decode(),
            "The image format is not supported.",
        ),
        ("A" * 24_000_001, "The image is too large to display (18.0 MB)."),
        (
            base64.b64encode(png_claiming(60_000, 60_000)).decode(),
            "The image has too many pixels to display: 60,000 x 60,000, sent as 69 B.",
        ),
    ],
    ids=["no base64", "no image", "svg", "too long", "bomb"],
)
def test_what_cannot_be_shown_is_refused_with_a_message(
    view: ImageView, sent: str, message: str
) -> None:
    view.show_base64(encoded(red(4, 4)))
    view.show_base64(sent)
    assert view.text == message
    assert view.image.isNull()
    assert view.accessibleDescription() == message
    view.grab()
