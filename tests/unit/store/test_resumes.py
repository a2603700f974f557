"""Chains are on disk when the store says so, and go the way of §5 of our protocol notes."""

import gc
import json
import os
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.chains import Origin, SavedOutcome, SavedProgress
from mcp_progress_monitor.store.resumes import ResumeStore
from tests.unit.store.samples import (
    ORIGIN,
    PARAMS,
    STANDING,
    begun,
    contents,
    opened,
    query,
    rights,
    the_chain,
)

ENDINGS = [
    SavedOutcome.FAILED,
    SavedOutcome.LOST,
    SavedOutcome.TIMED_OUT,
    SavedOutcome.CANCELLED,
    SavedOutcome.INTERRUPTED,
]


async def test_a_new_store_is_empty_and_writable(store: ResumeStore) -> None:
    assert store.error is None
    assert store.is_writable
    assert await store.chains() == []


async def test_a_token_is_on_disk_for_all_to_read_when_begin_returns(
    store: ResumeStore, data_dir: Path
) -> None:
    await begun(store, "first")
    assert query(data_dir, "SELECT token FROM tokens") == [('"first"',)]


async def test_a_chain_comes_back_as_it_was_saved(store: ResumeStore, data_dir: Path) -> None:
    chain_id = await begun(store, "t1")
    await store.close()
    async with opened(data_dir) as again:
        chain = await the_chain(again)
    assert chain.id == chain_id
    assert chain.origin == ORIGIN
    assert chain.token == "t1"
    assert chain.standing == STANDING
    assert (chain.created_when, chain.updated_when) == (100.0, 105.0)
    assert (chain.is_usable, chain.is_elsewhere, chain.reason) == (True, False, "")
    assert chain.attempt_count == 1


async def test_chains_are_listed_the_oldest_first(store: ResumeStore) -> None:
    ids = [await begun(store, f"t{number}") for number in range(5)]
    assert [chain.id for chain in await store.chains()] == ids


@pytest.mark.parametrize("was_enabled", [True, False])
async def test_the_collector_rests_while_chains_are_made_and_is_left_as_it_was(
    store: ResumeStore, monkeypatch: pytest.MonkeyPatch, was_enabled: bool
) -> None:
    await begun(store)
    seen = []

    def unreadable(_row: object, **_options: object) -> None:
        seen.append(gc.isenabled())
        raise ValueError

    monkeypatch.setattr("mcp_progress_monitor.store.chains.chain_of", unreadable)
    (gc.enable if was_enabled else gc.disable)()
    try:
        await store.chains()
        assert (seen, gc.isenabled()) == ([False], was_enabled)
    finally:
        gc.enable()


@pytest.mark.usefixtures("thawed")
async def test_chains_are_not_walked_by_the_collector_as_soon_as_they_are_made(
    store: ResumeStore,
) -> None:
    for number in range(20):
        await begun(store, f"t{number}")
    made = await store.chains()
    old = {id(each) for each in gc.get_objects(generation=2)}
    assert [chain.id for chain in made if id(chain) not in old] == []


@pytest.mark.usefixtures("thawed")
async def test_objects_that_somebody_has_frozen_stay_frozen(store: ResumeStore) -> None:
    await begun(store)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        await store.chains()
        assert gc.get_freeze_count() > frozen / 2
    finally:
        gc.unfreeze()


async def test_the_newest_token_is_the_one_to_send(store: ResumeStore, data_dir: Path) -> None:
    chain_id = await begun(store, "t1")
    for number in range(2, 13):
        started = await store.start_attempt(chain_id, when=200.0)
        assert started.token == f"t{number - 1}"
        await store.advance(chain_id, f"t{number}", SavedProgress(number), when=201.0)
        assert query(data_dir, "SELECT 1 FROM tokens WHERE token = ?", f'"t{number}"')
    chain = await the_chain(store)
    assert (chain.token, chain.standing, chain.attempt_count) == ("t12", SavedProgress(12), 12)


async def test_an_attempt_is_on_disk_before_its_request_is_sent(
    store: ResumeStore, data_dir: Path
) -> None:
    chain_id = await begun(store)
    started = await store.start_attempt(chain_id, when=200.0)
    assert started.origin.params == PARAMS
    assert started.attempt_count == 2
    assert query(data_dir, "SELECT number, started_when, outcome FROM attempts") == [
        (1, 100.0, "resumable"),
        (2, 200.0, "running"),
    ]


