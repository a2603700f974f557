"""An editor for raw JSON; an error is reported with line and column, and the text is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from mcp_progress_monitor.gui.common.controls import (
    mark_invalid,
    plain_label,
    plain_tip,
    set_text_colour,
    typed_text,
)
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.typed_input import JsonInputError, read_json, write_json
from mcp_progress_monitor.gui.theme import GAP_S, Appearance, Tone, monospaced

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent

_TYPING_MS: Final = 200


class JsonEditor(QWidget):
    """An editor for a JSON object."""

    value_changed = Signal(object)  # the object that the user typed
    mistake_changed = Signal(object)  # why the text is not a JSON object; empty if it is

    def __init__(
        self, appearance: Appearance, parent: QWidget | None = None, *, name: str = ""
    ) -> None:
        """An editor for arguments, or for what `name` names."""
        super().__init__(parent)
        self._appearance = appearance
        self._mistake = ""
        self._name = name or "Arguments"
        self._text = QPlainTextEdit(self)
        self._text.setTabChangesFocus(True)
        self._text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._text.setAccessibleName(f"{self._name} as JSON")
        self._text.setToolTip(plain_tip(f"{self._name} as JSON, synchronized with the form"))
        self._text.setFont(monospaced(self.font()))
        self._error = plain_label(self)
        self._error.hide()
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(self._on_typed)
        self._text.textChanged.connect(self._on_text_changed)
        in_column((self._text, 1), self._error, of=self, margins=0, spacing=GAP_S)

    @property
    def mistake(self) -> str:
        """Why the text is not a JSON object, with line and column; empty if it is."""
        return self._mistake

    @property
    def text(self) -> str:
        return typed_text(self._text.document())

    def value(self) -> dict[str, Any]:
        """The object as typed so far; empty while the text is invalid."""
        try:
            return self._read()
        except JsonInputError:
            return {}

    def show_value(self, value: object) -> None:
        """Replace the text with an object; emits no signal."""
        self._typing.stop()
        text = write_json(value)
        if text != self.text:
            self._text.blockSignals(True)
            self._text.setPlainText(text)
            self._text.blockSignals(False)
        self._show_mistake("")

    def apply(self) -> None:
        """Read what was typed immediately, without waiting for a pause."""
        if self._typing.isActive():
            self._typing.stop()
            self._on_typed()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (event.Type.FontChange, event.Type.ApplicationFontChange):
            self._text.setFont(monospaced(self.font()))

    def _read(self) -> dict[str, Any]:
        value = read_json(self.text) if self.text.strip() else {}
        if not isinstance(value, dict):
            raise JsonInputError("enter a JSON object: { … }")
        return value

    def _show_mistake(self, mistake: str) -> None:
        self._error.setText(mistake)
        self._error.setVisible(bool(mistake))
        set_text_colour(self._error, self._appearance, Tone.BAD)
        mark_invalid(self._text, self._appearance, is_wrong=bool(mistake))
        if mistake != self._mistake:
            self._mistake = mistake
            self.mistake_changed.emit(mistake)

    @Slot()
    def _on_text_changed(self) -> None:
        self._typing.start()

    @Slot()
    def _on_typed(self) -> None:
        try:
            value = self._read()
        except JsonInputError as error:
            self._show_mistake(str(error))
            return
        self._show_mistake("")
        self.value_changed.emit(value)
