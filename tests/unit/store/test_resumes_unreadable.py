"""Damaged stores: whatever a disk has done to the file, it opens and is listed and written."""

import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.calls.saved_jobs import SavedJobs, document, listing
from mcp_progress_monitor.store.chains import SavedOutcome
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.store.tasks import TaskStanding, Times
from tests.unit.store.samples import ORIGIN, STANDING, begun, opened, query

_PAGE = 4096


async def _filled(folder: Path) -> Path:
    """A folder with a store of chains and tasks, some of them in its journal."""
    source = folder / "source"
    source.mkdir()
    crashed = folder / "crashed"
    store = ResumeStore(source)
    await store.open()
    for number in range(20):
        chain = await begun(store, f"token {number} {'x' * 300}")
        await store.start_attempt(chain, when=106.0)
        if number % 2:
            await store.stop(chain, SavedOutcome.LOST, "gone", STANDING, when=107.0)
        await store.tasks.begin(
            ORIGIN, f"task {number}", TaskStanding("working"), is_flat=False, times=Times(1.0, 2.0)
        )
        if number == 15:
            with closing(sqlite3.connect(source / FILE)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(source, crashed)  # as `kill -9` leaves it
    await store.close()
    return crashed


def _damage(content: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, pages swapped, emptied or cut off, or a value of another type."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5, 50))):
        place = chance.randrange(max(len(made), 1))
        page = slice(place // _PAGE * _PAGE, place // _PAGE * _PAGE + _PAGE)
        match chance.randrange(8):
            case 0:
                made[page] = bytes(len(made[page]))
            case 1:
                made[page] = chance.randbytes(len(made[page]))
            case 2:
                del made[place:]
            case 3:
                made[place : place + 40] = chance.randbytes(len(made[place : place + 40]))
            case 4:
                made[min(place, 100) : min(place, 100) + 1] = chance.randbytes(1)
            case _:
                made[place : place + 1] = chance.randbytes(len(made[place : place + 1]))
    return bytes(made)


_COLUMNS = [
    *(("chains", name) for name in ("owner", "origin", "standing", "reason", "created_when")),
    *(("chains", name) for name in ("is_usable", "updated_when")),
    *(("tokens", name) for name in ("token", "received_when")),
    *(("attempts", name) for name in ("outcome", "detail", "started_when", "ended_when")),
    *(("tasks", name) for name in ("owner", "origin", "task", "standing", "began_when")),
]
_IDS = {*range(1, 21)}
_VALUES = [
    b"\xff\xfe",
    "\x00",
    "[]",
    '"half \\ud83d"',
    "NaN",
    "1e999",
    "[" * 5000,
    -1,
    2**62,
    1e308,
    float("inf"),
    '[["a"],1]',
    '{"a":1}',
    "text",
]


async def _uses(folder: Path, every: int = 1) -> None:
    """Open a store as every start does, list all there is, save a job, and read that again.

    One in `every` chains that can be resumed is.
    """
    async with opened(folder) as store:
        chains, tasks = await store.chains(), await store.tasks.tasks()
        saved = SavedJobs(chains, tasks)
        now = time.time()
        assert document(saved, store.error, now)
        assert listing(saved, now) or not (chains or tasks)
        for chain in chains:
            await store.attempts(chain.id)
        if store.error is not None and "newer version" in store.error.what:
            return
        assert store.is_writable
        mine = await begun(store, "after the damage")
        usable = [each for each in chains if each.is_usable and not each.is_elsewhere]
        for chain in usable[::every]:
            await store.start_attempt(chain.id, when=200.0)
            await store.stop(chain.id, SavedOutcome.LOST, "", STANDING, when=201.0)
        await store.forget([chain.id for chain in chains])
        await store.tasks.forget([task.id for task in tasks])
        found = {chain.id: chain.token for chain in await store.chains()}
        assert found[mine] == "after the damage"


async def _use_damaged(tmp_path: Path, count: int, every: int = 1) -> None:
    """Use so many stores, each damaged by its own seed."""
    crashed = await _filled(tmp_path)
    for seed in range(count):
        chance = random.Random(seed)  # noqa: S311 - the same each time
        folder = tmp_path / str(seed)
        shutil.copytree(crashed, folder)
        for name in (FILE, *((f"{FILE}-wal",) if chance.randrange(3) == 0 else ())):
            path = folder / name
            path.write_bytes(_damage(path.read_bytes(), chance))
        await _uses(folder, every)
        shutil.rmtree(folder)


async def test_damaged_stores_open_and_are_used(tmp_path: Path) -> None:
    await _use_damaged(tmp_path, 15, every=5)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
async def test_a_thousand_damaged_stores_open_and_are_used(tmp_path: Path) -> None:
    await _use_damaged(tmp_path, 1_000)


async def test_a_value_of_any_kind_in_a_column_keeps_no_other_job_away(tmp_path: Path) -> None:
    folder = await _filled(tmp_path)
    # Each column is damaged in a job of its own.
    damaged: dict[str, set[int]] = {"chain": set(), "task": set()}
    for number, (table, _) in enumerate(_COLUMNS, 1):
        damaged["task" if table == "tasks" else "chain"].add(number)
    for value in _VALUES:
        for number, (table, column) in enumerate(_COLUMNS, 1):
            key = "id" if table in {"chains", "tasks"} else "chain"
            sql = f"UPDATE {table} SET {column} = ? WHERE {key} = ? RETURNING 1"  # noqa: S608
            assert query(folder, sql, value, number), (table, column)
        async with opened(folder) as store:
            chains, tasks = await store.chains(), await store.tasks.tasks()
            assert {chain.id for chain in chains} >= _IDS - damaged["chain"], value
            assert {task.id for task in tasks} >= _IDS - damaged["task"], value
            for number in damaged["chain"]:
                await store.attempts(number)
            saved = SavedJobs(chains, tasks)
            assert document(saved, store.error, 300.0)
            assert listing(saved, 300.0)
    await _uses(folder)