async def test_attempts_tell_when_and_how_each_ended(store: ResumeStore) -> None:
    chain_id = await begun(store)
    await store.start_attempt(chain_id, when=200.0)
    await store.stop(chain_id, SavedOutcome.LOST, "The server exited", STANDING, when=201.5)
    await store.start_attempt(chain_id, when=300.0)
    first, second, third = await store.attempts(chain_id)
    assert (first.outcome, first.started_when, first.ended_when) == (
        SavedOutcome.RESUMABLE,
        100.0,
        105.0,
    )
    assert (second.number, second.outcome, second.detail) == (
        2,
        SavedOutcome.LOST,
        "The server exited",
    )
    assert (second.started_when, second.ended_when) == (200.0, 201.5)
    assert (third.outcome, third.ended_when) == (SavedOutcome.RUNNING, None)


@pytest.mark.parametrize("outcome", ENDINGS)
async def test_an_ending_without_an_answer_keeps_the_token_usable(
    store: ResumeStore, outcome: SavedOutcome
) -> None:
    chain_id = await begun(store, "t1")
    await store.start_attempt(chain_id, when=200.0)
    await store.stop(chain_id, outcome, "Words", SavedProgress(4, 10), when=201.0)
    chain = await the_chain(store)
    assert (chain.is_usable, chain.reason, chain.standing) == (True, "Words", SavedProgress(4, 10))
    assert (await store.start_attempt(chain_id, when=202.0)).token == "t1"


async def test_a_refused_token_is_not_offered_again(store: ResumeStore) -> None:
    chain_id = await begun(store)
    await store.start_attempt(chain_id, when=200.0)
    await store.stop(chain_id, SavedOutcome.REFUSED, "Too old, friend", STANDING, when=201.0)
    chain = await the_chain(store)
    assert (chain.is_usable, chain.reason) == (False, "Too old, friend")
    with pytest.raises(UserError) as caught:
        await store.start_attempt(chain_id, when=202.0)
    error = caught.value.details
    assert "refused" in error.what
    assert error.detail == "Too old, friend"
    assert "Re-issue" in error.hint
    assert len(await store.attempts(chain_id)) == 2


async def test_a_chain_has_one_attempt_in_flight(store: ResumeStore) -> None:
    chain_id = await begun(store)
    await store.start_attempt(chain_id, when=200.0)
    with pytest.raises(UserError, match="already being resumed"):
        await store.start_attempt(chain_id, when=201.0)
    await store.advance(chain_id, "t2", STANDING, when=202.0)
    assert (await store.start_attempt(chain_id, when=203.0)).token == "t2"


async def test_of_two_that_begin_at_once_one_may(store: ResumeStore) -> None:
    chain_id = await begun(store)
    verdicts: list[bool] = []

    async def resume() -> None:
        try:
            await store.start_attempt(chain_id, when=200.0)
        except UserError:
            verdicts.append(False)
        else:
            verdicts.append(True)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(resume)
    assert sorted(verdicts) == [False] * 7 + [True]
    assert len(await store.attempts(chain_id)) == 2


async def test_a_forgotten_chain_is_gone_from_every_file(
    store: ResumeStore, data_dir: Path
) -> None:
    secret = "token-that-nobody-may-find"
    kept, forgotten = await begun(store, "kept"), await begun(store, secret)
    await store.start_attempt(forgotten, when=1.0)
    await store.advance(forgotten, f"{secret}-2", STANDING, when=2.0)
    assert any(secret.encode() in content for content in contents(data_dir).values())
    assert await store.forget([forgotten, 999]) == []
    assert [chain.id for chain in await store.chains()] == [kept]
    assert await store.attempts(forgotten) == []
    assert not any(secret.encode() in content for content in contents(data_dir).values())


async def test_the_number_of_a_forgotten_chain_is_not_given_out_again(store: ResumeStore) -> None:
    first = await begun(store)
    await store.forget([first])
    assert await begun(store) > first


async def test_a_token_for_a_forgotten_chain_is_not_taken_for_saved(store: ResumeStore) -> None:
    chain_id = await begun(store)
    await store.start_attempt(chain_id, when=200.0)
    await store.forget([chain_id])
    with pytest.raises(UserError, match="no longer resumable"):
        await store.advance(chain_id, "t2", STANDING, when=201.0)
    await store.stop(chain_id, SavedOutcome.FAILED, "Late", STANDING, when=202.0)
    assert await store.chains() == []


