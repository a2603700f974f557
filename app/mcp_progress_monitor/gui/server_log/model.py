"""The newest log messages of servers (`notifications/message`) as a table."""

from __future__ import annotations

import collections
import json
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    QTimer,
    Slot,
)

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.labels import ServerTitles
from mcp_progress_monitor.gui.common.tables import TitledTable
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS
from mcp_progress_monitor.wording.jobs import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import NotificationReceived

KEPT: Final = 10_000  # newest messages that are shown; the recording has every one
RANK: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a message's level as an index in `LOG_LEVELS`; unknown levels are one past the end."""
NUMBER: Final = RANK + 1  # role of the number of the message's frame
TITLES: Final = ("Time", "Server", "Level", "Logger", "Message")
SERVER: Final = TITLES.index("Server")
_ROWS_AT_ONCE: Final = 500
_TURN_MS: Final = 100
"""Rows added per turn, and the pause between turns: 4 ms of work each.

In a flood the table lags two seconds at most: rows that are dropped meanwhile are never shown.
"""
_REMEMBERED: Final = 500  # rows
_LIMIT: Final = 1_000  # characters: wider than any column
_NAME: Final = 80
_RANKS: Final = {level: rank for rank, level in enumerate(LOG_LEVELS)}
_Index = QModelIndex | QPersistentModelIndex


class ServerLogModel(TitledTable):
    """One row for each message, oldest first; the oldest are dropped beyond the limit.

    The texts of a row are made when it is painted. In a flood, some rows are added per turn: ten
    thousand at once blocked the window for 100 ms.
    """

    def __init__(self, titles: ServerTitles | None = None, parent: QObject | None = None) -> None:
        super().__init__(TITLES, parent)
        self.titles: Final = titles or ServerTitles(self)
        self.titles.changed.connect(self._on_titles_changed)
        self._rows: list[NotificationReceived] = []
        self._waiting: collections.deque[NotificationReceived] = collections.deque(maxlen=KEPT)
        self._texts = _MessageTexts()
        self._turn = QTimer(self, singleShot=True, interval=_TURN_MS)
        self._turn.timeout.connect(self._take_some)

    @Slot(object)
    def add(self, facts: Sequence[NotificationReceived]) -> None:
        self._waiting.extend(facts)
        if not self._turn.isActive():
            self._take_some()

    @Slot()
    def _take_some(self) -> None:
        count = min(len(self._waiting), _ROWS_AT_ONCE)
        added = [self._waiting.popleft() for _ in range(count)]
        surplus = len(self._rows) + len(added) - KEPT
        if surplus > 0:
            self.beginRemoveRows(QModelIndex(), 0, surplus - 1)
            del self._rows[:surplus]
            self.endRemoveRows()
        if added:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(added) - 1)
            self._rows += added
            self.endInsertRows()
        if self._waiting:
            self._turn.start()

    @Slot()
    def _on_titles_changed(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, SERVER), self.index(len(self._rows) - 1, SERVER))

    @Slot()
    def clear(self) -> None:
        self._waiting.clear()
        self.beginResetModel()
        self._rows = []
        self.endResetModel()

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, the rank of the level, or the frame's number."""
        if not index.isValid():
            return None
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, RANK, NUMBER):
            return None
        fact, is_server = self._rows[index.row()], index.column() == SERVER
        if role == Qt.ItemDataRole.DisplayRole:
            text = self._texts.cells(fact)[index.column()]
            return self.titles.text(text) if is_server else text
        if role == Qt.ItemDataRole.ToolTipRole:
            tip = self.titles.tip(server_name(fact.connection)) if is_server else ""
            return plain_tip(tip) if tip else None
        return fact.number if role == NUMBER else _rank(fact.params.get("level"))


class ServerLogFilter(QSortFilterProxyModel):
    """Shows the messages of a minimum level: Qt asks for the rank of each only if there is one."""

    def __init__(self, messages: ServerLogModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setFilterRole(RANK)
        self.setSourceModel(messages)

    def set_least(self, rank: int) -> None:
        self.setFilterRegularExpression(f"[{rank}-9]" if rank else "")


class _MessageTexts:
    """Makes the texts of messages, and caches those of visible rows."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[NotificationReceived, tuple[str, ...]]] = {}

    def cells(self, fact: NotificationReceived) -> tuple[str, ...]:
        known = self._known.get(fact.number)
        if known is None or known[0] is not fact:  # a replay numbers its frames again
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[fact.number] = fact, _cells(fact)
        return known[1]


def _rank(level: Any) -> int:
    unknown = len(LOG_LEVELS)
    return _RANKS.get(level, unknown) if isinstance(level, str) else unknown


def _cells(fact: NotificationReceived) -> tuple[str, ...]:
    level, logger = fact.params.get("level"), fact.params.get("logger")
    return (
        moment(fact.when),
        one_line(server_name(fact.connection)[: _NAME + 1], _NAME),
        one_line(level[: _NAME + 1], _NAME) if isinstance(level, str) and level else "no level",
        one_line(logger[: _NAME + 1], _NAME) if isinstance(logger, str) else "",
        _said(fact.params.get("data")),
    )


def _said(data: Any) -> str:
    """The message's data: a text as it is, anything else as JSON."""
    if isinstance(data, str):
        return one_line(data, _LIMIT)
    return one_line(json.dumps(data, ensure_ascii=False, default=str), _LIMIT)
