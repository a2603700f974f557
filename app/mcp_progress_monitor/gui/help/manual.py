"""The manual in a window: its pages are included, so no network is needed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QEvent, QSize, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QTextBlock, QTextCursor
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QTextBrowser,
    QWidget,
)

from mcp_progress_monitor import paths
from mcp_progress_monitor.gui.common.commands import KeyAction
from mcp_progress_monitor.gui.common.layout import fit_to_screen, in_column, order_tabs
from mcp_progress_monitor.gui.common.tables import dress_rows
from mcp_progress_monitor.gui.page_commands import FIND_IN_MANUAL
from mcp_progress_monitor.gui.theme import GAP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_INDEX: Final = "index.md"
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([\w/-]+\.md)\)")
_PATH: Final = int(Qt.ItemDataRole.UserRole)


class ManualPage(NamedTuple):
    """A page: title, file and text."""

    title: str
    path: Path
    text: str


def pages(folder: Path) -> list[ManualPage]:
    index = (folder / _INDEX).read_text(encoding="utf-8")
    return [ManualPage("Manual", folder / _INDEX, index), *_listed(folder, index)]


def _listed(folder: Path, index: str) -> Iterator[ManualPage]:
    for title, name in _LINK.findall(index):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        heading = text.partition("\n")[0].removeprefix("# ").strip()
        yield ManualPage(heading or title, path, text)


class ManualWindow(QDialog):
    """A list of pages, filtered by a search, and the selected page."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Manual")
        self.setModal(False)
        self.setSizeGripEnabled(True)
        self._pages = pages(paths.manual())
        self.search = QLineEdit(self, placeholderText="Search the manual", clearButtonEnabled=True)
        self.list = QListWidget(self)
        dress_rows(self.list)
        self.page = QTextBrowser(self)
        self._set_up()
        self._lay_out()
        self.search.textChanged.connect(self._on_searched)
        self.search.returnPressed.connect(self._find_next)
        self.list.currentRowChanged.connect(self._on_row_changed)
        self.page.anchorClicked.connect(self._on_link_clicked)
        KeyAction(FIND_IN_MANUAL, self, self.search.setFocus, self.search)
        fit_to_screen(self, QSize(880, 640))
        order_tabs(self)
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def changeEvent(self, event: QEvent) -> None:
        """Show the page again in another theme: links have the colour they were read in."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            bar = self.page.verticalScrollBar()
            place = bar.value()
            self.page.reload()
            bar.setValue(place)

    def _set_up(self) -> None:
        self.search.setAccessibleName("Search the manual")
        self.list.setAccessibleName("Pages of the manual")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        for page in self._pages:
            QListWidgetItem(page.title, self.list).setData(_PATH, str(page.path))
        self.page.setAccessibleName("Page of the manual")
        self.page.setOpenLinks(False)

    def _lay_out(self) -> None:
        side = QWidget(self)
        in_column(self.search, (self.list, 1), of=side, margins=0, spacing=GAP)
        splitter = QSplitter(Qt.Orientation.Horizontal, self, childrenCollapsible=False)
        splitter.addWidget(side)
        splitter.addWidget(self.page)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([230, 650])
        in_column(splitter, of=self, margins=GAP)

    @Slot(str)
    def _on_searched(self, text: str) -> None:
        words = text.casefold().split()
        first = -1
        for row, page in enumerate(self._pages):
            found = f"{page.title}\n{page.text}".casefold()
            is_hit = all(word in found for word in words)
            self.list.item(row).setHidden(not is_hit)
            if is_hit and first < 0:
                first = row
        if first >= 0 and self.list.currentItem().isHidden():
            self.list.setCurrentRow(first)

    @Slot()
    def _find_next(self) -> None:
        """Select the next match; after the last one, the first."""
        if not self.page.find(self.search.text()):
            self.page.moveCursor(QTextCursor.MoveOperation.Start)
            self.page.find(self.search.text())

    @Slot(int)
    def _on_row_changed(self, row: int) -> None:
        if row >= 0:
            self.page.setSource(QUrl.fromLocalFile(str(self._pages[row].path)))

    @Slot(QUrl)
    def _on_link_clicked(self, link: QUrl) -> None:
        """Follow a link within the manual; other links open in the browser."""
        target = self.page.source().resolved(link)
        if not target.isLocalFile():
            QDesktopServices.openUrl(target)
            return
        for row, page in enumerate(self._pages):
            if QUrl.fromLocalFile(str(page.path)).path() == target.path():
                self.list.setCurrentRow(row)
        self._go_to(target.fragment())

    def _go_to(self, place: str) -> None:
        """Scroll to the heading with this anchor, as in Markdown links."""
        block: QTextBlock = self.page.document().begin()
        while place and block.isValid():
            slug = re.sub(r"[^\w -]", "", block.text().casefold()).replace(" ", "-")
            if block.blockFormat().headingLevel() and slug == place:
                self.page.setTextCursor(QTextCursor(self.page.document().lastBlock()))
                self.page.setTextCursor(QTextCursor(block))
                return
            block = block.next()
