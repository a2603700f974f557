"""The base of all fields of a form, and their creation in slices."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel, QLayout, QVBoxLayout, QWidget
from shiboken6 import isValid

from mcp_progress_monitor.gui.common.controls import mark_invalid, plain_label, set_text_colour
from mcp_progress_monitor.gui.schema_form.schema import UNSET, Schema
from mcp_progress_monitor.gui.theme import Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.gui.schema_form.schema import Schema, SchemaViolation

MOST_FIELDS: Final = 80
"""Most fields of one form, which are laid out at once; the rest is entered as JSON."""


_AT_ONCE: Final = 24
"""Cost of the fields created before the form is shown: 1 each, more for long lists of choices."""


_SLICE: Final = 10  # cost of each later slice: some 20 ms


_CHOICES_PER_FIELD: Final = 40


_CHOOSING_S: Final = 0.03


class FormBuild(QObject):
    """The creation of one form's fields in slices, and its limits.

    `has_time` limits the processor time for finding out which variants fit.
    """

    finished = Signal()  # all fields are created

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._choosing_until = time.thread_time() + _CHOOSING_S
        self._fields_left = MOST_FIELDS
        self._allowance = _AT_ONCE
        self._waiting: collections.deque[tuple[QObject, Callable[[], None], int]]
        self._waiting = collections.deque()
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._on_turn)

    @property
    def is_finished(self) -> bool:
        return not self._waiting

    def has_time(self) -> bool:
        return time.thread_time() < self._choosing_until

    def room(self, wanted: int) -> int:
        """Reserve up to `wanted` of the remaining fields; returns their number."""
        granted = min(wanted, self._fields_left)
        self._fields_left -= granted
        return granted

    def make(self, widget: QObject, part: Callable[[], None], schema: Schema) -> None:
        """Call `part`, now or later; never if `widget` is deleted before."""
        cost = _cost(schema)
        if self._allowance > 0 and not self._waiting:
            self._allowance -= cost
            part()
        else:
            self._waiting.append((widget, part, cost))
        self._timer.start()

    def finish(self) -> None:
        had_some = bool(self._waiting)
        while self._waiting:
            self._make_next()
        if had_some:
            self.finished.emit()

    def stop(self) -> None:
        self._waiting.clear()
        self._timer.stop()

    def _make_next(self) -> int:
        widget, part, cost = self._waiting.popleft()
        if isValid(widget):
            part()
        return cost

    @Slot()
    def _on_turn(self) -> None:
        if not self._waiting:
            self._allowance = _AT_ONCE
            self._choosing_until = time.thread_time() + _CHOOSING_S
            self._timer.stop()
            return
        self._allowance = 0  # nested parts are created later as well
        made = 0
        while self._waiting and made < _SLICE:
            made += self._make_next()
        if not self._waiting:
            self.finished.emit()


def _cost(schema: Schema) -> int:
    listed = [schema.get(name) for name in ("enum", "oneOf", "anyOf")]
    longest = max(len(each) if isinstance(each, list) else 0 for each in listed)
    return 1 + longest // _CHOICES_PER_FIELD


class FieldContext(NamedTuple):
    """The context of a field: its resolved schema, the root for references, its depth.

    `build` creates the fields of its parts, `work` schedules that. `is_optional` is for a member
    that may be left out.
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
    """A value as controls, with its violations below them.

    `value` is `UNSET` while nothing was entered. Input that is not of the right type is passed on
    as typed, so that nothing is lost and validation reports it.
    """

    changed = Signal()  # changed by the user, never by the program

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(parent)
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2)
        self._violation: QLabel | None = None
        self._shown = ""

    def value(self) -> object:
        raise NotImplementedError

    def set_value(self, value: object) -> None:
        """Show `value`, which fits the field's kind, or clear it for `UNSET`; emits no signal."""
        raise NotImplementedError

    def set_initial(self) -> None:
        """Set an initial value: the user added this optional member."""
        if self.value() is UNSET:
            self.set_value(self.context.schema.get("default", UNSET))

    def set_initial_required(self) -> None:
        """Show the default of a required member; without one it stays unset."""
        self.set_value(self.context.schema.get("default", UNSET))

    def own_violations(self) -> list[SchemaViolation]:
        """Errors that prevent the value from being read, by path."""
        return []

    def controls(self) -> list[QWidget]:
        return []

    def set_name(self, name: str) -> None:
        """Set the accessible name of the controls."""
        for control in self.controls():
            control.setAccessibleName(name)

    def show_violations(self, violations: Sequence[SchemaViolation]) -> None:
        """Show the violations whose path ends here; containers pass on the others."""
        text = "; ".join(dict.fromkeys(each.message for each in violations if not each.path))
        if text == self._shown:
            return
        self._shown = text
        appearance = self.context.appearance
        if self._violation is None:  # at the bottom; most fields never need it
            self._violation = plain_label(self)
            self.column.addWidget(self._violation)
        self._violation.setText(text)
        self._violation.setVisible(bool(text))
        set_text_colour(self._violation, appearance, Tone.BAD)
        for control in self.controls():
            mark_invalid(control, appearance, is_wrong=bool(text))


@contextlib.contextmanager
def laid_out_once(root: QWidget) -> Iterator[None]:
    """Lay out `root` only once after changes of many fields.

    Qt lays out everything around each widget that is shown: 30 ms for a large form.
    """
    layouts = [each for each in (root.layout(), *root.findChildren(QLayout)) if each is not None]
    for layout in layouts:
        layout.setEnabled(False)
    try:
        yield
    finally:
        for layout in filter(isValid, reversed(layouts)):  # inner layouts first
            layout.setEnabled(True)
            layout.invalidate()
            layout.activate()
        root.updateGeometry()
