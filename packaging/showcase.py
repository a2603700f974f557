"""The pictures of the README, from the real window with the demo server: one still, one moving.

    python3 packaging/dev.py pictures readme [FOLDER]

The moving one is an animated PNG. Frames share a palette, and each has only what changed.
"""

from __future__ import annotations

import struct
import sys
import tempfile
import zlib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.gui.aio import run_on_qt
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


FOLDER: Final = Path(__file__).resolve().parent.parent / "resources" / "screenshots"
LARGEST: Final = 400_000
"""Bytes of a file: the README is read on slow lines as well."""
_STILL, _MOVING = (1280, 800), (900, 560)
_FRAMES, _EACH_S = 24, 0.5
_PAUSE_S, _BUSY_S, _JOBS = 0.5, 6.0, 10
_CLEAR: Final = 255
"""The colour that lets the frame before be seen."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


class Frame:
    """A picture with the colours of a palette, a byte for each pixel."""

    def __init__(self, image: QImage, palette: Sequence[int]) -> None:
        plain = image.convertToFormat(QImage.Format.Format_RGB32)
        indexed = plain.convertToFormat(QImage.Format.Format_Indexed8, list(palette))
        width, line = indexed.width(), indexed.bytesPerLine()
        data = bytes(indexed.constBits())
        self.rows = [data[y * line : y * line + width] for y in range(indexed.height())]

    def changed(self, before: Frame) -> tuple[int, int, int, int]:
        """The rectangle that differs: left, top, width, height; a pixel if none does."""
        rows = [y for y, row in enumerate(self.rows) if row != before.rows[y]]
        if not rows:
            return 0, 0, 1, 1
        top, bottom = rows[0], rows[-1]
        pairs = [(self.rows[y], before.rows[y]) for y in rows]
        left = min(_first_difference(*pair) for pair in pairs)
        right = min(_first_difference(one[::-1], other[::-1]) for one, other in pairs)
        return left, top, len(pairs[0][0]) - right - left, bottom - top + 1

    def packed(self, place: tuple[int, int, int, int], before: Frame | None = None) -> bytes:
        """A rectangle as PNG has it, transparent where it is as before."""
        left, top, width, height = place
        lines = []
        for y in range(top, top + height):
            row = self.rows[y][left : left + width]
            if before is not None:
                old = before.rows[y][left : left + width]
                pairs = zip(row, old, strict=True)
                row = bytes(_CLEAR if one == other else one for one, other in pairs)
            lines.append(b"\0" + row)
        return zlib.compress(b"".join(lines), 9)


def _first_difference(one: bytes, other: bytes) -> int:
    return next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def animated_png(images: Sequence[QImage], each_s: float) -> bytes:
    """Return images of one size as an animated PNG that repeats."""
    last = images[-1].convertToFormat(QImage.Format.Format_Indexed8)
    palette = last.colorTable()[:_CLEAR]
    frames = [Frame(image, palette) for image in images]
    width, height = images[0].width(), images[0].height()
    colours = b"".join(struct.pack(">I", each)[1:] for each in palette).ljust(3 * _CLEAR + 3, b"\0")
    return _SIGNATURE + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", struct.pack(">2I5B", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", colours),
            (b"tRNS", b"\xff" * len(palette) + b"\0" * (_CLEAR + 1 - len(palette))),
            (b"acTL", struct.pack(">2I", len(frames), 0)),
            *_frame_chunks(frames, round(each_s * 1000)),
            (b"IEND", b""),
        )
    )


def _frame_chunks(frames: Sequence[Frame], each_ms: int) -> Iterator[tuple[bytes, bytes]]:
    whole = (0, 0, len(frames[0].rows[0]), len(frames[0].rows))
    yield b"fcTL", _control(0, whole, each_ms)
    yield b"IDAT", frames[0].packed(whole)
    for index, (before, frame) in enumerate(pairwise(frames)):
        place = frame.changed(before)
        yield b"fcTL", _control(2 * index + 1, place, each_ms)
        yield b"fdAT", struct.pack(">I", 2 * index + 2) + frame.packed(place, before)


def _control(number: int, place: tuple[int, int, int, int], each_ms: int) -> bytes:
    """How a frame is shown: where, how long, and painted over those before."""
    left, top, width, height = place
    return struct.pack(">5I2H2B", number, width, height, left, top, each_ms, 1000, 0, 1)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


async def take(folder: Path, data: Path) -> int:
    """Save both pictures of one session with the demo server."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)  # noqa: S101
    program = Program(application, WindowOptions(data_dir=data, is_demo=True))
    async with anyio.create_task_group() as group:
        group.start_soon(program.run)
        await program.ready.wait()
        window = program.window
        window.theme.choose("light")
        window.resize(*_STILL)
        table = window.job_list.table
        while table.model().rowCount() < _JOBS:  # noqa: ASYNC110  # Qt has no event for it
            await anyio.sleep(_PAUSE_S)
        await anyio.sleep(_BUSY_S)
        assert window.grab().save(str(folder / "window.png"))  # noqa: S101
        window.open_dock("job")
        table.setCurrentIndex(table.model().index(1, 0))
        window.resize(*_MOVING)
        await anyio.sleep(_PAUSE_S)
        images = []
        for _ in range(_FRAMES):
            images.append(window.grab().toImage())
            await anyio.sleep(_EACH_S)
        program.quit()
    (folder / "moving.png").write_bytes(animated_png(images, _EACH_S))
    return _too_large([folder / "window.png", folder / "moving.png"])


def _too_large(files: Sequence[Path]) -> int:
    for file in files:
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
    return int(any(file.stat().st_size > LARGEST for file in files))


def main(arguments: Sequence[str]) -> int:
    """Take the pictures into the folder that is named, by default where the README has them."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        return run_on_qt(QApplication(sys.argv[:1]), lambda: take(folder, Path(data)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
