"""The page of keyboard shortcuts: every command with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor.gui.common.commands import native
from mcp_progress_monitor.gui.common.controls import plain_label, plain_tip, set_text_colour
from mcp_progress_monitor.gui.common.layout import in_column, in_row
from mcp_progress_monitor.gui.common.tables import dress_tree
from mcp_progress_monitor.gui.shortcuts import FIXED, Shortcuts
from mcp_progress_monitor.gui.theme import GAP, Appearance, Tone, emphasised

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.common.commands import Command

_TITLE, _KEYS, _WHERE = range(3)
_ROLE: Final = int(Qt.ItemDataRole.UserRole)


class KeyEdit(QKeySequenceEdit):
    """Records one key with its modifiers; Escape still closes the dialog."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setMaximumSequenceLength(1)
        for field in self.findChildren(QLineEdit):
            field.setAccessibleName("Key")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)


class KeysPage(QWidget):
    """Lists the commands; a key typed into the field below is assigned to the selected one."""

    def __init__(
        self, shortcuts: Shortcuts, appearance: Appearance, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._shortcuts = shortcuts
        self._appearance = appearance
        self._commands: dict[str, Command] = {}
        self._items: dict[str, QTreeWidgetItem] = {}
        self._sections: dict[str, QTreeWidgetItem] = {}
        self._rows: dict[str, list[QTreeWidgetItem]] = {}  # all rows, by section
        self._wanted: QKeySequence | None = None
        self.search = QLineEdit(
            self, placeholderText="Search commands and keys", clearButtonEnabled=True
        )
        self.tree = QTreeWidget(self)
        self.edit = KeyEdit(self)
        self.message = plain_label(self)
        self.assign = QPushButton("&Use it here", self)
        self.clear = QPushButton("&No key", self)
        self.reset = QPushButton("&Default", self)
        self.reset_all = QPushButton("&All defaults", self)
        self._set_up()
        self._lay_out()
        self._fill()
        self._connect()
        self.tree.setCurrentItem(next(iter(self._items.values())))

    def command(self) -> Command | None:
        item = self.tree.currentItem()
        return None if item is None else self._commands.get(str(item.data(_TITLE, _ROLE)))

    def choose(self, name: str) -> None:
        self.tree.setCurrentItem(self._items[name])

    def item(self, name: str) -> QTreeWidgetItem:
        return self._items[name]

    def _set_up(self) -> None:
        self.search.setAccessibleName("Search commands and keys")
        self.search.setToolTip("Show only commands with this name or key")
        tree = self.tree
        dress_tree(tree, ("Command", "Key", "Works in"), "Commands and their keys")
        tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        tree.header().setStretchLastSection(True)
        tree.setMinimumSize(QSize(300, 140))
        self.edit.setAccessibleName("Key of the chosen command")
        self.edit.setToolTip("Press the new key")
        self.clear.setToolTip("Remove the key from the command")
        self.reset.setToolTip("Reset the command to its default key")
        self.reset_all.setToolTip("Reset all commands to their default keys")
        self.assign.setToolTip("Move the key from the other command to this one")
        for button in (self.assign, self.clear, self.reset, self.reset_all):
            button.setAutoDefault(False)
        self.assign.hide()

    def _lay_out(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(GAP)
        label = QLabel("&Key", self)
        label.setBuddy(self.edit)
        for widget in (label, self.edit, self.clear, self.reset):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.reset_all)
        note = in_row((self.message, 1), self.assign)
        in_column(
            self.search, (self.tree, 1), row, note, of=self, margins=(0, 0, GAP, 0), spacing=GAP
        )

    def _fill(self) -> None:
        for command in self._shortcuts.commands():
            item = self._listed(self._section_of(command), command.title)
            item.setData(_TITLE, _ROLE, command.id)
            self._commands[command.id] = command
            self._items[command.id] = item
        for key, use in FIXED.items():
            item = self._listed("Fixed", use.capitalize())
            item.setText(_KEYS, native([QKeySequence(key)]))
            item.setText(_WHERE, "Anywhere")
        self._refresh()
        # Only now: until then every change would measure all rows.
        self.tree.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)

    def _section_of(self, command: Command) -> str:
        return self._shortcuts.sections[command.section].title

    def _listed(self, section: str, title: str) -> QTreeWidgetItem:
        """Add a row to its section."""
        above = self._sections.get(section)
        if above is None:
            above = self._sections[section] = QTreeWidgetItem(self.tree, [section])
            above.setFont(_TITLE, emphasised(self.tree.font()))
            above.setFlags(Qt.ItemFlag.ItemIsEnabled)
            above.setFirstColumnSpanned(True)
            above.setExpanded(True)
            self._rows[section] = []
        row = QTreeWidgetItem(above, [title])
        self._rows[section].append(row)
        return row

    def _connect(self) -> None:
        self.search.textChanged.connect(self._on_searched)
        self.tree.currentItemChanged.connect(self._show)
        self.tree.itemActivated.connect(self._on_activated)
        self.edit.keySequenceChanged.connect(self._on_key_pressed)
        self.assign.clicked.connect(self._on_assign)
        self.clear.clicked.connect(self._on_clear)
        self.reset.clicked.connect(self._on_reset)
        self.reset_all.clicked.connect(self._on_reset_all)
        self._shortcuts.changed.connect(self._refresh)

    @Slot()
    def _refresh(self) -> None:
        """Show the current keys, changed ones in bold."""
        clashes = self._shortcuts.clashes()
        for name, command in self._commands.items():
            item = self._items[name]
            item.setText(_KEYS, native(self._shortcuts.keys_of(command)))
            section = self._section_of(command)
            item.setText(_WHERE, "Anywhere" if command.is_wide else section)
            font = self.tree.font()
            item.setFont(_KEYS, emphasised(font) if self._shortcuts.is_changed(command) else font)
            others = clashes.get(name, [])
            also = "Also assigned to: " + ", ".join(each.title for each in others)
            icon = self._appearance.icon("warning", Tone.WARNING) if others else None
            item.setData(_KEYS, Qt.ItemDataRole.DecorationRole, icon)
            item.setToolTip(_KEYS, plain_tip(also if others else ""))
        self._show()

    @Slot()
    def _show(self) -> None:
        command = self.command()
        self._wanted = None
        self.edit.blockSignals(True)
        keys = [] if command is None else self._shortcuts.keys_of(command)
        self.edit.setKeySequence(keys[0] if keys else QKeySequence())
        self.edit.blockSignals(False)
        self._show_note("")
        is_changed = self._shortcuts.is_changed
        self.edit.setEnabled(command is not None)
        self.clear.setEnabled(bool(keys))
        self.reset.setEnabled(command is not None and is_changed(command))
        self.reset_all.setEnabled(any(map(is_changed, self._commands.values())))

    def _show_note(self, text: str, tone: Tone = Tone.MUTED, *, can_assign: bool = False) -> None:
        self.message.setText(text)
        set_text_colour(self.message, self._appearance, tone)
        self.assign.setVisible(can_assign)

    @Slot(str)
    def _on_searched(self, text: str) -> None:
        words = text.casefold().split()
        shown = []
        for section, above in self._sections.items():
            items = self._rows[section]
            for item in items:
                found = f"{section} {item.text(_TITLE)} {item.text(_KEYS)}".casefold()
                item.setHidden(not all(word in found for word in words))
            seen = [item for item in items if not item.isHidden()]
            above.setHidden(not seen)
            shown += seen
        if shown and self.tree.currentItem() not in shown:
            self.tree.setCurrentItem(shown[0])

    @Slot(QTreeWidgetItem, int)
    def _on_activated(self) -> None:
        if self.command() is not None:
            self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(QKeySequence)
    def _on_key_pressed(self, key: QKeySequence) -> None:
        """Assign the key to the command, unless another one has it: then show which."""
        command = self.command()
        if command is None or key.isEmpty():  # the field clears itself before it records a key
            return
        conflict = self._shortcuts.conflict(command, key)
        if conflict.fixed:
            self._show_note(f"{native([key])} is reserved for {conflict.fixed}.", Tone.BAD)
        elif conflict.commands:
            self._wanted = key
            others = ", ".join(
                f"{self._shortcuts.sections[each.section].title}: {each.title}"
                for each in conflict.commands
            )
            self._show_note(
                f"{native([key])} is the key of {others}.", Tone.WARNING, can_assign=True
            )
        else:
            self._shortcuts.set_keys(command, [key])

    @Slot()
    def _on_assign(self) -> None:
        command = self.command()
        if command is not None and self._wanted is not None:
            self._shortcuts.set_keys(command, [self._wanted])
            self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def _on_clear(self) -> None:
        command = self.command()
        if command is not None:
            self._shortcuts.set_keys(command, [])

    @Slot()
    def _on_reset(self) -> None:
        command = self.command()
        if command is not None:
            self._shortcuts.reset([command])

    @Slot()
    def _on_reset_all(self) -> None:
        self._shortcuts.reset(self._commands.values())
