"""Help on filters: examples to use, all fields, all operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor.filtering.fields import FIELDS, OPERATORS
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column
from mcp_progress_monitor.gui.common.tables import FlatHeader, dress_rows
from mcp_progress_monitor.gui.theme import GAP, monospaced

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES: Final = (
    ("timeout", "messages that contain this word"),
    ('"connection reset"', "messages that contain this phrase"),
    ('token == "abc" and dt > 2', "gaps of more than 2 seconds"),
    ("method == tools/call", "tool calls"),
    ("params.name == export", "calls of one tool"),
    ("params.arguments.n >= 100", "calls with n of 100 or more"),
    ("kind in (error, unreadable)", "errors and unreadable messages"),
    ("duration > 500ms", "slow replies"),
    ("size > 100kB", "large messages"),
    ('time >= "12:01"', "since this local time"),
    ("server == demo and not irregular == true", "messages without findings"),
    ('result.content[0].text matches "^Done"', "text that matches a regular expression"),
)
"""Filters, each with its meaning."""


class FilterHelp(QDialog):
    """The filter help, beside Traffic; Enter or a double click on an example applies it."""

    example_chosen = Signal(object)  # the text of a filter to apply

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Traffic filters")
        self._tree = QTreeWidget(self)
        self._tree.setHeader(FlatHeader(self._tree))
        dress_rows(self._tree)
        self._tree.setAccessibleName("Examples, fields and operators of filters")
        self._tree.setHeaderLabels(["Filter", "Meaning"])
        self._tree.setUniformRowHeights(True)
        self._tree.itemActivated.connect(self._on_activated)
        examples = self._group("Examples (press Enter or double-click to use one)", EXAMPLES)
        for item in examples:
            item.setData(0, Qt.ItemDataRole.UserRole, item.text(0))
        self._group("Fields", ((name, _of_field(name)) for name in FIELDS))
        self._group("Operators", OPERATORS.items())
        self._tree.resizeColumnToContents(0)
        self._tree.setColumnWidth(0, self._tree.columnWidth(0) + GAP)
        self._lay_out()

    def _lay_out(self) -> None:
        text = QLabel(
            (
                "A filter compares fields: field, operator, value. Combine comparisons with "
                "and, or, not and parentheses. Any other text is searched for in the messages, "
                "ignoring case. Quote text that contains spaces."
            ),
            self,
        )
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setWordWrap(True)
        buttons = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.close)
        in_column(text, (self._tree, 1), buttons, of=self, spacing=GAP)
        fit_to_screen(self, QSize(820, 560))
        self._tree.setFocus()

    def _group(self, title: str, rows: Iterable[tuple[str, str]]) -> list[QTreeWidgetItem]:
        group = QTreeWidgetItem(self._tree, [title])
        group.setFirstColumnSpanned(True)
        group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        fixed = monospaced(self.font())
        items = [QTreeWidgetItem(group, [text, meaning]) for text, meaning in rows]
        for item in items:
            item.setFont(0, fixed)
            item.setToolTip(1, plain_tip(item.text(1)))
        group.setExpanded(True)
        return items

    @Slot(QTreeWidgetItem)
    def _on_activated(self, item: QTreeWidgetItem) -> None:
        text = item.data(0, Qt.ItemDataRole.UserRole)
        if isinstance(text, str):
            self.example_chosen.emit(text)


def _of_field(name: str) -> str:
    field = FIELDS[name]
    choices = f": {', '.join(field.choices)}" if field.choices else ""
    return f"{field.meaning} ({field.type.value}{choices})"
