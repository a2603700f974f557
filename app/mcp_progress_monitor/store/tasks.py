"""Saved tasks that run at servers: saved before anybody sees them, until their end is known."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.store import watched
from mcp_progress_monitor.store.chains import Origin, SavedProgress
from mcp_progress_monitor.store.columns import Column, Converted, Moment, as_column, read
from mcp_progress_monitor.store.watched import WatchedEnding

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Awaitable, Callable, Iterable

    from mcp_progress_monitor.store.database import Database, Owners

SavedTaskId: TypeAlias = int
"""Names a saved task for good: the number of a forgotten one is not given out again."""


class TaskStanding(NamedTuple):
    """Where a task stood when it was last heard of; what is not known is None.

    `status` and `created` are the server's words; `ttl_ms` and `poll_ms` its numbers. `progress` is
    that of the last tick.
    """

    status: str
    message: str | None = None
    created: str | None = None
    ttl_ms: int | float | None = None
    poll_ms: int | float | None = None
    progress: SavedProgress = SavedProgress()


class SavedTask(NamedTuple):
    """A task as it lies on disk. Times are wall seconds.

    `task` is the server's id of it. `began_when` is when the server said that it had begun,
    `started_when` when the call was made. `is_elsewhere` is True while another running program
    follows it.
    """

    id: SavedTaskId
    origin: Column[Origin]
    task: Column[str]
    is_flat: Converted[bool]
    standing: Column[TaskStanding]
    started_when: Moment
    began_when: Moment
    updated_when: Moment
    is_elsewhere: bool

    @property
    def expires_when(self) -> float | None:
        """When its server may forget it; None if never, or not known."""
        ttl_ms = self.standing.ttl_ms
        return None if ttl_ms is None else self.began_when + min(ttl_ms, 1e15) / 1000


class TaskStore:
    """Tasks on disk, shared by all programs that run on one data folder.

    The program that follows a task owns it, and no other may pick it up. When it ends, however it
    ends, the task is nobody's and can be picked up. Raises nothing but `UserError`.
    """

    def __init__(
        self, database: Database, owners: Owners, settle: Callable[[], Awaitable[None]]
    ) -> None:
        self._database = database
        self._owners = owners
        self._settle = settle

    async def begin(
        self, origin: Origin, task: str, standing: TaskStanding, *, is_flat: bool, times: Times
    ) -> SavedTaskId:
        """Save a task that has just begun, owned by this program; committed.

        Raises:
            UserError: it is not saved.
        """
        await self._move_in()

        def work(connection: sqlite3.Connection) -> SavedTaskId:
            me = self._owners.me
            return _add(connection, origin, task, standing, times, is_flat=is_flat, owner=me)

        return await self._database.write(work)

    async def note_watched(
        self, origin: Origin, task: str, standing: TaskStanding, *, is_flat: bool, times: Times
    ) -> SavedTaskId | None:
        """Save the task of a job that another client makes, owned by nobody; committed.

        It is the same one however often it is watched. None if it has ended here.

        Raises:
            UserError: it is not saved.
        """
        identities = watched.identities_of(origin, times.started_when, task)

        def work(connection: sqlite3.Connection) -> SavedTaskId | None:
            known = watched.find(connection, identities)
            if known.task is not None or known.ending is not None:
                return known.task
            saved = _add(connection, origin, task, standing, times, is_flat=is_flat, owner=None)
            watched.link(connection, identities[0], task=saved)
            return saved

        await self._move_in()
        return await self._database.write(work)

    async def claim(self, saved: SavedTaskId) -> None:
        """Own a task from now on, before its server is asked.

        Raises:
            UserError: it is gone, or another running program follows it; or the disk refuses.
        """
        await self._move_in()

        def work(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT owner FROM tasks WHERE id = ?", (saved,)).fetchone()
            if row is None:
                what = "This task is no longer saved"
                raise UserError(ErrorDetails(what, hint="It has finished, or was forgotten."))
            if self._is_of_another(row["owner"]):
                what = "Another running program is following this task"
                raise UserError(
                    ErrorDetails(
                        what, hint="Wait until it has finished, or close the other program."
                    )
                )
            connection.execute("UPDATE tasks SET owner = ? WHERE id = ?", (self._owners.me, saved))

        await self._database.write(work)

    async def note(
        self, saved: SavedTaskId, standing: TaskStanding, *, when: float, is_released: bool = False
    ) -> None:
        """Save a task's state; with `is_released`, release it.

        One that was forgotten meanwhile stays forgotten. `UserError` when the disk refuses.
        """
        owner = None if is_released else self._owners.me

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE tasks SET standing = ?, updated_when = ?, owner = ? WHERE id = ?",
                (as_column(standing), when, owner, saved),
            )

        await self._database.write(work)

    async def forget(
        self,
        tasks: Iterable[SavedTaskId],
        ending: WatchedEnding | None = WatchedEnding.COMPLETED,
        *,
        when: float = 0.0,
    ) -> list[SavedTaskId]:
        """Delete tasks for good; returns those that stay because another program follows them.

        For `ending` and `when` see `ResumeStore.forget`.

        Raises:
            UserError: none of them is deleted.
        """
        wanted = sorted(set(tasks))

        def work(connection: sqlite3.Connection) -> list[SavedTaskId]:
            kept = [each for each in wanted if self._is_of_another(_owner(connection, each))]
            gone = [each for each in wanted if each not in kept]
            watched.end(connection, ending, when, tasks=gone)
            connection.executemany("DELETE FROM tasks WHERE id = ?", [(each,) for each in gone])
            return kept

        return await self._database.write(work, erases=True)

    async def tasks(self) -> list[SavedTask]:
        """All tasks, the oldest first; none while the file cannot be opened.

        One that cannot be read is left out. `UserError` when the disk or SQLite refuses.
        """
        return await self._database.read(self._read) if self._database.is_open else []

    def _read(self, connection: sqlite3.Connection) -> list[SavedTask]:
        if not _has_tasks(connection):
            return []
        found: list[SavedTask] = []
        for *columns, owner in connection.execute("SELECT * FROM tasks ORDER BY id").fetchall():
            with contextlib.suppress(ValueError):
                found.append(read(SavedTask, (*columns, self._is_of_another(owner))))
        return found

    async def _move_in(self) -> None:
        if not self._owners.has_moved_in:
            await self._settle()

    def _is_of_another(self, owner: object) -> bool:
        return owner != self._owners.me and self._owners.lives(owner)


class Times(NamedTuple):
    """When the call of a task was made, and when the task began; wall seconds."""

    started_when: float
    began_when: float


def _add(
    connection: sqlite3.Connection,
    origin: Origin,
    task: str,
    standing: TaskStanding,
    times: Times,
    *,
    is_flat: bool,
    owner: str | None,
) -> SavedTaskId:
    row = (as_column(origin), as_column(task), is_flat, as_column(standing))
    saved: SavedTaskId = connection.execute(
        "INSERT INTO tasks (origin, task, is_flat, standing, started_when, began_when,"
        " updated_when, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (*row, *times, times.began_when, owner),
    ).fetchone()[0]
    return saved


def release(connection: sqlite3.Connection, owners: Iterable[object]) -> None:
    """Let the tasks of programs that are gone, or go now, be nobody's."""
    connection.executemany(
        "UPDATE tasks SET owner = NULL WHERE owner = ?", [(owner,) for owner in owners]
    )


def owners_of_tasks(connection: sqlite3.Connection) -> set[object]:
    """The programs that follow tasks, or did when they ended."""
    found = connection.execute("SELECT DISTINCT owner FROM tasks WHERE owner NOTNULL").fetchall()
    return {row["owner"] for row in found}


def _owner(connection: sqlite3.Connection, saved: SavedTaskId) -> object:
    row = connection.execute("SELECT owner FROM tasks WHERE id = ?", (saved,)).fetchone()
    return None if row is None else row["owner"]


def _has_tasks(connection: sqlite3.Connection) -> bool:
    """True if the file has the table: one that can only be read may be of an older format."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'tasks'").fetchone()
    return found is not None
