"""Consent: what a file would run, or ask, shown exactly, before anything of it runs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.catalogue.handed_on import without_gaps
from mcp_progress_monitor.models.definition_words import words_of
from mcp_progress_monitor.text import count, elide, one_line, visible
from mcp_progress_monitor.widgets.appearance import emphasised
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.catalogue.consent_parts import Earlier
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

_ORIGIN: Final = 300
"""Characters of a path that are shown."""
_LINE: Final = 68
"""Characters in a line of a command."""
_NAME: Final = 60
_LONG: Final = 1000
"""Characters of a value from which on their number is told: its end is out of sight at first."""


def in_lines(words: str) -> str:
    """All of a long text in lines that a window has room for, cut within a word if need be."""
    return "\n".join(textwrap.wrap(words, _LINE, drop_whitespace=False) or [words])


class ConsentDialog(QDialog):
    """Shows servers with command, folder and the names of variables, each of them whole.

    Of several, nothing is ticked at first: a command runs only when the user ticked it. Consent is
    for exactly what is shown; what is changed is asked for again.
    """

    servers_agreed = Signal(object)

    def __init__(
        self,
        origin: str,
        definitions: Sequence[ServerDefinition],
        parent: QWidget | None = None,
        *,
        earlier: Sequence[Earlier | None] = (),
    ) -> None:
        """`earlier` tells for each definition, in their order, what was agreed to in its place."""
        super().__init__(parent)
        self._definitions = tuple(definitions)
        self._earlier = (*earlier, *(None for _ in self._definitions[len(earlier) :]))
        self._is_one = len(self._definitions) == 1
        one, several = self.tr("Connect this server?"), self.tr("Connect these servers?")
        self.setWindowTitle(one if self._is_one else several)
        self.tree = QTreeWidget(self)
        self.tree.setHeaderLabels([self.tr("Server"), self.tr("What it runs, or asks")])
        self.tree.setAccessibleName(self.tr("Servers, each with what it would run"))
        # Nothing is left out: what is wider than the window is scrolled to.
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.header().setStretchLastSection(False)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.tree.setHorizontalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        # By rows, the end of a command that is higher than the window could never be seen.
        self.tree.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        pairs = zip(self._definitions, self._earlier, strict=True)
        self._items = [self._added(definition, before) for definition, before in pairs]
        self.tree.expandAll()
        self.tree.resizeColumnToContents(0)
        self.tree.itemChanged.connect(self._on_item_changed)
        self._buttons = QDialogButtonBox(self)
        words = (
            self.tr("&Allow and start") if self._is_one else self.tr("&Start the ticked servers")
        )
        self._start = self._buttons.addButton(words, QDialogButtonBox.ButtonRole.AcceptRole)
        cancel = self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._start.setAutoDefault(False)
        cancel.setDefault(True)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._lay_out(origin)
        self._on_item_changed()
        fit_to_screen(self, QSize(720, 300 if self._is_one else 420))
        (cancel if self._is_one else self.tree).setFocus()

    @property
    def keys(self) -> frozenset[str]:
        """What is asked for, to tell one question from another."""
        return frozenset(each.consent_key for each in self._definitions)

    def agreed(self) -> tuple[ServerDefinition, ...]:
        """The definitions that are ticked; a single one needs no tick."""
        if self._is_one:
            return self._definitions
        return tuple(
            definition
            for item, definition in zip(self._items, self._definitions, strict=True)
            if item.checkState(0) is Qt.CheckState.Checked
        )

    @Slot()
    def accept(self) -> None:
        """Emit what is ticked and close."""
        self.servers_agreed.emit(self.agreed())
        super().accept()

    def _added(self, definition: ServerDefinition, earlier: Earlier | None) -> QTreeWidgetItem:
        item = QTreeWidgetItem([one_line(definition.name, _NAME), ""])
        if not self._is_one:
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(0, Qt.CheckState.Unchecked)
        if earlier is not None:
            words = earlier.changes or (self.tr("another definition than this one"),)
            changed = self._row(self.tr("Changed since you agreed"), *words)
            for column in range(2):
                changed.setFont(column, emphasised(self.font()))
            item.addChild(changed)
        for label, value in list(words_of(definition).items())[1:]:
            item.addChild(self._row(label, value))
        self.tree.addTopLevelItem(item)
        item.setFirstColumnSpanned(True)  # a long name takes no room from what is run
        return item

    def _row(self, label: str, *values: str) -> QTreeWidgetItem:
        """A row under a server; each value begins a line."""
        shown = [without_gaps(visible(value)) for value in values]
        size = sum(map(len, shown))
        length = f"\n({count(size, self.tr('character'))})" if size > _LONG else ""
        row = QTreeWidgetItem([label + length, "\n".join(map(in_lines, shown))])
        row.setTextAlignment(0, Qt.AlignmentFlag.AlignTop)
        row.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        return row

    def _lay_out(self, origin: str) -> None:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        one = self.tr("This comes from {}. It is run only if you allow it.")
        several = self.tr("These come from {}. Only those you tick are run.")
        asks = self.tr("You are not asked again for the same, but for anything that is changed.")
        words = (one if self._is_one else several).format(elide(visible(origin), _ORIGIN))
        label.setText(" ".join(filter(None, [words, self._said_of_changes(), asks])))
        layout = QVBoxLayout(self)
        layout.addWidget(label)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self._buttons)

    def _said_of_changes(self) -> str:
        if not any(self._earlier):
            return ""
        if self._is_one:
            return self.tr("You agreed to another definition of this name before.")
        return self.tr("Of some you agreed to another definition before: they have changed.")

    @Slot()
    def _on_item_changed(self) -> None:
        self._start.setEnabled(bool(self.agreed()))
