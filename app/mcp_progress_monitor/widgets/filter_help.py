"""What can be written into a filter: examples to take over, all fields, all operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.filtering.fields import FIELDS, OPERATORS
from mcp_progress_monitor.widgets.appearance import GAP, monospaced
from mcp_progress_monitor.widgets.plain_text import plain_tip
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

if TYPE_CHECKING:
    from collections.abc import Iterable

EXAMPLES: Final = (
    ("timeout", QT_TRANSLATE_NOOP("FilterHelp", "messages that have this word in them")),
    ('"connection reset"', QT_TRANSLATE_NOOP("FilterHelp", "these words, one after the other")),
    ('token == "abc" and dt > 2', QT_TRANSLATE_NOOP("FilterHelp", "silent for over 2 seconds")),
    ("method == tools/call", QT_TRANSLATE_NOOP("FilterHelp", "calls of tools")),
    ("params.name == export", QT_TRANSLATE_NOOP("FilterHelp", "calls of one tool")),
    ("params.arguments.n >= 100", QT_TRANSLATE_NOOP("FilterHelp", "with such an argument")),
    ("kind in (error, unreadable)", QT_TRANSLATE_NOOP("FilterHelp", "what went wrong")),
    ("duration > 500ms", QT_TRANSLATE_NOOP("FilterHelp", "replies that took long")),
    ("size > 100kB", QT_TRANSLATE_NOOP("FilterHelp", "large messages")),
    ('time >= "12:01"', QT_TRANSLATE_NOOP("FilterHelp", "from then on, local time")),
    ("server == demo and not irregular == true", QT_TRANSLATE_NOOP("FilterHelp", "all in order")),
    ('result.content[0].text matches "^Done"', QT_TRANSLATE_NOOP("FilterHelp", "by a pattern")),
)
"""Filters, each with what it shows."""


class FilterHelp(QDialog):
    """Stays open beside the log; Enter or a double click on an example uses it."""

    example_chosen = Signal(object)
    """The text of a filter to be used."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Filters for the log"))
        self._tree = QTreeWidget(self)
        self._tree.setAccessibleName(self.tr("Examples, fields and operators of filters"))
        self._tree.setHeaderLabels([self.tr("Filter"), self.tr("Meaning")])
        self._tree.setUniformRowHeights(True)
        self._tree.itemActivated.connect(self._on_activated)
        examples = self._group(self.tr("Examples (Enter or double click uses one)"), _examples())
        for item in examples:
            item.setData(0, Qt.ItemDataRole.UserRole, item.text(0))
        self._group(self.tr("Fields"), ((name, _of_field(name)) for name in FIELDS))
        self._group(self.tr("Operators"), OPERATORS.items())
        self._tree.resizeColumnToContents(0)
        self._lay_out()

    def _lay_out(self) -> None:
        words = QLabel(
            self.tr(
                "A filter compares fields: field, operator, value; joined by and, or, not and "
                "brackets. Anything else is searched for in the messages, in any case. "
                "Texts with spaces stand in quotes."
            ),
            self,
        )
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        column.setSpacing(GAP)
        column.addWidget(words)
        column.addWidget(self._tree, 1)
        column.addWidget(buttons)
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


def _examples() -> Iterable[tuple[str, str]]:
    for text, meaning in EXAMPLES:
        yield text, QCoreApplication.translate("FilterHelp", str(meaning))


def _of_field(name: str) -> str:
    field = FIELDS[name]
    choices = f": {', '.join(field.choices)}" if field.choices else ""
    return f"{field.meaning} ({field.type.value}{choices})"
