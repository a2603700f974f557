"""What is wrong with a server's progress and tokens, for people: once for each kind and job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.cli import words
from mcp_progress_monitor.cli.reply import as_json
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.text import one_line
from mcp_progress_monitor.tracker import marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.cli.words import Label, Snapshots
    from mcp_progress_monitor.protocol.facts import ProgressReceived, RequestAnswered
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId, JobSnapshot

_KINDS: Final = frozenset(
    {
        marks.NOT_INCREASING,
        marks.ABOVE_TOTAL,
        marks.TOTAL_CHANGED,
        marks.TOTAL_NOT_POSITIVE,
        marks.WRONG_TYPE,
        marks.AFTER_END,
        marks.RESUME_TOKEN,
        marks.TOKEN_ON_ERROR,
        marks.SAME_TOKEN,
        marks.NO_QUESTIONS,
        marks.TASK,
        marks.OUTPUT,
        marks.OUTPUT_UNCHECKED,
    }
)
"""Not what crosses a cancel or a limit of ours: that may happen with the best of servers."""

_OF_REPLIES: Final = (marks.TOKEN_ON_ERROR, marks.SAME_TOKEN, marks.NO_QUESTIONS)
"""What only the whole job shows to be wrong with a reply."""


class ReplyProblems:
    """Tells of each reply what is wrong with it."""

    def __init__(self) -> None:
        self._counts: dict[tuple[JobId, str], int] = {}

    def of(self, fact: RequestAnswered, job: JobSnapshot | None) -> list[str]:
        """What breaks a rule in `fact`, the newest reply to a request of `job`."""
        found = [*fact.problems]
        for mark in () if job is None else job.marks:
            if job is not None and mark.key in _OF_REPLIES:
                if mark.count > self._counts.get((job.id, mark.key), 0):
                    found.append(mark.text)
                self._counts[job.id, mark.key] = mark.count
        return found


class Irregularities:
    """Remembers what was told, so that a flood of one mistake is one line.

    Nothing grows with what a server does: a job has few kinds, and progress without a job, of
    which there may be any, is told of once.
    """

    def __init__(self, book: Snapshots, numbers: Mapping[JobId, Label] | None = None) -> None:
        """`numbers` tell jobs apart, as `cli.words` has it; None where there is but one."""
        self._book = book
        self._numbers = numbers
        self._told: set[tuple[JobId, str]] = set()
        self._is_stray_told = False

    def lines(self, changes: Changes) -> Iterator[str]:
        """What has not been told yet, each in a line that is safe to print."""
        ticks = changes.ticks if changes.marked else ()
        marked = [tick for tick in ticks if _is_marked(tick[2], changes)]
        yield from self._stray([fact for job, _, fact in marked if job is None], changes)
        ticked = {job for job, _, _ in marked if job is not None}
        for job in sorted(ticked | changes.moved):  # a reply moves its job
            yield from self._of_job(job)

    def _of_job(self, job: JobId) -> Iterator[str]:
        snapshot = self._book.snapshot(job)
        if snapshot is None:
            return
        number = None if self._numbers is None else self._numbers.get(job, job)
        for mark in snapshot.marks:
            if mark.key in _KINDS and (job, mark.key) not in self._told:
                self._told.add((job, mark.key))
                yield f"{words.name(snapshot, number)}: warning: {one_line(mark.text)}"

    def _stray(self, facts: list[ProgressReceived], changes: Changes) -> Iterator[str]:
        if facts and not self._is_stray_told:
            self._is_stray_told = True
            first = facts[0]
            token = "" if first.problems else f": {as_json(first.token)}"
            yield f"warning: {one_line(changes.marked[first.number] + token)}"


def _is_marked(fact: ProgressReceived, changes: Changes) -> bool:
    return fact.sender is Side.SERVER and fact.number in changes.marked
