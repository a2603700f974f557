"""A JSON value as a tree, its nodes made only when they are opened."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.models.json_text import compact
from app.protocol.jsonrpc import Elided
from app.text import number, one_line, size

if TYPE_CHECKING:
    from collections.abc import Iterable

_Index = QModelIndex | QPersistentModelIndex

BLOCK: Final = 200
"""Children made at one go; a view asks for more when they are scrolled to."""

_PREVIEW: Final = 160


class JsonNode:
    """One value with its name; `children` are those made so far."""

    __slots__ = ("children", "key", "parent", "row", "value")

    def __init__(
        self, key: str | int | None, value: Any, parent: JsonNode | None, row: int
    ) -> None:
        self.key = key
        self.value = value
        self.parent = parent
        self.row = row
        self.children: list[JsonNode] = []

    @property
    def count(self) -> int:
        """How many children the value has."""
        return len(self.value) if isinstance(self.value, dict | list) else 0

    def make_children(self, stop: int) -> None:
        """Make the children up to `stop`."""
        start = len(self.children)
        pairs: Iterable[tuple[str | int, Any]] = (
            self.value.items() if isinstance(self.value, dict) else enumerate(self.value)
        )
        for row, (key, value) in enumerate(itertools.islice(pairs, start, stop), start):
            self.children.append(JsonNode(key, value, self, row))

    def path(self) -> str:
        """Return where the value lies in the message: `params._meta.progressToken`, `[3].name`."""
        if self.parent is None:
            return ""
        before = self.parent.path()
        if isinstance(self.key, int):
            return f"{before}[{self.key}]"
        key = one_line(str(self.key))
        return f"{before}.{key}" if before else key


class JsonTreeModel(QAbstractItemModel):
    """Names, values in short and types; nothing is walked through that is not shown."""

    NODE = Qt.ItemDataRole.UserRole + 1
    """The `JsonNode`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = JsonNode(None, {}, None, 0)
        self._titles = (self.tr("Name"), self.tr("Value"), self.tr("Type"))

    def set_value(self, value: Any) -> None:
        """Show another value; a value that is neither object nor array is a single row."""
        self.beginResetModel()
        root = value if isinstance(value, dict | list) else {"": value}
        self._root = JsonNode(None, root, None, 0)
        self._root.make_children(BLOCK)
        self.endResetModel()

    def clear(self) -> None:
        """Show nothing."""
        self.set_value({})

    def node(self, index: _Index) -> JsonNode:
        """Return the node at `index`; the whole message for an invalid one."""
        found = index.internalPointer() if index.isValid() else None
        return found if isinstance(found, JsonNode) else self._root

    def index(self, row: int, column: int, parent: _Index = QModelIndex()) -> QModelIndex:
        """Return the index of a child."""
        children = self.node(parent).children
        if not 0 <= row < len(children) or not 0 <= column < len(self._titles):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: _Index = QModelIndex()) -> Any:
        """Return the index of what holds the value."""
        holder = self.node(index).parent
        return QModelIndex() if holder is None else self._index_of(holder)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Return the number of children made so far."""
        return 0 if parent.column() > 0 else len(self.node(parent).children)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:
        """Return three."""
        return 0 if parent.column() > 0 else len(self._titles)

    def hasChildren(self, parent: _Index = QModelIndex()) -> bool:
        """Say whether a value has members or elements, made or not."""
        return parent.column() <= 0 and self.node(parent).count > 0

    def canFetchMore(self, parent: _Index) -> bool:
        """Say whether children are still to be made."""
        node = self.node(parent)
        return parent.column() <= 0 and len(node.children) < node.count

    def fetchMore(self, parent: _Index) -> None:
        """Make the next block of children."""
        node = self.node(parent)
        made = len(node.children)
        stop = min(made + BLOCK, node.count)
        if stop > made:
            self.beginInsertRows(self._index_of(node), made, stop - 1)
            node.make_children(stop)
            self.endInsertRows()

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a name, a value in short, or a type."""
        if not index.isValid():
            return None
        node = self.node(index)
        if role == self.NODE:
            return node
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() == 0:
            return f"[{node.key}]" if isinstance(node.key, int) else one_line(str(node.key))
        return self._value(node) if index.column() == 1 else self._type(node)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title."""
        is_title = orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole
        return self._titles[section] if is_title and 0 <= section < len(self._titles) else None

    def _index_of(self, node: JsonNode) -> QModelIndex:
        return QModelIndex() if node is self._root else self.createIndex(node.row, 0, node)

    def _value(self, node: JsonNode) -> str:
        if isinstance(node.value, Elided):
            return self.tr("{size}, too large to be taken apart: see Raw").format(
                size=size(node.value.size)
            )
        return compact(node.value, _PREVIEW)

    def _type(self, node: JsonNode) -> str:
        value = node.value
        if isinstance(value, dict):
            return self.tr("object, {count}").format(count=number(len(value)))
        if isinstance(value, list):
            return self.tr("array, {count}").format(count=number(len(value)))
        if isinstance(value, str):
            return self.tr("string, {count}").format(count=number(len(value)))
        if isinstance(value, bool):
            return self.tr("boolean")
        if value is None:
            return self.tr("null")
        if isinstance(value, Elided):
            return self.tr("large")
        return self.tr("integer") if isinstance(value, int) else self.tr("number")
