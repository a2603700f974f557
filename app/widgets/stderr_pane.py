"""What servers write to their standard error, line by line, as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from app.protocol.frame import Channel, server_name
from app.text import clock, elide, visible
from app.widgets.appearance import monospaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.protocol.frame import Frame

_LINES: Final = 10_000
_LINE_LENGTH: Final = 2_000


class StderrPane(QWidget):
    """The newest 10,000 lines of all servers; the log has every one of them in full.

    Follows the end while the end is in sight.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setMaximumBlockCount(_LINES)
        self.text.setUndoRedoEnabled(False)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(monospaced(self.font()))
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.text.setAccessibleName(self.tr("Standard error of all servers"))
        self.text.setPlaceholderText(self.tr("Nothing was written to standard error yet."))
        self.text.setTabChangesFocus(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text)

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Append the lines among `frames` that came from a standard error."""
        stderr = Channel.STDERR  # looked up once: this runs over every frame there is
        lines = [frame for frame in frames if frame[2] is stderr]
        if lines:
            # Appending scrolls only when the end is in sight: Qt does the following itself.
            self.text.appendPlainText("\n".join(_line(frame) for frame in lines[-_LINES:]))


def _line(frame: Frame) -> str:
    words = elide(visible(frame.raw.decode(errors="replace")), _LINE_LENGTH)
    return f"{clock(frame.when)}  {server_name(frame.connection)}  {words}"
