"""A label whose words change often without moving anything around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent


_STEP: Final = 48
"""Pixels by which the room kept for words grows and shrinks."""


class StillLabel(QWidget):
    """One line of plain text in whatever width there is; what does not fit ends in an ellipsis.

    Each new text of a `QLabel` has the layouts around it done again, up to the docks of the window:
    2 ms of one core ten times a second. This one is in no layout with its text.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._text = ""
        self._least = self._wanted = 0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text(self) -> str:
        """What it says."""
        return self._text

    def set_text(self, words: str, whole: str = "") -> None:
        """Say something else; of words with a beginning `whole` that is never cut.

        Such words have room of their own, in steps: a count that grows seldom moves what is around.
        """
        self._text = words
        if whole:
            self._keep_room(f"{whole}, …", words)
        self._fit()

    def _keep_room(self, least: str, wanted: str) -> None:
        room = [self._least, self._wanted]
        for place, words in enumerate((least, wanted)):
            steps = self.fontMetrics().horizontalAdvance(words) // _STEP + 1
            if not steps <= room[place] // _STEP <= steps + 1:
                room[place] = steps * _STEP
        if room != [self._least, self._wanted]:
            self._least, self._wanted = room
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
            self.updateGeometry()

    def _fit(self) -> None:
        mode = Qt.TextElideMode.ElideRight
        self._label.setText(self.fontMetrics().elidedText(self._text, mode, self.width()))

    def set_accessible_name(self, name: str) -> None:
        """Say to screen readers what it is about."""
        self._label.setAccessibleName(name)

    def sizeHint(self) -> QSize:
        """A line high, as wide as words that have room of their own."""
        return QSize(self._wanted, self._label.fontMetrics().height() + 2 * self._label.margin())

    def minimumSizeHint(self) -> QSize:
        """A line high, as wide as what is never cut."""
        return QSize(self._least, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the words the whole room."""
        super().resizeEvent(event)
        self._label.setGeometry(self.rect())
        self._fit()
