"""What goes wrong with tokens, attempts, servers and disks, and that no token is lost by it."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.store import chains
from mcp_progress_monitor.store.chains import SavedChain
from mcp_progress_monitor.store.resumes import ResumeStore
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import (
    AT_ONCE,
    Place,
    export,
    running,
    saved_tokens,
    the_job,
    whole,
)
from tests.patience import PATIENCE_S
from tests.unit.store.samples import query


async def test_a_refused_token_is_reported_with_the_servers_message_and_not_offered_again(
    place: Place,
) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export(fault="refused", at_attempt=2))
        outcome = await engine.resumer.resume(1)
        assert outcome.state is JobState.FAILED
        assert outcome.failure is not None
        assert outcome.failure.code == -32602
        assert not the_job(engine).can_resume
        text = "The server refused the token: This resume token is no longer accepted"
        assert the_job(engine).resume_note == text
        with pytest.raises(UserError, match="refused this job's resume token"):
            await engine.resumer.resume(1)
    async with running(place, is_connected=False) as (engine, _):
        assert the_job(engine).state is JobState.FAILED
        assert the_job(engine).resume_note == text
        again = await engine.calls.reissue(1)
        assert (again.state, again.job) == (JobState.RESUMABLE, 2)
        engine.jobs.remove([1, 2])
        assert list(engine.jobs.ids()) == [2]
    async with running(place, is_connected=False) as (engine, _):
        assert [the_job(engine, job).state for job in engine.jobs.ids()] == [JobState.RESUMABLE]


@pytest.mark.parametrize("fault", ["rpc_error", "crash", "silence"])
async def test_what_goes_wrong_in_an_attempt_keeps_the_token(place: Place, fault: str) -> None:
    async with running(place) as (engine, _):
        limit_s = 2 if fault == "silence" else PATIENCE_S
        call = export(fault=fault, at_attempt=2, at_chunk=7, total_timeout_s=limit_s)
        await engine.calls.make(call)
        outcome = await engine.resumer.resume(1)
        assert outcome.state is JobState.RESUMABLE
        assert outcome.failure is not None
        job = the_job(engine)
        assert job.can_resume
        assert job.resume_note
        detail = engine.jobs.detail(1)
        assert detail is not None
        ends = {"rpc_error": JobState.FAILED, "crash": JobState.LOST, "silence": JobState.TIMED_OUT}
        assert detail.attempts[1].outcome is ends[fault]
    async with running(place, is_connected=False) as (engine, _):
        assert the_job(engine).resume_note == outcome.failure.message
        assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
    assert place.chunks() == whole()


async def test_an_attempt_that_is_cancelled_keeps_the_token(place: Place) -> None:
    async with (
        running(place, cancel_grace_s=0.2) as (engine, watch),
        anyio.create_task_group() as calls,
    ):
        await engine.calls.make(export(fault="silence", at_attempt=2))
        calls.start_soon(engine.resumer.resume, 1)
        await watch.until(lambda: the_job(engine).attempt_count == 2)
        await engine.calls.cancel(1, "Enough")
        await watch.until(lambda: the_job(engine).can_resume)
        assert the_job(engine).resume_note
        assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
    assert place.chunks() == whole()


async def test_one_attempt_is_in_flight_at_a_time(place: Place) -> None:
    async with running(place) as (engine, watch), anyio.create_task_group() as calls:
        await engine.calls.make(export(fault="silence", at_attempt=2))
        calls.start_soon(engine.resumer.resume, 1)
        await anyio.lowlevel.checkpoint()
        with pytest.raises(UserError, match="already being resumed"):
            await engine.resumer.resume(1)
        await watch.until(lambda: the_job(engine).attempt_count == 2)
        with pytest.raises(UserError, match="already being resumed"):
            await engine.resumer.resume(1)
        calls.cancel_scope.cancel()
    assert len(watch.sent("tools/call")) == 2


async def test_a_progress_token_in_use_by_another_job_is_waited_for_and_no_attempt(
    place: Place,
) -> None:
    async with running(place) as (engine, watch), anyio.create_task_group() as calls:
        await engine.calls.make(export(token="mine"))
        calls.start_soon(engine.calls.make, export(job="b", token="mine", interval_s=0.1))
        await watch.until(lambda: 2 in engine.jobs.ids())
        with pytest.raises(UserError, match="progress token is in use by job 2") as refused:
            await engine.resumer.resume(1)
        assert "cancel it" in refused.value.details.hint
        assert "choose" not in refused.value.details.hint
        assert (the_job(engine).can_resume, the_job(engine).attempt_count) == (True, 1)
        assert query(place.data_dir, "SELECT count(*) FROM attempts") == [(1,)]
        await watch.until(lambda: the_job(engine, 2).state.is_over)
        assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
    assert place.chunks() == whole()


@pytest.mark.parametrize("token_is", ["empty", "number", "object"])
async def test_a_token_that_cannot_be_sent_is_marked(place: Place, token_is: str) -> None:
    async with running(place) as (engine, _):
        outcome = await engine.calls.make(export(token_is=token_is))
        assert outcome.state is JobState.DONE
        assert [mark.key for mark in the_job(engine).marks] == [rules.NEXT_TOKEN_TYPE.kind]
        assert engine.resumer.find(1) is None


@pytest.mark.parametrize("token_is", ["constant", "outside_meta"])
async def test_constant_and_non_string_resume_tokens_work_and_are_findings(
    place: Place, token_is: str
) -> None:
    async with running(place) as (engine, _):
        outcome = await engine.calls.make(export(token_is=token_is, auto_resume=AT_ONCE))
        assert outcome.state is JobState.DONE
        expected = rules.SAME_TOKEN.kind if token_is == "constant" else rules.NEXT_TOKEN_TYPE.kind
        assert [mark.key for mark in the_job(engine).marks] == [expected]
    assert place.chunks() == whole()


async def test_a_server_that_cannot_be_started_leaves_the_job_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        await engine.servers.disconnect("demo")
        with monkeypatch.context() as gone:
            gone.setattr(
                "mcp_progress_monitor.sessions.transport.server_process.ServerProcess.start", refuse
            )
            with pytest.raises(UserError):
                await engine.resumer.resume(1)
        job = the_job(engine)
        assert (job.can_resume, job.attempt_count) == (True, 1)
        assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
    assert place.chunks() == whole()


async def refuse(*_args: object, **_kw: object) -> None:
    """What writing does on a disk without room."""
    raise UserError(ErrorDetails("The disk is full"))


async def test_what_cannot_be_saved_is_resumable_in_memory_and_reported(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.store.database.Database.write", refuse)
    async with running(place) as (engine, _):
        outcome = await engine.calls.make(export())
        assert (outcome.state, outcome.resume_id) == (JobState.RESUMABLE, None)
        assert the_job(engine).resume_note == "Not saved: The disk is full"
        assert engine.resumer.error is not None
        assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
    assert place.chunks() == whole()


async def test_a_disk_that_fills_up_and_empties_again_loses_no_token(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place) as (engine, watch):
        await engine.calls.make(export(chunks_per_attempt=2))
        advance = "mcp_progress_monitor.store.resumes.ResumeStore.advance"
        with monkeypatch.context() as full:
            full.setattr(advance, refuse)
            await engine.resumer.resume(1)
            assert "Not saved" in the_job(engine).resume_note
            await engine.resumer.resume(1)
        assert (await engine.resumer.resume(1)).resume_id == 1
        assert the_job(engine).resume_note == ""
        sent = [m["params"]["_meta"].get("resumeToken") for m in watch.sent("tools/call")]
        assert len(set(sent)) == 4
        detail = engine.jobs.detail(1)
        assert detail is not None
        newest = json.dumps(detail.resume_token)
    assert saved_tokens(place)[-1] == newest


async def test_a_claim_that_fails_looks_at_its_own_job_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place) as (engine, _):
        for _number in range(3):
            await engine.calls.make(export())
        read: list[object] = []
        chain_of = chains.chain_of

        def counted(row: sqlite3.Row, *, is_elsewhere: bool) -> SavedChain:
            read.append(row["id"])
            return chain_of(row, is_elsewhere=is_elsewhere)

        monkeypatch.setattr("mcp_progress_monitor.store.chains.chain_of", counted)
        monkeypatch.setattr("mcp_progress_monitor.store.resumes.ResumeStore.start_attempt", refuse)
        with pytest.raises(UserError, match="The disk is full"):
            await engine.resumer.resume(2)
        assert read == [2]
        assert the_job(engine, 2).can_resume


async def test_a_store_that_shut_hides_no_job(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
        monkeypatch.setattr("mcp_progress_monitor.store.database.Database.is_open", False)
        monkeypatch.setattr("mcp_progress_monitor.store.resumes.ResumeStore.start_attempt", refuse)
        with pytest.raises(UserError, match="The disk is full"):
            await engine.resumer.resume(1)
        assert the_job(engine).can_resume


async def test_a_finished_job_tells_of_a_token_that_could_not_be_deleted_until_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.keeper._RETRY_S", 0.02)
    async with running(place) as (engine, watch):
        await engine.calls.make(export())
        with monkeypatch.context() as full:
            full.setattr("mcp_progress_monitor.store.resumes.ResumeStore.forget", refuse)
            assert (await engine.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
            job = the_job(engine)
            assert "still on disk: The disk is full" in job.resume_note
            assert not job.can_resume
            with pytest.raises(UserError, match="cannot be resumed"):
                await engine.resumer.resume(1)
            assert saved_tokens(place)
        await watch.until(lambda: the_job(engine).resume_note == "")
        assert saved_tokens(place) == []
        assert the_job(engine).state is JobState.DONE


async def test_what_ends_while_a_chain_is_deleted_is_not_overlooked(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting, go_on = anyio.Event(), anyio.Event()
    forget = ResumeStore.forget

    async def slow(store: ResumeStore, chains: Iterable[int], *how: Any, **when: Any) -> list[int]:
        deleting.set()
        await go_on.wait()
        return await forget(store, chains, *how, **when)

    async with running(place) as (engine, watch):
        await engine.calls.make(export(fault="refused", at_attempt=2))
        await engine.resumer.resume(1)
        monkeypatch.setattr(ResumeStore, "forget", slow)
        engine.jobs.remove([1])
        await deleting.wait()
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as calls:
                calls.start_soon(engine.calls.make, export(job="b"))
                try:
                    await watch.until(lambda: 2 in engine.jobs.ids() and is_being_saved(engine))
                finally:
                    go_on.set()
        assert the_job(engine, 2).can_resume
        assert len(saved_tokens(place)) == 1


def is_being_saved(engine: Engine) -> bool:
    """Whether the second job has its token, and waits for the disk."""
    return the_job(engine, 2).resume_note == "Saving the resume token"
