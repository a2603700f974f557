"""What dialogs of a server's settings have in common: they are saved, or left as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.widgets.appearance import GAP, GAP_L, Appearance, Tone
from mcp_progress_monitor.widgets.schema_field import plain_label, set_text_colour

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QLayout


class SettingsDialog(QDialog):
    """Escape closes it only while nothing was changed: what was typed is not thrown away by a key.

    A subclass lays out its controls in `page`, and saves in `save`, which returns what is wrong.
    """

    def __init__(
        self, title: str, server: str, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.server = server
        self.appearance = appearance
        self.is_changed = False
        self.setWindowTitle(f"{title}: {one_line(server, 60)}")
        self.note = plain_label(self)
        set_text_colour(self.note, appearance, Tone.BAD)
        self._buttons = QDialogButtonBox(self)
        standard = QDialogButtonBox.StandardButton
        self._buttons.setStandardButtons(standard.Save | standard.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        for keys in (standard.Save, standard.Cancel):
            self._buttons.button(keys).setAutoDefault(False)
        self._buttons.button(standard.Save).setToolTip(self.tr("Save (Ctrl+Enter)"))

    def lay_out(self, about: str, page: QLayout) -> None:
        """Place the controls between what they are for and the buttons."""
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        column.setSpacing(GAP)
        words = plain_label(self, about)
        set_text_colour(words, self.appearance, Tone.MUTED)
        column.addWidget(words)
        column.addLayout(page, 1)
        column.addWidget(self.note)
        column.addWidget(self._buttons)

    def save(self) -> str:
        """Hand on what was chosen; returns what is wrong with it, empty when it was handed on."""
        raise NotImplementedError

    @Slot()
    def accept(self) -> None:
        """Save and close; stay open with the reason when that cannot be."""
        wrong = self.save()
        self.note.setText(wrong)
        if not wrong:
            super().accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keep what was typed at Escape; save at Ctrl+Enter."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accept()
        elif event.key() == Qt.Key.Key_Escape and self.is_changed:
            self.note.setText(self.tr("Something was changed: choose Save or Cancel."))
        else:
            super().keyPressEvent(event)

    @Slot()
    def note_change(self) -> None:
        """Take note that something was changed."""
        self.is_changed = True
