"""Keeps the resume store in step with the jobs: one writer, each end of an attempt in its turn."""

from __future__ import annotations

import collections
import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.resuming.outcomes import OUTCOMES
from mcp_progress_monitor.store.chains import Outcome, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.store.chains import Origin
    from mcp_progress_monitor.store.resumes import ResumeStore
    from mcp_progress_monitor.tracker.snapshot import ChainStep, Changes, JobId
    from mcp_progress_monitor.tracker.tracker import Tracker

_log = logging.getLogger(__name__)

_RETRY_S: Final = 5.0
"""How often to try again to delete what the disk would not delete."""


class Keeper:
    """Puts on disk what the tracker asks for, then lets it be shown; without a store, at once.

    `origins` are the requests of all jobs that can be resumed, with their servers.
    """

    def __init__(
        self,
        store: ResumeStore | None,
        tracker: Tracker,
        clock: Clock,
        publish: Callable[[Changes], None],
        origin_of: Callable[[JobId], Origin],
    ) -> None:
        """Changes go to `publish`; `origin_of` tells what a job's first request was."""
        self.origins: dict[JobId, Origin] = {}
        self._store = store
        self._tracker = tracker
        self._clock = clock
        self._publish = publish
        self._origin_of = origin_of
        self._problem: Problem | None = None
        self._pending: dict[JobId, anyio.Event] = {}
        self._owed: dict[int, JobId | None] = {}
        self._steps: collections.deque[ChainStep] = collections.deque()
        self._wake = anyio.Event()
        self._over = anyio.Event()
        self._is_closing = False

    @property
    def problem(self) -> Problem | None:
        """Why tokens are not saved, or what was wrong with the file; None when all is well."""
        return self._problem or (None if self._store is None else self._store.problem)

    # Steps

    def take(self, changes: Changes) -> None:
        """Queue what the tracker wants to be on disk; let go of what has no row any more."""
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
        except ProblemError as error:
            self.complain(error.problem)

    async def settled(self, job: JobId) -> None:
        """Wait until what became of a job's attempt is on disk, if that is under way."""
        pending = self._pending.get(job)
        if pending is not None:
            await pending.wait()

    async def run(self) -> None:
        """Write, a step at a time, until `close`."""
        with anyio.CancelScope(shield=True):
            while self._steps or not self._is_closing:
                if self._steps:
                    await self._record(self._steps.popleft())
                else:
                    self._wake = anyio.Event()  # before paying: what comes meanwhile is seen
                    await self._pay()
                    with anyio.move_on_after(_RETRY_S if self._owed else None):
                        await self._wake.wait()
        self._over.set()

    async def close(self) -> None:
        """Write what is left, and close the store."""
        self._is_closing = True
        self._wake.set()
        await self._over.wait()
        await self._pay()
        if self._store is not None:
            await self._store.close()

    async def _record(self, step: ChainStep) -> None:
        chain, obstacle = step.chain, ""
        try:
            chain = await self._written(step)
        except ProblemError as error:
            self.complain(error.problem)
            obstacle = error.problem.what if step.token is not None else ""
        except Exception:  # noqa: BLE001
            # The one place for our own errors here: the job must not stay in between for ever.
            _log.exception("saving what became of job %s met a defect", step.job)
            obstacle = "a defect of this program"
        if step.is_complete:
            self.origins.pop(step.job, None)
            chain = None
        self._publish(self._tracker.chains.note_saved(step.job, chain, obstacle))
        self._note_debt(step)
        if not any(later.job == step.job for later in self._steps):
            self._pending.pop(step.job).set()

    async def _written(self, step: ChainStep) -> int | None:
        """Do what a step asks for; the chain's id in the store, None if it has none."""
        if self._store is None:
            return None
        await self._pay()
        if step.token is not None:
            return await self._save(step.job, step.chain, step.token, step.when)
        if step.chain is None:
            return None
        if step.is_complete:
            self._owed[step.chain] = step.job
            await self._pay()
        else:
            outcome = OUTCOMES.get(step.outcome, Outcome.FAILED)
            standing = self._standing(step.job)
            await self._store.stop(step.chain, outcome, step.reason, standing, when=step.when)
        return step.chain

    async def _save(self, job: JobId, chain: int | None, token: str, when: float) -> int | None:
        if self._store is None:
            return None
        standing, origin = self._standing(job), self.origins.get(job)
        if origin is None:
            raise ProblemError(Problem("The request is too large to be sent again from here"))
        if chain is None:
            began = self._first_began(job)
            chain = await self._store.begin(origin, token, standing, started_when=began, when=when)
        else:
            await self._store.advance(chain, token, standing, when=when)
        self._problem = None
        return chain

    def owe(self, chains: Iterable[int]) -> None:
        """Delete chains when there is an occasion: the user has seen the last of them."""
        self._owed.update(dict.fromkeys(chains))
        self._wake.set()

    async def _pay(self) -> None:
        """Delete the finished chains that are still on disk; their tokens have expired.

        What the disk refuses to delete is tried again before each write, every few seconds, and
        at the end.
        """
        owed = dict(self._owed)
        if not owed or self._store is None:
            return
        try:
            await self._store.forget(owed)
        except ProblemError as error:
            self.complain(error.problem)
            return
        for chain, job in owed.items():
            del self._owed[chain]
            if job is not None:
                self._publish(self._tracker.chains.note_reason(job, ""))

    def _note_debt(self, step: ChainStep) -> None:
        """Say of a completed job that its chain is still on disk, and would come back."""
        if step.is_complete and step.chain in self._owed and self._problem is not None:
            words = (
                f"Its expired token is still on disk: {self._problem.what}. "
                "Deleting it is tried again while the program runs"
            )
            self._publish(self._tracker.chains.note_reason(step.job, words))

    def complain(self, problem: Problem) -> None:
        """Keep what the disk refuses, to be told."""
        self._problem = problem

    def _standing(self, job: JobId) -> Standing:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return Standing() if found is None else Standing(found.progress, found.total, found.message)

    def _first_began(self, job: JobId) -> float:
        found = self._tracker.snapshot(job, self._clock.monotonic())
        return self._clock.wall() if found is None else found.started_when

    def move(self, job: JobId, definition: ServerDefinition, key: str) -> None:
        """Let a job be resumed by a server that is defined otherwise than when it was begun."""
        origin = self.origins.get(job)
        if origin is not None:
            self.origins[job] = origin._replace(
                server=definition.name,
                server_key=key,
                definition=definition.settled().model_dump_json(),
            )

    # Attempts

    async def claim(self, job: JobId) -> None:
        """Make sure that no other program resumes the job, and note the attempt; before it is sent.

        What could not be saved before is tried again; if it still cannot, the job goes on in
        memory alone: nobody else knows of it, or we still own it. `ProblemError` when it is gone,
        refused, in flight elsewhere, or the disk refuses.
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
        """Try once more to save the newest token; whether it is on disk."""
        found = self._tracker.chains.of(job)
        if found is None or found.token is None:
            return False
        try:
            when = found.token_when or self._clock.wall()
            stored = await self._save(job, chain, found.token, when)
        except ProblemError as error:
            self.complain(error.problem)
            return False
        self._publish(self._tracker.chains.note_saved(job, stored))
        return True

    async def forget(self, jobs: Sequence[JobId]) -> None:
        """Delete the chains of `jobs`, and their rows; `ProblemError` when one has to stay."""
        ids = {
            chain.id: job
            for job in jobs
            if (chain := self._tracker.chains.of(job)) is not None and chain.id is not None
        }
        kept = await self._store.forget(ids) if self._store is not None and ids else []
        staying = {ids[chain] for chain in kept}
        self._publish(self._tracker.chains.forget([job for job in jobs if job not in staying]))
        if staying:
            raise ProblemError(
                Problem(
                    "Another running program is resuming some of these jobs",
                    hint="Wait for it, or close the other program.",
                )
            )
