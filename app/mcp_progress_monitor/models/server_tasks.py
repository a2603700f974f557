"""The tasks that a server knows, as a table: those of our calls, and those of others."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import (
    QT_TRANSLATE_NOOP,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, moment, tr
from mcp_progress_monitor.models.task_texts import status_word
from mcp_progress_monitor.models.titled_table import TitledTable
from mcp_progress_monitor.protocol.task_state import parsed_moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.task_state import TaskView
    from mcp_progress_monitor.tracker.snapshot import JobId

LISTED: Final = int(Qt.ItemDataRole.UserRole) + 1
"""Role of a row's `ListedTask`."""
TITLES: Final = tuple(
    str(title)
    for title in (
        QT_TRANSLATE_NOOP("Jobs", "Id"),
        QT_TRANSLATE_NOOP("Jobs", "Status"),
        QT_TRANSLATE_NOOP("Jobs", "Message"),
        QT_TRANSLATE_NOOP("Jobs", "Created"),
        QT_TRANSLATE_NOOP("Jobs", "Kept for"),
        QT_TRANSLATE_NOOP("Jobs", "Job"),
    )
)
_Index = QModelIndex | QPersistentModelIndex


class ListedTask(NamedTuple):
    """A task as its server listed it, and the job of ours that it is, if it is one."""

    view: TaskView
    job: JobId | None


class ServerTasksModel(TitledTable):
    """Rows in the server's order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__("Jobs", TITLES, parent)
        self._tasks: Sequence[ListedTask] = ()

    def show_tasks(self, tasks: Sequence[ListedTask]) -> None:
        """Show `tasks` instead of those before."""
        self.beginResetModel()
        self._tasks = tasks
        self.endResetModel()

    def row_of(self, task: str) -> int | None:
        """The row of a task by its id; None when there is none."""
        return next((row for row, each in enumerate(self._tasks) if each.view.id == task), None)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        """Number of tasks."""
        return 0 if parent.isValid() else len(self._tasks)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Bounded plain text, or the task."""
        if not index.isValid():
            return None
        listed = self._tasks[index.row()]
        if role == LISTED:
            return listed
        return _words(listed)[index.column()] if role == Qt.ItemDataRole.DisplayRole else None


def _words(listed: ListedTask) -> tuple[str, ...]:
    view = listed.view
    job = tr("not ours") if listed.job is None else tr("job {}").format(listed.job)
    return (
        line(view.id) or tr("(an empty id)"),
        status_word(view.status),
        line(view.message or ""),
        _created(view),
        _kept(view),
        job,
    )


def _created(view: TaskView) -> str:
    when = parsed_moment(view.created)
    return line(view.created or "") if when is None else moment(when)


def _kept(view: TaskView) -> str:
    """How long the task is kept from its creation on, and how much of that is left."""
    if view.ttl_ms is None:
        return tr("no known limit")
    length_s = min(view.ttl_ms, 1e15) / 1000
    when = parsed_moment(view.created)
    if when is None:
        return text.duration(length_s)
    left_s = max(when + length_s - time.time(), 0.0)
    words = tr("{length}, {left} left")
    return words.format(length=text.duration(length_s), left=text.duration(math.ceil(left_s)))
