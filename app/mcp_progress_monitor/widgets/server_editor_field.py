"""A field of the server editor: a control, and below it what is wrong with what was entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from mcp_progress_monitor.text import visible
from mcp_progress_monitor.widgets.appearance import GAP, GAP_L, Appearance, Tone
from mcp_progress_monitor.widgets.schema_field import mark_wrong, plain_label, set_text_colour

if TYPE_CHECKING:
    from collections.abc import Mapping


class FieldBox(QWidget):
    """`control`, a hint, and the problem of just this field."""

    def __init__(
        self, control: QWidget, appearance: Appearance, parent: QWidget, hint: str = ""
    ) -> None:
        super().__init__(parent)
        self.control = control
        self._appearance = appearance
        self._problem = plain_label(self)
        self._problem.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(control)
        if hint:
            about = plain_label(self, hint)
            set_text_colour(about, appearance, Tone.MUTED)
            column.addWidget(about)
        column.addWidget(self._problem)
        self.setFocusProxy(control)

    @property
    def problem(self) -> str:
        """What is shown to be wrong."""
        return self._problem.text()

    def show_problem(self, words: str) -> None:
        """Say what is wrong, also to screen readers; nothing when it is right."""
        self._problem.setText(visible(words, keep_line_ends=True))
        self._problem.setVisible(bool(words))
        set_text_colour(self._problem, self._appearance, Tone.BAD)
        mark_wrong(self.control, self._appearance, is_wrong=bool(words))
        self.control.setAccessibleDescription(words)


class EditorPage(QScrollArea):
    """A page of fields by name; scrolls when the window is small."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.appearance = appearance
        self.fields: dict[str, FieldBox] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.inner = QWidget(self)
        self.form = QFormLayout(self.inner)
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        self.form.setContentsMargins(GAP_L, GAP_L, GAP_L, GAP_L)
        self.form.setSpacing(GAP)
        self._line = QLineEdit(self)
        self._line.hide()
        self.setWidget(self.inner)

    def add(self, name: str, label: str, control: QWidget, hint: str = "") -> FieldBox:
        """Add a field; its label's key leads to it, and names it where it has no name."""
        box = FieldBox(control, self.appearance, self.inner, hint)
        if not control.accessibleName():
            control.setAccessibleName(label.replace("&", ""))
        words = QLabel(label, self.inner)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setBuddy(control)
        # Beside the control's first line, whatever stands below it.
        words.setFixedHeight(self._line.sizeHint().height())
        words.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.form.addRow(words, box)
        self.fields[name] = box
        return box

    def show_problems(self, problems: Mapping[str, str]) -> QWidget | None:
        """Show each problem at its field; returns the first control with one."""
        first = None
        for name, box in self.fields.items():
            words = problems.get(name, "")
            box.show_problem(words)
            if words and first is None:
                first = box.control
        return first
