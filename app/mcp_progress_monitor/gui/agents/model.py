"""The agents and what they read, as rows of two tables."""

from __future__ import annotations

import heapq
import itertools
import operator
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor import formatting
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.gui.common.tables import TitledTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.audit.access import AgentAccess
    from mcp_progress_monitor.audit.log import AuditedAgent, Reading

_Index = QModelIndex | QPersistentModelIndex
AGENT: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `AuditedAgent`
AGENT_TITLES: Final = ("Agent", "State", "May read", "Answers", "Process")
READING_TITLES: Final = ("Time", "Agent", "Read", "Servers", "Jobs", "Arguments", "Size", "Answer")
_MOST_SHOWN: Final = 2_000


def called(agent: AuditedAgent) -> str:
    """The name by which an agent is turned off; empty if it gave none."""
    return "" if agent.name is None else agent.name.name


def title(agent: AuditedAgent) -> str:
    """An agent's name and version, for rows."""
    if agent.name is None:
        return "Unnamed agent"
    given = agent.name.title or agent.name.name or "Unnamed agent"
    return one_line(f"{given} {agent.name.version}".strip(), 100)


def _state(agent: AuditedAgent, access: AgentAccess | None) -> str:
    if agent.is_live:
        is_off = access is None or bool(access.refusal({called(agent)}))
        return "connected, turned off" if is_off else "connected"
    when = agent.ended_when
    ended = "ended" if when is None else f"ended {formatting.date_and_clock(when)[:16]}"
    is_named = access is not None and called(agent) in access.names_off
    return f"turned off, {ended}" if is_named else ended


def _may_read(agent: AuditedAgent) -> str:
    servers = ", ".join(map(one_line, agent.beginning.servers)) or "all servers"
    return f"{servers}, and act" if agent.beginning.acts else servers


class AgentsModel(TitledTable):
    """One row for each process that answered an agent, those that began last first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(AGENT_TITLES, parent, numbers={3})
        self._rows: Sequence[AuditedAgent] = ()
        self._texts: Sequence[tuple[str, ...]] = ()

    def show_agents(self, agents: Sequence[AuditedAgent], access: AgentAccess | None) -> bool:
        """Show them, and return whether the rows are others now; `access` is None if unreadable."""
        is_same = [agent.path for agent in agents] == [agent.path for agent in self._rows]
        if not is_same:
            self.beginResetModel()
        self._rows, self._texts = agents, [_agent_texts(agent, access) for agent in agents]
        if is_same and agents:
            self.dataChanged.emit(self.index(0, 0), self.index(len(agents) - 1, 4))
        elif not is_same:
            self.endResetModel()
        return not is_same

    def agents(self) -> Sequence[AuditedAgent]:
        return self._rows

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        agent = self._rows[index.row()]
        if role == AGENT:
            return agent
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 2:
            return plain_tip(_may_read(agent))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._texts[index.row()][index.column()]


def _agent_texts(agent: AuditedAgent, access: AgentAccess | None) -> tuple[str, ...]:
    beginning = agent.beginning
    answers = sum(reading.outcome == "answered" for reading in agent.readings)
    more = "+" if beginning.removed else ""
    began = formatting.date_and_clock(beginning.when)[:16]
    return (
        title(agent),
        _state(agent, access),
        _may_read(agent),
        f"{formatting.number(answers)}{more}",
        f"{beginning.pid or 'unknown'}, since {began}",
    )


class _Row(NamedTuple):
    """One reading of an agent."""

    agent: str
    reading: Reading


class ReadingsModel(TitledTable):
    """One row for each reading of some agents, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(READING_TITLES, parent, numbers={6})
        self._logged: Sequence[Sequence[Reading]] = ()
        self._rows: Sequence[_Row] = ()

    def show_agents(self, agents: Sequence[AuditedAgent]) -> None:
        """Show the newest readings of all of them."""
        logged = [agent.readings for agent in agents]
        if len(logged) == len(self._logged) and all(map(operator.is_, logged, self._logged)):
            return
        self._logged = logged
        rows = (map(partial(_Row, title(each)), reversed(each.readings)) for each in agents)
        merged = heapq.merge(*rows, key=_when, reverse=True)
        shown = list(itertools.islice(merged, _MOST_SHOWN))
        if shown == self._rows:
            return
        added = len(shown) - len(self._rows)
        if self._rows and added > 0 and shown[added:] == self._rows:
            # The rows below keep their place and their selection.
            self.beginInsertRows(QModelIndex(), 0, added - 1)
            self._rows = shown
            self.endInsertRows()
            return
        self.beginResetModel()
        self._rows = shown
        self.endResetModel()

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(index.column())
        if role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole}:
            return None
        text = _texts(self._rows[index.row()])[index.column()]
        return text if role == Qt.ItemDataRole.DisplayRole else plain_tip(text)


def _when(row: _Row) -> float:
    return row.reading.when


def _texts(row: _Row) -> tuple[str, ...]:
    reading = row.reading
    today = formatting.date_and_clock(time.time())[:10]
    when = formatting.date_and_clock(reading.when)[:19]
    return (
        when.removeprefix(f"{today} "),
        row.agent,
        one_line(reading.what),
        ", ".join(map(one_line, reading.servers)),
        ", ".join(map(one_line, reading.jobs)),
        one_line(reading.arguments, 300),
        formatting.size(reading.size) if reading.size else "",
        reading.outcome,
    )
