"""Recent servers and calls at the side, to reopen while nothing is connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from mcp_progress_monitor.formatting import one_line, summary
from mcp_progress_monitor.gui.calls.memory import CallMemory
from mcp_progress_monitor.gui.common.controls import SideHeading, plain_tip
from mcp_progress_monitor.gui.common.layout import in_column
from mcp_progress_monitor.gui.common.side_delegate import SideDelegate, dress_side_list
from mcp_progress_monitor.gui.theme import GAP, Tone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from PySide6.QtGui import QKeyEvent, QPainter

    from mcp_progress_monitor.gui.preferences import Preferences
    from mcp_progress_monitor.gui.theme import Appearance
    from mcp_progress_monitor.protocol.facts import JsonObject

_Index = QModelIndex | QPersistentModelIndex

ENTRY: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `Recent`."""
_SERVERS: Final = 3
_CALLS: Final = 5
_REMEMBERED: Final = 20  # names of servers
_KEY: Final = "recent-servers"
_NAME: Final = 80
_LEAST: Final = 20  # pixels of the rows: Qt's own hint has room for three


class Recent(NamedTuple):
    """A recently connected server, or one of its calls; `name` is empty for the server alone."""

    server: str
    method: str = ""
    name: str = ""
    arguments: JsonObject = {}  # noqa: RUF012  # never changed

    @property
    def title(self) -> str:
        return one_line(self.name or self.server, _NAME)

    @property
    def about(self) -> str:
        """The second line: the call's server and arguments; empty for a server."""
        if not self.name:
            return ""
        return f"{one_line(self.server, _NAME)}  {summary(self.arguments)}".rstrip()

    @property
    def tip(self) -> str:
        if not self.name:
            return f"Connect “{one_line(self.server, _NAME)}”"
        what = f"Connect “{one_line(self.server, _NAME)}” and open this call"
        return "\n".join(filter(None, (what, summary(self.arguments))))


class RecentServers:
    """The names of the servers that were connected last, newest first, in the preferences."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences

    def names(self) -> list[str]:
        names = self._preferences.json_of(_KEY).get("names")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def add(self, names: Iterable[str]) -> None:
        known = dict.fromkeys((*names, *self.names()))
        self._preferences.keep_json(_KEY, {"names": list(known)[:_REMEMBERED]})


def recent_entries(servers: Sequence[str], calls: object, there: Collection[str]) -> list[Recent]:
    """Return the newest of `servers`, and of `calls` on servers that are still `there`.

    `calls` is the state of a `CallMemory`.
    """
    memory = CallMemory()
    memory.restore(calls)
    found = [Recent(name) for name in servers if name in there][:_SERVERS]
    newest = (Recent(*call) for call in reversed(memory.state()))
    return found + [each for each in newest if each.server in there][:_CALLS]


class RecentModel(QAbstractListModel):
    """A row for each `Recent`."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._entries: list[Recent] = []

    def show_entries(self, entries: list[Recent]) -> None:
        if entries != self._entries:
            self.beginResetModel()
            self._entries = entries
            self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self._entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return entry.tip
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(entry.tip)
        return entry if role == ENTRY else None


class RecentDelegate(SideDelegate):
    """The sign to go on, the name, and for a call a line with its server and arguments."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        faces, entry = self.faces(option.font), index.data(ENTRY)
        second = faces.second.height if entry.about else 0
        return QSize(120, faces.first.height + second + GAP)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        entry, faces = index.data(ENTRY), self.faces(option.font)
        painter.save()
        area = self.begin(painter, option, "resume", Tone.ACCENT)
        second = faces.second.height if entry.about else 0
        top = area.top() + (area.height() - faces.heavy.height - second) // 2
        place = QRect(area.left(), top, area.width(), faces.heavy.height)
        name = faces.heavy.elided(entry.title, place.width(), in_middle=True)
        self.write(painter, faces.heavy, place, name, Tone.TEXT)
        if second:
            place = QRect(area.left(), place.bottom() + 1, area.width(), second)
            self.write(painter, faces.second, place, entry.about, Tone.MUTED)
        painter.restore()


class _ClickedList(QListView):
    """A list whose rows Return and Enter click."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.currentIndex().isValid():
            self.clicked.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class RecentList(QWidget):
    """Lists recent servers and calls; hidden while empty. A click opens one."""

    chosen = Signal(object)  # the `Recent` to open

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = RecentModel(self)
        self.view = _ClickedList(self)
        self.view.setModel(self._model)
        dress_side_list(self.view, RecentDelegate(appearance, self.view), "Recent")
        self.view.setMinimumHeight(_LEAST)
        self.view.setCursor(Qt.CursorShape.PointingHandCursor)
        self._heading = SideHeading("Recent", appearance, self)
        self._heading.set_buddy(self.view)
        in_column(self._heading, (self.view, 1), of=self, margins=0, spacing=0)
        self.setFocusProxy(self.view)
        self.view.clicked.connect(self._on_chosen)
        appearance.changed.connect(self.view.viewport().update)
        self.hide()

    def show_entries(self, entries: list[Recent]) -> None:
        self._model.show_entries(entries)
        self.setVisible(bool(entries))

    def wanted_height(self) -> int:
        """The height that shows all rows: there are few."""
        heights = (self.view.sizeHintForRow(row) for row in range(self._model.rowCount()))
        if self.isHidden():
            return 0
        return self._heading.sizeHint().height() + sum(heights) + GAP

    @Slot(QModelIndex)
    def _on_chosen(self, index: QModelIndex) -> None:
        self.chosen.emit(index.data(ENTRY))
