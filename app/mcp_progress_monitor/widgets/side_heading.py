"""The small heading over a list at the side of the window, with an optional button."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from mcp_progress_monitor.widgets.appearance import GAP, GAP_S, Appearance, Tone


class SideHeading(QWidget):
    """A word in muted capitals."""

    def __init__(self, words: str, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._label = QLabel(words, self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(GAP + 2, GAP_S, GAP_S, 2)
        self._row.addWidget(self._label, 1)
        self._recolour()
        appearance.changed.connect(self._recolour)

    def add_button(self, button: QToolButton) -> None:
        """Put `button` at the right end."""
        self._row.addWidget(button)

    def set_buddy(self, widget: QWidget) -> None:
        """Let the heading name `widget` for assistive technology."""
        self._label.setBuddy(widget)

    def changeEvent(self, event: QEvent) -> None:
        """Take another font."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._recolour()

    def _recolour(self) -> None:
        font = QFont(self.font())
        font.setPointSizeF(font.pointSizeF() * 0.88)
        font.setWeight(QFont.Weight.DemiBold)
        font.setCapitalization(QFont.Capitalization.AllUppercase)
        font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, 0.4)
        self._label.setFont(font)
        palette = self._label.palette()
        palette.setColor(QPalette.ColorRole.WindowText, self._appearance.colour(Tone.MUTED))
        self._label.setPalette(palette)
