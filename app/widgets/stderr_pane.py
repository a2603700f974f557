"""What servers write to their standard error, line by line, as plain text."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from app.protocol.frame import server_name
from app.text import clock, elide, visible
from app.widgets.appearance import monospaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent

    from app.protocol.frame import Frame

LINES: Final = 10_000
_LINE_LENGTH: Final = 2_000
SLICE: Final = 200
"""Lines given to the widget at one go: 2 to 3 ms, while 10,000 take a tenth of a second."""
_SLICE_PAUSE_MS: Final = 15


class StderrPane(QWidget):
    """The newest 10,000 lines of all servers; the log has every one of them in full.

    Follows the end while the end is in sight. Lines are kept as they came and reach the widget in
    slices, and only while somebody can see it: a flood costs a pane behind others next to nothing.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kept: collections.deque[Frame] = collections.deque(maxlen=LINES)
        self._unwritten = 0
        self._slices = QTimer(self)
        self._slices.setInterval(_SLICE_PAUSE_MS)
        self._slices.timeout.connect(self._on_slice_due)
        self.text = _Lines(self)
        self.text.setReadOnly(True)
        self.text.setMaximumBlockCount(LINES)
        self.text.setUndoRedoEnabled(False)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(monospaced(self.font()))
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.text.setAccessibleName(self.tr("Standard error of all servers"))
        self.text.setPlaceholderText(self.tr("Nothing was written to standard error yet."))
        self.text.setTabChangesFocus(True)
        self.text.painted.connect(self._write_if_seen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text)

    @property
    def unwritten(self) -> int:
        """How many of the lines kept are still to be given to the widget."""
        return min(self._unwritten, len(self._kept))

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Keep `frames`, which are lines of a standard error (`Feed.stderr_added`)."""
        self._kept.extend(frames)
        self._unwritten += len(frames)
        self._write_if_seen()

    @Slot()
    def clear(self) -> None:
        """Forget every line: a replay begins anew."""
        self._kept.clear()
        self._unwritten = 0
        self.text.clear()

    @Slot()
    def _write_if_seen(self) -> None:
        """Begin to write what waits; a pane behind another tab is visible, but none of it is."""
        if self._unwritten and not self.text.viewport().visibleRegion().isEmpty():
            self._slices.start()

    @Slot()
    def _on_slice_due(self) -> None:
        if self._unwritten >= LINES and self.text.blockCount() > 1:
            self.text.clear()  # not one of its lines is among the newest any more
        waiting = self.unwritten
        start = len(self._kept) - waiting
        lines = itertools.islice(self._kept, start, start + SLICE)
        if waiting:
            # Appending scrolls only when the end is in sight: Qt does the following itself.
            self.text.appendPlainText("\n".join(map(_line, lines)))
        self._unwritten = max(0, waiting - SLICE)
        if not self._unwritten or self.text.viewport().visibleRegion().isEmpty():
            self._slices.stop()


class _Lines(QPlainTextEdit):
    """Tells when it was seen: a pane that comes to the front has no other sign of it."""

    painted = Signal()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and tell so."""
        super().paintEvent(event)
        self.painted.emit()


def _line(frame: Frame) -> str:
    words = elide(visible(frame.raw.decode(errors="replace")), _LINE_LENGTH)
    return f"{clock(frame.when)}  {server_name(frame.connection)}  {words}"
