"""The resume store: tokens and their requests, shared by all programs that use the data folder."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Final, TypeVar

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.store import chains, watched
from mcp_progress_monitor.store import chains as statements
from mcp_progress_monitor.store.chains import (
    ChainId,
    Origin,
    SavedAttempt,
    SavedChain,
    SavedOutcome,
    SavedProgress,
)
from mcp_progress_monitor.store.columns import fault_of
from mcp_progress_monitor.store.database import Database, Owners
from mcp_progress_monitor.store.tasks import TaskStore, owners_of_tasks, release
from mcp_progress_monitor.store.watched import WatchedEnding

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

_Result = TypeVar("_Result")

FILE: Final = "resume.sqlite3"
WHAT: Final = "The saved resume tokens"


class ResumeStore:
    """Chains on disk, shared by all programs that run on one data folder.

    A program that has an attempt of a chain in flight owns the chain, and no other may begin one.
    When it ends, however it ends, the attempt counts as interrupted and the last token is usable
    again.

    Whatever the disk does, only `UserError` is raised. While the file cannot be opened there are no
    chains to read; each write tries again, and raises an error until the disk allows it. `error`
    is for telling the user once. No text of an error holds a token.
    """

    def __init__(self, data_dir: Path) -> None:
        self._database = Database(data_dir / FILE, chains.MIGRATIONS, WHAT)
        self._owners = Owners(data_dir / "running")
        self._in_flight: set[ChainId] = set()
        self._unsettled: ErrorDetails | None = None
        self._unreadable: ErrorDetails | None = None
        self.tasks: Final = TaskStore(self._database, self._owners, self._settle)
        """The tasks that run at servers, in the same file."""

    @property
    def error(self) -> ErrorDetails | None:
        """The store's error; None when all is well."""
        return self._database.error or self._unsettled or self._unreadable

    @property
    def is_writable(self) -> bool:
        """True if tokens could be saved when it was last tried."""
        return self._database.is_writable and self._owners.has_moved_in

    @property
    def is_readable(self) -> bool:
        """True if `chains` returns all of them; False while the file cannot be opened."""
        return self._database.is_open or _is_missing(self._database.path)

    @property
    def is_complete(self) -> bool:
        """True if an empty answer means that nothing is saved.

        Not while the file is locked or read-only: its newest jobs may be out of reach.
        """
        return self._database.is_writable or _is_missing(self._database.path)

    async def open_for_reading(self) -> None:
        """Open the store if there is one, and write nothing; never raises."""
        await self._database.open_for_reading()

    async def open(self) -> None:
        """Open or make the store. Never raises for what a disk does: see `error`."""
        await self._database.open()
        if self._database.is_writable:
            with contextlib.suppress(UserError):
                await self._settle()

    async def close(self) -> None:
        if self.is_writable:
            # What cannot be noted is found out by the next program: nobody holds the lock then.
            with contextlib.suppress(UserError):
                await self._database.write(self._give_up)
        await self._database.close()
        self._owners.move_out()

    async def begin(
        self,
        origin: Origin,
        token: str,
        standing: SavedProgress,
        *,
        started_when: float,
        when: float,
    ) -> ChainId:
        """Save the first token of a new chain, with the attempt that brought it; committed.

        Raises:
            UserError: it is not saved, and must not be shown as resumable.
        """

        def work(connection: sqlite3.Connection) -> ChainId:
            chain = statements.add_chain(connection, origin, standing, started_when, when)
            first = SavedAttempt(1, started_when, when, SavedOutcome.RESUMABLE, "")
            statements.add_attempts(connection, chain, [first])
            statements.add_token(connection, chain, token, when)
            return chain

        return await self._write(work)

    async def note_watched(
        self,
        origin: Origin,
        token: str | None,
        standing: SavedProgress,
        attempts: Sequence[SavedAttempt] = (),
        *,
        started_when: float,
        when: float,
        reason: str = "",
        is_refused: bool = False,
    ) -> SavedChain | WatchedEnding | None:
        """Save how an attempt of another client ended, with the token that it brought; committed.

        It is the same chain however often, and by however many programs, it is watched: a token
        counts if it came after all that are known. A chain that is being resumed stays as it is.
        Returns what is saved now, or how the job has ended here; None if nothing is saved of it.

        Raises:
            UserError: it is not saved.
        """
        identities = watched.identities_of(origin, started_when)

        def work(connection: sqlite3.Connection) -> SavedChain | WatchedEnding | None:
            known = watched.find(connection, identities)
            chain = known.chain
            if known.ending is not None or (chain is None and token is None):
                return known.ending
            if chain is None:
                chain = statements.add_chain(connection, origin, standing, started_when, when)
                watched.link(connection, identities[0], chain=chain)
            elif not statements.is_newer(connection, chain, when, is_token=token is not None):
                return _read(statements.row_of(connection, chain), self._living_others)
            statements.rest(connection, chain, standing, reason, when)
            statements.add_attempts(connection, chain, attempts)
            if token is not None:
                statements.add_token(connection, chain, token, when)
            if is_refused:
                statements.refuse(connection, chain)
            return _read(statements.row_of(connection, chain))

        return await self._write(work)

    def is_claimed(self, chain: ChainId) -> bool:
        """Return whether this program has an attempt of a chain in flight."""
        return chain in self._in_flight

    async def start_attempt(self, chain: ChainId, *, when: float) -> SavedChain:
        """Own `chain` and note a new attempt, before its request is sent; returns what to send.

        Raises:
            UserError: it is gone, refused, or in flight here or in another running program.
        """

        def work(connection: sqlite3.Connection) -> SavedChain:
            self._check_startable(statements.row_of(connection, chain))
            statements.add_attempt(connection, chain, self._owners.me, when)
            return _read(statements.row_of(connection, chain))

        if chain in self._in_flight:
            raise UserError(ErrorDetails("This job is already being resumed"))
        self._in_flight.add(chain)
        try:
            return await self._write(work)
        except BaseException:
            self._in_flight.discard(chain)
            raise

    async def advance(
        self, chain: ChainId, token: str, standing: SavedProgress, *, when: float
    ) -> None:
        """Save the new token of the attempt in flight and release the chain; committed.

        Raises:
            UserError: it is not saved; or the chain was forgotten meanwhile.
        """

        def work(connection: sqlite3.Connection) -> None:
            if not statements.rest(connection, chain, standing, "", when):
                raise UserError(_gone())
            statements.end_attempt(connection, chain, SavedOutcome.RESUMABLE, "", when)
            statements.add_token(connection, chain, token, when)

        self._in_flight.discard(chain)
        await self._write(work)

    async def stop(
        self,
        chain: ChainId,
        outcome: SavedOutcome,
        reason: str,
        standing: SavedProgress,
        *,
        when: float,
    ) -> None:
        """The attempt in flight ended without a new token; the last one stays, unless refused.

        A chain that was forgotten meanwhile stays forgotten.

        Raises:
            UserError: it is not noted; here it may be resumed again all the same.
        """

        def work(connection: sqlite3.Connection) -> None:
            statements.end_attempt(connection, chain, outcome, reason, when)
            statements.rest(connection, chain, standing, reason, when)
            if outcome is SavedOutcome.REFUSED:
                statements.refuse(connection, chain)

        self._in_flight.discard(chain)
        await self._write(work)

    async def forget(
        self,
        chains: Iterable[ChainId],
        ending: WatchedEnding | None = WatchedEnding.COMPLETED,
        *,
        when: float = 0.0,
    ) -> list[ChainId]:
        """Delete chains with their tokens for good: they completed, or the user said so.

        Returns those that were kept because another running program has them in flight. Of those
        that other clients began, `ending` is remembered, with the time `when`; None where their
        own clients have completed them.

        Raises:
            UserError: none of them is deleted.
        """
        wanted = sorted(set(chains))

        def work(connection: sqlite3.Connection) -> list[ChainId]:
            elsewhere = self._in_flight_elsewhere(connection)
            gone = [chain for chain in wanted if chain not in elsewhere]
            watched.end(connection, ending, when, chains=gone)
            statements.delete(connection, gone)
            return [chain for chain in wanted if chain in elsewhere]

        self._in_flight.difference_update(wanted)
        return await self._write(work, erases=True)

    async def chains(self) -> list[SavedChain]:
        """All chains, the oldest first; none while the store cannot be opened.

        A chain that cannot be read is left out; `error` tells how many.

        Raises:
            UserError: the disk or SQLite refuses.
        """
        return await self._database.read(self._read_chains) if self._database.is_open else []

    async def found(self, wanted: Iterable[ChainId]) -> dict[ChainId, SavedChain]:
        """Return the `wanted` chains that are on disk and readable; looks at no other chain.

        Raises:
            UserError: the disk or SQLite refuses.
        """

        def work(connection: sqlite3.Connection) -> dict[ChainId, SavedChain]:
            found = {chain: statements.row_of(connection, chain) for chain in wanted}
            there = [row for row in found.values() if row is not None]
            living = self._living_others({row["owner"] for row in there})
            saved: dict[ChainId, SavedChain] = {}
            for row in there:
                with contextlib.suppress(ValueError):
                    saved[row["id"]] = chains.chain_of(row, is_elsewhere=row["owner"] in living)
            return saved

        return await self._database.read(work) if self._database.is_open else {}

    async def with_token(self, token: str) -> SavedChain | None:
        """The newest chain whose newest token this is; None if there is none, or no store.

        Raises:
            UserError: the disk or SQLite refuses.
        """

        def work(connection: sqlite3.Connection) -> SavedChain | None:
            found = statements.with_token(connection, token)
            return None if found is None else _read(found, self._living_others)

        return await self._database.read(work) if self._database.is_open else None

    async def attempts(self, chain: ChainId) -> list[SavedAttempt]:
        """The attempts of a chain that can be read, in order; none for one that is not there.

        Raises:
            UserError: the disk or SQLite refuses.
        """

        def work(connection: sqlite3.Connection) -> list[SavedAttempt]:
            found = statements.attempts_of(connection, chain)
            is_abandoned = bool(found) and not self._owners.lives(found[0]["owner"])
            attempts: list[SavedAttempt] = []
            for row in found:
                with contextlib.suppress(ValueError):
                    attempts.append(chains.attempt_of(row, is_abandoned=is_abandoned))
            return attempts

        return await self._database.read(work) if self._database.is_open else []

    def _read_chains(self, connection: sqlite3.Connection) -> list[SavedChain]:
        elsewhere = self._in_flight_elsewhere(connection)
        found, unreadable = [], 0
        with _collector_paused():
            for row in connection.execute(f"{chains.CHAINS} ORDER BY id"):
                try:
                    found.append(chains.chain_of(row, is_elsewhere=row[0] in elsewhere))
                except ValueError:
                    unreadable += 1
        self._unreadable = _unreadable(unreadable, str(self._database.path))
        return found

    async def _write(
        self, work: Callable[[sqlite3.Connection], _Result], *, erases: bool = False
    ) -> _Result:
        if not self._owners.has_moved_in:
            await self._settle()
        return await self._database.write(work, erases=erases)

    async def _settle(self) -> None:
        """Move in among the programs that run, and note which of them died in mid-attempt."""
        try:
            await self._database.write(self._move_in)
        except UserError as error:
            self._unsettled = error.details
            raise
        self._unsettled = None

    def _move_in(self, connection: sqlite3.Connection) -> None:
        self._owners.sweep()
        self._owners.move_in()
        owned = statements.owned(connection)
        owners = {owner for _, owner in owned} | owners_of_tasks(connection)
        dead = {owner for owner in owners if not self._owners.lives(owner)}
        for chain, owner in owned:
            if owner in dead:
                statements.interrupt(connection, chain)
        release(connection, dead)

    def _give_up(self, connection: sqlite3.Connection) -> None:
        for chain, owner in statements.owned(connection):
            if owner == self._owners.me:
                statements.interrupt(connection, chain)
        release(connection, [self._owners.me])

    def _in_flight_elsewhere(self, connection: sqlite3.Connection) -> set[ChainId]:
        owned = statements.owned(connection)
        living = self._living_others({owner for _, owner in owned})
        return {chain for chain, owner in owned if owner in living}

    def _living_others(self, owners: set[object]) -> set[object]:
        """Return the `owners` that are other programs and run."""
        return {owner for owner in owners - {self._owners.me} if self._owners.lives(owner)}

    def _check_startable(self, row: sqlite3.Row | None) -> None:
        chain = _read(row)
        owner = None if row is None else row["owner"]
        if not chain.is_usable:
            raise UserError(
                ErrorDetails(
                    "The server refused this job's resume token",
                    chain.origin.server,
                    "Re-issue the request from the start.",
                    chain.reason,
                )
            )
        # Owned by us and not in flight: its end could not be noted, the disk was full.
        if owner != self._owners.me and self._owners.lives(owner):
            raise UserError(
                ErrorDetails(
                    "Another running program is resuming this job",
                    hint="Wait until it has finished, or close the other program.",
                )
            )


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Collect no garbage meanwhile: among ten thousand new chains that is half the time.

    Nor at once after it: what was made counts as old, which costs nothing, and is looked at with
    all the rest. Where somebody has frozen objects (`shell.garbage`) these stay so.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _is_missing(path: Path) -> bool:
    """Return whether it is certain that nothing is there.

    It is not in a folder that we may not enter, nor where a link leads nowhere, perhaps just now.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _read(
    row: sqlite3.Row | None, living: Callable[[set[object]], set[object]] | None = None
) -> SavedChain:
    """A row as a chain; `living` are the other running programs."""
    if row is None:
        raise UserError(_gone())
    try:
        is_elsewhere = living is not None and bool(living({row["owner"]}))
        return chains.chain_of(row, is_elsewhere=is_elsewhere)
    except ValueError as error:  # pydantic's, which is not imported for this
        detail = fault_of(error, SavedChain)
        raise UserError(
            ErrorDetails("This job cannot be read", "", "Forget it.", detail)
        ) from error


def _gone() -> ErrorDetails:
    return ErrorDetails("This job is no longer resumable", hint="It was completed or forgotten.")


def _unreadable(count: int, path: str) -> ErrorDetails | None:
    if not count:
        return None
    jobs = "1 saved job" if count == 1 else f"{count:,} saved jobs"
    return ErrorDetails(
        f"{jobs} cannot be read and are not shown",
        path,
        "They may have been written by a newer version of this program.",
    )
