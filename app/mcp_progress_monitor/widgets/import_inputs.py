"""What a configuration asks of the user before its servers can be used, a field each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QFormLayout, QLabel, QLineEdit, QScrollArea, QWidget

from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.widgets.appearance import GAP, GAP_S
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.schema_field import QuietComboBox
from mcp_progress_monitor.widgets.server_editor_field import FieldBox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.models.import_words import Asked
    from mcp_progress_monitor.widgets.appearance import Appearance

_ROWS_SHOWN: Final = 4
_LABEL: Final = 240
_MOST: Final = 100
"""Fields; a file that asks for more is imported in parts."""


class ImportInputs(QScrollArea):
    """Fields for answers; those that are secret are masked."""

    changed = Signal()

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._asked: dict[str, Asked] = {}
        self._boxes: dict[str, FieldBox] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName(self.tr("What the servers ask for"))
        self.changed.connect(self._on_changed)
        self._clear()

    @property
    def asked(self) -> tuple[Asked, ...]:
        """What is asked."""
        return tuple(self._asked.values())

    def field(self, name: str) -> QWidget:
        """The control for the answer to `name`."""
        return self._boxes[name].control

    def show_asked(self, asked: Iterable[Asked], *, is_new: bool) -> None:
        """Ask also for `asked`; with `is_new`, for nothing else, and forget all answers."""
        if is_new:
            self._clear()
        for each in asked:
            if each.input.id not in self._asked and len(self._asked) < _MOST:
                self._asked[each.input.id] = each
                self._add(each)
        self.setVisible(bool(self._asked))
        self._fit()

    def answers(self) -> dict[str, str]:
        """What was answered, by id; what was not is left out."""
        given = {name: _answer(box.control) for name, box in self._boxes.items()}
        return {name: answer for name, answer in given.items() if answer}

    def secret_ids(self) -> set[str]:
        """The ids of secret answers."""
        return {each.input.id for each in self.asked if each.input.is_secret}

    def show_missing(self, servers: Sequence[str]) -> QWidget | None:
        """Mark what `servers` ask for and was not answered; returns the first such control."""
        first = None
        answers = self.answers()
        for name, asked in self._asked.items():
            wanted = [each for each in asked.servers if each in servers]
            is_missing = bool(wanted) and name not in answers
            words = self.tr("{} needs this") if len(wanted) == 1 else self.tr("{} need this")
            words = words.format(one_line(", ".join(wanted), 80))
            self._boxes[name].show_problem(words if is_missing else "")
            if is_missing and first is None:
                first = self._boxes[name].control
        self._fit()
        return first

    @Slot()
    def _on_changed(self) -> None:
        """Take away what was said of fields that are answered now."""
        answers = self.answers()
        answered = [box for name, box in self._boxes.items() if box.problem and name in answers]
        for box in answered:
            box.show_problem("")
        if answered:
            self._fit()

    def _clear(self) -> None:
        self._asked.clear()
        self._boxes.clear()
        inner = QWidget(self)
        self._form = QFormLayout(inner)
        self._form.setContentsMargins(0, 0, GAP_S, 0)
        self._form.setSpacing(GAP_S)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.setWidget(inner)

    def _add(self, asked: Asked) -> None:
        described = one_line(asked.input.description or asked.input.id, 120)
        control = self._made(asked)
        control.setAccessibleName(described)
        control.setToolTip(plain_tip(one_line(asked.input.id, 120)))
        hint = ""
        if asked.input.is_secret and asked.input.stands_as_text:
            hint = self.tr("Part of a command or URL: stands readable in the catalogue's file.")
        box = FieldBox(control, self._appearance, self, hint)
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setText(described)
        label.setWordWrap(True)
        label.setFixedWidth(min(label.fontMetrics().horizontalAdvance(described) + GAP, _LABEL))
        self._boxes[asked.input.id] = box
        self._form.addRow(label, box)

    def _made(self, asked: Asked) -> QWidget:
        if asked.input.choices:
            box = QuietComboBox(self)
            box.setEditable(True)
            box.addItems([each[:1000] for each in asked.input.choices[:_MOST]])
            box.setCurrentText(asked.input.default or "")
            box.currentTextChanged.connect(self.changed)
            return box
        line = QLineEdit(asked.input.default or "", self)
        if asked.input.is_secret:
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
