"""Resume tokens on disk: saved before anyone sees them, restored as jobs by a later run.

They are deleted when their jobs end. What other programs do with them is shown.
"""

from __future__ import annotations

import collections
import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.store.chains import (
    Origin,
    SavedAttempt,
    SavedChain,
    SavedOutcome,
    SavedProgress,
)
from mcp_progress_monitor.store.watched import WatchedEnding, split_watched_key
from mcp_progress_monitor.tracker.chain import INTERRUPTED, REFUSED, Restored
from mcp_progress_monitor.tracker.snapshot import (
    AttemptSnapshot,
    ChainStep,
    ChangeSet,
    JobId,
    JobState,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.engine.updates import LiveTracker
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.store.resumes import ResumeStore

STATES: Final[dict[SavedOutcome, JobState | str]] = {
    SavedOutcome.RESUMABLE: JobState.RESUMABLE,
    SavedOutcome.FAILED: JobState.FAILED,
    SavedOutcome.LOST: JobState.LOST,
    SavedOutcome.TIMED_OUT: JobState.TIMED_OUT,
    SavedOutcome.CANCELLED: JobState.CANCELLED,
    SavedOutcome.REFUSED: REFUSED,
    SavedOutcome.INTERRUPTED: INTERRUPTED,
}
"""The saved states of ended attempts; a running one has none."""

OUTCOMES: Final[dict[JobState | str, SavedOutcome]] = {
    state: outcome for outcome, state in STATES.items()
}


_log = logging.getLogger(__name__)

_COMPLETED_HERE: Final = "It was resumed here and completed"
_RETRY_S: Final = 5.0  # how often to retry deletions that failed
_SAVED_S: Final = 0.1
_SAVED_TRIES: Final = 10
"""How often, and how many times, to look for a token that another program is saving."""


class Keeper:
    """Saves what the tracker requests before it is shown; without a store, nothing waits.

    `origins` are the requests of all resumable jobs, with their servers.
    """

    def __init__(
        self,
        store: ResumeStore | None,
        live: LiveTracker,
        origin_of: Callable[[JobId], Origin],
        saves_itself: Callable[[str], bool] = lambda _connection: False,
    ) -> None:
        """`saves_itself` says of a watched connection that its program saves its tokens."""
        self._saves_itself = saves_itself
        self.origins: dict[JobId, Origin] = {}
        self._store = store
        self._tracker, self._clock, self._publish = live
        self._origin_of = origin_of
        self._error: ErrorDetails | None = None
        self._pending: dict[JobId, anyio.Event] = {}
        self._owed: dict[int, JobId | None] = {}
        self._endings: dict[int, WatchedEnding | None] = {}
        """Endings of watched chains due for deletion; None if their own client ended them."""
        self._steps: collections.deque[ChainStep] = collections.deque()
        self._wake = anyio.Event()
        self._over = anyio.Event()
        self._is_closing = False

    @property
    def error(self) -> ErrorDetails | None:
        """Why tokens are not saved, or what is wrong with the file; None if nothing."""
        return self._error or (None if self._store is None else self._store.error)

    # Steps

    def take(self, changes: ChangeSet) -> None:
        """Queue the steps that the tracker wants saved; forget jobs without a row."""
        for job in changes.removed:
            self.origins.pop(job, None)
        for step in changes.steps:
            self._pending.setdefault(step.job, anyio.Event())
            if step.token is not None and step.job not in self.origins:
                self._keep_origin(step.job)
            self._steps.append(step)
        if changes.steps:
            self._wake.set()

    def _keep_origin(self, job: JobId) -> None:
        try:
            self.origins[job] = self._origin_of(job)
        except UserError as error:
            self.keep_error(error.details)

    async def settled(self, job: JobId) -> None:
        """Wait until the end of a job's attempt is on disk, if that is in progress."""
        pending = self._pending.get(job)
        if pending is not None:
            await pending.wait()

    async def run(self) -> None:
        """Write one step at a time, until `close`."""
        with anyio.CancelScope(shield=True):
            while self._steps or not self._is_closing:
                if self._steps:
                    await self._record(self._steps.popleft())
                else:
                    self._wake = anyio.Event()  # before writing, to notice new steps
                    await self._delete_due()
                    with anyio.move_on_after(_RETRY_S if self._owed else None):
                        await self._wake.wait()
        self._over.set()

    async def close(self) -> None:
        self._is_closing = True
        self._wake.set()
        await self._over.wait()
        await self._delete_due()
        if self._store is not None:
            await self._store.close()

    async def _record(self, step: ChainStep) -> None:
        chain, obstacle = step.chain, ""
        try:
            chain = await self._written(step)
        except UserError as error:
            self.keep_error(error.details)
            obstacle = error.details.what if step.token is not None else ""
        except Exception:  # noqa: BLE001
            # The one place for internal errors here: the job must not stay undecided forever.
            _log.exception("saving what became of job %s met a defect", step.job)
            obstacle = "internal error"
        if step.is_complete:
            self.origins.pop(step.job, None)
            chain = None
        self._publish(self._tracker.chains.note_saved(step.job, chain, obstacle))
        self._report_undeleted(step)
        if not any(later.job == step.job for later in self._steps):
            self._pending.pop(step.job).set()

    async def _written(self, step: ChainStep) -> int | None:
        """Perform a step; returns the chain's id in the store, None if it has none."""
        if self._store is None:
            return None
        await self._delete_due()
        if self._is_watched(step, self._store):
            return await self._written_watched(self._store, step)
        if step.token is not None:
            return await self._save(step.job, step.chain, step.token, step.when)
        if step.chain is None:
            return None
        if step.is_complete:
            self._owed[step.chain] = step.job
            await self._delete_due()
        else:
            outcome = OUTCOMES.get(step.outcome, SavedOutcome.FAILED)
            standing = self._standing(step.job)
            await self._store.stop(step.chain, outcome, step.reason, standing, when=step.when)
        return step.chain

    def _is_watched(self, step: ChainStep, store: ResumeStore) -> bool:
        """Return whether an attempt is another client's; other windows may save it as well."""
        if step.chain is not None and store.is_claimed(step.chain):
            return False
        found = self._tracker.snapshot(step.job, self._clock.monotonic())
        return found is not None and found.watched_client is not None

    async def _found_saved(self, store: ResumeStore, step: ChainStep) -> int | None:
        """Find the chain that the program that made the attempt is saving."""
        if step.token is None:
            return step.chain
        saved = None
        for _ in range(_SAVED_TRIES):
            saved = await store.with_token(step.token)
            if saved is not None:
                break
            await anyio.sleep(_SAVED_S)
        if saved is None:
            return None
        self.origins[step.job] = saved.origin
        self._replace_restored(step.job, saved.id)
        return saved.id

    async def _written_watched(self, store: ResumeStore, step: ChainStep) -> int | None:
        """Save the end of another client's attempt, unless newer data is saved already."""
        found = self._tracker.snapshot(step.job, self._clock.monotonic())
        if found is not None and self._saves_itself(found.connection):
            return await self._found_saved(store, step)
        origin = self.origins.get(step.job)
        if origin is None:
            return step.chain
        saved = await store.note_watched(
            origin,
            step.token,
            self._standing(step.job),
            self._attempts(step.job),
            started_when=self._first_began(step.job),
            when=step.when,
            reason=step.reason,
            is_refused=step.outcome == REFUSED,
        )
        self._error = None
        if isinstance(saved, WatchedEnding):
            self._end_watched(step.job, saved)
            return None
        if saved is None:
            return None
        if step.is_complete:
            self._owed[saved.id] = step.job
            self._endings[saved.id] = None
            await self._delete_due()
        elif self._replace_restored(step.job, saved.id):
            await self._catch_up_with(store, step.job, saved)
        return saved.id

    def _attempts(self, job: JobId) -> list[SavedAttempt]:
        """The ended attempts of a job."""
        chain = self._tracker.chains.of(job)
        return [
            SavedAttempt(
                attempt.number,
                attempt.started_when,
                attempt.ended_when,
                OUTCOMES.get(attempt.outcome, SavedOutcome.FAILED),
                attempt.detail,
                attempt.client,
            )
            for attempt in (() if chain is None else tuple(chain.attempts))
        ]

    def _end_watched(self, job: JobId, ending: WatchedEnding) -> None:
        """End a job that a tap's recording repeats, but that an earlier run completed or forgot."""
        self.origins.pop(job, None)
        chains = self._tracker.chains
        if ending is WatchedEnding.COMPLETED:
            self._publish(chains.note_gone(job, _COMPLETED_HERE, is_done=True))
        else:
            self._publish(chains.forget([job]))

    async def _catch_up_with(self, store: ResumeStore, job: JobId, saved: SavedChain) -> None:
        """Show the attempts that were made here of a job that is watched again.

        They come after all attempts of its client, which the tap has yet to repeat.
        """
        chain = self._tracker.chains.of(job)
        if chain is None or chain.attempt_count >= saved.attempt_count:
            return
        attempts = await store.attempts(saved.id)
        ours = [attempt.number for attempt in attempts if attempt.client is None]
        if not ours or min(ours) != chain.attempt_count + 1:
            return
        if not saved.is_usable:
            self._publish(self._tracker.chains.note_gone(job, saved.reason))
            return
        chains = self._tracker.chains
        self._publish(chains.note_claimed(job, saved.token, saved.attempt_count))
        snapshots = [attempt_snapshot_of(each) for each in attempts if each.outcome in STATES]
        self._publish(chains.note_attempts(job, snapshots))

    def _replace_restored(self, job: JobId, chain: int) -> bool:
        """Merge a job that is watched again with its row from an earlier run of the program.

        A row that is being resumed here stays, and the result is False.
        """
        others = [
            other
            for other in self._tracker.jobs()
            if other != job
            and (known := self._tracker.chains.of(other)) is not None
            and known.id == chain
        ]
        now = self._clock.monotonic()
        rows = (self._tracker.snapshot(other, now) for other in others)
        if any(row is not None and not row.state.is_over for row in rows):
            self.origins.pop(job, None)
            self._publish(self._tracker.chains.forget([job]))
            return False
        if others:
            self._publish(self._tracker.chains.forget(others))
        return True

    async def _save(self, job: JobId, chain: int | None, token: str, when: float) -> int | None:
        if self._store is None:
            return None
        standing, origin = self._standing(job), self.origins.get(job)
        if origin is None:
            raise UserError(
                ErrorDetails("The request is too large to be sent again from this program")
            )
        if chain is None:
            began = self._first_began(job)
            chain = await self._store.begin(origin, token, standing, started_when=began, when=when)
        else:
            await self._store.advance(chain, token, standing, when=when)
        self._error = None
        return chain

    def schedule_deletion(self, chains: Iterable[int]) -> None:
        """Schedule the deletion of chains that the user no longer needs."""
        wanted = list(chains)
        self._owed.update(dict.fromkeys(wanted))
        self._endings.update(dict.fromkeys(wanted, WatchedEnding.FORGOTTEN))
        self._wake.set()

    async def _delete_due(self) -> None:
        """Delete finished chains that are still on disk; their tokens have expired.

        Failed deletions are retried before each write, every few seconds, and at the end.
        """
        owed = dict(self._owed)
        if not owed or self._store is None:
            return
        when = self._clock.wall()
        endings = {chain: self._endings.get(chain, WatchedEnding.COMPLETED) for chain in owed}
        try:
            for ending in dict.fromkeys(endings.values()):
                ended = [chain for chain, how in endings.items() if how is ending]
                await self._store.forget(ended, ending, when=when)
        except UserError as error:
            self.keep_error(error.details)
            return
        for chain, job in owed.items():
            del self._owed[chain]
            self._endings.pop(chain, None)
            if job is not None:
                self._publish(self._tracker.chains.note_reason(job, ""))

    def _report_undeleted(self, step: ChainStep) -> None:
        """Report that a completed job's chain is still on disk, and would be restored."""
        if step.is_complete and step.chain in self._owed and self._error is not None:
            text = (
                f"Its expired token is still on disk: {self._error.what}. The program will try "
                "again to delete it"
            )
            self._publish(self._tracker.chains.note_reason(step.job, text))

    def keep_error(self, error: ErrorDetails) -> None:
        """Keep an error of the disk until it is reported."""
        self._error = error

    def _standing(self, job: JobId) -> SavedProgress:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return (
            SavedProgress()
            if found is None
            else SavedProgress(found.progress, found.total, found.message)
        )

    def _first_began(self, job: JobId) -> float:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return self._clock.wall() if found is None else found.started_when

    def move(self, job: JobId, definition: ServerDefinition, key: str) -> None:
        """Allow a job to be resumed by a server whose definition has changed."""
        origin = self.origins.get(job)
        if origin is not None:
            self.origins[job] = origin._replace(
                server=definition.name,
                server_key=key,
                definition=definition.settled().model_dump_json(),
            )

    def move_here(self, job: JobId, server: ServerSnapshot, key: str) -> None:
        """Assign another client's job to `server`, one of ours, while this program runs.

        On disk it stays that client's.
        """
        origin = self.origins.get(job)
        if origin is not None and split_watched_key(origin.server_key) is not None:
            self.move(job, server.definition, key)

    # Attempts

    async def claim(self, job: JobId) -> None:
        """Claim a job before its attempt is sent, so that no other program resumes it.

        A token that could not be saved before is saved again; if that fails, the job continues in
        memory: nobody else knows of it, or we still own it. `UserError` if it is gone, refused, in
        flight elsewhere, or the disk fails.
        """
        chain = self._tracker.chains.of(job)
        if self._store is None or chain is None or chain.token is None:
            return
        if (chain.id is None or chain.obstacle) and not await self._catch_up(job, chain.id):
            return
        stored = chain.id
        if stored is None:
            return
        saved = await self._store.start_attempt(stored, when=self._clock.wall())
        changes = self._tracker.chains.note_claimed(job, saved.token, saved.attempt_count - 1)
        self._publish(changes)

    async def _catch_up(self, job: JobId, chain: int | None) -> bool:
        """Try again to save the newest token; whether it is on disk."""
        found = self._tracker.chains.of(job)
        if found is None or found.token is None:
            return False
        try:
            when = found.token_when or self._clock.wall()
            stored = await self._save(job, chain, found.token, when)
        except UserError as error:
            self.keep_error(error.details)
            return False
        self._publish(self._tracker.chains.note_saved(job, stored))
        return True

    async def forget(self, jobs: Sequence[JobId]) -> None:
        """Delete the chains of `jobs` and their rows; `UserError` if one must stay."""
        ids = {
            chain.id: job
            for job in jobs
            if (chain := self._tracker.chains.of(job)) is not None and chain.id is not None
        }
        kept: list[int] = []
        if self._store is not None and ids:
            when = self._clock.wall()
            kept = await self._store.forget(ids, WatchedEnding.FORGOTTEN, when=when)
        staying = {ids[chain] for chain in kept}
        self._publish(self._tracker.chains.forget([job for job in jobs if job not in staying]))
        if staying:
            raise UserError(
                ErrorDetails(
                    "Another running program is resuming some of these jobs",
                    hint="Wait until it has finished, or close the other program.",
                )
            )


_CHECK_S: Final = 5.0
"""How often to check jobs that another program is resuming."""


class Restorer:
    """Creates rows for saved chains, and updates them while other programs use the same folder."""

    def __init__(
        self,
        store: ResumeStore | None,
        live: LiveTracker,
        keeper: Keeper,
        note_watched: Callable[[str, str], None],
    ) -> None:
        """`keeper` receives the jobs and the errors of the disk.

        `note_watched` receives the server and the client of jobs that were not ours.
        """
        self._store = store
        self._note_watched = note_watched
        self._tracker, self._clock, self._publish = live
        self._keeper = keeper
        self._unread: set[JobId] = set()
        self._elsewhere: set[JobId] = set()

    def drop(self, jobs: Iterable[JobId]) -> None:
        self._unread.difference_update(jobs)
        self._elsewhere.difference_update(jobs)

    async def open(self, *, restores: bool = True) -> None:
        """Open the store and, if `restores`, create rows for its chains."""
        if self._store is None:
            return
        await self._store.open()
        try:
            saved = await self._store.chains() if restores else []
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        self._show(saved)

    async def show_new(self) -> None:
        """Create rows for chains that were saved since; other clients may have ended older ones."""
        if self._store is None:
            return
        known = {
            chain.id: job
            for job in self._tracker.jobs()
            if (chain := self._tracker.chains.of(job)) is not None and chain.id is not None
        }
        try:
            saved = await self._store.chains()
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        self._show([chain for chain in saved if chain.id not in known])
        origins = self._keeper.origins
        await self.poll(
            job
            for job in known.values()
            if job in origins and split_watched_key(origins[job].server_key) is not None
        )

    def _show(self, saved: list[SavedChain]) -> None:
        # Jobs of one server stay together, the oldest first.
        saved.sort(key=lambda chain: (chain.origin.server, chain.id))
        now, wall = self._clock.monotonic(), self._clock.wall()
        for chain in saved:
            watched = split_watched_key(chain.origin.server_key)
            if watched is not None:
                self._note_watched(chain.origin.server, watched[0])
        changes = self._tracker.restore(map(_restored, saved), now, wall)
        for job, chain in zip(changes.added, saved, strict=False):
            self._keeper.origins[job] = chain.origin
            self._unread.add(job)
            if chain.is_elsewhere:
                self._elsewhere.add(job)
        self._publish(changes)

    async def read_attempts(self, job: JobId) -> None:
        """Publish the attempts made before this program started."""
        chain = self._tracker.chains.of(job)
        if self._store is None or chain is None or chain.id is None:
            return
        try:
            found = await self._store.attempts(chain.id)
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        snapshots = [attempt_snapshot_of(attempt) for attempt in found if attempt.outcome in STATES]
        self._publish(self._tracker.chains.note_attempts(job, snapshots))

    def wants_attempts(self, job: JobId) -> bool:
        """Return whether a job's earlier attempts still have to be read; true once."""
        is_unread = job in self._unread
        self._unread.discard(job)
        return is_unread

    async def watch(self) -> None:
        """Check the jobs that another program is resuming, every few seconds."""
        while True:
            await anyio.sleep(_CHECK_S)
            if self._elsewhere:
                await self.poll(list(self._elsewhere))

    async def poll(self, jobs: Iterable[JobId]) -> None:
        """Check these jobs on disk, and no others: there may be thousands."""
        if self._store is None or not self._store.is_readable:
            return
        ids = {job: chain for job in jobs if (chain := self._settled(job)) is not None}
        try:
            on_disk = await self._store.found(ids.values())
        except UserError as error:
            self._keeper.keep_error(error.details)
            return
        for job, chain in ids.items():
            if self._settled(job) == chain:
                self._compare(job, on_disk.get(chain))

    def _settled(self, job: JobId) -> int | None:
        """The job's chain in the store, unless our own state of it is not saved yet."""
        chain = self._tracker.chains.of(job)
        return None if chain is None or chain.settling or chain.obstacle else chain.id

    def _compare(self, job: JobId, saved: SavedChain | None) -> None:
        chains = self._tracker.chains
        is_elsewhere = saved is not None and saved.is_elsewhere
        (self._elsewhere.add if is_elsewhere else self._elsewhere.discard)(job)
        if saved is None:
            text = "It was completed or forgotten in another program"
            self._publish(chains.note_gone(job, text))
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


def attempt_snapshot_of(saved: SavedAttempt) -> AttemptSnapshot:
    """A saved attempt as a snapshot."""
    return AttemptSnapshot(
        saved.number,
        saved.started_when,
        saved.ended_when,
        STATES.get(saved.outcome, saved.outcome.value),
        detail=saved.detail,
        client=saved.client,
    )
