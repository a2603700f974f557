"""Builds a form in slices, so that a large schema never blocks the window."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from mcp_progress_monitor.gui.schema_form.schema import Schema
from mcp_progress_monitor.json_schema import Stopwatch

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.schema_form.schema import Schema


MOST_FIELDS: Final = 80
"""Fields of one form, which are laid out at once; what lies beyond is entered as JSON."""


_AT_ONCE: Final = 24
"""How much is made before the form is shown: a field is 1, with a long list of choices more …"""


_SLICE: Final = 10  # … and how much in each turn of the event loop after that: some 20 ms


_CHOICES_PER_FIELD: Final = 40


_CHOOSING_S: Final = 0.03


class FormBuild(QObject):
    """The work on one form: what is still to be made, and how much may be.

    `watch` limits the time that the whole form may take to find out which variants fit.
    """

    finished = Signal()  # all that was put off is made

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.watch = Stopwatch(_CHOOSING_S)
        self._fields_left = MOST_FIELDS
        self._allowance = _AT_ONCE
        self._waiting: collections.deque[tuple[QObject, FieldContainer, str, int]] = (
            collections.deque()
        )
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_turn)

    @property
    def is_finished(self) -> bool:
        return not self._waiting

    def room(self, wanted: int) -> int:
        """How many of `wanted` fields may still be made; they count as made."""
        granted = min(wanted, self._fields_left)
        self._fields_left -= granted
        return granted

    def make(self, widget: QObject, container: FieldContainer, name: str, schema: Schema) -> None:
        """Have a part made, now or soon; never if `widget` is deleted before."""
        cost = _cost(schema)
        if self._allowance > 0 and not self._waiting:
            self._allowance -= cost
            container.make_part(name)
        else:
            self._waiting.append((widget, container, name, cost))
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
        widget, container, name, cost = self._waiting.popleft()
        if isValid(widget):
            container.make_part(name)
        return cost

    @Slot()
    def _on_turn(self) -> None:
        if not self._waiting:
            self._allowance = _AT_ONCE
            self.watch = Stopwatch(_CHOOSING_S)
            self._timer.stop()
            return
        self._allowance = 0  # parts of parts are put off as well
        made = 0
        while self._waiting and made < _SLICE:
            made += self._make_next()
        if not self._waiting:
            self.finished.emit()


def _cost(schema: Schema) -> int:
    listed = [schema.get(name) for name in ("enum", "oneOf", "anyOf")]
    longest = max(len(each) if isinstance(each, list) else 0 for each in listed)
    return 1 + longest // _CHOICES_PER_FIELD


class FieldContainer(Protocol):
    """A field with parts that are made later."""

    def make_part(self, name: str) -> None:
        """Make the part of that name."""
