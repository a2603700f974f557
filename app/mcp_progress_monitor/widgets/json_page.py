"""A JSON value as a tree, with room below for one of its values in whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QSplitter, QWidget

from mcp_progress_monitor.models.json_text import pretty
from mcp_progress_monitor.widgets.json_tree import JsonTree
from mcp_progress_monitor.widgets.raw_view import RawView

if TYPE_CHECKING:
    from mcp_progress_monitor.widgets.appearance import Appearance


class JsonPage(QSplitter):
    """The tree alone, until a value is to be shown whole."""

    search_requested = Signal(object)
    """Words to search the log for."""

    def __init__(self, appearance: Appearance, name: str, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.tree = JsonTree(self)
        self.tree.setFrameShape(self.tree.Shape.NoFrame)
        self.tree.setAccessibleName(name)
        self.whole = RawView(appearance, self)
        self.whole.setAccessibleName(self.tr("The whole value"))
        self.whole.hide()
        self.addWidget(self.tree)
        self.addWidget(self.whole)
        self.setChildrenCollapsible(False)
        self.tree.value_opened.connect(self._on_value_opened)
        self.tree.search_requested.connect(self.search_requested)

    def show_value(self, value: Any) -> None:
        """Show another JSON value."""
        self.whole.hide()
        self.tree.show_value(value)

    @Slot(object)
    def _on_value_opened(self, value: Any) -> None:
        words = value if isinstance(value, str) else pretty(value)
        self.whole.show_bytes(words.encode("utf-8", "surrogatepass"), keep_lines=True)
        self.whole.show()
