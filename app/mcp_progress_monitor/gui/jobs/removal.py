"""Removes and forgets jobs so that it can be undone: rows go at once, the rest when it is final."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.formatting import count
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.gui.jobs.controller import JobsController
    from mcp_progress_monitor.gui.jobs.model import JobsModel
    from mcp_progress_monitor.gui.undo import UndoOffer
    from mcp_progress_monitor.tracker.snapshot import JobId

_LONGEST_NAME = 60


class JobRemoval(QObject):
    """Hides the rows of `model` and lets `jobs` remove them once `offer` is over."""

    def __init__(
        self, model: JobsModel, jobs: JobsController, offer: UndoOffer, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._jobs = jobs
        self._offer = offer

    @Slot(object)
    def remove(self, jobs: Iterable[JobId]) -> None:
        """Take jobs that are over out of the list."""
        self._take(jobs, "Removed", self._jobs.remove)

    @Slot()
    def remove_finished(self) -> None:
        """Take all jobs that are over out of the list, but for those that can be resumed."""
        self._take(self._jobs.finished(), "Removed", self._jobs.remove)

    @Slot(object)
    def forget(self, jobs: Iterable[JobId]) -> None:
        """Delete what is kept of `jobs`, and their rows."""
        self._take(jobs, "Forgot", self._jobs.forget)

    def _take(
        self, jobs: Iterable[JobId], done: str, finish: Callable[[tuple[JobId, ...]], None]
    ) -> None:
        found = [job for job in map(self._model.snapshot, jobs) if job is not None]
        over = tuple(job.id for job in found if job.state.is_over)
        if not over:
            return
        named = next(job for job in found if job.id == over[0])
        name = job_texts.name(named)
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}…"
        what = name if len(over) == 1 else count(len(over), "job")
        # The earlier offer first: what it settles must not bring rows back or take them twice.
        self._offer.offer(
            f"{done} {what}.", partial(self._model.show_again, over), partial(finish, over)
        )
        self._model.hide(over)
