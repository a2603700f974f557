"""Sees in a picture of a window whether its text is text: without fonts, each letter is a box.

    python packaging/painted.py PICTURE

It counts the different shapes that are as large as letters: dozens in text, a few in boxes. It runs
in the project's own environment, which has Qt to read the picture.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST: Final = 40
"""Different shapes in a window with text; boxes and icons make fewer."""
_LETTER: Final = range(3, 15)
"""The height and width of letters in pixels, about."""
_CONTRAST: Final = 60


def letter_shapes(file: str) -> int:
    """Count the different shapes of the size of letters in a picture; 0 if it cannot be read."""
    from PySide6.QtGui import QImage

    image = QImage(file).convertToFormat(QImage.Format.Format_Grayscale8)
    width, height, line = image.width(), image.height(), image.bytesPerLine()
    data = bytes(image.constBits())
    rows = [data[y * line : y * line + width] for y in range(height)]
    usual = Counter(b"".join(rows)).most_common(1)[0][0] if rows else 0
    inked = {
        (x, y)
        for y, row in enumerate(rows)
        for x, value in enumerate(row)
        if abs(value - usual) > _CONTRAST
    }
    return len({shape for shape in _shapes(inked) if _is_letter(shape)})


def _shapes(inked: set[tuple[int, int]]) -> list[frozenset[tuple[int, int]]]:
    """Each connected shape, moved to the origin."""
    found = []
    while inked:
        waiting = [inked.pop()]
        shape = []
        while waiting:
            x, y = waiting.pop()
            shape.append((x, y))
            beside = {(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)} & inked
            inked -= beside
            waiting += beside
        left, top = min(x for x, _ in shape), min(y for _, y in shape)
        found.append(frozenset((x - left, y - top) for x, y in shape))
    return found


def _is_letter(shape: frozenset[tuple[int, int]]) -> bool:
    return max(x for x, _ in shape) + 1 in _LETTER and max(y for _, y in shape) + 1 in _LETTER


def main(arguments: Sequence[str]) -> int:
    """Print the count for a picture; 1 if it is no window with text."""
    (file,) = arguments
    count = letter_shapes(file)
    print(f"{file}: {count} shapes of letters, {'text' if count >= LEAST else 'no text'}")
    return int(count < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
