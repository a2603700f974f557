"""An image from a server: decoded within bounds, shown at most at its own size."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QImage, QImageReader, QPainter, QPalette
from PySide6.QtWidgets import QWidget

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

_ENCODED_AT_MOST: Final = 24_000_000  # characters of base64
_SIDE_AT_MOST: Final = 12_000  # pixels
_AREA_AT_MOST: Final = 40_000_000
_FORMATS: Final = frozenset({"png", "jpeg", "jpg", "gif", "webp", "bmp"})
"""Raster formats only: a drawing such as SVG may refer to files and fonts."""


class ImageView(QWidget):
    """Shows one image, or why it cannot be shown."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._image = QImage()
        self._text = ""
        self.setMinimumSize(QSize(120, 80))
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self.setAccessibleName("Image")

    @property
    def text(self) -> str:
        """The size of the image, or why it is not shown."""
        return self._text

    @property
    def image(self) -> QImage:
        """The decoded image; null if it cannot be shown."""
        return self._image

    def show_base64(self, encoded: str) -> None:
        self._image, self._text = decoded_image(encoded)
        self.setAccessibleDescription(self._text)
        self.update()

    def shrink(self, side: int) -> None:
        """Keep no more pixels of the image than a square of `side` pixels shows."""
        if not self._image.isNull() and max(self._image.width(), self._image.height()) > side:
            self._image = self._image.scaled(
                QSize(side, side),
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        line = self.fontMetrics().height() + GAP
        area = QRectF(self.rect()).adjusted(GAP, GAP, -GAP, -line)
        if not self._image.isNull():
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(_within(area, self._image.size()), self._image)
        painter.setPen(self._appearance.colour(Tone.MUTED))
        below = self.rect().adjusted(GAP, 0, -GAP, 0)
        below.setTop(below.bottom() - line if not self._image.isNull() else 0)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(below, int(flags), self._text)


def decoded_image(encoded: str) -> tuple[QImage, str]:
    """Decode an image of bounded size; null if it cannot be shown. Also describe it, or say why."""
    if len(encoded) > _ENCODED_AT_MOST:
        size = formatting.size(len(encoded) * 3 // 4)
        return QImage(), f"The image is too large to display ({size})."
    try:
        raw = base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        return QImage(), "The image is not valid base64."
    return _read(raw)


def _read(raw: bytes) -> tuple[QImage, str]:
    buffer = QBuffer()
    buffer.setData(QByteArray(raw))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setDecideFormatFromContent(True)
    kind = bytes(reader.format().data()).decode("ascii", "replace")
    size = reader.size()
    if kind not in _FORMATS:
        return QImage(), "The image format is not supported."
    pixels = f"{size.width():,} x {size.height():,}"
    if not _is_bearable(size):
        few = formatting.size(len(raw))
        return QImage(), f"The image has too many pixels to display: {pixels}, sent as {few}."
    image = reader.read()
    if image.isNull():
        return QImage(), "The image is corrupt."
    return image, f"{kind.upper()}, {pixels}, {formatting.size(len(raw))}"


def _is_bearable(size: QSize) -> bool:
    width, height = size.width(), size.height()
    is_sane = 0 < width <= _SIDE_AT_MOST and 0 < height <= _SIDE_AT_MOST
    return is_sane and width * height <= _AREA_AT_MOST


def _within(area: QRectF, size: QSize) -> QRectF:
    """The image's place: centred, shrunk to fit, never enlarged."""
    wanted = QSizeF(size)
    if wanted.width() > area.width() or wanted.height() > area.height():
        wanted.scale(area.size(), Qt.AspectRatioMode.KeepAspectRatio)
    place = QRectF(0, 0, wanted.width(), wanted.height())
    place.moveCenter(area.center())
    return place
