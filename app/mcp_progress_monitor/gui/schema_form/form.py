"""Arguments as a form made from their schema, synchronised with raw JSON.

Fields are created in slices, so that a large form never blocks the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from mcp_progress_monitor.formatting import number, one_line
from mcp_progress_monitor.gui.common.controls import plain_label, set_text_colour
from mcp_progress_monitor.gui.common.json_editor import JsonEditor
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.schema_form.composite import (
    ArrayField,
    ObjectField,
    SelectionField,
    ValueField,
    VariantField,
)
from mcp_progress_monitor.gui.schema_form.field import (
    MOST_FIELDS,
    FieldContext,
    FormBuild,
    FormField,
    laid_out_once,
)
from mcp_progress_monitor.gui.schema_form.inputs import (
    BooleanField,
    ChoiceField,
    JsonField,
    NullField,
    NumberField,
    TextField,
)
from mcp_progress_monitor.gui.schema_form.schema import (
    DEEPEST,
    UNSET,
    FieldKind,
    Schema,
    SchemaViolation,
    Validation,
    has_large_default,
    is_beyond,
    kind_of,
    properties_of,
    resolved,
    validate,
)
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence


_FIELDS: Final[dict[FieldKind, type[FormField]]] = {
    FieldKind.STRING: TextField,
    FieldKind.INTEGER: NumberField,
    FieldKind.NUMBER: NumberField,
    FieldKind.BOOLEAN: BooleanField,
    FieldKind.CHOICE: ChoiceField,
    FieldKind.SELECTION: SelectionField,
    FieldKind.NULL: NullField,
    FieldKind.ANY: JsonField,
    FieldKind.OBJECT: ObjectField,
    FieldKind.ARRAY: ArrayField,
    FieldKind.VARIANTS: VariantField,
}
_WITH_PARTS: Final = frozenset({FieldKind.OBJECT, FieldKind.ARRAY, FieldKind.VARIANTS})


def build_field(context: FieldContext, parent: QWidget) -> FormField:
    """The field for `context`; raw JSON for parts that are nested too deep."""
    kind = kind_of(context.schema)
    if kind in _WITH_PARTS and context.depth >= DEEPEST:
        return JsonField(context, parent)
    return _FIELDS[kind](context, parent)


def root_field(
    schema: Schema, appearance: Appearance, work: FormBuild, parent: QWidget
) -> ValueField:
    """The field for a whole schema, which is the root of its references."""
    context = FieldContext(resolved(schema, schema), schema, 0, appearance, build_field, work)
    return ValueField(context, parent)


_CHECK_MS: Final = 150
_MOST_SHOWN: Final = 3
_LARGEST: Final = 100_000  # size of a schema; a larger one is entered as JSON
_LARGEST_DEFAULT: Final = 5_000  # size of a default; with a larger one, it is entered as JSON


class SchemaForm(QWidget):
    """Form and JSON editor for one object.

    While the JSON is invalid the form is disabled, so that neither overwrites the other. Violations
    appear shortly after the last change, missing values only after `check`.
    """

    changed = Signal()
    remade = Signal()  # the controls have changed: the tab order must be set again

    def __init__(
        self, appearance: Appearance, parent: QWidget | None = None, *, name: str = ""
    ) -> None:
        """`name` is the accessible name of the content."""
        super().__init__(parent)
        self._appearance = appearance
        self._name = name or "Arguments"
        self._schema: Schema = {}
        self._insists = False
        self._field: ValueField | None = None
        self._work = FormBuild(self)
        self._page: QWidget | None = None  # the form under construction
        self._is_json_shown = True
        self._note = plain_label(self)
        self._wrong = plain_label(self)
        self._unchecked = plain_label(self)
        for label in (self._note, self._wrong, self._unchecked):
            label.hide()
        self._area = QScrollArea(self, widgetResizable=True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.editor = JsonEditor(appearance, self, name=self._name)
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self, childrenCollapsible=False)
        self._checking = QTimer(self, singleShot=True, interval=_CHECK_MS)
        self._checking.timeout.connect(self._checked)
        self.editor.value_changed.connect(self._on_json_changed)
        self.editor.mistake_changed.connect(self._on_mistake_changed)
        self._lay_out()
        self.set_schema({})

    @property
    def is_finished(self) -> bool:
        """True if all fields are created; reading the value creates the rest."""
        return self._work.is_finished

    def set_schema(self, schema: Schema, value: object = UNSET) -> None:
        """Rebuild the form for `schema`, with `value` or else its defaults.

        Schemas with too many fields are entered as JSON.
        """
        self._schema = schema
        self._insists = False
        self._work.stop()
        self._work.deleteLater()
        if self._page is not None:
            self._page.deleteLater()
            self._page = None
        self._work = FormBuild(self)
        self._work.finished.connect(self._on_finished)
        self._show_wrong(())
        self._show_unchecked(())
        field_count = len(properties_of(resolved(schema, schema)))
        if field_count > MOST_FIELDS or _is_too_large(schema):
            self._show_json_alone(field_count, value)
        else:
            self._show_fields(schema, value)
        self._area.setEnabled(True)
        self.remade.emit()

    def _show_json_alone(self, field_count: int, value: object) -> None:
        self._field = None
        before = self._area.takeWidget()
        if before is not None:
            before.deleteLater()
        self._area.hide()
        self.editor.show()
        text = "The schema is too large for a form: enter the values as JSON."
        if field_count > MOST_FIELDS:
            text = "The schema has {count} fields, too many for a form: enter the values as JSON."
            text = text.format(count=number(field_count))
        if value is not UNSET and is_beyond(value, _LARGEST_DEFAULT):
            value = UNSET
            text += " " + "The suggested values are too large to display."
        self.editor.show_value({} if value is UNSET else value)
        self._note.setText(text)
        self._note.show()

    def _show_fields(self, schema: Schema, value: object) -> None:
        self._note.hide()
        self._area.show()
        self.editor.setVisible(self._is_json_shown)
        # Arguments are always an object, whatever the server declares.
        shown = schema if schema.get("type") == "object" else {**schema, "type": "object"}
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(2, GAP, GAP, GAP)  # aligned with its neighbours
        field = root_field(shown, self._appearance, self._work, page)
        field.set_name(self._name)
        field.set_initial_required()
        if value is not UNSET:
            field.set_value(value)
        field.changed.connect(self._on_form_changed)
        if not schema.get("properties"):
            column.addWidget(QLabel("The schema describes no fields.", page))
        column.addWidget(field)
        column.addStretch(1)
        self._field = field
        if self._work.is_finished:
            self._area.setWidget(page)
            self.editor.show_value(self.value())
        else:  # laid out once, when it is complete
            self._page = page
            self._area.setWidget(plain_label(self._area, "Building the form…"))

    def show_json(self, *, is_shown: bool) -> None:
        """Show the JSON beside the form, or the form alone; both stay synchronised."""
        self._is_json_shown = is_shown
        self.editor.setVisible(is_shown or self._field is None)

    def show_refused(self, violations: Sequence[SchemaViolation]) -> None:
        if self._field is None:
            self._show_wrong(violations)
        else:
            with laid_out_once(self._field):
                self._field.show_violations(violations)

    def set_value(self, value: object) -> None:
        if self._field is None:
            self.editor.show_value(value)
        else:
            with laid_out_once(self._field):
                self._field.set_value(value)
            self.editor.show_value(self.value())
        self.remade.emit()

    def value(self) -> dict[str, Any]:
        value = self.editor.value() if self._field is None else self._field.value()
        return value if isinstance(value, dict) else {}

    def check(self) -> list[SchemaViolation]:
        """All violations; from now on missing values are shown as well."""
        self.editor.apply()
        self._insists = True
        self._checking.stop()
        if self.editor.mistake:
            return [SchemaViolation((), self.editor.mistake)]
        return self._checked()

    def _lay_out(self) -> None:
        self._splitter.addWidget(self._area)
        self._splitter.addWidget(self.editor)
        self._splitter.setStretchFactor(0, 3)
        self._splitter.setStretchFactor(1, 2)
        in_column(self._note, (self._splitter, 1), self._wrong, self._unchecked, of=self, margins=0)
        set_text_colour(self._wrong, self._appearance, Tone.BAD)
        set_text_colour(self._note, self._appearance, Tone.WARNING)
        set_text_colour(self._unchecked, self._appearance, Tone.WARNING)

    @Slot()
    def _checked(self) -> list[SchemaViolation]:
        found: Validation = validate(self._schema, self.value())
        self._show_unchecked(found.unchecked)
        if self._field is None:
            self._show_wrong([each for each in found.violations if self._shows(each)])
            return found.violations
        violations = [*self._field.own_violations(), *found.violations]
        with laid_out_once(self._field):
            self._field.show_violations([each for each in violations if self._shows(each)])
        return violations

    def _shows(self, violation: SchemaViolation) -> bool:
        return self._insists or not violation.is_missing

    def _show_wrong(self, violations: Sequence[SchemaViolation]) -> None:
        """Show violations that have no field."""
        shown = [_placed(each) for each in violations[:_MOST_SHOWN]]
        more = len(violations) - len(shown)
        if more:
            shown.append(f"and {number(more)} more")
        self._wrong.setText("\n".join(shown))
        self._wrong.setVisible(bool(shown))

    def _show_unchecked(self, unchecked: Sequence[str]) -> None:
        """Show what could not be checked."""
        text = "; ".join(one_line(each) for each in unchecked[:_MOST_SHOWN])
        if len(unchecked) > _MOST_SHOWN:
            text += "; …"
        self._unchecked.setText(f"Not checked: {text}.")
        self._unchecked.setVisible(bool(unchecked))

    @Slot()
    def _on_finished(self) -> None:
        """Show the created fields, and synchronise the JSON."""
        if self._page is not None:
            page, self._page = self._page, None
            self._area.setWidget(page)
        if not self.editor.mistake:
            self.editor.show_value(self.value())
        self.remade.emit()

    @Slot()
    def _on_form_changed(self) -> None:
        self.editor.show_value(self.value())
        self._checking.start()
        self.remade.emit()
        self.changed.emit()

    @Slot(object)
    def _on_json_changed(self, value: object) -> None:
        if self._field is not None:
            with laid_out_once(self._field):
                self._field.set_value(value)
        self._checking.start()
        self.remade.emit()
        self.changed.emit()

    @Slot(object)
    def _on_mistake_changed(self, mistake: str) -> None:
        self._area.setEnabled(not mistake)


def _is_too_large(schema: Schema) -> bool:
    """Return whether the form, or its defaults, take long to show."""
    return is_beyond(schema, _LARGEST) or has_large_default(schema, _LARGEST_DEFAULT)


def _placed(violation: SchemaViolation) -> str:
    where = ".".join(str(step) for step in violation.path)
    return one_line(f"{where}: {violation.message}" if where else violation.message)
