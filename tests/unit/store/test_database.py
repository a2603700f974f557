"""Faults of disks and of other programs: said as text, nothing half done, gone when they are."""

import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.database import Database
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from tests.unit.store.samples import STANDING, begun, contents, opened, query, the_chain


class Disk:
    """A disk with room for so many pages: SQLite's own limit, laid on every connection."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pages = 2**30
        self._connections: list[sqlite3.Connection] = []
        self._connect: Callable[..., sqlite3.Connection] = sqlite3.connect
        monkeypatch.setattr("mcp_progress_monitor.store.database.sqlite3.connect", self.connect)

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = self._connect(*arguments, **options)
        self._limit(connection)
        self._connections.append(connection)
        return connection

    def has_room_for(self, pages: int) -> None:
        self._pages = pages
        for connection in self._connections:
            try:
                self._limit(connection)
            except sqlite3.ProgrammingError:  # closed
                continue

    def _limit(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {self._pages}").fetchone()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for locks of other programs hardly at all."""
    monkeypatch.setattr("mcp_progress_monitor.store.database.BUSY_S", 0.02)
    monkeypatch.setattr("mcp_progress_monitor.store.database.BUSY_S", 0.02)


async def test_a_full_disk_is_reported_and_changes_nothing(data_dir: Path, disk: Disk) -> None:
    async with opened(data_dir) as store:
        chain_id = await begun(store, "t1")
        await store.start_attempt(chain_id, when=200.0)
        disk.has_room_for(1)
        with pytest.raises(UserError) as caught:
            await store.advance(chain_id, "t" * 100_000, STANDING, when=201.0)
        assert "the disk is full" in caught.value.details.what
        assert caught.value.details.where == str(data_dir / FILE)
        assert "Free some space" in caught.value.details.hint
        chain = await the_chain(store)
        assert (chain.token, chain.updated_when) == ("t1", 200.0)
        with pytest.raises(UserError, match="the disk is full"):
            await begun(store, "t" * 100_000)


async def test_a_disk_with_room_again_needs_no_restart(data_dir: Path, disk: Disk) -> None:
    async with opened(data_dir) as store:
        chain_id = await begun(store, "t1")
        await store.start_attempt(chain_id, when=200.0)
        disk.has_room_for(1)
        with pytest.raises(UserError):
            await store.advance(chain_id, "t" * 100_000, STANDING, when=201.0)
        disk.has_room_for(1000)
        assert (await store.start_attempt(chain_id, when=202.0)).token == "t1"
        await store.advance(chain_id, "t2", STANDING, when=203.0)
        assert (await the_chain(store)).token == "t2"


