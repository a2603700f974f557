"""A moving image has each frame in full, in as few bytes as what changes."""

import struct
import zlib

from PySide6.QtGui import QColor, QImage

from showcase import animated_png


def _image(dot: tuple[int, int]) -> QImage:
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    image.setPixelColor(*dot, QColor("red"))
    return image


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + length]
        assert data[at + 8 + length :][:4] == struct.pack(">I", zlib.crc32(kind + content))
        found.append((kind, content))
        at += 12 + length
    return found


def test_a_frame_has_the_rectangle_that_changed() -> None:
    data = animated_png([_image((3, 4)), _image((9, 7)), _image((9, 7))], 0.5)
    chunks = _chunks(data)
    assert [kind for kind, _ in chunks[3:]] == [
        *(b"acTL", b"fcTL", b"IDAT", b"fcTL", b"fdAT", b"fcTL", b"fdAT", b"IEND")
    ]
    control = [struct.unpack(">5I2H2B", content) for kind, content in chunks if kind == b"fcTL"]
    assert control[0] == (0, 40, 30, 0, 0, 500, 1000, 0, 1)
    assert control[1] == (1, 7, 4, 3, 4, 500, 1000, 0, 1)
    assert control[2] == (3, 1, 1, 0, 0, 500, 1000, 0, 1)
    changed = zlib.decompress(dict(chunks[7:8])[b"fdAT"][4:])
    assert len(changed) == 4 * (1 + 7)
    assert changed.count(255) == 4 * 7 - 2  # all but the old dot and the new one are transparent


def test_its_first_frame_is_a_still_for_programs_that_show_no_more() -> None:
    image = QImage()
    assert image.loadFromData(animated_png([_image((3, 4)), _image((9, 7))], 0.5))
    assert image.pixelColor(3, 4) == QColor("red")
    assert image.pixelColor(9, 7) == QColor("white")
