"""Two messages beside each other: the lines of their JSON that differ."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QTextCursor, QTextFormat, QTextOption
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QTextEdit, QVBoxLayout

from mcp_progress_monitor.formatting import elide, number, visible
from mcp_progress_monitor.gui.common.controls import plain_label
from mcp_progress_monitor.gui.common.layout import fit_to_screen
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone, monospaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QWidget

_SIZE: Final = QSize(760, 560)
_AROUND: Final = 6
"""Lines of context around each difference."""
_MOST_LINES: Final = 4_000
_LONGEST: Final = 2_000
"""Characters of a line that are shown."""
_LINE_END: Final = re.compile(r"((?<!\\)(?:\\\\)*\\n)(?=[^\"])")
"""A line end in a string, as JSON writes it; not an escaped backslash before an n."""
_TONES: Final = {"-": Tone.BAD, "+": Tone.GOOD, "@": Tone.MUTED}


def differences(first: str, second: str) -> list[str]:
    """The lines that differ, those of the first with `-`, with some lines around; none if equal.

    Strings of several lines are compared line by line. Of longer texts the first `_MOST_LINES`
    lines are compared: more would take seconds.
    """
    one, other = _lines(first), _lines(second)
    found = difflib.unified_diff(one, other, n=_AROUND, lineterm="")
    return [elide(visible(line), _LONGEST) for line in list(found)[2:]]


def _lines(text: str) -> list[str]:
    """The lines of a JSON text, with further ones where its strings have line ends."""
    return _LINE_END.sub(r"\1\n    ", text).splitlines()[:_MOST_LINES]


class MessagesDialog(QDialog):
    """The differences of two messages, each with what is known of it above."""

    def __init__(
        self,
        facts: tuple[str, str],
        texts: tuple[str, str],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        """`facts` say which messages they are, `texts` are their JSON."""
        super().__init__(parent)
        self._appearance = appearance
        self.setWindowTitle("Compare messages")
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(monospaced(self.font()))
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setAccessibleName("Differences of the messages")
        found = differences(*texts)
        self.text.setPlainText("\n".join(found) or "The messages are equal.")
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        for sign, words in zip("-+", facts, strict=True):
            column.addWidget(plain_label(self, f"{sign} {words}"))
        if any(len(text.splitlines()) > _MOST_LINES for text in texts):
            column.addWidget(
                plain_label(self, f"Only the first {number(_MOST_LINES)} lines are compared.")
            )
        column.addWidget(self.text, 1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)
        fit_to_screen(self, _SIZE)
        self._colour_lines()
        appearance.changed.connect(self._colour_lines)
        self.text.setFocus()

    @Slot()
    def _colour_lines(self) -> None:
        self.text.setExtraSelections(list(self._selections()))

    def _selections(self) -> Iterator[QTextEdit.ExtraSelection]:
        block = self.text.document().firstBlock()
        while block.isValid():
            tone = _TONES.get(block.text()[:1])
            if tone is not None:
                selection = QTextEdit.ExtraSelection()
                selection.cursor = QTextCursor(block)
                selection.format.setBackground(self._appearance.ground(tone, 0.15))
                selection.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
                yield selection
            block = block.next()
