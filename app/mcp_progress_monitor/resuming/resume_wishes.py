"""What can be wished of jobs that can be resumed: the part of a monitor for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_progress_monitor.calls import AutoResume, Outcome
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.resuming.keeper import Keeper
    from mcp_progress_monitor.resuming.resumer import Resumer
    from mcp_progress_monitor.tracker.chain import Chain
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.tracker.tracker import Tracker


class ResumeWishes:
    """Jobs that rest on a token, by job."""

    def __init__(self, resumer: Resumer, keeper: Keeper, tracker: Tracker) -> None:
        """Wishes to `resumer`."""
        self._resumer = resumer
        self._keeper = keeper
        self._tracker = tracker

    async def resume(
        self,
        job: JobId,
        *,
        auto_resume: AutoResume | None = None,
        use_saved_definition: bool = False,
    ) -> Outcome:
        """Go on with a resumable job: the same request with its newest token.

        The server is connected first if need be. With `auto_resume`, or where that was switched
        on, attempts follow each other and the outcome is that of the last one.

        Raises:
            ServerChangedError: the server is defined otherwise now; `use_saved_definition` has it
                started as it was.
            ProblemError: the job cannot be resumed, is in flight here or in another program, or
                its server cannot be reached.
        """
        return await self._resumer.resume(
            job, auto_resume, use_saved_definition=use_saved_definition
        )

    def set_automatic(self, job: JobId, automatic: AutoResume | None) -> None:
        """Go on with a job by itself from now on, or with None no more.

        A job that rests is gone on with at once. `ProblemError` when that cannot be.
        """
        self._resumer.set_automatic(job, automatic)

    def use_server(self, job: JobId, name: str) -> None:
        """Let a saved job be resumed by another server than it was begun with.

        For as long as this program runs: on disk it stays as it was.
        """
        self._resumer.use_server(job, name)

    @property
    def store_problem(self) -> Problem | None:
        """Why resume tokens are not saved, to be told once; None while all is well."""
        return self._keeper.problem

    @property
    def resuming_size(self) -> int:
        """How much is kept in memory of jobs that can be resumed; for tests of its bounds."""
        return self._tracker.chains.size + len(self._keeper.origins) + self._resumer.size

    def find_resumable(self, resume_id: int) -> JobId | None:
        """The job whose saved chain has this id; None when there is none (any more)."""
        chains = self._tracker.chains
        return next(
            (job for job in self._tracker.jobs() if _has_id(chains.of(job), resume_id)), None
        )


def _has_id(chain: Chain | None, resume_id: int) -> bool:
    return chain is not None and chain.id == resume_id
