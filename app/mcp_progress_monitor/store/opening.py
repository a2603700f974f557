"""Opening a SQLite file: made private, checked, migrated; set aside when damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.looking import Sight, sight_of
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.store.refusals import (
    SQLITE_ERRORS,
    damage,
    is_damage,
    problem_of,
    text_or_bytes,
)
from mcp_progress_monitor.store.rescue import rescue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from filelock import FileLock

BUSY_S: Final = 5.0
"""How long another program's transaction is waited for before the database counts as locked."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""What SQLite calls its files beside a database."""
_MOST_VERSIONS: Final = 1_000
"""No program comes to so many formats: a larger number is damage."""


class Opened(NamedTuple):
    """What came of opening a file.

    `connection` is None when it cannot even be read; `obstacle` says why it cannot be written,
    None when it can; `notice` is for the user although all is well now.
    """

    connection: sqlite3.Connection | None
    obstacle: Problem | None = None
    notice: Problem | None = None


class Opener:
    """Knows where a file lies and what must be true of it."""

    def __init__(self, path: Path, migrations: Sequence[str], what: str) -> None:
        """Open `path`, which holds `what`; each of `migrations` lifts `user_version` by one."""
        self._path = path
        self._migrations = migrations
        self._what = what
        self._cleared: Path | None = None

    def open(self, damage: Exception | None = None) -> Opened:
        """Open the file for writing, else for reading, else not at all; never raises.

        `damage` is what was found while the file in place was used: it is set aside unchecked.
        """
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._clear_away()
            # One program at a time: making, migrating and setting aside bear no company.
            with self._alone():
                return self._opened_or_replaced(damage)
        except (*SQLITE_ERRORS, OSError) as error:
            obstacle = problem_of(error, self._what, self._path)
            return Opened(self._opened_for_reading(), obstacle)

    def _clear_away(self) -> None:
        """Set aside folders, pipes and devices where files belong: opening a pipe would hang."""
        for suffix in ("", *_BESIDE, ".lock"):
            path = self._path.with_name(f"{self._path.name}{suffix}")
            if sight_of(path) in {Sight.FOLDER, Sight.OTHER}:
                aside = _free_name(path)
                path.rename(aside)
                self._cleared = aside

    def _alone(self) -> FileLock:
        from filelock import FileLock  # late: no start waits for it

        # No soft lock where the file system has no real ones: it would outlive its holder.
        path = self._path.with_name(f"{self._path.name}.lock")
        return FileLock(
            path, timeout=BUSY_S, mode=0o600, thread_local=False, fallback_to_soft=False
        )

    def _opened_or_replaced(self, damage: Exception | None) -> Opened:
        if damage is None:
            try:
                return self._opened()._replace(notice=self._cleared_notice())
            except SQLITE_ERRORS as error:
                if not is_damage(error):
                    raise
                damage = error
        aside = self._set_aside()
        opened = self._opened()
        count = 0 if opened.connection is None else rescue(aside, opened.connection)
        begun = "what could be read is in a new file" if count else "a new file was begun"
        notice = Problem(
            f"{self._what} were damaged and set aside; {begun}",
            str(aside),
            "SQLite's own tool can repair a copy of that file (sqlite3 FILE .recover).",
            str(damage),
        )
        return opened._replace(notice=notice)

    def _cleared_notice(self) -> Problem | None:
        """What to say of something else that stood in a file's place; once."""
        aside, self._cleared = self._cleared, None
        if aside is None:
            return None
        what = f"{self._what} need a file where a folder, a pipe or a device was: it was set aside"
        return Problem(what, str(aside), "Look at what it is, and delete it if nobody needs it.")

    def _opened(self) -> Opened:
        self._make_private()
        version = self._checked_version()
        connection = self._connected("mode=rw")
        try:
            if version > len(self._migrations):
                connection.execute("PRAGMA query_only = ON")
                return Opened(connection, self._newer(version))
            self._migrate(connection, version)
        except BaseException:
            connection.close()
            raise
        return Opened(connection)

    def _checked_version(self) -> int:
        """The format of the file, found to be sound as far as we know the format.

        Through a connection that only reads: another one would, when it is closed, write a damaged
        file's journal into it and delete that.
        """
        with contextlib.closing(self._connected("mode=ro")) as connection:
            # The version first: the check takes what only a newer SQLite knows for damage.
            version = _version(connection)
            if not 0 <= version <= _MOST_VERSIONS:
                raise damage(f"there is no format {version}")
            if version <= len(self._migrations):
                _check(connection)
                if _schema(connection) != self._expected_schema(version):
                    raise damage("its tables are not those of its format")
        return version

    def _expected_schema(self, version: int) -> list[tuple[object, ...]]:
        """The schema that a sound file of a format has."""
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            for script in self._migrations[:version]:
                for statement in _statements(script):
                    connection.execute(statement)
            return _schema(connection)

    def _newer(self, version: int) -> Problem:
        return Problem(
            f"{self._what} are those of a newer version of this program (format {version}, "
            f"this one knows {len(self._migrations)}): they can be read but not changed",
            str(self._path),
            "Install the newer version, or choose another folder with --data-dir.",
        )

    def _opened_for_reading(self) -> sqlite3.Connection | None:
        """What cannot be written may still be read: a full disk, a folder without rights.

        SQLite reads a file in WAL mode only where it can make its own files beside it, or is
        promised that nobody writes; which is true when nothing is in its journal: on a full disk
        the attempt to open the file for writing has left an empty one.
        """
        with contextlib.suppress(*SQLITE_ERRORS, OSError):
            if sight_of(self._path) is not Sight.FILE:
                return None  # SQLite would wait for ever at a pipe
            journal = self._path.with_name(f"{self._path.name}-wal")
            has_journal = journal.exists() and journal.stat().st_size > 0
            modes = ["mode=ro"] if has_journal else ["mode=ro", "mode=ro&immutable=1"]
            readable = (self._readable(mode) for mode in modes)
            return next((connection for connection in readable if connection is not None), None)
        return None

    def _readable(self, mode: str) -> sqlite3.Connection | None:
        """A connection to tables that are there, in a format that we know."""
        connection = self._connected(mode)
        with contextlib.suppress(*SQLITE_ERRORS):
            if _version(connection) >= len(self._migrations):
                return connection
        connection.close()
        return None

    def _connected(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?{mode}",
            uri=True,
            timeout=BUSY_S,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        connection.text_factory = text_or_bytes
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted leaves no trace
        return connection

    def _migrate(self, connection: sqlite3.Connection, version: int) -> None:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        # FULL: what is committed survives a power cut, not only the end of this program.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        for number, script in enumerate(self._migrations[version:], start=version + 1):
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")

    def _make_private(self) -> None:
        """Make the file before SQLite does: its journals take over the rights of it."""
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        # The journals have the rights that the file had when they were made. Somebody else's file
        # keeps the rights that its owner gave it.
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(PermissionError, FileNotFoundError):
                self._path.with_name(self._path.name + suffix).chmod(0o600)

    def _set_aside(self) -> Path:
        aside = _free_name(self._path)
        # The journal first: beside a new file SQLite would delete it. Its index can be made again.
        journal = self._path.with_name(f"{self._path.name}-wal")
        if journal.exists() and journal.stat().st_size:
            journal.rename(aside.with_name(f"{aside.name}-wal"))
        self._path.with_name(f"{self._path.name}-shm").unlink(missing_ok=True)
        self._path.rename(aside)
        return aside


def _free_name(path: Path) -> Path:
    """A name beside `path` for what is set aside, with the time; nothing has it yet."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    number, aside = 1, path.with_name(f"{path.name}.damaged-{stamp}")
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    return aside


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _check(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        # It quotes names of the file's tables, which may be bytes of any kind.
        raise damage(verdict if isinstance(verdict, str) else verdict.decode(errors="replace"))


def _schema(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Tables with their columns, and indexes: all that we make, and nothing of SQLite's own."""
    found = connection.execute(
        'SELECT s.type, s.name, s.tbl_name, c.name, c.type, c."notnull", c.dflt_value, c.pk'
        " FROM sqlite_schema AS s LEFT JOIN pragma_table_info(s.name) AS c"
        " WHERE s.name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY s.type, s.name, c.cid"
    ).fetchall()
    return [tuple(row) for row in found]


def _statements(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit behind our back."""
    statements, text = [], ""
    for line in script.splitlines():
        text += line + "\n"
        if sqlite3.complete_statement(text):
            statements.append(text.strip())
            text = ""
    return statements