async def test_a_disk_that_is_full_from_the_start_lets_one_read(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(data_dir) as store:
        await begun(store, "t1")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("mcp_progress_monitor.store.database.DatabaseOpener._migrate", full)
        store = ResumeStore(data_dir)
        await store.open()
        assert store.error is not None
        assert (await the_chain(store)).token == "t1"
        with pytest.raises(UserError, match="cannot be used"):
            await begun(store, "t2")
    await begun(store, "t2")
    assert [store.error, store.is_writable] == [None, True]
    await store.close()


async def test_a_folder_that_cannot_be_written_is_read(unprivileged_dir: Path) -> None:
    folder = unprivileged_dir
    async with opened(folder) as store:
        await begun(store, "t1")
    folder.chmod(0o500)
    (folder / FILE).chmod(0o400)
    before = contents(folder)
    async with opened(folder) as store:
        assert store.error is not None
        assert store.is_readable
        assert "permission denied" in store.error.what
        assert "permissions" in store.error.hint
        assert (await the_chain(store)).token == "t1"
        with pytest.raises(UserError, match="permission denied"):
            await begun(store)
    assert contents(folder) == before


async def test_a_file_that_cannot_be_written_is_read(unprivileged_dir: Path) -> None:
    folder = unprivileged_dir
    async with opened(folder) as store:
        await begun(store, "t1")
    (folder / FILE).chmod(0o400)
    async with opened(folder) as store:
        assert (await the_chain(store)).token == "t1"
        with pytest.raises(UserError, match="permission denied"):
            await begun(store)
        (folder / FILE).chmod(0o600)
        await begun(store, "t2")
        assert [chain.token for chain in await store.chains()] == ["t1", "t2"]


async def test_a_folder_that_cannot_be_entered_has_no_chains(unprivileged_dir: Path) -> None:
    folder = unprivileged_dir
    async with opened(folder) as store:
        await begun(store, "t1")
    folder.chmod(0o000)
    async with opened(folder) as store:
        assert store.error is not None
        assert not store.is_readable
        assert await store.chains() == []
        assert await store.attempts(1) == []
        with pytest.raises(UserError):
            await begun(store)
        folder.chmod(0o700)
        assert await begun(store, "t2")
        assert len(await store.chains()) == 2


@pytest.mark.usefixtures("impatient")
async def test_a_locked_file_is_reported_and_changes_nothing(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        with closing(sqlite3.connect(data_dir / FILE)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(UserError) as caught:
                await begun(store)
            assert "another program has locked them" in caught.value.details.what
            assert await store.chains() == []
        await begun(store)
        assert len(await store.chains()) == 1


@pytest.mark.usefixtures("impatient")
async def test_a_file_locked_from_the_start_is_opened_later(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, "t1")
    with closing(sqlite3.connect(data_dir / FILE)) as other:
        other.execute("BEGIN IMMEDIATE")
        store = ResumeStore(data_dir)
        await store.open()
        assert store.error is not None
        assert "locked" in store.error.what
        assert (await the_chain(store)).token == "t1"
        other.execute("ROLLBACK")
    await begun(store, "t2")
    assert [store.error, store.is_writable] == [None, True]
    await store.close()


async def test_the_loop_runs_while_a_lock_is_waited_for(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        turns = 0
        with closing(sqlite3.connect(data_dir / FILE)) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(begun, store)
                for turns in range(1, 21):  # noqa: B007  # counted below
                    await anyio.lowlevel.checkpoint()
                assert query(data_dir, "SELECT count(*) FROM chains") == [(0,)]
                other.execute("ROLLBACK")
        assert turns == 20
        assert len(await store.chains()) == 1


async def test_a_damaged_file_is_set_aside_and_the_user_told_where(data_dir: Path) -> None:
    (data_dir / FILE).write_bytes(b"no database " * 1000)
    async with opened(data_dir) as store:
        assert store.error is not None
        assert "The saved resume tokens were damaged and set aside" in store.error.what
        aside = data_dir / store.error.where
        assert aside.read_bytes() == b"no database " * 1000
        await begun(store)
        assert store.is_writable
    async with opened(data_dir) as store:
        assert store.error is None
        assert len(await store.chains()) == 1


async def test_damage_that_shows_while_running_sets_the_file_aside(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        for number in range(200):
            await begun(store, f"{number} {'x' * 500}")
        with closing(sqlite3.connect(data_dir / FILE)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        content = bytearray((data_dir / FILE).read_bytes())
        content[8192:] = b"\xff" * (len(content) - 8192)
        (data_dir / FILE).write_bytes(content)
        assert await store.chains() == []
        assert store.error is not None
        assert "set aside" in store.error.what
        await begun(store)
    assert len([name for name in contents(data_dir) if "damaged" in name]) == 1
    async with opened(data_dir) as store:
        assert store.error is None
        assert len(await store.chains()) == 1


async def test_several_that_find_damage_set_it_aside_once(data_dir: Path) -> None:
    (data_dir / FILE).write_bytes(b"no database " * 1000)
    stores = [ResumeStore(data_dir) for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(store.open)
    assert len([name for name in contents(data_dir) if "damaged" in name]) == 1
    assert len([store for store in stores if store.error]) == 1
    for number, store in enumerate(stores):
        await begun(store, f"t{number}")
    for store in stores:
        assert len(await store.chains()) == 6
        await store.close()


async def test_several_may_make_the_file_at_once(data_dir: Path) -> None:
    stores = [ResumeStore(data_dir) for _ in range(8)]
    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(store.open)
    assert [store.error for store in stores] == [None] * 8
    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(begun, store)
    assert len(await stores[0].chains()) == 8
    for store in stores:
        await store.close()


async def test_a_newer_file_is_shown_and_not_changed(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, "t1")
    query(data_dir, "PRAGMA user_version = 99")
    before = contents(data_dir)[FILE]
    async with opened(data_dir) as store:
        assert store.error is not None
        assert "newer version" in store.error.what
        assert (await the_chain(store)).token == "t1"
        for _ in range(2):
            with pytest.raises(UserError, match="newer version"):
                await begun(store)
    assert contents(data_dir)[FILE] == before


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
async def test_a_file_deleted_meanwhile_takes_no_token_with_it(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await begun(store, "lost with the file, by whoever deleted it")
        for name in contents(data_dir):
            (data_dir / name).unlink()
        await begun(store, "saved")
        assert query(data_dir, "SELECT token FROM tokens") == [('"saved"',)]


async def test_work_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    database = Database(tmp_path / "n.sqlite3", ("CREATE TABLE n (x);",), "The notes")
    await database.open()

    def fails(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO n VALUES (1)")
        raise LookupError("a slip")

    with pytest.raises(LookupError):
        await database.write(fails)
    with pytest.raises(UserError, match="no such table"):
        await database.write(_into_nowhere)
    assert await database.read(_count) == 0
    await database.close()


async def test_work_is_done_one_at_a_time_and_off_the_loop(tmp_path: Path) -> None:
    database = Database(tmp_path / "n.sqlite3", ("CREATE TABLE n (x);",), "The notes")
    await database.open()
    running, most = 0, 0
    threads: set[int] = set()

    def work(connection: sqlite3.Connection) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.get_ident())
        connection.execute("INSERT INTO n VALUES (1)")
        running -= 1

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(database.write, work)
    assert await database.read(_count) == 20
    assert most == 1
    assert threading.get_ident() not in threads
    await database.close()


def _count(connection: sqlite3.Connection) -> int:
    count: int = connection.execute("SELECT count(*) FROM n").fetchone()[0]
    return count


def _into_nowhere(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO n VALUES (1)")
    connection.execute("INSERT INTO nowhere VALUES (1)")
