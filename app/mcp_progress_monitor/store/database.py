"""One SQLite file, used off the event loop: what was written is on disk before anyone goes on."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.store.opening import BUSY_S, Opener
from mcp_progress_monitor.store.refusals import SQLITE_ERRORS, is_damage, problem_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

_Result = TypeVar("_Result")


class Database:
    """A file that one program, or several at a time, keep records in.

    `migrations` are scripts, each lifting `user_version` by one; a file of a later version is
    opened read-only. A damaged file is set aside under a new name, never overwritten. Work is done
    on a worker thread, one piece at a time, each in one transaction.

    What cannot be written may still be read. Each `write` then tries once more to open the file
    properly: a disk that was full, or a lock that another program held, need no restart. So does a
    `write` that finds the file moved or deleted: what it saved would be lost with it.
    """

    def __init__(self, path: Path, migrations: Sequence[str], what: str) -> None:
        """Keep `what` ("The saved resume tokens", for messages) in `path`, which is absolute."""
        self.path = path
        self.problem: Problem | None = None
        """What was wrong when the file was last opened; the program goes on."""
        self._what = what
        self._opener = Opener(path, migrations, what)
        self._connection: sqlite3.Connection | None = None
        self._obstacle: Problem | None = None
        self._identity: tuple[int, int] | None = None
        self._is_closed = False
        self._turn = anyio.CapacityLimiter(1)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to read from."""
        return self._connection is not None

    @property
    def is_writable(self) -> bool:
        """Whether the last attempt to open the file for writing succeeded."""
        return self.is_open and self._obstacle is None

    async def open(self) -> None:
        """Open the file, making or migrating it; else `problem` says why it stays shut."""
        await anyio.to_thread.run_sync(self._open, limiter=self._turn)

    async def close(self) -> None:
        """Close the file; what is asked of it after that raises."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, limiter=self._turn)

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` in a transaction of its own.

        Raises:
            ProblemError: the file is not open, or the disk or SQLite refuses.
        """
        return await anyio.to_thread.run_sync(self._read, work, limiter=self._turn)

    async def write(
        self, work: Callable[[sqlite3.Connection], _Result], *, erases: bool = False
    ) -> _Result:
        """Run `work` in one transaction, committed when this returns; all or nothing.

        Shielded from cancellation: nobody is left in doubt of what is on disk. With `erases`, what
        `work` deleted leaves the journal, too, unless another program is reading just then.

        Raises:
            ProblemError: the disk, SQLite or another program is in the way; nothing was changed.
        """
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(self._write, work, erases, limiter=self._turn)
        return result  # noqa: RET504  # a shielded scope may swallow, as far as mypy can tell

    def _read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        return self._transact("BEGIN", work)

    def _write(self, work: Callable[[sqlite3.Connection], _Result], erases: bool) -> _Result:
        if not self._is_closed and not (self.is_writable and self._is_in_place()):
            self._open()
        if not self.is_writable:
            raise ProblemError(self._shut())
        # IMMEDIATE: two programs queue for the lock here, not in the middle of their work.
        result = self._transact("BEGIN IMMEDIATE", work)
        if erases and self._connection is not None:
            _empty_journal(self._connection)
        return result

    def _transact(self, begin: str, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Do `work`; once more, in a new file, when the one that is open turns out to be damaged.

        Not all damage is found when a file is opened: that looks at its pages, not at its indexes.
        """
        try:
            try:
                return self._transacted(begin, work)
            except SQLITE_ERRORS as error:
                if not self._is_replaced(error):
                    raise
                return self._transacted(begin, work)
        except (*SQLITE_ERRORS, OSError) as error:
            raise ProblemError(problem_of(error, self._what, self.path)) from error

    def _is_replaced(self, error: Exception) -> bool:
        """Whether an error showed damage, and a new file is open in place of the damaged one."""
        if not (is_damage(error) and self.is_writable):
            return False
        self._open(error if self._is_in_place() else None)
        return self.is_writable

    def _transacted(self, begin: str, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        connection = self._connection
        if connection is None:
            raise ProblemError(self._shut())
        try:
            connection.execute(begin)
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(*SQLITE_ERRORS):  # the first error is the one to tell
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise
        return result

    def _shut(self) -> Problem:
        closed = Problem(f"{self._what} are closed", str(self.path), "Start the program again.")
        return closed if self._is_closed else self._obstacle or closed

    def _open(self, damage: Exception | None = None) -> None:
        self._drop_connection()
        self._connection, self._obstacle, notice = self._opener.open(damage)
        self._identity = self._found()
        self.problem = self._obstacle or notice

    def _close(self) -> None:
        self._is_closed = True
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _is_in_place(self) -> bool:
        """Whether the path still leads to the file that is open."""
        found = self._found()
        return found is not None and found == self._identity

    def _found(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _empty_journal(connection: sqlite3.Connection) -> None:
    """Bring the journal's contents home and cut it to nothing; not while others read."""
    with contextlib.suppress(*SQLITE_ERRORS):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
