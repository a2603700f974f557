"""Fields for the values that servers need before they can be imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QFormLayout, QLabel, QLineEdit, QScrollArea, QWidget

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import QuietComboBox, plain_tip
from mcp_progress_monitor.gui.servers.editor_pages import FieldBox
from mcp_progress_monitor.gui.theme import GAP, GAP_S, Appearance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import TypeAlias

    from mcp_progress_monitor.wording.clients import RequiredInput

    Key: TypeAlias = tuple[Path, str]
    """A file, and the id of an input in it."""


_ROWS_SHOWN: Final = 4
_LABEL: Final = 240
_MOST: Final = 100  # most fields; servers that need more are imported in parts


class ImportInputs(QScrollArea):
    """Fields for required values; secrets are masked."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._required: Mapping[Key, RequiredInput] = {}
        self._boxes: dict[Key, FieldBox] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName("Values the servers need")
        self.changed.connect(self._on_changed)
        inner = QWidget(self)
        self._form = QFormLayout(
            inner, fieldGrowthPolicy=QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow
        )
        self._form.setContentsMargins(0, 0, GAP_S, 0)
        self._form.setSpacing(GAP_S)
        self.setWidget(inner)

    def field(self, path: Path, name: str) -> QWidget:
        """The control for the value `name` of a file."""
        return self._boxes[path, name].control

    def show_required(self, required: Mapping[Key, RequiredInput]) -> None:
        """Ask for `required` and nothing else; what was typed for others is kept for later."""
        for key, each in required.items():
            if key not in self._boxes and len(self._boxes) < _MOST:
                self._add(key, each)
        self._required = {key: each for key, each in required.items() if key in self._boxes}
        for key, box in self._boxes.items():
            self._form.setRowVisible(box, key in self._required)
        self.setVisible(bool(self._required))
        self._fit()

    def answers(self, path: Path) -> dict[str, str]:
        """The entered values for a file, by id."""
        found = {id_: _answer(box.control) for (of, id_), box in self._boxes.items() if of == path}
        return {id_: answer for id_, answer in found.items() if answer}

    def secret_ids(self, path: Path) -> set[str]:
        return {
            id_ for (of, id_), each in self._required.items() if of == path and each.input.is_secret
        }

    def show_missing(self) -> QWidget | None:
        """Mark missing values; returns the first such control."""
        first = None
        for key, required in self._required.items():
            box = self._boxes[key]
            is_missing = not _answer(box.control)
            text = "{} needs this" if len(required.servers) == 1 else "{} need this"
            text = text.format(one_line(", ".join(required.servers), 80))
            box.show_error(text if is_missing else "")
            if is_missing and first is None:
                first = box.control
        self._fit()
        return first

    @Slot()
    def _on_changed(self) -> None:
        """Remove the marks of fields that are filled in."""
        answered = [box for box in self._boxes.values() if box.error and _answer(box.control)]
        for box in answered:
            box.show_error("")
        if answered:
            self._fit()

    def _add(self, key: Key, required: RequiredInput) -> None:
        described = one_line(required.input.description or required.input.id, 120)
        control = self._made(required)
        control.setAccessibleName(described)
        control.setToolTip(plain_tip(one_line(required.input.id, 120)))
        hint = ""
        if required.input.is_secret and required.input.stands_as_text:
            hint = "Part of a command or URL: readable in the catalogue file."
        box = FieldBox(control, self._appearance, self, hint)
        label = QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        label.setText(described)
        label.setFixedWidth(min(label.fontMetrics().horizontalAdvance(described) + GAP, _LABEL))
        self._boxes[key] = box
        self._form.addRow(label, box)

    def _made(self, required: RequiredInput) -> QWidget:
        if required.input.choices:
            box = QuietComboBox(self)
            box.setEditable(True)
            box.addItems([each[:1000] for each in required.input.choices[:_MOST]])
            box.setCurrentText(required.input.default or "")
            box.currentTextChanged.connect(self.changed)
            return box
        line = QLineEdit(required.input.default or "", self)
        if required.input.is_secret:
            line.setEchoMode(QLineEdit.EchoMode.Password)
        line.textChanged.connect(self.changed)
        return line

    def _fit(self) -> None:
        inner = self.widget()
        if inner is not None:
            line = self.fontMetrics().lineSpacing() + 2 * GAP
            most = line * _ROWS_SHOWN
            self.setFixedHeight(min(inner.sizeHint().height() + GAP_S, most))


def _answer(control: QWidget) -> str:
    if isinstance(control, QComboBox):
        return control.currentText()
    return control.text() if isinstance(control, QLineEdit) else ""
