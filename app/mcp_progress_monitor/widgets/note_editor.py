"""A small window for the note on one message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout

from mcp_progress_monitor.text import number
from mcp_progress_monitor.widgets.appearance import GAP
from mcp_progress_monitor.widgets.plain_text import typed_text
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

LONGEST: Final = 10_000
"""Characters of a note."""


class NoteEditor(QDialog):
    """Stays open beside the log until the note is saved or left; several may be open."""

    saved = Signal(object, object)
    """The message's number, and the text; empty to take the note away."""

    def __init__(self, frame_number: int, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._number = frame_number
        self._edit = QPlainTextEdit(self)
        self._edit.setPlainText(text)
        self._edit.setTabChangesFocus(True)
        self._buttons = QDialogButtonBox(self)
        self._room = QLabel(self)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = self.tr("Note on message no. {number}").format(number=number(frame_number))
        self.setWindowTitle(title)
        self._edit.setAccessibleName(title)
        self._lay_out()
        self._on_text_changed()

    def _lay_out(self) -> None:
        kinds = QDialogButtonBox.StandardButton
        self._save = self._buttons.addButton(kinds.Save)
        self._save.setToolTip(self.tr("Keep the note (Ctrl+Return); an empty one is taken away"))
        self._buttons.addButton(kinds.Cancel).setToolTip(self.tr("Leave the note as it was (Esc)"))
        self._buttons.accepted.connect(self._on_accepted)
        self._buttons.rejected.connect(self.close)
        save = QShortcut(QKeySequence("Ctrl+Return"), self)
        save.activated.connect(self._on_accepted)
        self._edit.textChanged.connect(self._on_text_changed)
        self._room.setTextFormat(Qt.TextFormat.PlainText)
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        column.addWidget(self._edit, 1)
        column.addWidget(self._room)
        column.addWidget(self._buttons)
        fit_to_screen(self, QSize(380, 200))
        self._edit.setFocus()

    def _text(self) -> str:
        return typed_text(self._edit.document()).strip()

    @Slot()
    def _on_text_changed(self) -> None:
        beyond = len(self._text()) - LONGEST
        self._save.setEnabled(beyond <= 0)
        self._room.setVisible(beyond > 0)
        self._room.setText(
            self.tr("{count} characters too many").format(count=number(max(0, beyond)))
        )

    @Slot()
    def _on_accepted(self) -> None:
        if self._save.isEnabled():
            self.saved.emit(self._number, self._text())
            self.close()
