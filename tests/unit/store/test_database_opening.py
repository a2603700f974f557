"""A file is made, migrated and checked before use; a damaged one is set aside and never lost."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from mcp_progress_monitor.store.database import DatabaseOpener, Opened

FIRST = """
    CREATE TABLE notes (text TEXT);
    CREATE TABLE others (text TEXT);
"""
SECOND = """
    ALTER TABLE notes ADD COLUMN author TEXT;
    UPDATE notes SET author = 'a; b';
"""
BROKEN = "INSERT INTO no_such_table VALUES (1);"
WHAT = "The notes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a notebook?#.sqlite3"


@contextmanager
def opened(path: Path, *migrations: str) -> Iterator[Opened]:
    result = DatabaseOpener(path, migrations or (FIRST,), WHAT).open()
    yield result
    if result.connection is not None:
        result.connection.close()


def write(path: Path, text: str) -> None:
    with opened(path) as result:
        assert result.connection is not None
        result.connection.execute("INSERT INTO notes VALUES (?)", (text,))


def texts(result: Opened) -> list[str]:
    assert result.connection is not None
    return [row[0] for row in result.connection.execute("SELECT text FROM notes")]


def asides(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.damaged-*"))


def damage(path: Path) -> None:
    """Overwrite the first page of the notes, as a bad disk would."""
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(content)


def test_a_new_file_is_private_and_journalled(path: Path) -> None:
    with opened(path) as result:
        assert (result.obstacle, result.notice) == (None, None)
        assert result.connection is not None
        assert result.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert result.connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert result.connection.execute("PRAGMA user_version").fetchone()[0] == 1


def test_an_older_file_is_migrated_and_keeps_its_contents(path: Path) -> None:
    write(path, "hello")
    with opened(path, FIRST, SECOND) as result:
        assert result.connection is not None
        assert [tuple(row) for row in result.connection.execute("SELECT * FROM notes")] == [
            ("hello", "a; b")
        ]
        assert result.connection.execute("PRAGMA user_version").fetchone()[0] == 2


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    write(path, "hello")
    with opened(path, FIRST, SECOND + BROKEN) as result:
        assert result.connection is None
        assert result.obstacle is not None
        assert "no_such_table" in result.obstacle.detail
    with opened(path, FIRST, SECOND) as result:
        assert texts(result) == ["hello"]


def test_a_newer_file_is_read_and_not_touched(path: Path) -> None:
    write(path, "hello")
    with opened(path, FIRST, SECOND):
        pass
    before = path.read_bytes()
    with opened(path, FIRST) as result:
        assert texts(result) == ["hello"]
        assert result.obstacle is not None
        assert "newer version" in result.obstacle.what
        assert "format 2; this version supports up to 1" in result.obstacle.what
        assert result.obstacle.where == str(path)
        assert result.connection is not None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            result.connection.execute("DELETE FROM notes")
    assert path.read_bytes() == before
    assert asides(path) == []


def test_a_newer_file_that_this_sqlite_cannot_read_is_not_taken_for_damage(path: Path) -> None:
    write(path, "hello")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 2")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = 'CREATE FUTURE notes (text)'")
    with opened(path) as result:
        assert result.obstacle is not None
        assert "newer version" in result.obstacle.what
    assert asides(path) == []


@pytest.mark.parametrize("content", [b"This is no database. " * 400, b"\x00" * 8192])
def test_a_file_of_something_else_is_set_aside_whole(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with opened(path) as result:
        assert texts(result) == []
        assert result.obstacle is None
        (aside,) = asides(path)
        assert aside.read_bytes() == content
        assert result.notice is not None
        assert "set aside" in result.notice.what
        assert result.notice.where == str(aside)
    with opened(path) as result:
        assert result.notice is None
    assert asides(path) == [aside]


def test_a_damaged_file_is_set_aside_with_its_journal(path: Path, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with opened(path) as result:
        assert result.connection is not None
        result.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        result.connection.execute("INSERT INTO others VALUES ('only in the journal')")
        for part in path.parent.glob(f"{path.name}*"):  # as a crash leaves them
            shutil.copy(part, crashed)
    path = crashed / path.name
    damage(path)
    before = {part.name: part.read_bytes() for part in (path, path.with_name(f"{path.name}-wal"))}
    assert b"only in the journal" in before[f"{path.name}-wal"]
    with opened(path) as result:
        assert texts(result) == []
        main, journal = asides(path)
        assert main.read_bytes() == before[path.name]
        assert journal.name == f"{main.name}-wal"
        assert journal.read_bytes() == before[f"{path.name}-wal"]


def test_a_second_damage_does_not_overwrite_what_the_first_left(path: Path) -> None:
    for content in (b"first " * 100, b"second " * 100, b"third " * 100):
        path.write_bytes(content)
        with opened(path) as result:
            assert result.notice is not None
    assert sorted(aside.read_bytes()[:5] for aside in asides(path)) == [
        b"first",
        b"secon",
        b"third",
    ]


def test_a_file_cut_short_is_set_aside(path: Path) -> None:
    write(path, "hello")
    path.write_bytes(path.read_bytes()[:5000])
    with opened(path) as result:
        assert texts(result) == []
        assert len(asides(path)) == 1


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal", "-shm", ".lock"])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_no_folder_or_pipe_in_the_place_of_a_file_is_waited_for(
    path: Path, suffix: str, kind: str
) -> None:
    place = path.with_name(f"{path.name}{suffix}")
    if kind == "folder":
        place.mkdir()
        (place / "kept").touch()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(place)
    else:
        pytest.skip("Windows has no such pipes")
    with opened(path) as result:
        assert texts(result) == []
        assert result.obstacle is None
        assert result.notice is not None
        (aside,) = path.parent.glob(f"{place.name}.damaged-*")
        assert result.notice.where == str(aside)
    assert aside.is_fifo() if kind == "pipe" else (aside / "kept").exists()
    with opened(path) as result:
        assert result.notice is None


def test_a_file_with_other_tables_is_set_aside_and_read(path: Path) -> None:
    write(path, "hello")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE others")
    with opened(path) as result:
        assert texts(result) == ["hello"]
        assert result.notice is not None
        assert "what could be recovered is in a new file" in result.notice.what
    assert len(asides(path)) == 1


@pytest.mark.parametrize("version", [0, -1, 1_000_000])
def test_a_format_that_cannot_be_is_damage(path: Path, version: int) -> None:
    write(path, "hello")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {version}")
    with opened(path) as result:
        assert texts(result) == ["hello"]
        assert result.obstacle is None
        assert len(asides(path)) == 1


def test_damage_with_a_name_that_is_no_text_is_set_aside(path: Path) -> None:
    write(path, "hello")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE notes", b"CREATE TABLE n\xff\xfees"))
    with opened(path) as result:
        assert texts(result) == []
        assert result.obstacle is None
        assert len(asides(path)) == 1


def test_a_missing_folder_is_made_and_private(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "notes.sqlite3"
    with opened(path) as result:
        assert texts(result) == []
    if os.name == "posix":
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_in_place_of_the_folder_is_an_obstacle(path: Path) -> None:
    path.touch()
    with opened(path / "deeper") as result:
        assert result.connection is None
        assert result.obstacle is not None


def test_one_program_opens_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, "hello")
    monkeypatch.setattr("mcp_progress_monitor.store.database.BUSY_S", 0.05)
    with FileLock(path.with_name(f"{path.name}.lock")), opened(path) as result:
        assert texts(result) == ["hello"]
        assert result.obstacle is not None
        assert "another program has locked them" in result.obstacle.what


def test_a_file_that_was_never_made_ready_has_nothing_to_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    monkeypatch.setattr("mcp_progress_monitor.store.database.BUSY_S", 0.05)
    with FileLock(path.with_name(f"{path.name}.lock")), opened(path) as result:
        assert result.connection is None
        assert result.obstacle is not None


@pytest.mark.skipif(sys.platform != "linux", reason="SQLite takes its room otherwise there")
def test_a_full_disk_is_reported_and_hides_nothing(path: Path) -> None:
    write(path, "hello")
    with no_room(), opened(path) as result:
        assert path.with_name(f"{path.name}-wal").stat().st_size == 0
        assert texts(result) == ["hello"]
        assert result.obstacle is not None
        assert "the disk is full" in result.obstacle.what


@contextmanager
def no_room() -> Iterator[None]:
    """A limit to the size of files: what SQLite needs beside the file does not fit any more."""
    import resource  # here and not above: Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
