"""A search field for a message's tree: finds names and values, opened or not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QHBoxLayout, QWidget

from mcp_progress_monitor.models.json_search import hits
from mcp_progress_monitor.text import number
from mcp_progress_monitor.widgets.appearance import GAP_S, Appearance
from mcp_progress_monitor.widgets.place_search import MOST, SLICE_S, PlaceSearch, SearchWords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.widgets.json_tree import JsonTree


class TreeSearch(PlaceSearch):
    """Walks through the tree's value in slices; only the way to the hit gone to is opened."""

    def __init__(self, tree: JsonTree, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(tree, _words(), QKeySequence("Ctrl+Shift+F"), appearance, parent)
        self._tree = tree
        self._walk: Iterator[tuple[int, ...] | None] | None = None
        self._hits: list[tuple[int, ...]] = []
        self._lay_out()
        self._show_count()

    @property
    def is_searching(self) -> bool:
        """Whether part of the message is still to be searched."""
        return self._walk is not None

    def begin(self) -> None:
        """Search the tree's value of now; called again whenever it is another."""
        self._hits = []
        self._at = -1
        words = self.field.text()
        self._walk = hits(self._tree.value, words) if words else None
        self._search_slice()

    def _lay_out(self) -> None:
        self.field.setMinimumWidth(80)
        row = QHBoxLayout(self)
        row.setContentsMargins(GAP_S, 0, GAP_S, 0)
        row.setSpacing(GAP_S)
        for part in (self.count, self.field, self._previous, self._next):
            row.addWidget(part)

    def _search_slice(self) -> None:
        deadline = time.perf_counter() + SLICE_S
        while self._walk is not None:
            hit = next(self._walk, ())
            if hit == ():
                self._walk = None
            elif hit is not None:
                self._hits.append(hit)
                if len(self._hits) >= MOST:
                    self._walk = None
            elif time.perf_counter() >= deadline:
                break
        if self._at < 0 and self._hits:
            self._go(0)
        self._show_count()
        if self._walk is None:
            self._slices.stop()
        else:
            self._slices.start()

    def _go(self, to: int) -> None:
        if self._hits:
            self._at = to % len(self._hits)
            self._tree.go_to(self._hits[self._at])
            self._show_count()

    def _show_count(self) -> None:
        count = len(self._hits)
        more = number(count) + ("…" if self.is_searching else "")
        if count >= MOST:
            more = self.tr("more than {count}").format(count=number(MOST))
        words = ""
        if self.field.text():
            words = self.tr("searching…") if self.is_searching else self.tr("not found")
        self._show(count, words, more)


def _words() -> SearchWords:
    def tr(text: str) -> str:
        return QCoreApplication.translate("TreeSearch", text)

    return SearchWords(
        inside=tr("Search the message"),
        name=tr("Search names and values of the message"),
        tip=tr(
            "Finds names and values in any case (Ctrl+Shift+F); Enter or F3 goes to the next, "
            "Shift+Enter or Shift+F3 to the previous, Escape to the tree"
        ),
        previous=tr("Previous place in the message (Shift+F3)"),
        next=tr("Next place in the message (F3)"),
    )
