"""The jobs of a whole recording as they ended, however many it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobDetail, JobId, JobSnapshot
    from mcp_progress_monitor.tracker.tracker import Jobs


NoteT = TypeVar("NoteT")


class FinalJob(NamedTuple, Generic[NoteT]):
    """A job at its end, the outcomes of its attempts, and what `note` returned for its details."""

    snapshot: JobSnapshot
    outcomes: tuple[str, ...]
    note: NoteT | None = None

    @property
    def was_resumed_after_loss(self) -> bool:
        """True if an attempt after a lost connection followed."""
        return JobState.LOST.value in self.outcomes[:-1]


class FinalJobs(Generic[NoteT]):
    """Yields each job once: when the tracker drops it, or at the end.

    The tracker keeps the newest ended jobs only, so this holds those that it may drop, and no more.
    """

    def __init__(self, jobs: Jobs, note: Callable[[JobDetail], NoteT] | None = None) -> None:
        self._jobs = jobs
        self._note = note
        self._ended: dict[JobId, FinalJob[NoteT]] = {}

    def take(self, changes: ChangeSet) -> Iterator[FinalJob[NoteT]]:
        """The jobs that the tracker dropped with these changes."""
        for job in changes.removed:
            if (dropped := self._ended.pop(job, None)) is not None:
                yield dropped
        for job in changes.moved:
            final = self._final(job)
            if final is not None and final.snapshot.state.is_over:
                self._ended[job] = final

    def rest(self) -> Iterator[FinalJob[NoteT]]:
        """The other jobs, as they are at the end."""
        self._ended.clear()
        for job in self._jobs.ids():
            if (final := self._final(job)) is not None:
                yield final

    def _final(self, job: JobId) -> FinalJob[NoteT] | None:
        snapshot = self._jobs.snapshot(job)
        if snapshot is None:
            return None
        detail = None
        if self._note is not None or snapshot.attempt_count > 1:
            detail = self._jobs.detail(job)
        if detail is None:
            return FinalJob(snapshot, (snapshot.state.value,))
        outcomes = [
            each.outcome.value if isinstance(each.outcome, JobState) else each.outcome
            for each in detail.attempts
        ]
        note = None if self._note is None else self._note(detail)
        return FinalJob(snapshot, tuple(outcomes) or (snapshot.state.value,), note)
