"""Two JSON texts beside each other: the lines that differ, coloured."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Slot
from PySide6.QtGui import QTextCursor, QTextFormat, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from mcp_progress_monitor.formatting import elide, number, visible
from mcp_progress_monitor.gui.theme import Appearance, Tone, monospaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QWidget

_AROUND: Final = 6  # lines of context around each difference
_MOST_LINES: Final = 4_000
_LONGEST: Final = 2_000  # characters of a line that are shown
_LINE_END: Final = re.compile(r"((?<!\\)(?:\\\\)*\\n)(?=[^\"])")
"""A line end in a string, as JSON writes it; not an escaped backslash before an n."""
_TONES: Final = {"-": Tone.BAD, "+": Tone.GOOD, "@": Tone.MUTED}


def differences(first: str, second: str, around: int = _AROUND) -> list[str]:
    """The lines that differ, those of the first with `-`, with lines `around`; none if equal.

    Strings of several lines are compared line by line. Of longer texts the first `_MOST_LINES`
    lines are compared, and the last line says so: more would take seconds.
    """
    one, other = _lines(first), _lines(second)
    found = difflib.unified_diff(one[:_MOST_LINES], other[:_MOST_LINES], n=around, lineterm="")
    lines = [elide(visible(line), _LONGEST) for line in list(found)[2:]]
    if max(len(one), len(other)) > _MOST_LINES:
        lines.append(f"@@ Only the first {number(_MOST_LINES)} lines were compared. @@")
    return lines


def _lines(text: str) -> list[str]:
    """The lines of a JSON text, with further ones where its strings have line ends."""
    return _LINE_END.sub(r"\1\n    ", text).splitlines()


class DifferencesView(QPlainTextEdit):
    """Shows what differs, to be read and copied."""

    def __init__(self, first: str, second: str, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFont(monospaced(self.font()))
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName("Differences")
        self.show_texts(first, second)
        appearance.changed.connect(self._colour_lines)

    def show_texts(self, first: str, second: str, around: int = _AROUND) -> None:
        self.setPlainText("\n".join(differences(first, second, around)) or "Both are equal.")
        self._colour_lines()

    @Slot()
    def _colour_lines(self) -> None:
        self.setExtraSelections(list(self._selections()))

    def _selections(self) -> Iterator[QTextEdit.ExtraSelection]:
        block = self.document().firstBlock()
        while block.isValid():
            tone = _TONES.get(block.text()[:1])
            if tone is not None:
                selection = QTextEdit.ExtraSelection()
                selection.cursor = QTextCursor(block)
                selection.format.setBackground(self._appearance.ground(tone, 0.15))
                selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
                yield selection
            block = block.next()
