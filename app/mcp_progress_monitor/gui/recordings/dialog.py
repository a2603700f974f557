"""The recordings on this machine: open one, delete some, and how many are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QMessageBox,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.dialog_buttons import DialogButtons
from mcp_progress_monitor.gui.common.dialog_watch import watch
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, in_row, open_dialog
from mcp_progress_monitor.gui.common.settings_form import SettingsForm
from mcp_progress_monitor.gui.common.tables import dress_tree
from mcp_progress_monitor.gui.common.warning_box import WarningBox
from mcp_progress_monitor.gui.page_commands import DELETE_RECORDINGS
from mcp_progress_monitor.gui.recordings.summaries import RecordingSummary
from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.gui.user_settings import RecordingChoices
    from mcp_progress_monitor.recording.folder import RecordingEntry

_BEGUN, _SIZE, _PARTS, _STATE, _FILE, _SERVERS, _JOBS, _FINDINGS = range(8)
_NUMBERS: Final = (_SIZE, _PARTS, _JOBS, _FINDINGS)
_UNKNOWN: Final = "\N{EN DASH}"  # of a recording that is too large to be read for a row
_NAMES: Final = 40  # characters of the servers' names
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class RecordingsDialog(QDialog):
    """Shows the entries of `show_entries`; every action is a signal."""

    open_requested = Signal(object)  # `Path` of a recording
    folder_requested = Signal()  # the folder is to be shown in the file manager
    delete_requested = Signal(object)  # `tuple[RecordingEntry, ...]`, after the user has confirmed

    def __init__(
        self,
        folder: Path,
        choices: RecordingChoices,
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Recordings")
        self._folder = folder
        self._items: list[_RecordingItem] = []
        self.tree = QTreeWidget(self)
        self.total = QLabel(self, textFormat=Qt.TextFormat.PlainText, wordWrap=True)
        self.open_button = QPushButton("&Open", self)
        self.folder_button = QPushButton("&Show folder", self)
        self.delete_button = QPushButton("&Delete…", self)
        self.limits = SettingsForm(choices, appearance, self, is_page=False)
        self._question: QMessageBox | None = None
        self._set_up_tree()
        self._set_up_fields()
        self._lay_out()
        self._connect()
        self._enable()
        fit_to_screen(self, QSize(860, 460))

    def show_entries(self, entries: Sequence[RecordingEntry]) -> None:
        kept = {entry.path for entry in self.selected()}
        self.tree.setSortingEnabled(False)
        self.tree.clear()
        self._items = [_RecordingItem(entry, self._cells(entry)) for entry in entries]
        self.tree.addTopLevelItems(list(self._items))
        for item in self._items:
            item.setSelected(item.entry.path in kept)
        self.tree.setSortingEnabled(True)
        total = formatting.size(sum(entry.size for entry in entries))
        text = "{count}, {size} in total, in {folder}"
        self.total.setText(
            text.format(
                count=formatting.count(len(entries), "recording"),
                size=total,
                folder=formatting.one_line(str(self._folder), 400),
            )
        )
        self._enable()

    def show_summary(self, path: Path, summary: RecordingSummary | None) -> None:
        """Show what a recording holds; None if it was not read."""
        self.tree.setSortingEnabled(False)
        for item in self._items:
            if item.entry.path == path:
                item.show_summary(summary)
        self.tree.setSortingEnabled(True)

    def selected(self) -> tuple[RecordingEntry, ...]:
        return tuple(item.entry for item in self._items if item.isSelected())

    def _set_up_tree(self) -> None:
        tree = self.tree
        titles = ("Started", "Size", "Parts", "State", "File", "Servers", "Jobs", "Findings")
        dress_tree(tree, titles, "Recordings")
        for column in _NUMBERS:
            tree.headerItem().setTextAlignment(column, _RIGHT)
        for place, column in enumerate((_BEGUN, _SERVERS, _JOBS, _FINDINGS)):
            tree.header().moveSection(tree.header().visualIndex(column), place)
        tree.header().moveSection(tree.header().visualIndex(_FILE), _FINDINGS)
        tree.setRootIsDecorated(False)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        tree.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        tree.header().setStretchLastSection(True)
        tree.sortByColumn(_BEGUN, Qt.SortOrder.DescendingOrder)

    def _set_up_fields(self) -> None:
        self.open_button.setToolTip("Open the selected recordings read-only (Enter)")
        self.folder_button.setToolTip("Open the recordings folder")
        KeyAction(DELETE_RECORDINGS, self, self.delete_button.click, self.delete_button)
        for button in (self.open_button, self.folder_button, self.delete_button):
            button.setAutoDefault(False)

    def _lay_out(self) -> None:
        buttons = in_row(self.open_button, self.delete_button, self.folder_button, 1)
        close = DialogButtons(QDialogButtonBox.StandardButton.Close, self)
        close.rejected.connect(self.reject)
        close.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        layout = in_column((self.tree, 1), self.total, buttons, of=self)
        layout.addSpacing(GAP)
        layout.addWidget(self.limits)
        layout.addWidget(close)

    def _connect(self) -> None:
        self.tree.itemSelectionChanged.connect(self._enable)
        self.tree.itemActivated.connect(self._on_open)
        self.open_button.clicked.connect(self._on_open)
        self.folder_button.clicked.connect(self.folder_requested)
        self.delete_button.clicked.connect(self._on_delete)

    def _cells(self, entry: RecordingEntry) -> list[str]:
        return [
            formatting.date_and_clock(entry.begun_when)[:19],
            formatting.size(entry.size),
            str(len(entry.paths)),
            "in progress" if entry.is_in_use else "",
            formatting.one_line(entry.path.name),
        ]

    @Slot()
    def _enable(self) -> None:
        chosen = self.selected()
        self.open_button.setEnabled(bool(chosen))
        self.delete_button.setEnabled(any(not entry.is_in_use for entry in chosen))

    @Slot()
    def _on_open(self) -> None:
        for entry in self.selected():
            self.open_requested.emit(entry.path)

    @Slot()
    def _on_delete(self) -> None:
        """Ask first; recordings that are being written stay."""
        chosen = self._deletable()
        if not chosen or self._question is not None:
            return
        box = WarningBox("Delete recordings", self)
        self._is_to_delete(box)
        watch(box, self._is_to_delete)
        delete = box.addButton("&Delete", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        delete.clicked.connect(self._on_delete_agreed)
        box.finished.connect(self._on_answered)
        self._question = box
        open_dialog(box)

    def _is_to_delete(self, box: WarningBox) -> bool:
        """Ask about the chosen recordings; False once there are none."""
        chosen = self._deletable()
        size = formatting.size(sum(entry.size for entry in chosen))
        count = formatting.count(len(chosen), "recording")
        box.setText(f"Permanently delete {count} ({size})?")
        return bool(chosen)

    def _deletable(self) -> tuple[RecordingEntry, ...]:
        return tuple(entry for entry in self.selected() if not entry.is_in_use)

    @Slot()
    def _on_delete_agreed(self) -> None:
        chosen = self._deletable()
        if chosen:
            self.delete_requested.emit(chosen)

    @Slot()
    def _on_answered(self) -> None:
        self._question = None


class _RecordingItem(QTreeWidgetItem):
    """One recording; sorted by value, not by text."""

    def __init__(self, entry: RecordingEntry, cells: list[str]) -> None:
        super().__init__(cells)
        self.entry = entry
        self.summary: RecordingSummary | None = None
        for column in _NUMBERS:
            self.setTextAlignment(column, _RIGHT)

    def show_summary(self, summary: RecordingSummary | None) -> None:
        self.summary = summary
        names = "" if summary is None else ", ".join(map(formatting.one_line, summary.servers))
        self.setText(_SERVERS, formatting.one_line(names, _NAMES))
        self.setToolTip(_SERVERS, plain_tip(names))
        for column, name in ((_JOBS, "jobs"), (_FINDINGS, "findings")):
            known = None if summary is None else getattr(summary, name)
            self.setText(column, _UNKNOWN if known is None else formatting.number(known))

    def __lt__(self, other: QTreeWidgetItem) -> bool:
        if not isinstance(other, _RecordingItem):
            return super().__lt__(other)
        column = self.treeWidget().sortColumn()
        return bool(_order(self)[column] < _order(other)[column])


def _order(item: _RecordingItem) -> tuple[Any, ...]:
    entry, name = item.entry, item.entry.path.name
    summary = item.summary or RecordingSummary((), -1, -1)
    of_file = (entry.begun_when, entry.size, len(entry.paths), entry.is_in_use, name)
    return (*of_file, summary.servers, summary.jobs, summary.findings)
