"""What every field of a form has in common."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QLayout, QVBoxLayout, QWidget
from shiboken6 import isValid

from mcp_progress_monitor.gui.common.controls import mark_invalid, plain_label, set_text_colour
from mcp_progress_monitor.gui.schema_form.schema import UNSET, Schema
from mcp_progress_monitor.gui.theme import Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.gui.schema_form.build import FormBuild
    from mcp_progress_monitor.gui.schema_form.validation import SchemaViolation


class FieldContext(NamedTuple):
    """What a field is made from: its resolved schema, the root for references, its depth.

    `build` makes the fields of its parts, `work` is what the whole form has still to do.
    `is_optional` is for a member that may be left out.
    """

    schema: Schema
    root: Schema
    depth: int
    appearance: Appearance
    build: Callable[[FieldContext, QWidget], FormField]
    work: FormBuild
    is_optional: bool = False

    def below(self, schema: Schema) -> FieldContext:
        """The context of a field within this one."""
        return self._replace(schema=schema, depth=self.depth + 1, is_optional=False)


class FormField(QWidget):
    """A value as controls, with the problems of just this value below them.

    `value` is `UNSET` while nothing was entered. What cannot be read as the type wanted is
    handed on as it was typed, so that nothing is lost and the check of the schema names it.
    """

    changed = Signal()  # the user, and only the user, changed the value

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(parent)
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2)
        self._problem: QLabel | None = None
        self._shown = ""

    def value(self) -> object:
        raise NotImplementedError

    def set_value(self, value: object) -> None:
        """Show `value`, which fits the field's kind, or nothing for `UNSET`; emits no signal."""
        raise NotImplementedError

    def set_initial(self) -> None:
        """Set an initial value: the user added this optional member."""
        if self.value() is UNSET:
            self.set_value(self.context.schema.get("default", UNSET))

    def set_initial_required(self) -> None:
        """Show the default of a required member; without one it stays unset."""
        self.set_value(self.context.schema.get("default", UNSET))

    def own_problems(self) -> list[SchemaViolation]:
        """Return errors that prevent the value from being read, by path."""
        return []

    def controls(self) -> list[QWidget]:
        return []

    def set_name(self, name: str) -> None:
        """Set the accessible name of the controls."""
        for control in self.controls():
            control.setAccessibleName(name)

    def show_problems(self, problems: Sequence[SchemaViolation]) -> None:
        """Show those problems whose path ends here; containers pass on the others."""
        words = "; ".join(dict.fromkeys(each.message for each in problems if not each.path))
        if words == self._shown:
            return
        self._shown = words
        appearance = self.context.appearance
        if self._problem is None:  # below everything else; most fields never need it
            self._problem = plain_label(self)
            self.column.addWidget(self._problem)
        self._problem.setText(words)
        self._problem.setVisible(bool(words))
        set_text_colour(self._problem, appearance, Tone.BAD)
        for control in self.controls():
            mark_invalid(control, appearance, is_wrong=bool(words))


@contextlib.contextmanager
def laid_out_once(root: QWidget) -> Iterator[None]:
    """Lay out `root` once after many of its fields have changed.

    Qt lays out everything around a widget that is shown, each time: 30 ms for a large form.
    """
    layouts = [each for each in (root.layout(), *root.findChildren(QLayout)) if each is not None]
    for layout in layouts:
        layout.setEnabled(False)
    try:
        yield
    finally:
        for layout in filter(isValid, reversed(layouts)):  # the parts before what holds them
            layout.setEnabled(True)
            layout.invalidate()
            layout.activate()
        root.updateGeometry()
