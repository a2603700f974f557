"""Asks for the command that prints the stream of another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor.catalogue.machines import EXAMPLES, usual_machine_name
from mcp_progress_monitor.gui.common.controls import plain_label, push_button, set_text_colour
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, order_tabs
from mcp_progress_monitor.gui.common.typed_input import JsonInputError
from mcp_progress_monitor.gui.servers.draft import split_command
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.errors import ErrorDetails

_ABOUT: Final = (
    "The command runs here and prints all live recordings of the other machine, where this program"
    " is installed as well. Only this command is run, and it changes nothing there. It has no"
    " terminal, so it must not ask for a password."
)


class MachineDialog(QDialog):
    """A command with examples, and the name of the machine."""

    watch_requested = Signal(str, object)
    """The name of the machine, and its command as arguments."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Watch another machine")
        self._appearance = appearance
        self._usual = ""
        self.command = QLineEdit(self, placeholderText=EXAMPLES["SSH"], clearButtonEnabled=True)
        self.name = QLineEdit(self, maxLength=60)
        self.examples = [push_button(self, name, text) for name, text in EXAMPLES.items()]
        self.note = plain_label(self)
        self.watch = QPushButton("&Watch", self, default=True)
        self._lay_out()
        self.command.textChanged.connect(self._on_typed)
        self.watch.clicked.connect(self._on_watch)
        for button in self.examples:
            button.setAutoDefault(False)
            button.clicked.connect(self._on_example)
        self._on_typed()
        fit_to_screen(self, QSize(640, 230))
        order_tabs(self)
        self.command.setFocus()

    def words(self) -> Sequence[str]:
        """The command as arguments; empty if it cannot be run."""
        try:
            return split_command(self.command.text())
        except JsonInputError:
            return ()

    def show_error(self, error: ErrorDetails) -> None:
        self.note.setText(error.as_text())
        set_text_colour(self.note, self._appearance, Tone.BAD)

    def _lay_out(self) -> None:
        form = QFormLayout(fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow("&Command:", self.command)
        form.addRow("Examples:", in_row(*self.examples, 1, margins=0, spacing=GAP))
        form.addRow("&Name:", self.name)
        buttons = DialogButtons(self)
        buttons.addButton(self.watch, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        in_column(plain_label(self, _ABOUT), form, self.note, 1, buttons, of=self)

    @Slot()
    def _on_example(self) -> None:
        """Fill in an example, and select the word to replace."""
        text = next(EXAMPLES[name] for name in EXAMPLES if self.sender() is self._button_of(name))
        self.command.setText(text)
        self.command.setFocus()
        word = next((word for word in text.split() if word.isupper()), "")
        self.command.setSelection(text.find(word), len(word))

    def _button_of(self, name: str) -> QPushButton:
        return self.examples[list(EXAMPLES).index(name)]

    @Slot()
    def _on_typed(self) -> None:
        words = self.words()
        if self.name.text() in {"", self._usual}:
            self._usual = usual_machine_name(words)
            self.name.setText(self._usual)
        self.watch.setEnabled(bool(words))
        self.note.clear()

    @Slot()
    def _on_watch(self) -> None:
        words = self.words()
        if words:
            self.watch_requested.emit(self.name.text().strip() or self._usual, tuple(words))
