"""Jobs of other clients are saved once, and how they ended here is remembered."""

import hashlib
import json
from pathlib import Path

import pytest

from mcp_progress_monitor.store.chains import SavedAttempt, SavedChain, SavedOutcome, SavedProgress
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.store.tasks import TaskStanding, Times
from mcp_progress_monitor.store.watched import WatchedEnding
from tests.unit.store.samples import ORIGIN, opened, query

FIRST = SavedAttempt(1, 10.0, 20.0, SavedOutcome.RESUMABLE, "", "Cursor")
SECOND = SavedAttempt(2, 21.0, 30.0, SavedOutcome.LOST, "gone", "Cursor")


async def noted(
    store: ResumeStore, token: str | None, *attempts: SavedAttempt, when: float
) -> SavedChain | WatchedEnding | None:
    return await store.note_watched(
        ORIGIN, token, SavedProgress(when), attempts, started_when=10.0, when=when
    )


async def chain_of(store: ResumeStore, token: str | None, *attempts: SavedAttempt) -> SavedChain:
    found = await noted(store, token, *attempts, when=attempts[-1].ended_when or 0.0)
    assert isinstance(found, SavedChain)
    return found


async def test_all_attempts_of_the_client_are_kept_before_ours(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        assert await noted(store, None, FIRST, when=20.0) is None  # no token, nothing to keep
        first = await chain_of(store, "t1", FIRST)
        second = await chain_of(store, None, FIRST, SECOND)
        assert (first.id, second.token, second.attempt_count) == (second.id, "t1", 2)
        ours = await store.start_attempt(first.id, when=40.0)
        assert ours.attempt_count == 3
        assert store.is_claimed(first.id)
        # A tap repeats what was known before: nothing changes.
        assert await chain_of(store, "t1", FIRST) == ours
        await store.advance(first.id, "t2", SavedProgress(5), when=50.0)
        again = await chain_of(store, None, FIRST, SECOND)
        assert (again.token, again.standing.progress) == ("t2", 5)
        made_by = [attempt.client for attempt in await store.attempts(first.id)]
        assert made_by == ["Cursor", "Cursor", None]


@pytest.mark.parametrize("ending", list(WatchedEnding))
async def test_what_has_ended_here_is_not_saved_again(
    data_dir: Path, ending: WatchedEnding
) -> None:
    async with opened(data_dir) as store:
        chain = await chain_of(store, "t1", FIRST)
        await store.forget([chain.id], ending, when=100.0)
    async with opened(data_dir) as store:
        assert await noted(store, "t1", FIRST, when=20.0) is ending
        assert await store.chains() == []


async def test_what_its_own_client_completed_leaves_nothing(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        chain = await chain_of(store, "t1", FIRST)
        await store.forget([chain.id], None)
        assert query(data_dir, "SELECT * FROM watched") == []


async def test_endings_are_forgotten_after_some_months(data_dir: Path) -> None:
    async with opened(data_dir) as store:
        chain = await chain_of(store, "t1", FIRST)
        await store.forget([chain.id], when=100.0)
        await store.forget([], when=100.0 + 91 * 86_400)
        assert query(data_dir, "SELECT * FROM watched") == []


async def test_a_task_is_saved_once_and_not_after_its_end_here(data_dir: Path) -> None:
    times = Times(10.0, 11.0)
    async with opened(data_dir) as store, opened(data_dir) as other:
        standing = TaskStanding("working")
        saved = await store.tasks.note_watched(ORIGIN, "a", standing, is_flat=True, times=times)
        again = await other.tasks.note_watched(ORIGIN, "a", standing, is_flat=True, times=times)
        assert saved == again
        assert saved is not None
        (task,) = await store.tasks.tasks()
        assert (task.task, task.is_elsewhere) == ("a", False)
        await store.tasks.forget([saved], when=20.0)
        ended = await other.tasks.note_watched(ORIGIN, "a", standing, is_flat=True, times=times)
        assert ended is None
        assert await store.tasks.tasks() == []


async def test_a_chain_that_version_0_1_0_saved_with_its_clients_name_is_found(
    data_dir: Path,
) -> None:
    key = 'watched by "mcp"\n{"command":"db"}'
    method = ORIGIN.method
    old = hashlib.sha256(json.dumps([key, method, 10.0, ""]).encode()).hexdigest()
    origin = ORIGIN._replace(server_key='watched by "Cursor"\n{"command":"db"}')

    async def noted_of(store: ResumeStore) -> SavedChain:
        found = await store.note_watched(
            origin, "t1", SavedProgress(1), [FIRST], started_when=10.0, when=20.0
        )
        assert isinstance(found, SavedChain)
        return found

    async with opened(data_dir) as store:
        before = await noted_of(store)
    query(data_dir, "UPDATE watched SET identity = ?", old)
    async with opened(data_dir) as store:
        assert (await noted_of(store)).id == before.id
