"""The newest log messages of servers (`notifications/message`) as a table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Slot,
)

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.tables import TitledTable
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.snapshots.limits import LOG_LEVELS
from mcp_progress_monitor.wording.jobs import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import NotificationReceived

KEPT: Final = 10_000
"""Newest messages that are shown; the log has every one."""
RANK: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a message's place in `LOG_LEVELS`; that of a level nobody knows is one past the end."""
NUMBER: Final = RANK + 1
"""Role of the number of the message's frame."""
TITLES: Final = (
    "Time",
    "Server",
    "Level",
    "Logger",
    "Message",
)
_LIMIT: Final = 1_000  # characters: wider than any column
_NAME: Final = 80
_RANKS: Final = {level: rank for rank, level in enumerate(LOG_LEVELS)}
_Index = QModelIndex | QPersistentModelIndex


class ServerMessage(NamedTuple):
    """One message as text; `rank` as in `RANK`."""

    number: int
    rank: int
    words: tuple[str, ...]


class ServerLogModel(TitledTable):
    """One row for each message, oldest first; the oldest go when there are too many."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TITLES, parent)
        self._rows: list[ServerMessage] = []

    @Slot(object)
    def add(self, facts: Sequence[NotificationReceived]) -> None:
        """Take in messages (`Feed.messages_logged`)."""
        names = _MessageTexts()
        added = [_message(fact, names) for fact in facts[-KEPT:]]
        surplus = len(self._rows) + len(added) - KEPT
        if surplus > 0 and self._rows:
            last = min(surplus, len(self._rows)) - 1
            self.beginRemoveRows(QModelIndex(), 0, last)
            del self._rows[: last + 1]
            self.endRemoveRows()
        if added:
            first = len(self._rows)
            self.beginInsertRows(QModelIndex(), first, first + len(added) - 1)
            self._rows += added
            self.endInsertRows()

    @Slot()
    def clear(self) -> None:
        """Forget every message: a replay restarts."""
        self.beginResetModel()
        self._rows = []
        self.endResetModel()

    def rank(self, row: int) -> int:
        """How severe the message in a row is."""
        return self._rows[row].rank

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of messages."""
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, the rank of the level, or the frame's number."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.words[index.column()]
        return {RANK: row.rank, NUMBER: row.number}.get(role)


class ServerLogFilter(QSortFilterProxyModel):
    """Shows the messages of a minimum level."""

    def __init__(self, messages: ServerLogModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self._least = 0
        self.setSourceModel(messages)

    def set_least(self, rank: int) -> None:
        """Let through what has this rank, at least."""
        self.beginFilterChange()
        self._least = rank
        self.endFilterChange(self.Direction.Rows)

    def filterAcceptsRow(self, source_row: int, _source_parent: _Index) -> bool:
        """Whether the message of a source row is let through."""
        return self._messages.rank(source_row) >= self._least


class _MessageTexts:
    """Caches the texts that repeat within a batch: times and names."""

    def __init__(self) -> None:
        self._moments: dict[float, str] = {}
        self._lines: dict[str, str] = {}

    def moment(self, when: float) -> str:
        """A wall time."""
        words = self._moments.get(when)
        if words is None:
            words = self._moments[when] = moment(when)
        return words

    def line(self, name: str) -> str:
        """A name on one line."""
        begin = name[: _NAME + 1]
        words = self._lines.get(begin)
        if words is None:
            words = self._lines[begin] = one_line(begin, _NAME)
        return words


def _message(fact: NotificationReceived, names: _MessageTexts) -> ServerMessage:
    level, logger = fact.params.get("level"), fact.params.get("logger")
    rank = _RANKS.get(level, len(LOG_LEVELS)) if isinstance(level, str) else len(LOG_LEVELS)
    words = (
        names.moment(fact.when),
        names.line(server_name(fact.connection)),
        names.line(level) if isinstance(level, str) and level else "no level",
        names.line(logger) if isinstance(logger, str) else "",
        _said(fact.params.get("data")),
    )
    return ServerMessage(fact.number, rank, words)


def _said(data: Any) -> str:
    """What was said: a text as it is, anything else as JSON."""
    if isinstance(data, str):
        return one_line(data, _LIMIT)
    return one_line(json.dumps(data, ensure_ascii=False, default=str), _LIMIT)
