"""The tasks that a server lists, as a table: those of our calls, and others."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt

from mcp_progress_monitor import formatting
from mcp_progress_monitor.gui.common.tables import TitledTable
from mcp_progress_monitor.protocol.facts import parsed_moment
from mcp_progress_monitor.wording.jobs import line, moment
from mcp_progress_monitor.wording.tasks import status_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import TaskView
    from mcp_progress_monitor.tracker.snapshot import JobId

LISTED: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `ListedTask`
TITLES: Final = ("Id", "Status", "Message", "Created", "Kept for", "Job")
_Index = QModelIndex | QPersistentModelIndex


class ListedTask(NamedTuple):
    """A task as its server listed it, and its job here, if it has one."""

    view: TaskView
    job: JobId | None


class ServerTasksModel(TitledTable):
    """Rows in the server's order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(TITLES, parent)
        self._tasks: Sequence[ListedTask] = ()

    def show_tasks(self, tasks: Sequence[ListedTask]) -> None:
        self.beginResetModel()
        self._tasks = tasks
        self.endResetModel()

    def row_of(self, task: str) -> int | None:
        return next((row for row, each in enumerate(self._tasks) if each.view.id == task), None)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._tasks)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        listed = self._tasks[index.row()]
        if role == LISTED:
            return listed
        return _words(listed)[index.column()] if role == Qt.ItemDataRole.DisplayRole else None


def _words(listed: ListedTask) -> tuple[str, ...]:
    view = listed.view
    job = "none" if listed.job is None else f"job {listed.job}"
    return (
        line(view.id) or "(empty id)",
        status_text(view.status),
        line(view.message or ""),
        _created(view),
        _kept(view),
        job,
    )


def _created(view: TaskView) -> str:
    when = parsed_moment(view.created)
    return line(view.created or "") if when is None else moment(when)


def _kept(view: TaskView) -> str:
    """How long the task is kept after its creation, and how much of that is left."""
    if view.ttl_ms is None:
        return "unknown"
    length_s = min(view.ttl_ms, 1e15) / 1000
    when = parsed_moment(view.created)
    if when is None:
        return formatting.duration(length_s)
    left_s = max(when + length_s - time.time(), 0.0)
    words = "{length}, {left} left"
    return words.format(
        length=formatting.duration(length_s), left=formatting.duration(math.ceil(left_s))
    )
