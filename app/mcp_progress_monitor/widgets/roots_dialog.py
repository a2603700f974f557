"""The folders that a server may use ("roots"), with the names it is told of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mcp_progress_monitor.looking import expanded
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.wishes import read_roots
from mcp_progress_monitor.text import visible
from mcp_progress_monitor.widgets.saved_settings import SettingsDialog
from mcp_progress_monitor.widgets.screen_fit import fit_to_screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.sessions.rules import Root
    from mcp_progress_monitor.widgets.appearance import Appearance


def as_uri(entered: str) -> str:
    """A folder as a URI; an address stays as it is, and so does what is no whole path."""
    if "://" in entered:
        return entered
    path = expanded(Path(entered))
    return path.as_uri() if path.is_absolute() else entered


def as_folder(uri: str) -> str:
    """A URI of this machine as a path, if it stands for the very same; else the URI."""
    try:
        split = urlsplit(uri)
    except ValueError:
        return uri
    if split.scheme != "file" or split.netloc or split.query or split.fragment:
        return uri
    path = unquote(split.path)
    return path if visible(path) == path and as_uri(path) == uri else uri


class RootsDialog(SettingsDialog):
    """One row for each folder; what is entered is a path or a file:// address."""

    roots_chosen = Signal(str, object)
    """The server's name and `tuple[Root, ...]`."""

    def __init__(
        self,
        server: str,
        roots: Sequence[Root],
        appearance: Appearance,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", server, appearance, parent)
        self.setWindowTitle(self.tr("Folders of {}").format(visible(server[:60])))
        self.table = QTableWidget(0, 2, self)
        self.table.setHorizontalHeaderLabels([self.tr("Folder"), self.tr("Name")])
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.verticalHeader().hide()
        self.table.setTabKeyNavigation(False)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setAccessibleName(self.tr("Folders that the server may use, with their names"))
        for root in roots:
            self.add(as_folder(root.uri), root.name or "")
        self._add_folder = self._button(self.tr("Add &folder…"), self._on_add_folder)
        self._add_line = self._button(self.tr("&Add line"), self._on_add_line)
        self._remove = self._button(self.tr("&Remove"), self._on_remove)
        self.table.itemChanged.connect(self.note_change)
        buttons = QVBoxLayout()
        for button in (self._add_folder, self._add_line, self._remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        row = QHBoxLayout()
        row.addWidget(self.table, 1)
        row.addLayout(buttons)
        self.lay_out(
            self.tr(
                "A server that asks is told of these folders. They are words for it, not a fence: "
                "what it can reach is up to the system. It is told at once when they change."
            ),
            row,
        )
        fit_to_screen(self, QSize(560, 320))

    def add(self, folder: str, name: str) -> None:
        """Add a row."""
        row = self.table.rowCount()
        self.table.insertRow(row)
        self.table.setItem(row, 0, QTableWidgetItem(folder))
        self.table.setItem(row, 1, QTableWidgetItem(name))

    def save(self) -> str:
        """Hand on the folders, unless one of them is none."""
        found = [self._row(row) for row in range(self.table.rowCount())]
        try:
            roots = read_roots([each for each in found if each["uri"]])
        except ProblemError as error:
            return error.problem.as_text()
        self.roots_chosen.emit(self.server, roots)
        return ""

    def _row(self, row: int) -> dict[str, str | None]:
        folder, name = (self.table.item(row, column) for column in (0, 1))
        entered = folder.text().strip() if folder is not None else ""
        called = name.text().strip() if name is not None else ""
        return {"uri": as_uri(entered) if entered else "", "name": called or None}

    def _button(self, words: str, slot: object) -> QPushButton:
        button = QPushButton(words, self)
        button.setAutoDefault(False)
        button.clicked.connect(slot)
        return button

    @Slot()
    def _on_add_folder(self) -> None:
        dialog = QFileDialog(self, self.tr("A folder that the server may use"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self._on_folder_chosen)
        dialog.open()

    @Slot(str)
    def _on_folder_chosen(self, folder: str) -> None:
        self.add(folder, Path(folder).name)
        self.note_change()

    @Slot()
    def _on_add_line(self) -> None:
        self.add("", "")
        last = self.table.model().index(self.table.rowCount() - 1, 0)
        self.table.setCurrentIndex(last)
        self.table.edit(last)

    @Slot()
    def _on_remove(self) -> None:
        rows = {index.row() for index in self.table.selectedIndexes()}
        for row in sorted(rows, reverse=True):
            self.table.removeRow(row)
        if rows:
            self.note_change()
