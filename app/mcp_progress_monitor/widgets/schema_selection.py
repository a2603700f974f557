"""The field for an array of listed values: a box to tick for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QCheckBox, QWidget

from mcp_progress_monitor.models.schema import UNSET, is_same, selectable
from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.widgets.appearance import GAP_L
from mcp_progress_monitor.widgets.schema_field import Field, FieldContext

if TYPE_CHECKING:
    from collections.abc import Sequence


class SelectionField(Field):
    """Any of the listed values; ticked ones are handed on in the order of the list."""

    def __init__(self, context: FieldContext, parent: QWidget) -> None:
        super().__init__(context, parent)
        self._is_there = False
        self.column.setContentsMargins(GAP_L, 0, 0, 0)
        self._boxes: list[tuple[QCheckBox, Any]] = []
        for title, value in selectable(context.schema):
            box = QCheckBox(one_line(title, 100).replace("&", "&&"), self)
            box.clicked.connect(self._on_clicked)
            self.column.addWidget(box)
            self._boxes.append((box, value))

    def value(self) -> object:
        """Return the values ticked."""
        if not self._is_there:
            return UNSET
        return [value for box, value in self._boxes if box.isChecked()]

    def set_value(self, value: object) -> None:
        """Tick the values that are in `value`."""
        self._is_there = value is not UNSET
        held: Sequence[object] = value if isinstance(value, list) else ()
        for box, offered in self._boxes:
            box.setChecked(any(is_same(offered, each) for each in held))

    def begin(self) -> None:
        """Be there, with the default or nothing ticked."""
        super().begin()
        self._is_there = True

    def begin_required(self) -> None:
        """Be there, with the default or nothing ticked."""
        self.begin()

    def controls(self) -> list[QWidget]:
        """Return the boxes."""
        return [box for box, _ in self._boxes]

    def set_name(self, name: str) -> None:
        """Name each box by what it is of and what it says."""
        for box, _ in self._boxes:
            words = box.text().replace("&&", "&")
            box.setAccessibleName(self.tr("{name}: {value}").format(name=name, value=words))

    @Slot()
    def _on_clicked(self) -> None:
        self._is_there = True
        self.changed.emit()
