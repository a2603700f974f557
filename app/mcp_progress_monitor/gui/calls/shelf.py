"""Menus beside the form: recent arguments, saved calls, copies."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import QuietComboBox, plain_label, plain_tip
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column
from mcp_progress_monitor.gui.common.tables import FlatHeader, dress_rows
from mcp_progress_monitor.gui.page_commands import DELETE_CALLS
from mcp_progress_monitor.gui.theme import GAP, GAP_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.calls.memory import SavedCall, SavedCalls
    from mcp_progress_monitor.protocol.facts import JsonObject

_TEXT_LIMIT: Final = 80


class CopyForm(enum.Enum):
    """The formats for copying a call; the values are menu texts."""

    COMMAND_LINE = "Command line"
    CURL = "curl command"
    PROGRAM = "Python program"
    MESSAGE = "JSON-RPC message"


class CallShelf(QWidget):
    """Three menus: recent arguments, saved calls, copies."""

    arguments_chosen = Signal(object)  # recent arguments of the shown tool
    call_chosen = Signal(object)  # a `SavedCall`
    call_saved = Signal(object)  # the `SavedCall`
    saved_changed = Signal()  # titles, folders, or which are saved
    copy_requested = Signal(object)  # a `CopyForm`

    def __init__(
        self,
        recent: Callable[[], list[JsonObject]],
        to_save: Callable[[], SavedCall | None],
        saved: SavedCalls,
        parent: QWidget,
    ) -> None:
        """Menus of `recent()`, the arguments of the shown tool, and of `saved`.

        `to_save()` is the call that is shown, if any.
        """
        super().__init__(parent)
        self._recent = recent
        self._to_save = to_save
        self._saved = saved
        self._arguments: list[JsonObject] = []
        self._calls: list[SavedCall] = []
        """The calls of the menu entries, as of the last time each menu was opened."""
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP_S)
        self._buttons = [
            self._button(text, tip)
            for text, tip in (
                ("Recent", "Fill in earlier arguments of this tool"),
                ("Saved", "Open a saved call, or save this one"),
                ("Copy as", "Copy this call for use elsewhere"),
            )
        ]
        for button in self._buttons:
            row.addWidget(button)
        recent_menu, saved_menu, copies = (button.menu() for button in self._buttons)
        recent_menu.aboutToShow.connect(self._fill_recent)
        recent_menu.triggered.connect(self._on_recent)
        saved_menu.aboutToShow.connect(self._fill_saved)
        saved_menu.triggered.connect(self._on_saved)
        for form in CopyForm:
            copies.addAction(form.value).setData(form)
        copies.triggered.connect(self._on_copy)

    def show_call(self, *, is_there: bool) -> None:
        """Enable the menus; without a tool, there are no recent calls and nothing to copy."""
        recent, _, copies = self._buttons
        recent.setEnabled(is_there)
        copies.setEnabled(is_there)

    def _button(self, text: str, tip: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setToolTip(plain_tip(tip))
        button.setAutoDefault(False)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        button.setMenu(menu)
        return button

    @Slot()
    def _fill_recent(self) -> None:
        menu = self._buttons[0].menu()
        menu.clear()
        self._arguments = self._recent()
        for place, arguments in enumerate(self._arguments):
            text = json.dumps(arguments, ensure_ascii=False)
            _entry(menu, text, text).setData(place)
        if menu.isEmpty():
            menu.addAction("No earlier calls").setEnabled(False)

    @Slot()
    def _fill_saved(self) -> None:
        menu = self._buttons[1].menu()
        menu.clear()
        self._calls = list(self._saved)
        menu.addAction("Save this call…", self._on_save)
        manage = menu.addAction("Manage saved calls…", self._on_manage)
        manage.setEnabled(bool(self._calls))
        menu.addSeparator()
        folders: dict[str, QMenu] = {}
        for place, call in enumerate(self._calls):
            if call.folder and call.folder not in folders:
                folders[call.folder] = menu.addMenu(_menu_text(call.folder))
            within = folders.get(call.folder, menu)
            _entry(within, call.title, f"{call.name} on {call.server}").setData(place)

    @Slot(QAction)
    def _on_recent(self, action: QAction) -> None:
        self.arguments_chosen.emit(self._arguments[action.data()])

    @Slot(QAction)
    def _on_saved(self, action: QAction) -> None:
        if action.data() is not None:
            self.call_chosen.emit(self._calls[action.data()])

    @Slot()
    def _on_save(self) -> None:
        if (call := self._to_save()) is not None:
            dialog = SaveCallDialog(call, self._saved.folders, self)
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.call_saved.connect(self._on_call_saved)
            dialog.open()

    @Slot(object)
    def _on_call_saved(self, call: SavedCall) -> None:
        self._saved.save(call)
        self.call_saved.emit(call)

    @Slot()
    def _on_manage(self) -> None:
        dialog = SavedCallsDialog(self._saved, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.changed.connect(self.saved_changed)
        dialog.open()

    @Slot(QAction)
    def _on_copy(self, action: QAction) -> None:
        self.copy_requested.emit(action.data())


def _entry(menu: QMenu, text: str, tip: str) -> QAction:
    action = menu.addAction(_menu_text(text))
    action.setToolTip(plain_tip(tip))
    return action


def _menu_text(text: str) -> str:
    """A text for a menu without mnemonics."""
    return one_line(text, _TEXT_LIMIT).replace("&", "&&")


class SaveCallDialog(QDialog):
    """Asks for the title and the folder of a call to be saved."""

    call_saved = Signal(object)  # the `SavedCall`, under its title

    def __init__(self, call: SavedCall, folders: list[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save call")
        self._call = call
        self._title = QLineEdit(one_line(call.title, _TEXT_LIMIT), self)
        self._title.setAccessibleName("Title")
        self._title.setMaxLength(200)
        self._title.selectAll()
        self._title.setMinimumWidth(280)
        self._folder = QuietComboBox(self)
        self._folder.setEditable(True)
        self._folder.addItems(["", *(one_line(folder, _TEXT_LIMIT) for folder in folders)])
        self._folder.setAccessibleName("Folder")
        self._folder.setToolTip("Choose a folder, or enter a new one; empty for none")
        form = QFormLayout()
        form.addRow("&Title", self._title)
        form.addRow("&Folder", self._folder)
        buttons = DialogButtons(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel, self
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self._save = buttons.button(QDialogButtonBox.StandardButton.Save)
        self._title.textChanged.connect(self._on_title_changed)
        in_column(form, buttons, of=self, spacing=GAP)
        self._on_title_changed()

    def accept(self) -> None:
        title, folder = self._title.text().strip(), self._folder.currentText().strip()[:200]
        self.call_saved.emit(self._call._replace(title=title, folder=folder))
        super().accept()

    @Slot()
    def _on_title_changed(self) -> None:
        self._save.setEnabled(bool(self._title.text().strip()))


_TITLE, _FOLDER, _WHAT = range(3)
_SIZE: Final = QSize(600, 360)


class SavedCallsDialog(QDialog):
    """All saved calls: titles and folders are edited in place, calls can be deleted."""

    changed = Signal()

    def __init__(self, saved: SavedCalls, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Saved calls")
        self._saved = saved
        self._table = QTreeWidget(self)
        self._table.setHeader(FlatHeader(self._table))
        dress_rows(self._table)
        self._table.setAccessibleName("Saved calls")
        self._table.setHeaderLabels(["Title", "Folder", "Call"])
        self._table.setRootIsDecorated(False)
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self._table.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._delete = QPushButton("&Delete", self)
        KeyAction(DELETE_CALLS, self, self._delete.click, self._delete)
        self._delete.clicked.connect(self._on_delete)
        self._table.itemSelectionChanged.connect(self._on_selected)
        self._table.itemChanged.connect(self._on_edited)
        close = QPushButton("&Close", self)
        close.setDefault(True)
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(plain_label(self, "Double-click a title or a folder to change it."), 1)
        foot.addWidget(self._delete)
        foot.addWidget(close)
        in_column((self._table, 1), foot, of=self, spacing=GAP)
        self._calls: list[SavedCall] = []
        self._fill()
        fit_to_screen(self, _SIZE)

    def _fill(self) -> None:
        self._table.blockSignals(True)
        self._table.clear()
        self._calls = list(self._saved)
        for call in self._calls:
            what = f"{one_line(call.name, 60)} on {one_line(call.server, 60)}"
            item = QTreeWidgetItem([visible(call.title), visible(call.folder), what])
            item.setToolTip(_WHAT, plain_tip(json.dumps(call.arguments, ensure_ascii=False)))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self._table.addTopLevelItem(item)
        self._table.blockSignals(False)
        self._on_selected()

    def _call_of(self, item: QTreeWidgetItem) -> SavedCall:
        return self._calls[self._table.indexOfTopLevelItem(item)]

    @Slot()
    def _on_selected(self) -> None:
        self._delete.setEnabled(bool(self._table.selectedItems()))

    @Slot()
    def _on_delete(self) -> None:
        for call in [self._call_of(item) for item in self._table.selectedItems()]:
            self._saved.remove(call)
        self._fill()
        self.changed.emit()

    @Slot(QTreeWidgetItem, int)
    def _on_edited(self, item: QTreeWidgetItem, _column: int) -> None:
        """Apply an edit; a title that is empty or taken is reverted."""
        call = self._call_of(item)
        title, folder = item.text(_TITLE).strip()[:200], item.text(_FOLDER).strip()[:200]
        other = self._saved.get(folder, title)
        if title and (other is None or other is call):
            self._saved.move(call, folder, title)
            self.changed.emit()
        self._fill()
