"""A JSON value as a tree model, whose nodes are created only when they are opened."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor.formatting import number, one_line, size
from mcp_progress_monitor.protocol.jsonrpc import Elided
from mcp_progress_monitor.wording.content import compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Index = QModelIndex | QPersistentModelIndex

BLOCK: Final = 200  # most rows below one node; more children are shown in ranges of so many

_PREVIEW: Final = 160


class JsonNode:
    """One value with its name; `children` are those created so far.

    A value with very many children has nodes in between for ranges of them: `span` are the
    positions of such a range, and `value` is still the whole object or array. So a node of a
    million elements opens as fast as one of two hundred.
    """

    __slots__ = ("children", "key", "parent", "row", "span", "value")

    def __init__(
        self,
        key: str | int | None,
        value: Any,
        parent: JsonNode | None,
        row: int,
        span: range | None = None,
    ) -> None:
        self.key = key
        self.value = value
        self.parent = parent
        self.row = row
        self.span = span
        self.children: list[JsonNode] = []

    @property
    def members(self) -> range:
        if self.span is not None:
            return self.span
        return range(len(self.value) if isinstance(self.value, dict | list) else 0)

    @property
    def count(self) -> int:
        """The number of rows below this one."""
        members = self.members
        return -(-len(members) // _step(len(members)))

    def content(self) -> Any:
        """The value of the node; for a range, only its elements."""
        if self.span is None:
            return self.value
        pairs = itertools.islice(_pairs(self.value), self.span.start, self.span.stop)
        return dict(pairs) if isinstance(self.value, dict) else [value for _, value in pairs]

    def make_children(self) -> None:
        """Create the nodes directly below this one."""
        members = self.members
        step = _step(len(members))
        if step == 1:
            pairs = itertools.islice(_pairs(self.value), members.start, members.stop)
            self.children = [
                JsonNode(key, value, self, row) for row, (key, value) in enumerate(pairs)
            ]
        else:
            spans = [members[at : at + step] for at in range(0, len(members), step)]
            self.children = [
                JsonNode(self.key, self.value, self, row, span) for row, span in enumerate(spans)
            ]

    def child_for(self, position: int) -> JsonNode:
        """The child that is, or contains, the member at `position`; children must exist."""
        members = self.members
        return self.children[(position - members.start) // _step(len(members))]

    def keys(self) -> list[str | int]:
        """The names and indices from the whole message to this value."""
        keys: list[str | int] = []
        node: JsonNode | None = self
        while node is not None:
            if node.span is None and node.key is not None:
                keys.append(node.key)
            node = node.parent
        return keys[::-1]

    def path(self) -> str:
        """Return the path of the value in the message: `params._meta.progressToken`, `[3].name`."""
        path = ""
        for key in self.keys():
            if isinstance(key, int):
                path += f"[{key}]"
            else:
                path += ("." if path else "") + one_line(str(key))
        return path


def _pairs(value: Any) -> Iterable[tuple[str | int, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


def _step(count: int) -> int:
    """Return how many of `count` members each row below their node represents."""
    step = 1
    while count > step * BLOCK:
        step *= BLOCK
    return step


class JsonTreeModel(QAbstractItemModel):
    """Names, shortened values and types; reads only visible nodes."""

    NODE = Qt.ItemDataRole.UserRole + 1  # the `JsonNode`

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = JsonNode(None, {}, None, 0)
        self._titles = ("Name", "Value", "Type")

    def set_value(self, value: Any) -> None:
        """Show another value; a value that is neither object nor array is a single row."""
        self.beginResetModel()
        root = value if isinstance(value, dict | list) else {"": value}
        self._root = JsonNode(None, root, None, 0)
        self._root.make_children()
        self.endResetModel()

    def clear(self) -> None:
        self.set_value({})

    @property
    def value(self) -> dict[str, Any] | list[Any]:
        """The object or array that is shown."""
        root: dict[str, Any] | list[Any] = self._root.value
        return root

    def reach(self, positions: Sequence[int]) -> QModelIndex:
        """Return the index of the value at these positions, from the whole message downwards.

        Creates the nodes on the way, and no others. Positions must exist.
        """
        node = self._root
        for position in positions:
            while True:
                self.fetchMore(self._index_of(node))
                node = node.child_for(position)
                if node.span is None:
                    break
        return self._index_of(node)

    def node(self, index: _Index) -> JsonNode:
        """Return the node at `index`; the whole message for an invalid one."""
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, JsonNode) else self._root

    def index(self, row: int, column: int, parent: _Index = QModelIndex()) -> QModelIndex:
        children = self.node(parent).children
        if not 0 <= row < len(children) or not 0 <= column < len(self._titles):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: _Index = QModelIndex()) -> Any:
        """Return the index of the parent value."""
        holder = self.node(index).parent
        return QModelIndex() if holder is None else self._index_of(holder)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.column() > 0 else len(self.node(parent).children)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.column() > 0 else len(self._titles)

    def hasChildren(self, parent: _Index = QModelIndex()) -> bool:
        """Return whether a value has members or elements, created or not."""
        return parent.column() <= 0 and self.node(parent).count > 0

    def canFetchMore(self, parent: _Index) -> bool:
        """Return whether children still have to be created."""
        node = self.node(parent)
        return parent.column() <= 0 and node.count > 0 and not node.children

    def fetchMore(self, parent: _Index) -> None:
        """Create the children, unless they exist."""
        node = self.node(parent)
        if node.count and not node.children:
            self.beginInsertRows(self._index_of(node), 0, node.count - 1)
            node.make_children()
            self.endInsertRows()

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        node = self.node(index)
        if role == self.NODE:
            return node
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() == 0:
            return self._name(node)
        return self._value(node) if index.column() == 1 else self._type(node)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        is_title = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self._titles[section] if is_title and 0 <= section < len(self._titles) else None

    def _index_of(self, node: JsonNode) -> QModelIndex:
        return QModelIndex() if node is self._root else self.createIndex(node.row, 0, node)

    def _name(self, node: JsonNode) -> str:
        if node.span is not None:
            first, last = number(node.span.start), number(node.span.stop - 1)
            is_array = isinstance(node.value, list)
            text = "[{first} … {last}]" if is_array else "members {first} to {last}"
            return text.format(first=first, last=last)
        return f"[{node.key}]" if isinstance(node.key, int) else one_line(str(node.key))

    def _value(self, node: JsonNode) -> str:
        if node.span is not None:
            return ""
        if isinstance(node.value, Elided):
            return f"{size(node.value.size)}, too large for the tree: see the raw bytes"
        return compact(node.value, _PREVIEW)

    def _type(self, node: JsonNode) -> str:
        value = node.value
        if node.span is not None:
            return f"{number(len(node.span))} items"
        if isinstance(value, dict):
            return f"object, {number(len(value))}"
        if isinstance(value, list):
            return f"array, {number(len(value))}"
        if isinstance(value, str):
            return f"string, {number(len(value))}"
        if isinstance(value, bool):
            return "boolean"
        if value is None:
            return "null"
        if isinstance(value, Elided):
            return "large"
        return "integer" if isinstance(value, int) else "number"
