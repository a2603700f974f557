"""Arguments as a form made from their schema, and as raw JSON beside it, both in step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from app.models.schema import UNSET, Schema
from app.models.schema_check import SchemaProblem, validate
from app.widgets.appearance import GAP, Appearance
from app.widgets.json_editor import JsonEditor
from app.widgets.schema_fields import root_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.widgets.schema_value import ValueField

_CHECK_MS: Final = 150


class SchemaForm(QWidget):
    """Form and JSON editor for one object.

    While the JSON has a mistake the form stands still, so that neither side overwrites the other.
    Problems appear a moment after the last change; that something required is still missing only
    once `check` insists.
    """

    changed = Signal()
    remade = Signal()
    """There may be other controls than before: the order of Tab has to be set anew."""

    def __init__(
        self, appearance: Appearance, parent: QWidget | None = None, *, name: str = ""
    ) -> None:
        """A form of arguments, unless what is filled in has another `name`."""
        super().__init__(parent)
        self._appearance = appearance
        self._name = name or self.tr("Arguments")
        self._schema: Schema = {}
        self._insists = False
        self._field: ValueField | None = None
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._editor = JsonEditor(appearance, self, name=self._name)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._checking = QTimer(self)
        self._checking.setSingleShot(True)
        self._checking.setInterval(_CHECK_MS)
        self._checking.timeout.connect(self._on_check_due)
        self._editor.value_changed.connect(self._on_json_changed)
        self._editor.mistake_changed.connect(self._on_mistake_changed)
        self._lay_out()
        self.set_schema({})

    @property
    def editor(self) -> JsonEditor:
        """The JSON side."""
        return self._editor

    def set_schema(self, schema: Schema, value: object = UNSET) -> None:
        """Make the form anew for `schema`, with `value` or else its defaults."""
        self._schema = schema
        self._insists = False
        # Arguments are always an object, whatever a server writes.
        shown = schema if schema.get("type") == "object" else {**schema, "type": "object"}
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(GAP, GAP, GAP, GAP)
        field = root_field(shown, self._appearance, page)
        field.set_name(self._name)
        field.begin_required()
        if value is not UNSET:
            field.set_value(value)
        field.changed.connect(self._on_form_changed)
        if not schema.get("properties"):
            column.addWidget(QLabel(self.tr("No fields are described."), page))
        column.addWidget(field)
        column.addStretch(1)
        self._area.setWidget(page)
        self._field = field
        self._editor.show_value(self.value())
        self._area.setEnabled(True)
        self.remade.emit()

    def show_json(self, *, is_shown: bool) -> None:
        """Show the JSON beside the form, or the form alone; both stay in step."""
        self._editor.setVisible(is_shown)

    def show_refused(self, problems: Sequence[SchemaProblem]) -> None:
        """Show what somebody else found wrong, at its fields."""
        if self._field is not None:
            self._field.show_problems(problems)

    def set_value(self, value: object) -> None:
        """Show other arguments on both sides."""
        if self._field is not None:
            self._field.set_value(value)
        self._editor.show_value(self.value())
        self.remade.emit()

    def value(self) -> dict[str, Any]:
        """Return the arguments as entered."""
        value = self._field.value() if self._field is not None else {}
        return value if isinstance(value, dict) else {}

    def check(self) -> list[SchemaProblem]:
        """Return everything that is wrong, and from now on show what is missing as well."""
        self._editor.apply()
        self._insists = True
        self._checking.stop()
        if self._editor.mistake:
            return [SchemaProblem((), self._editor.mistake)]
        return self._checked()

    def _lay_out(self) -> None:
        self._splitter.addWidget(self._area)
        self._splitter.addWidget(self._editor)
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        self._splitter.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._splitter)

    def _checked(self) -> list[SchemaProblem]:
        if self._field is None:
            return []
        problems = [*self._field.own_problems(), *validate(self._schema, self.value())]
        shown = [each for each in problems if self._insists or not each.is_missing]
        self._field.show_problems(shown)
        return problems

    @Slot()
    def _on_form_changed(self) -> None:
        self._editor.show_value(self.value())
        self._checking.start()
        self.remade.emit()
        self.changed.emit()

    @Slot(object)
    def _on_json_changed(self, value: object) -> None:
        if self._field is not None:
            self._field.set_value(value)
        self._checking.start()
        self.remade.emit()
        self.changed.emit()

    @Slot(object)
    def _on_mistake_changed(self, mistake: str) -> None:
        self._area.setEnabled(not mistake)

    @Slot()
    def _on_check_due(self) -> None:
        self._checked()