async def test_an_unknown_chain_is_no_longer_resumable(store: ResumeStore) -> None:
    with pytest.raises(UserError, match="no longer resumable"):
        await store.start_attempt(42, when=1.0)
    assert await store.attempts(42) == []


async def test_what_is_in_flight_at_the_end_was_interrupted(
    store: ResumeStore, data_dir: Path
) -> None:
    chain_id = await begun(store, "t1")
    await store.start_attempt(chain_id, when=200.0)
    await store.close()
    async with opened(data_dir) as again:
        _, second = await again.attempts(chain_id)
        assert (second.outcome, second.ended_when) == (SavedOutcome.INTERRUPTED, None)
        assert "exited before the reply" in (await the_chain(again)).reason
        started = await again.start_attempt(chain_id, when=300.0)
    assert (started.token, started.reason) == ("t1", "")


async def test_a_cancelled_caller_leaves_a_saved_token_behind(store: ResumeStore) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await begun(store, "saved")
    assert (await the_chain(store)).token == "saved"


async def test_after_its_end_a_store_takes_nothing(store: ResumeStore) -> None:
    await begun(store)
    await store.close()
    await store.close()
    assert await store.chains() == []
    assert await store.attempts(1) == []
    with pytest.raises(UserError, match="are closed"):
        await begun(store)


async def test_no_token_is_in_the_text_of_anything(store: ResumeStore) -> None:
    chain_id = await begun(store, "s3cret")
    started = await store.start_attempt(chain_id, when=1.0)
    assert "s3cret" not in repr(started)
    assert "s3cret" not in repr(await store.chains())
    assert "s3cret" not in repr(await store.attempts(chain_id))
    with pytest.raises(UserError) as caught:
        await store.start_attempt(chain_id, when=1.0)
    assert "s3cret" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="rights are another matter there")
async def test_everything_is_private(store: ResumeStore, data_dir: Path) -> None:
    await begun(store)
    found = rights(data_dir)
    assert found.pop("running") == "700"
    assert {"resume.sqlite3", "resume.sqlite3-wal", "resume.sqlite3-shm"} <= found.keys()
    assert set(found.values()) == {"600"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("origin", "[]"),
        ("origin", "rubbish"),
        ("origin", '["a","b","c","d","e",["no object"]]'),
        ("standing", "[1,2,3,4]"),
        ("reason", ""),
    ],
)
async def test_a_chain_that_cannot_be_read_is_counted_and_hides_no_other(
    store: ResumeStore, data_dir: Path, column: str, value: str
) -> None:
    bad, good = await begun(store), await begun(store)
    query(data_dir, f"UPDATE chains SET {column} = ? WHERE id = ?", value, bad)  # noqa: S608
    assert [chain.id for chain in await store.chains()] == [good]
    assert store.error is not None
    assert "1 saved job cannot be read" in store.error.what
    with pytest.raises(UserError, match="cannot be read"):
        await store.start_attempt(bad, when=1.0)
    await store.forget([bad])
    await store.chains()
    assert store.error is None


async def test_chains_are_found_by_their_ids_alone(store: ResumeStore, data_dir: Path) -> None:
    first, bad, last = [await begun(store, token) for token in ("t1", "t2", "t3")]
    query(data_dir, "UPDATE chains SET origin = 'rubbish' WHERE id = ?", bad)
    found = await store.found([last, bad, 99])
    assert {chain: saved.token for chain, saved in found.items()} == {last: "t3"}
    async with opened(data_dir) as other:
        await other.start_attempt(first, when=1.0)
        found = await store.found([first, last])
        assert {chain: saved.is_elsewhere for chain, saved in found.items()} == {
            first: True,
            last: False,
        }
    await store.close()
    assert await store.found([first]) == {}


async def test_an_outcome_of_a_newer_version_is_unknown(store: ResumeStore, data_dir: Path) -> None:
    chain_id = await begun(store)
    query(data_dir, "UPDATE attempts SET outcome = 'paused'")
    assert [a.outcome for a in await store.attempts(chain_id)] == [SavedOutcome.UNKNOWN]


async def test_members_of_params_keep_their_order(store: ResumeStore) -> None:
    params = {"z": 1, "a": {"y": 2, "b": 3}, "_meta": {}}
    await begun(store, origin=Origin("s", "k", "{}", "r", "m", params))
    assert json.dumps((await the_chain(store)).origin.params) == json.dumps(params)
