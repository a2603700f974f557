"""A JSON value as a tree that can be searched, with room for one of its values in full."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QSplitter, QTreeView, QWidget

from mcp_progress_monitor.formatting import number
from mcp_progress_monitor.gui.common.commands import CommandAction
from mcp_progress_monitor.gui.common.json_model import JsonNode, JsonTreeModel
from mcp_progress_monitor.gui.common.raw_view import RawView
from mcp_progress_monitor.gui.common.search import MOST, SLICE_S, PlaceSearch, SearchTexts
from mcp_progress_monitor.gui.common.tables import FlatHeader, RowHover
from mcp_progress_monitor.gui.page_commands import (
    EXCLUDE_VALUE,
    FILTER_VALUE,
    MESSAGE_SEARCH,
    SHOW_BYTES,
)
from mcp_progress_monitor.gui.theme import GAP_S, Appearance
from mcp_progress_monitor.protocol.jsonrpc import Elided
from mcp_progress_monitor.wording.content import pretty, scalar, searchable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_OPENED: Final = 3  # levels opened at first: message, params, arguments
_SEARCHED: Final = 200  # characters of a value that are searched
_OPENED_CHILDREN: Final = 30  # values with more children than this stay closed at first


class FilterRequest(NamedTuple):
    """A request to filter by, or exclude, messages with `value` at this path.

    `keys` lead to the value from the whole message.
    """

    keys: tuple[str | int, ...]
    value: str | float | bool | None
    is_excluded: bool


class JsonTree(QTreeView):
    """A `JsonTreeModel` with copying, and signals for actions on a value."""

    value_opened = Signal(object)
    """A value to show in full (double click or Enter on one without children)."""
    search_requested = Signal(object)
    """Text to search Traffic for."""
    filter_requested = Signal(object)
    """A `FilterRequest`; see `offer_filters`."""
    bytes_requested = Signal(object)
    """The keys that lead to a value whose bytes are wanted; see `offer_filters`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = JsonTreeModel(self)
        self.setHeader(FlatHeader(self))
        RowHover(self)
        self.setModel(self._model)
        self.setAccessibleName("Message as a tree")
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.header().setStretchLastSection(False)
        self.setExpandsOnDoubleClick(True)
        self.activated.connect(self._on_activated)
        self._add_actions()

    def show_value(self, value: Any) -> None:
        self._model.set_value(value)
        self._open(QModelIndex(), _OPENED)
        self._fit_columns()

    @property
    def value(self) -> dict[str, Any] | list[Any]:
        """The value that is shown."""
        return self._model.value

    def go_to(self, positions: Sequence[int]) -> None:
        """Select and show the value at these positions (see `JsonTreeModel.reach`)."""
        index = self._model.reach(positions)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def offer_filters(self) -> None:
        """Add menu actions that filter the traffic by a value, and that find its bytes."""
        first = self.actions()[0]
        self._raw = CommandAction(SHOW_BYTES, self)
        self._raw.triggered.connect(self._on_bytes)
        self._filter = CommandAction(FILTER_VALUE, self)
        self._filter.triggered.connect(self._on_filter)
        self._exclude = CommandAction(EXCLUDE_VALUE, self)
        self._exclude.triggered.connect(self._on_exclude)
        for action in (self._raw, self._filter, self._exclude):
            action.setEnabled(False)
            self.insertAction(first, action)
        separator = QAction(self)
        separator.setSeparator(True)
        self.insertAction(first, separator)
        self.selectionModel().currentChanged.connect(self._on_current_changed)

    def clear(self) -> None:
        self._model.clear()

    def resizeEvent(self, event: Any) -> None:
        """Give the remaining width to the values."""
        super().resizeEvent(event)
        self._fit_columns()

    def _add_actions(self) -> None:
        copy = QAction("Copy value", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._on_copy_value)
        path = QAction("Copy path", self)
        path.triggered.connect(self._on_copy_path)
        whole = QAction("Show full value", self)
        whole.triggered.connect(self._on_show_whole)
        search = QAction("Search Traffic for this value", self)
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

    def _request_filter(self, *, is_excluded: bool) -> None:
        """Request a filter; objects, arrays and elided values cannot be compared."""
        node = self._current()
        if node is not None and _is_plain(node):
            request = FilterRequest(tuple(node.keys()), node.value, is_excluded)
            self.filter_requested.emit(request)

    @Slot(QModelIndex, QModelIndex)
    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        is_plain = current.isValid() and _is_plain(self._model.node(current))
        self._raw.setEnabled(current.isValid())
        self._filter.setEnabled(is_plain)
        self._exclude.setEnabled(is_plain)

    @Slot()
    def _on_filter(self) -> None:
        self._request_filter(is_excluded=False)

    @Slot()
    def _on_exclude(self) -> None:
        self._request_filter(is_excluded=True)

    @Slot()
    def _on_bytes(self) -> None:
        node = self._current()
        if node is not None:
            self.bytes_requested.emit(tuple(node.keys()))

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
        text = str(node.key) if named_by_key else searchable(node.value)
        self.search_requested.emit(text[:_SEARCHED])


