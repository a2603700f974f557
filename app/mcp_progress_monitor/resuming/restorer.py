"""What lies on disk, as jobs: those of earlier runs, and what other programs make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.resuming.outcomes import STATES
from mcp_progress_monitor.tracker.chain import Restored
from mcp_progress_monitor.tracker.snapshot import AttemptPicture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_progress_monitor.resuming.keeper import Keeper
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.store.chains import SavedAttempt, SavedChain
    from mcp_progress_monitor.store.resumes import ResumeStore
    from mcp_progress_monitor.tracker.snapshot import Changes, JobId
    from mcp_progress_monitor.tracker.tracker import Tracker

_LOOK_S: Final = 5.0
"""How often to look what became of jobs that another program is resuming."""


class Restorer:
    """Makes rows of saved chains, and keeps them true while other programs use the same folder."""

    def __init__(
        self,
        store: ResumeStore | None,
        tracker: Tracker,
        clock: Clock,
        publish: Callable[[Changes], None],
        keeper: Keeper,
    ) -> None:
        """Changes go to `publish`; `keeper` gets to know the jobs, and what the disk refuses."""
        self._store = store
        self._tracker = tracker
        self._clock = clock
        self._publish = publish
        self._keeper = keeper
        self._unread: set[JobId] = set()
        self._elsewhere: set[JobId] = set()

    def drop(self, jobs: Iterable[JobId]) -> None:
        """Forget jobs that have no row any more."""
        self._unread.difference_update(jobs)
        self._elsewhere.difference_update(jobs)

    async def open(self, *, restores: bool = True) -> None:
        """Open the store and, unless told otherwise, make rows of its chains."""
        if self._store is None:
            return
        await self._store.open()
        try:
            saved = await self._store.chains() if restores else []
        except ProblemError as error:
            self._keeper.complain(error.problem)
            return
        # The jobs of one server side by side, each with its oldest first.
        saved.sort(key=lambda chain: (chain.origin.server, chain.id))
        now, wall = self._clock.monotonic(), self._clock.wall()
        changes = self._tracker.restore(map(_restored, saved), now, wall)
        for job, chain in zip(changes.added, saved, strict=False):
            self._keeper.origins[job] = chain.origin
            self._unread.add(job)
            if chain.is_elsewhere:
                self._elsewhere.add(job)
        self._publish(changes)

    async def read_attempts(self, job: JobId) -> None:
        """Tell of the attempts that were made before this program was started."""
        chain = self._tracker.chains.of(job)
        if self._store is None or chain is None or chain.id is None:
            return
        try:
            found = await self._store.attempts(chain.id)
        except ProblemError as error:
            self._keeper.complain(error.problem)
            return
        pictures = [_picture(attempt) for attempt in found if attempt.outcome in STATES]
        self._publish(self._tracker.chains.note_attempts(job, pictures))

    def wants_attempts(self, job: JobId) -> bool:
        """Whether a job's earlier attempts are still to be read; true once."""
        is_unread = job in self._unread
        self._unread.discard(job)
        return is_unread

    async def watch(self) -> None:
        """Look every few seconds what became of jobs that another program is resuming."""
        while True:
            await anyio.sleep(_LOOK_S)
            if self._elsewhere:
                await self.look(list(self._elsewhere))

    async def look(self, jobs: Iterable[JobId]) -> None:
        """See what became of jobs on disk; no others are read, there may be thousands."""
        if self._store is None or not self._store.is_readable:
            return
        ids = {job: chain for job in jobs if (chain := self._settled(job)) is not None}
        try:
            on_disk = await self._store.found(ids.values())
        except ProblemError as error:
            self._keeper.complain(error.problem)
            return
        for job, chain in ids.items():
            if self._settled(job) == chain:
                self._compare(job, on_disk.get(chain))

    def _settled(self, job: JobId) -> int | None:
        """The job's chain in the store, unless what we know of it is not on disk yet."""
        chain = self._tracker.chains.of(job)
        return None if chain is None or chain.settling or chain.obstacle else chain.id

    def _compare(self, job: JobId, saved: SavedChain | None) -> None:
        """Show of a job what another program has made of it."""
        chains = self._tracker.chains
        is_elsewhere = saved is not None and saved.is_elsewhere
        (self._elsewhere.add if is_elsewhere else self._elsewhere.discard)(job)
        if saved is None:
            words = "It completed or was forgotten in another program"
            self._publish(chains.note_gone(job, words))
        elif not saved.is_usable:
            self._publish(chains.note_gone(job, saved.reason))
        elif is_elsewhere:
            self._publish(chains.note_elsewhere(job, is_elsewhere=True))
        else:
            self._publish(chains.note_claimed(job, saved.token, saved.attempt_count))


def _restored(saved: SavedChain) -> Restored:
    origin, standing = saved.origin, saved.standing
    return Restored(
        id=saved.id,
        server=origin.server,
        key=origin.server_key,
        method=origin.method,
        params=origin.params,
        token=saved.token if saved.is_usable else None,
        reason=saved.reason,
        progress=standing.progress,
        total=standing.total,
        message=standing.message,
        created_when=saved.created_when,
        updated_when=saved.updated_when,
        attempt_count=saved.attempt_count,
        is_elsewhere=saved.is_elsewhere,
    )


def _picture(saved: SavedAttempt) -> AttemptPicture:
    outcome = STATES.get(saved.outcome, saved.outcome.value)
    return AttemptPicture(
        saved.number, saved.started_when, saved.ended_when, outcome, detail=saved.detail
    )
