"""The dialog that asks for the secrets of a server that is being connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_label
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST: Final = 60
_WIDTH: Final = 280
_PROMISE: Final = "Kept in memory until you disconnect the server, and never saved."


class SecretDialog(QDialog):
    """A password field for each secret of a server."""

    def __init__(self, server: str, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Enter secrets")
        self.secrets: dict[str, str] | None = None  # once they were entered
        self.fields: Final = {name: QLineEdit(self) for name in names}
        form = QFormLayout()
        for name, field in self.fields.items():
            field.setEchoMode(QLineEdit.EchoMode.Password)
            field.setMinimumWidth(_WIDTH)
            field.textChanged.connect(self._enable)
            label = QLabel(self, textFormat=Qt.TextFormat.PlainText)
            label.setText(one_line(name, _LONGEST))
            label.setBuddy(field)
            field.setAccessibleName(one_line(name, _LONGEST))
            form.addRow(label, field)
        self.buttons = DialogButtons(self)
        self.connect_button = QPushButton("&Connect", self)
        self.connect_button.setDefault(True)
        self.buttons.addButton(self.connect_button, QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        what = plain_label(self, f"To connect, {one_line(server, _LONGEST)} needs:")
        in_column(what, form, plain_label(self, _PROMISE), self.buttons, of=self, spacing=GAP)
        self._enable()

    def accept(self) -> None:
        """Hand over the secrets."""
        self.secrets = {name: field.text() for name, field in self.fields.items()}
        super().accept()

    def done(self, result: int) -> None:
        """Close, however that was requested, and forget what the fields contain."""
        super().done(result)
        for field in self.fields.values():
            field.clear()

    @Slot()
    def _enable(self) -> None:
        self.connect_button.setEnabled(all(field.text() for field in self.fields.values()))
