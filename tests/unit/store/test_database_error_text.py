"""What SQLite or the system refuses is reported with a way out."""

import errno
import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_progress_monitor.store.database import damage, error_of, is_damage


def _sqlite(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("SQLite's own words")
    error.sqlite_errorcode = code
    return error


def _system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (_sqlite(sqlite3.SQLITE_FULL), "the disk is full"),
        (_system(errno.ENOSPC), "the disk is full"),
        (_sqlite(sqlite3.SQLITE_IOERR_SHMSIZE), "the disk is full"),
        (_sqlite(sqlite3.SQLITE_BUSY), "another program has locked them"),
        (_sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), "another program has locked them"),
        (TimeoutError(), "another program has locked them"),
        (_sqlite(sqlite3.SQLITE_READONLY_DBMOVED), "permission denied"),
        (_system(errno.EACCES), "permission denied"),
        (_system(errno.EROFS), "permission denied"),
        (_sqlite(sqlite3.SQLITE_CANTOPEN), "cannot open the file"),
        (_sqlite(sqlite3.SQLITE_IOERR_FSYNC), "the disk reported an error"),
        (_sqlite(sqlite3.SQLITE_CORRUPT_INDEX), "the file is damaged"),
        (_system(errno.ENOSYS), "does not support locks"),
        (sqlite3.ProgrammingError("no code"), "unusable"),
    ],
)
def test_each_refusal_has_its_text(error: sqlite3.Error | OSError, text: str) -> None:
    details = error_of(error, "The notes", Path("/somewhere/notes"))
    assert details.what.startswith("The notes cannot be used: ")
    assert text in details.what
    assert details.where == str(Path("/somewhere/notes"))
    assert details.hint
    assert details.detail == str(error)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (sqlite3.SQLITE_IOERR_WRITE, "the disk is full"),
        (sqlite3.SQLITE_CANTOPEN, "the disk is full"),
        (sqlite3.SQLITE_READONLY, "permission denied"),
    ],
)
def test_a_disk_without_room_is_full_whatever_sqlite_says_of_it(
    code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=0))
    assert text in error_of(_sqlite(code), "The notes", tmp_path / "notes").what


def test_only_a_bad_file_is_damage() -> None:
    assert is_damage(_sqlite(sqlite3.SQLITE_CORRUPT_VTAB))
    assert is_damage(_sqlite(sqlite3.SQLITE_NOTADB))
    assert is_damage(damage("a page is missing"))
    assert not is_damage(_sqlite(sqlite3.SQLITE_BUSY))
    assert not is_damage(_sqlite(sqlite3.SQLITE_FULL))
    assert not is_damage(OSError(errno.EIO, "I/O"))
    assert not is_damage(sqlite3.DatabaseError("no code"))
