"""Consent: what a configuration file would run, shown exactly, before anything of it runs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
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

from app.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.sessions.definitions import ServerDefinition


class ConsentDialog(QDialog):
    """Lists the servers of a file with command, folder and the names of variables.

    Nothing is ticked at first: a command runs only when the user ticked it, having seen it whole.
    """

    servers_agreed = Signal(object)

    def __init__(
        self, origin: str, definitions: Sequence[ServerDefinition], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Servers in a configuration file"))
        self._definitions = tuple(definitions)
        self.tree = QTreeWidget(self)
        self.tree.setHeaderLabels([self.tr("Start"), self.tr("What it is")])
        self.tree.setAccessibleName(self.tr("Servers, each with what it would run"))
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.tree.setWordWrap(True)
        self._items = [self._added(definition) for definition in self._definitions]
        self.tree.expandAll()
        self.tree.resizeColumnToContents(0)
        self.tree.itemChanged.connect(self._on_item_changed)
        self._buttons = QDialogButtonBox(self)
        self._start = self._buttons.addButton(
            self.tr("Start the ticked servers"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self._buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._lay_out(origin)
        self._on_item_changed()
        self.resize(720, 420)

    def agreed(self) -> tuple[ServerDefinition, ...]:
        """The definitions that are ticked."""
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

    def _added(self, definition: ServerDefinition) -> QTreeWidgetItem:
        item = QTreeWidgetItem([visible(definition.name), ""])
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(0, Qt.CheckState.Unchecked)
        command = shlex.join([definition.command, *definition.args])
        rows = [
            (self.tr("Command"), command),
            (self.tr("Folder"), definition.cwd or self.tr("where this program was started")),
            (self.tr("Sets variables"), ", ".join(sorted(definition.env)) or self.tr("none")),
        ]
        for label, value in rows:
            child = QTreeWidgetItem([label, visible(value)])
            child.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
            item.addChild(child)
        self.tree.addTopLevelItem(item)
        return item

    def _lay_out(self, origin: str) -> None:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setText(
            self.tr("These commands come from %s. Only those you tick are run.").replace(
                "%s", visible(origin)
            )
        )
        layout = QVBoxLayout(self)
        layout.addWidget(label)
        layout.addWidget(self.tree, 1)
        layout.addWidget(self._buttons)

    @Slot()
    def _on_item_changed(self) -> None:
        self._start.setEnabled(bool(self.agreed()))
