"""Tasks on disk: what survives, who may have them, and files of the format before."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store import chains
from mcp_progress_monitor.store.chains import SavedProgress
from mcp_progress_monitor.store.columns import as_column
from mcp_progress_monitor.store.resumes import FILE, ResumeStore
from mcp_progress_monitor.store.tasks import SavedTask, SavedTaskId, TaskStanding, Times
from tests.unit.store.samples import ORIGIN, begun, contents, opened, query, the_chain

HALF = "half a pair \ud83d"
STANDING = TaskStanding(
    "working", f"Halfway, {HALF}", "2026-01-01T00:00:00Z", 60_000, 500, SavedProgress(1, 2, HALF)
)


async def saved(store: ResumeStore, task: str = "T", standing: TaskStanding = STANDING) -> int:
    return await store.tasks.begin(ORIGIN, task, standing, is_flat=False, times=Times(100.0, 105.0))


async def the_task(store: ResumeStore) -> SavedTask:
    (task,) = await store.tasks.tasks()
    return task


async def test_a_task_comes_back_as_it_was_saved(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        identity = await saved(store, f"id {HALF}")
    async with opened(data_dir) as store:
        task = await the_task(store)
    assert (task.id, task.task, task.is_flat) == (identity, f"id {HALF}", False)
    assert task.origin == ORIGIN
    assert task.standing == STANDING
    assert (task.started_when, task.began_when) == (100.0, 105.0)
    assert task.expires_when == 165.0
    assert not task.is_elsewhere


async def test_a_task_without_limit_never_expires(store: ResumeStore) -> None:
    await saved(store, standing=STANDING._replace(ttl_ms=None))
    assert (await the_task(store)).expires_when is None


async def test_a_task_that_is_followed_is_elsewhere_for_other_programs(data_dir: Path) -> None:
    async with opened(data_dir) as one, opened(data_dir) as other:
        identity = await saved(one)
        assert not (await the_task(one)).is_elsewhere
        assert (await the_task(other)).is_elsewhere
        with pytest.raises(UserError, match="Another running program"):
            await other.tasks.claim(identity)
        assert await other.tasks.forget([identity]) == [identity]
        await one.tasks.note(identity, STANDING, when=110.0, is_released=True)
        await other.tasks.claim(identity)
        assert (await the_task(one)).is_elsewhere


async def test_a_program_that_exits_releases_its_tasks(data_dir: Path) -> None:
    async with opened(data_dir) as one:
        identity = await saved(one)
    async with opened(data_dir) as other:
        await other.tasks.claim(identity)
        assert query(data_dir, "SELECT owner NOTNULL FROM tasks") == [(1,)]


async def test_a_task_of_a_program_that_was_killed_is_nobodys(data_dir: Path) -> None:
    async with opened(data_dir) as one:
        await saved(one)
    query(data_dir, "UPDATE tasks SET owner = ?", "0" * 32)
    async with opened(data_dir) as other:
        assert not (await the_task(other)).is_elsewhere
        assert query(data_dir, "SELECT owner FROM tasks") == [(None,)]


async def test_where_a_task_stands_is_brought_forward(store: ResumeStore) -> None:
    identity = await saved(store)
    later = STANDING._replace(status="input_required", ttl_ms=None)
    await store.tasks.note(identity, later, when=120.0)
    task = await the_task(store)
    assert task.standing == later
    assert task.updated_when == 120.0


async def test_a_forgotten_task_is_gone_for_good_and_leaves_no_trace(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        identity = await saved(store, "a-secret-task-id")
        assert await store.tasks.forget([identity, identity + 1]) == []
        await store.tasks.note(identity, STANDING, when=120.0)
        assert await store.tasks.tasks() == []
        with pytest.raises(UserError, match="no longer saved"):
            await store.tasks.claim(identity)
        assert await saved(store) > identity
    assert not any(b"a-secret-task-id" in raw for raw in contents(data_dir).values())


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET origin = '[\"a\"]'",
        "UPDATE tasks SET standing = '[]'",
        "UPDATE tasks SET task = '7'",
        "UPDATE tasks SET task = '{'",
    ],
)
async def test_a_row_that_nobody_here_wrote_is_left_out(
    store: ResumeStore, data_dir: Path, damage: str
) -> None:
    await saved(store)
    query(data_dir, damage)
    identity = await saved(store)
    assert (await the_task(store)).id == identity


def older_file(folder: Path) -> None:
    """A file of the format before tasks, with one chain."""
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.executescript(chains.MIGRATIONS[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO chains VALUES (7, ?, 1, '\"\"', '[1, 2, \"x\"]', 1.0, 2.0, NULL)",
            (as_column(ORIGIN),),
        )
        connection.execute("INSERT INTO tokens VALUES (7, 1, '\"t1\"', 2.0)")
        connection.commit()


async def test_a_file_of_the_format_before_tasks_is_lifted_with_its_chains(data_dir: Path) -> None:
    older_file(data_dir)
    async with opened(data_dir) as store:
        assert store.error is None
        assert (await the_chain(store)).token == "t1"
        await saved(store)
    assert query(data_dir, "PRAGMA user_version") == [(len(chains.MIGRATIONS),)]


async def test_a_file_of_a_newer_format_tells_its_tasks_and_takes_none(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        await saved(store)
    query(data_dir, "PRAGMA user_version = 99")
    async with opened(data_dir) as store:
        assert (await the_task(store)).task == "T"
        with pytest.raises(UserError, match="newer version"):
            await saved(store)


async def test_tasks_and_chains_keep_out_of_each_others_way(store: ResumeStore) -> None:
    chain = await begun(store)
    identity: SavedTaskId = await saved(store)
    await store.forget([chain])
    assert (await the_task(store)).id == identity
    chain = await begun(store)
    await store.tasks.forget([identity])
    assert (await the_chain(store)).id == chain
