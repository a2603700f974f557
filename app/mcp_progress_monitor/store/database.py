"""One SQLite file, used off the event loop: private, checked, migrated, rescued when damaged.

What was written is on disk before the caller continues. Several programs may share the file; each
is an owner, known by a lock while it runs.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import sqlite3
import time
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import anyio
import anyio.to_thread

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from filelock import FileLock

SQLITE_ERRORS: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: its messages may quote bytes of a damaged file that are not UTF-8."""


class _ErrorText(NamedTuple):
    why: str
    hint: str


_ELSEWHERE: Final = "or choose another folder with --data-dir."
_FULL: Final = _ErrorText("the disk is full", f"Free some space, {_ELSEWHERE}")
_LOCKED: Final = _ErrorText(
    "another program has locked them", f"Close the other program and try again, {_ELSEWHERE}"
)
_FORBIDDEN: Final = _ErrorText(
    "permission denied", f"Check the permissions of the file and its folder, {_ELSEWHERE}"
)
_FAULTY: Final = _ErrorText("the disk reported an error", f"Check the disk, {_ELSEWHERE}")
_UNOPENED: Final = _ErrorText(
    "cannot open the file", f"Check the permissions of its folder, {_ELSEWHERE}"
)
_OTHER: Final = _ErrorText("the file is unusable", f"Try again, {_ELSEWHERE}")

_BY_SQLITE_CODE: Final = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_IOERR: _FAULTY,
    sqlite3.SQLITE_CANTOPEN: _UNOPENED,
    sqlite3.SQLITE_CORRUPT: _ErrorText(
        "the file is damaged",
        "Restart the program: it sets the damaged file aside and creates a new one.",
    ),
    sqlite3.SQLITE_NOTADB: _ErrorText(
        "the file is not a database",
        "Restart the program: it sets the file aside and creates a new one.",
    ),
}
_MAYBE_FULL: Final = frozenset({_FAULTY, _UNOPENED})
"""What SQLite says of a full disk, too: its files beside the database have no room."""
_ROOM_BYTES: Final = 4096  # a disk with less free space than a page counts as full
_BY_ERRNO: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EIO: _FAULTY,
    errno.ENOSYS: _ErrorText(
        "the file system does not support locks", "Choose a folder on a local disk with --data-dir."
    ),
    errno.ENOENT: _ErrorText("its folder no longer exists", f"Restart the program, {_ELSEWHERE}"),
}


def text_or_bytes(raw: bytes) -> str | bytes:
    """For `text_factory`: text that is not UTF-8, as in a damaged file, stays bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def error_of(
    error: sqlite3.Error | UnicodeDecodeError | OSError, what: str, path: Path
) -> ErrorDetails:
    """Say why `what` ("The saved resume tokens"), kept in `path`, cannot be read or written."""
    found = _text_of(error)
    if found in _MAYBE_FULL and _is_full(path):
        found = _FULL
    return ErrorDetails(f"{what} cannot be used: {found.why}", str(path), found.hint, str(error))


def is_damage(error: BaseException) -> bool:
    """Return whether the file itself is bad, as opposed to locked, full or out of reach."""
    if isinstance(error, UnicodeDecodeError):
        return True
    return _sqlite_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def damage(what: str) -> sqlite3.DatabaseError:
    """Make the error for damage that SQLite found only when asked to look for it."""
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _text_of(error: sqlite3.Error | UnicodeDecodeError | OSError) -> _ErrorText:
    if isinstance(error, UnicodeDecodeError):
        return _BY_SQLITE_CODE[sqlite3.SQLITE_CORRUPT]
    if isinstance(error, TimeoutError):
        return _LOCKED
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, _OTHER)
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return _FULL  # the index beside the journal could not be made as large as it must be
    return _BY_SQLITE_CODE.get(_sqlite_code(error), _OTHER)


def _is_full(path: Path) -> bool:
    import shutil  # seldom needed

    with contextlib.suppress(OSError):
        return shutil.disk_usage(path.parent).free < _ROOM_BYTES
    return False


def _sqlite_code(error: BaseException) -> int:
    """The primary result code; errors of Python's own binding have none (0)."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def rescue(damaged: Path, target: sqlite3.Connection) -> int:
    """Insert the rows of `damaged` that can be read into the same tables of `target`.

    Returns how many there were. Rows that break a constraint are left out, and nothing is raised
    for what the damage does. Whether a row makes sense is for its reader to judge.
    """
    count = 0
    with contextlib.suppress(*SQLITE_ERRORS):
        target.execute("BEGIN IMMEDIATE")
        with contextlib.closing(_opened(damaged)) as source:
            # Parents were created before what refers to them.
            tables = target.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
                " AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid"
            ).fetchall()
            for (name,) in tables:
                count += _copied(source, target, name)
        target.execute("COMMIT")
    if target.in_transaction:
        target.execute("ROLLBACK")
        count = 0
    damaged.with_name(f"{damaged.name}-shm").unlink(missing_ok=True)
    return count


