"""The tree of a message: names, values and types, opened as far as the user wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget

from mcp_progress_monitor.models.json_text import pretty, searchable
from mcp_progress_monitor.models.json_tree import JsonNode, JsonTreeModel
from mcp_progress_monitor.protocol.jsonrpc import Elided

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPENED: Final = 3
"""Levels opened at first: message, params, arguments."""
_SEARCHED: Final = 200
"""Characters of a value that are searched for."""
_OPENED_CHILDREN: Final = 30
"""Values with more children than this stay closed at first."""


class FilterWish(NamedTuple):
    """Messages with this `value` at the same place are wanted, or not wanted at all.

    `keys` lead to the place from the whole message.
    """

    keys: tuple[str | int, ...]
    value: str | float | bool | None
    is_excluded: bool


class JsonTree(QTreeView):
    """A `JsonTreeModel` with copying, and signals for what can be done with a value."""

    value_opened = Signal(object)
    """A value to be shown whole (double click or Enter on one without children)."""
    search_requested = Signal(object)
    """Words to search the log for."""
    filter_requested = Signal(object)
    """A `FilterWish`; see `offer_filters`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = JsonTreeModel(self)
        self.setModel(self._model)
        self.setAccessibleName(self.tr("Message as a tree"))
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.header().setStretchLastSection(False)
        self.setExpandsOnDoubleClick(True)
        self.activated.connect(self._on_activated)
        self._add_actions()

    def show_value(self, value: Any) -> None:
        """Show a JSON value, its first levels opened."""
        self._model.set_value(value)
        self._open(QModelIndex(), _OPENED)
        self._fit_columns()

    @property
    def value(self) -> dict[str, Any] | list[Any]:
        """What is shown."""
        return self._model.value

    def go_to(self, positions: Sequence[int]) -> None:
        """Stand on the value at these positions (see `JsonTreeModel.reach`), and show it."""
        index = self._model.reach(positions)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def offer_filters(self) -> None:
        """Offer in the menu to filter the log by a value."""
        first = self.actions()[0]
        self._filter = QAction(self.tr("Filter by this value"), self)
        self._filter.setShortcut(QKeySequence("Ctrl+Return"))
        self._filter.triggered.connect(self._on_filter)
        self._exclude = QAction(self.tr("Exclude this value"), self)
        self._exclude.setShortcut(QKeySequence("Ctrl+Shift+Return"))
        self._exclude.triggered.connect(self._on_exclude)
        for action in (self._filter, self._exclude):
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.setEnabled(False)
            self.insertAction(first, action)
        separator = QAction(self)
        separator.setSeparator(True)
        self.insertAction(first, separator)
        self.selectionModel().currentChanged.connect(self._on_current_changed)

    def clear(self) -> None:
        """Show nothing."""
        self._model.clear()

    def resizeEvent(self, event: Any) -> None:
        """Give the values what is left of the width."""
        super().resizeEvent(event)
        self._fit_columns()

    def _add_actions(self) -> None:
        copy = QAction(self.tr("Copy value"), self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy_value)
        path = QAction(self.tr("Copy path"), self)
        path.triggered.connect(self._on_copy_path)
        whole = QAction(self.tr("Show whole value"), self)
        whole.triggered.connect(self._on_show_whole)
        search = QAction(self.tr("Search log for this value"), self)
        search.triggered.connect(self._on_search)
        actions: Sequence[QAction] = (copy, path, whole, search)
        self.addActions(actions)

    def _open(self, parent: QModelIndex, levels: int) -> None:
        if not levels:
            return
        for row in range(min(self._model.rowCount(parent), _OPENED_CHILDREN)):
            index = self._model.index(row, 0, parent)
            if 0 < self._model.node(index).count <= _OPENED_CHILDREN:
                self._model.fetchMore(index)
                self.expand(index)
                self._open(index, levels - 1)

    def _fit_columns(self) -> None:
        width = self.viewport().width()
        self.resizeColumnToContents(0)
        self.resizeColumnToContents(2)
        self.setColumnWidth(0, max(120, min(self.columnWidth(0) + 8, width // 3)))
        self.setColumnWidth(1, max(160, width - self.columnWidth(0) - self.columnWidth(2)))

    def _current(self) -> JsonNode | None:
        index = self.currentIndex()
        return self._model.node(index) if index.isValid() else None

    def _wish(self, *, is_excluded: bool) -> None:
        """Ask for a filter; objects, arrays and what was left out cannot be compared."""
        node = self._current()
        if node is not None and _is_plain(node):
            wish = FilterWish(tuple(node.keys()), node.value, is_excluded)
            self.filter_requested.emit(wish)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        is_plain = current.isValid() and _is_plain(self._model.node(current))
        self._filter.setEnabled(is_plain)
        self._exclude.setEnabled(is_plain)

    @Slot()
    def _on_filter(self) -> None:
        self._wish(is_excluded=False)

    @Slot()
    def _on_exclude(self) -> None:
        self._wish(is_excluded=True)

    @Slot(QModelIndex)
    def _on_activated(self, index: QModelIndex) -> None:
        node = self._model.node(index)
        if not node.count:
            self.value_opened.emit(node.value)

    @Slot()
    def _on_copy_value(self) -> None:
        node = self._current()
        if node is not None:
            value = node.content()
            QGuiApplication.clipboard().setText(value if isinstance(value, str) else pretty(value))

    @Slot()
    def _on_copy_path(self) -> None:
        node = self._current()
        if node is not None:
            QGuiApplication.clipboard().setText(node.path())

    @Slot()
    def _on_show_whole(self) -> None:
        node = self._current()
        if node is not None:
            self.value_opened.emit(node.content())

    @Slot()
    def _on_search(self) -> None:
        node = self._current()
        if node is None:
            return
        named_by_key = isinstance(node.value, dict | list | Elided)
        words = str(node.key) if named_by_key else searchable(node.value)
        self.search_requested.emit(words[:_SEARCHED])


def _is_plain(node: JsonNode) -> bool:
    """Whether a filter can compare the value; not objects, arrays and what was left out."""
    return not isinstance(node.value, dict | list | Elided)
