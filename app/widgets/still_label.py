"""A label whose words change often without moving anything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent


class StillLabel(QWidget):
    """One line of plain text in whatever width there is.

    Each new text of a `QLabel` has the layouts around it done again, up to the docks of the window:
    2 ms of one core ten times a second. This one is in no layout with its text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        """What it says."""
        return self._label.text()

    def set_text(self, words: str) -> None:
        """Say something else."""
        self._label.setText(words)

    def set_accessible_name(self, name: str) -> None:
        """Say to screen readers what it is about."""
        self._label.setAccessibleName(name)

    def sizeHint(self) -> QSize:
        """A line high, of no width of its own."""
        return QSize(0, self._label.fontMetrics().height() + 2 * self._label.margin())

    def minimumSizeHint(self) -> QSize:
        """A line high."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the words the whole room."""
        super().resizeEvent(event)
        self._label.setGeometry(self.rect())
