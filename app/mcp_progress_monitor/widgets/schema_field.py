"""What every field of a form has in common."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QLabel, QLayout, QSizePolicy, QVBoxLayout, QWidget
from shiboken6 import isValid

from mcp_progress_monitor.models.schema import UNSET, Schema
from mcp_progress_monitor.widgets.appearance import Appearance, Tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from PySide6.QtGui import QWheelEvent

    from mcp_progress_monitor.models.schema_check import SchemaProblem
    from mcp_progress_monitor.widgets.schema_build import FormBuild


_TONE: Final = "tone"
"""Property of a label that is written in the colour of a tone."""


class FieldContext(NamedTuple):
    """What a field is made from: its resolved schema, the root for references, its depth.

    `build` makes the fields of its parts, `work` is what the whole form has still to do.
    `is_optional` is for a member that may be left out.
    """

    schema: Schema
    root: Schema
    depth: int
    appearance: Appearance
    build: Callable[[FieldContext, QWidget], Field]
    work: FormBuild
    is_optional: bool = False

    def below(self, schema: Schema) -> FieldContext:
        """The context of a field within this one."""
        return self._replace(schema=schema, depth=self.depth + 1, is_optional=False)


class Field(QWidget):
    """A value as controls, with the problems of just this value below them.

    `value` is `UNSET` while nothing was entered. What cannot be read as the type wanted is
    handed on as it was typed, so that nothing is lost and the check of the schema names it.
    """

    changed = Signal()
    """The user, and only the user, changed the value."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(parent)
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2)
        self._problem: QLabel | None = None
        self._shown = ""

    def value(self) -> object:
        """Return what was entered, `UNSET` if nothing."""
        raise NotImplementedError

    def set_value(self, value: object) -> None:
        """Show `value`, which fits the field's kind, or nothing for `UNSET`; tells nobody."""
        raise NotImplementedError

    def begin(self) -> None:
        """Take on an ordinary first value: the user wants this optional value to be there."""
        if self.value() is UNSET:
            self.set_value(self.context.schema.get("default", UNSET))

    def begin_required(self) -> None:
        """Show the first value of what must be there: the default; else it is still missing."""
        self.set_value(self.context.schema.get("default", UNSET))

    def own_problems(self) -> list[SchemaProblem]:
        """Return what cannot be handed on at all, by path."""
        return []

    def controls(self) -> list[QWidget]:
        """Return the controls that are coloured when the value is wrong."""
        return []

    def set_name(self, name: str) -> None:
        """Name the controls for those who cannot see where they stand."""
        for control in self.controls():
            control.setAccessibleName(name)

    def show_problems(self, problems: Sequence[SchemaProblem]) -> None:
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
            mark_wrong(control, appearance, is_wrong=bool(words))


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


class QuietComboBox(QComboBox):
    """A choice that scrolling over it does not change."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the scroll area, unless the user stands on the choice."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


def plain_label(parent: QWidget, words: str = "") -> QLabel:
    """A label for server text: never rich, wrapped, as narrow as it must be."""
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    label.setText(words)
    return label


def set_text_colour(label: QWidget, appearance: Appearance, tone: Tone) -> None:
    """Write a label in the colour of `tone`; see `recolour`."""
    label.setProperty(_TONE, tone.value)
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, appearance.colour(tone))
    label.setPalette(palette)


def recolour(root: QWidget, appearance: Appearance) -> None:
    """Write every label within `root` that has a tone in that tone's colour of now."""
    for label in root.findChildren(QLabel):
        tone = label.property(_TONE)
        if tone is not None:
            set_text_colour(label, appearance, Tone(tone))


def mark_wrong(control: QWidget, appearance: Appearance, *, is_wrong: bool) -> None:
    """Give a control a red ground, or its ordinary one; words beside it say the same."""
    if is_wrong:
        palette = control.palette()
        ground = appearance.ground(Tone.BAD, 0.18)
        palette.setColor(QPalette.ColorRole.Base, ground)
        palette.setColor(QPalette.ColorRole.Button, ground)
        control.setPalette(palette)
    else:
        control.setPalette(QPalette())