def _is_plain(node: JsonNode) -> bool:
    """Return whether a filter can compare the value; not objects, arrays and elided values."""
    return not isinstance(node.value, dict | list | Elided)


_STRIDE: Final = 256  # values checked between two pauses: about a tenth of a millisecond
_LONG: Final = 32 * 1024  # a string with more characters is followed by a pause at once
_NUMBER: Final = 4_000  # digits of a number that are searched


def hits(value: dict[str, Any] | list[Any], text: str) -> Iterator[tuple[int, ...] | None]:
    """Yield where names or values contain `text`, ignoring case; None as a possible pause.

    A hit is the positions of members from `value` downwards, as for `JsonTreeModel.reach`.
    """
    needle = text.casefold()
    walks = [_members(value)]
    path = [-1]
    looked = 0
    while walks:
        position, (key, member) = next(walks[-1], (-1, ("", None)))
        if position < 0:
            walks.pop()
            path.pop()
            continue
        path[-1] = position
        if _holds(key, member, needle):
            yield tuple(path)
        looked += 1
        if not looked % _STRIDE or (isinstance(member, str) and len(member) > _LONG):
            yield None
        if isinstance(member, dict | list) and member:
            walks.append(_members(member))
            path.append(-1)


def _members(value: dict[str, Any] | list[Any]) -> Iterator[tuple[int, tuple[str | int, Any]]]:
    return enumerate(value.items() if isinstance(value, dict) else enumerate(value))


def _holds(key: str | int, value: Any, needle: str) -> bool:
    if isinstance(key, str) and needle in key.casefold():
        return True
    if isinstance(value, str):
        return needle in value.casefold()
    if isinstance(value, dict | list | Elided):
        return False
    return needle in scalar(value, _NUMBER).casefold()


class TreeSearch(PlaceSearch):
    """Searches the value in slices; expands only the path to the current match."""

    def __init__(self, tree: JsonTree, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(tree, _text(), MESSAGE_SEARCH, appearance, parent)
        self._tree = tree
        self._walk: Iterator[tuple[int, ...] | None] | None = None
        self._hits: list[tuple[int, ...]] = []
        self._lay_out()
        self._show_count()

    @property
    def is_searching(self) -> bool:
        return self._walk is not None

    def begin(self) -> None:
        """Search the tree's current value; called again whenever it changes."""
        self._hits = []
        self._at = -1
        text = self.field.text()
        self._walk = hits(self._tree.value, text) if text else None
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
            more = f"over {number(MOST)}"
        text = ""
        if self.field.text():
            text = "searching…" if self.is_searching else "no matches"
        self._show(count, text, more)


def _text() -> SearchTexts:
    return SearchTexts(
        inside="Search message",
        name="Search names and values of the message",
        tip="Search names and values, ignoring case",
    )


def _no_bytes() -> None:
    return None


def _is_outline(value: Any, levels: int = 3) -> bool:
    """Return whether parts of a value were not decoded, as of a large message."""
    if isinstance(value, dict | list) and levels:
        members = value.values() if isinstance(value, dict) else value[:1]
        return any(_is_outline(member, levels - 1) for member in members)
    return isinstance(value, Elided)


class JsonPage(QSplitter):
    """The tree, with a view of one full value when requested.

    Of a message too large to decode, the raw bytes stand below the tree.
    """

    search_requested = Signal(object)  # text to search Traffic for

    def __init__(self, appearance: Appearance, name: str, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.tree = JsonTree(self)
        self.tree.setFrameShape(self.tree.Shape.NoFrame)
        self.tree.setAccessibleName(name)
        self.whole = RawView(appearance, self)
        self.whole.setAccessibleName("Full value")
        self.whole.hide()
        self._raw: bytes | None = None
        self.addWidget(self.tree)
        self.addWidget(self.whole)
        self.setChildrenCollapsible(False)
        self.tree.value_opened.connect(self._on_value_opened)
        self.tree.search_requested.connect(self.search_requested)

    def show_value(self, value: Any, read_raw: Callable[[], bytes | None] = _no_bytes) -> None:
        """Show a value; `read_raw` returns the message that it is from, None if that is gone."""
        self.tree.show_value(value)
        self._raw = read_raw() if _is_outline(value) else None
        self._show_raw()

    def _show_raw(self) -> None:
        self.whole.show_bytes(self._raw or b"")
        self.whole.setVisible(self._raw is not None)

    @Slot(object)
    def _on_value_opened(self, value: Any) -> None:
        if isinstance(value, Elided):
            self._show_raw()
            return
        text = value if isinstance(value, str) else pretty(value)
        self.whole.show_bytes(text.encode("utf-8", "surrogatepass"), keep_lines=True)
        self.whole.show()
