"""The open questions of servers as rows, oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Slot

from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.wording.jobs import line
from mcp_progress_monitor.wording.jobs import name as job_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.snapshots.questions import Question
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

QUESTION: Final = int(Qt.ItemDataRole.UserRole) + 1  # role of a row's `Question`
ABOUT: Final = QUESTION + 1  # role of the line about it: server, job, age, phase

_Index = QModelIndex | QPersistentModelIndex


class _Source(NamedTuple):
    """The source of questions, jobs and the time."""

    opened: Callable[[], Sequence[Question]]
    snapshot: Callable[[JobId], JobSnapshot | None]
    now: Callable[[], float]


class QuestionsModel(QAbstractListModel):
    """One row for each open question of a source; ids are never reused."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source: _Source | None = None
        self._questions: list[Question] = []

    def set_source(
        self,
        opened: Callable[[], Sequence[Question]],
        snapshot: Callable[[JobId], JobSnapshot | None],
        now: Callable[[], float],
    ) -> None:
        """Show the questions of `opened` with their jobs; `now` is their clock."""
        self.beginResetModel()
        self._source = _Source(opened, snapshot, now)
        self._questions = list(opened())
        self.endResetModel()

    @Slot(object)
    def apply(self, changed: frozenset[int]) -> None:
        if self._source is None:
            return
        now = {question.id: question for question in self._source.opened()}
        self._remove(lambda question: question.id not in now)
        for row, question in enumerate(self._questions):
            if question.id in changed:
                self._questions[row] = now[question.id]
                self.dataChanged.emit(self.index(row), self.index(row))
        known = {question.id for question in self._questions}
        added = [question for question in now.values() if question.id not in known]
        if added:
            first = len(self._questions)
            self.beginInsertRows(QModelIndex(), first, first + len(added) - 1)
            self._questions += added
            self.endInsertRows()

    def _remove(self, is_gone: Callable[[Question], bool]) -> None:
        """Remove rows, consecutive ones at once: a server that ends closes all of its questions."""
        end = len(self._questions)
        while end:
            first = end
            while first and is_gone(self._questions[first - 1]):
                first -= 1
            if first < end:
                self.beginRemoveRows(QModelIndex(), first, end - 1)
                del self._questions[first:end]
                self.endRemoveRows()
            end = max(0, first - 1)

    @Slot()
    def tick(self) -> None:
        """Update how long ago questions were asked, and their phases."""
        if self._questions:
            self.dataChanged.emit(self.index(0), self.index(len(self._questions) - 1), [ABOUT])

    def questions(self) -> tuple[Question, ...]:
        return tuple(self._questions)

    def row_of(self, question: int) -> int | None:
        rows = (row for row, each in enumerate(self._questions) if each.id == question)
        return next(rows, None)

    def first_of(self, job: JobId) -> Question | None:
        own = (question for question in self._questions if question.job == job)
        found = next(own, None)
        if found is not None or self._source is None:
            return found
        asked = self._source.snapshot(job)
        numbers = asked.questions if asked is not None else ()
        return next((each for each in self._questions if each.request in numbers), None)

    def about(self, question: Question) -> str:
        """Server, job, age and phase of a question, in a line."""
        if self._source is None or question.job is None:
            job = None
        else:
            job = self._source.snapshot(question.job)
        now = question.asked_at if self._source is None else self._source.now()
        from mcp_progress_monitor.wording import questions as question_texts

        phase = question_texts.phase_of(question, job)
        return question_texts.about(question, self._job_text(job), now, phase)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._questions)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The question as a line for display, the rest for the delegate."""
        if not index.isValid():
            return None
        # Late: no window opens with a question, and their texts load the patterns of secrets.
        from mcp_progress_monitor.wording import questions as question_texts

        question = self._questions[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return question_texts.head(question)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{question_texts.head(question)}, {self.about(question)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{question_texts.head(question)}\n{self.about(question)}")
        if role == ABOUT:
            return self.about(question)
        return question if role == QUESTION else None

    def _job_text(self, job: JobSnapshot | None) -> str:
        """The name of the call during which the server asked."""
        if job is not None and job.parent is not None and self._source is not None:
            job = self._source.snapshot(job.parent) or job
        return "" if job is None else line(job_name(job))