def _opened(damaged: Path) -> sqlite3.Connection:
    """A connection that changes nothing: any other would write the journal into the file."""
    journal = damaged.with_name(f"{damaged.name}-wal")
    mode = "mode=ro" if journal.exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{damaged.as_uri()}?{mode}", uri=True, isolation_level=None)
    connection.text_factory = text_or_bytes
    return connection


def _copied(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> int:
    found = target.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    names = ", ".join(f'"{name}"' for (name,) in found)
    marks = ", ".join("?" for _ in found)
    insert = f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 - our own names
    select = f'SELECT {names} FROM "{table}" ORDER BY 1'  # noqa: S608 - our own names
    before = target.total_changes
    try:
        _insert(source.execute(select), target, insert)
    except SQLITE_ERRORS:  # a damaged page: what is behind it is reached from the other end
        with contextlib.suppress(*SQLITE_ERRORS):
            _insert(source.execute(f"{select} DESC"), target, insert)
    return target.total_changes - before


def _insert(rows: Iterable[tuple[object, ...]], target: sqlite3.Connection, insert: str) -> None:
    for row in rows:
        with contextlib.suppress(*SQLITE_ERRORS):
            target.execute(insert, row)


BUSY_S: Final = 5.0
"""How long another program's transaction is waited for before the database counts as locked."""
_BESIDE: Final = ("-wal", "-shm", "-journal")  # what SQLite calls its files beside a database
_MOST_VERSIONS: Final = 1_000  # no program comes to so many formats: a larger number is damage


class Opened(NamedTuple):
    """Outcome of opening a file.

    `connection` is None when it cannot even be read; `obstacle` says why it cannot be written,
    None when it can; `notice` is for the user although all is well now.
    """

    connection: sqlite3.Connection | None
    obstacle: ErrorDetails | None = None
    notice: ErrorDetails | None = None


class DatabaseOpener:
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
            private_file.make_folder(self._path.parent)
            self._clear_away()
            # One program at a time: making, migrating and setting aside bear no company.
            with self._alone():
                return self._opened_or_replaced(damage)
        except (*SQLITE_ERRORS, OSError) as error:
            obstacle = error_of(error, self._what, self._path)
            return Opened(self.open_for_reading(), obstacle)

    def _clear_away(self) -> None:
        """Set aside folders, pipes and devices where files belong: opening a pipe would hang."""
        for suffix in ("", *_BESIDE, ".lock"):
            path = self._path.with_name(f"{self._path.name}{suffix}")
            if path_kind(path) in {PathKind.FOLDER, PathKind.OTHER}:
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
        begun = "what could be recovered is in a new file" if count else "a new file was created"
        notice = ErrorDetails(
            f"{self._what} were damaged and set aside; {begun}",
            str(aside),
            "To recover more, run SQLite's own tool on a copy of that file (sqlite3 FILE "
            ".recover).",
            str(damage),
        )
        return opened._replace(notice=notice)

    def _cleared_notice(self) -> ErrorDetails | None:
        """Report something else that stood in a file's place; once."""
        aside, self._cleared = self._cleared, None
        if aside is None:
            return None
        what = (
            f"{self._what} are saved in a file, but its path was a folder, a pipe or a device, "
            "which was moved aside"
        )
        return ErrorDetails(
            what, str(aside), "Check what it is, and delete it if it is not needed."
        )

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
                raise damage(f"unknown format {version}")
            if version <= len(self._migrations):
                _check(connection)
                if _schema(connection) != self._expected_schema(version):
                    raise damage("its tables do not match its format")
        return version

    def _expected_schema(self, version: int) -> list[tuple[object, ...]]:
        with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            for script in self._migrations[:version]:
                for statement in _statements(script):
                    connection.execute(statement)
            return _schema(connection)

    def _newer(self, version: int) -> ErrorDetails:
        return ErrorDetails(
            f"{self._what} were saved by a newer version of this program (format {version}; this "
            f"version supports up to {len(self._migrations)}) and are read-only",
            str(self._path),
            "Install the newer version, or choose another folder with --data-dir.",
        )

    def open_for_reading(self, *, is_quiet: bool = False) -> sqlite3.Connection | None:
        """Open for reading what cannot be written: a full disk, a folder without rights.

        With `is_quiet`, no file is made beside one that no other program has open.

        SQLite reads a file in WAL mode only where it can make its own files beside it, or is
        promised that nobody writes; which is true when nothing is in its journal: on a full disk
        the attempt to open the file for writing has left an empty one.
        """
        with contextlib.suppress(*SQLITE_ERRORS, OSError):
            if path_kind(self._path) is not PathKind.FILE:
                return None  # SQLite would wait for ever at a pipe
            journal = self._path.with_name(f"{self._path.name}-wal")
            has_journal = journal.exists() and journal.stat().st_size > 0
            modes = ["mode=ro"] if has_journal else ["mode=ro", "mode=ro&immutable=1"]
            if is_quiet and not journal.exists():
                modes.reverse()
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
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number, aside = 1, path.with_name(f"{path.name}.damaged-{stamp}")
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    return aside


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _check(connection: sqlite3.Connection) -> None:
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        # It quotes names of the file's tables, which may be bytes of any kind.
        raise damage(result if isinstance(result, str) else result.decode(errors="replace"))


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


_NAME: Final = re.compile(r"[0-9a-f]{32}")
_LOOK_S: Final = 0.005
"""Longer than another program holds a lock that it only tries, shorter than anyone would notice."""


class Owners:
    """Running programs by name, each with a lock on a file of its own.

    The system lets go of a lock however its holder ends, `kill -9` included; process ids would be
    given out again. To move in or to sweep while another program does either is not safe: do it
    under a lock that all of them share (here, a write transaction).
    """

    def __init__(self, folder: Path) -> None:
        """Keep the locks in `folder`, which is made when the first program moves in."""
        self._folder = folder
        self._lock: FileLock | None = None
        self.me: Final = os.urandom(16).hex()
        """The name of this program, for as long as this object lives."""

    @property
    def has_moved_in(self) -> bool:
        with contextlib.suppress(OSError):
            return self._lock is not None and self._path(self.me).exists()
        return False

    def move_in(self) -> None:
        """Let other programs know that this one runs; done again, it is repaired if need be.

        Raises:
            UserError: the lock cannot be made.
        """
        if self.has_moved_in:
            return
        try:
            private_file.make_folder(self._folder)
            lock = self._lock_of(self.me)
            lock.acquire(blocking=False)
        except OSError as error:  # a Timeout is one
            raise UserError(self._details(error)) from error
        self._lock = lock

    def move_out(self) -> None:
        if self._lock is not None:
            lock, self._lock = self._lock, None
            with contextlib.suppress(OSError):
                lock.release()
                self._path(self.me).unlink(missing_ok=True)

    def lives(self, owner: object) -> bool:
        """True if the program of that name runs. In doubt it does: two at once would be worse.

        What a damaged file has in place of a name is nobody's.
        """
        if not isinstance(owner, str) or not _NAME.fullmatch(owner):
            return False
        if owner == self.me:
            return True
        lock = self._lock_of(owner)
        try:
            if not self._path(owner).exists():
                return False
            lock.acquire(timeout=_LOOK_S, poll_interval=_LOOK_S / 5)
        except OSError:
            return True
        lock.release()
        return False

    def sweep(self) -> None:
        """Delete the locks of programs that ended without moving out."""
        for path in self._folder.glob("*.lock"):
            if not self.lives(path.stem):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _path(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"

    def _lock_of(self, owner: str) -> FileLock:
        from filelock import FileLock  # late: no start waits for it

        # No soft locks: they outlive their holder. Not by thread: workers come and go.
        return FileLock(self._path(owner), mode=0o600, thread_local=False, fallback_to_soft=False)

    def _details(self, error: OSError) -> ErrorDetails:
        from filelock import Timeout

        return ErrorDetails(
            "Cannot keep this program's resumable jobs separate from those of other running "
            "programs",
            str(self._folder),
            "Check the folder's permissions, or choose another one with --data-dir.",
            "another program holds the lock" if isinstance(error, Timeout) else str(error),
        )


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
        self.error: ErrorDetails | None = None
        """What was wrong when the file was last opened; the program goes on."""
        self._what = what
        self._opener = DatabaseOpener(path, migrations, what)
        self._connection: sqlite3.Connection | None = None
        self._obstacle: ErrorDetails | None = None
        self._identity: tuple[int, int] | None = None
        self._is_closed = False
        self._turn = anyio.CapacityLimiter(1)

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    @property
    def is_writable(self) -> bool:
        return self.is_open and self._obstacle is None

    async def open(self) -> None:
        """Open the file, making or migrating it; else `error` says why it stays shut."""
        await anyio.to_thread.run_sync(self._open, limiter=self._turn)

    async def open_for_reading(self) -> None:
        """Open a file that is there, without writing to it or beside it."""
        open_it = functools.partial(self._opener.open_for_reading, is_quiet=True)
        self._connection = await anyio.to_thread.run_sync(open_it, limiter=self._turn)
        self._obstacle = self._shut()

    async def close(self) -> None:
        """Close the file; what is asked of it after that raises."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, limiter=self._turn)

    async def read(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Run `work` in a transaction of its own.

        Raises:
            UserError: the file is not open, or the disk or SQLite refuses.
        """
        return await anyio.to_thread.run_sync(self._read, work, limiter=self._turn)

    async def write(
        self, work: Callable[[sqlite3.Connection], _Result], *, erases: bool = False
    ) -> _Result:
        """Run `work` in one transaction, committed when this returns; all or nothing.

        Shielded from cancellation: nobody is left in doubt of what is on disk. With `erases`, what
        `work` deleted leaves the journal, too, unless another program is reading just then.

        Raises:
            UserError: the disk, SQLite or another program is in the way; nothing was changed.
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
            raise UserError(self._shut())
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
            raise UserError(error_of(error, self._what, self.path)) from error

    def _is_replaced(self, error: Exception) -> bool:
        """True if an error showed damage, and a new file is open in place of the damaged one."""
        if not (is_damage(error) and self.is_writable):
            return False
        self._open(error if self._is_in_place() else None)
        return self.is_writable

    def _transacted(self, begin: str, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        connection = self._connection
        if connection is None:
            raise UserError(self._shut())
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

    def _shut(self) -> ErrorDetails:
        closed = ErrorDetails(f"{self._what} are closed", str(self.path), "Restart the program.")
        return closed if self._is_closed else self._obstacle or closed

    def _open(self, damage: Exception | None = None) -> None:
        self._drop_connection()
        self._connection, self._obstacle, notice = self._opener.open(damage)
        self._identity = self._found()
        self.error = self._obstacle or notice

    def _close(self) -> None:
        self._is_closed = True
        self._drop_connection()

    def _drop_connection(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _is_in_place(self) -> bool:
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
