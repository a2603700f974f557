"""Two programs on one data folder, and data folders that cannot be used as they are."""

import anyio
import pytest

from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.store.resumes import FILE
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
from tests.integration.watching import Watch
from tests.unit.store.samples import query


async def test_what_one_program_resumes_the_other_does_not(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.keeper._CHECK_S", 0.05)
    async with running(place) as (first, seen), running(place) as (second, watch):
        await first.calls.make(export(fault="silence", at_attempt=2))
    async with (
        running(place, is_connected=False) as (first, seen),
        running(place, is_connected=False) as (second, watch),
        anyio.create_task_group() as calls,
    ):
        calls.start_soon(first.resumer.resume, 1)
        await seen.until(lambda: the_job(first).attempt_count == 2)
        with pytest.raises(UserError, match="Another running program"):
            await second.resumer.resume(1)
        assert not the_job(second).can_resume
        assert the_job(second).resume_note == "Another running program is resuming it"
        with pytest.raises(UserError, match="Another running program"):
            await second.jobs.forget([1])
        assert list(second.jobs.ids()) == [1]
        await first.calls.cancel(1)
        await seen.until(lambda: the_job(first).can_resume)
        await watch.until(lambda: the_job(second).can_resume)
        assert the_job(second).attempt_count == 2
        assert (await second.resumer.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
        with pytest.raises(UserError, match="no longer resumable"):
            await first.resumer.resume(1)
        assert the_job(first).state is JobState.FAILED
        assert "another program" in the_job(first).resume_note
    assert place.chunks() == whole()


async def test_a_program_that_comes_late_goes_on_with_the_newest_token(place: Place) -> None:
    async with running(place) as (first, _):
        await first.calls.make(export())
        async with running(place, is_connected=False) as (second, watch):
            await first.resumer.resume(1)
            detail = first.jobs.detail(1)
            assert detail is not None
            assert (await second.resumer.resume(1)).state is JobState.DONE
            (message,) = watch.sent("tools/call")
            assert message["params"]["_meta"]["resumeToken"] == detail.resume_token
            assert the_job(second).attempt_count == 3
    assert place.chunks() == whole()


async def test_two_that_press_resume_at_once_make_one_attempt(place: Place) -> None:
    results: list[Outcome | UserError] = []

    async def resume(engine: Engine) -> None:
        try:
            results.append(await engine.resumer.resume(1))
        except UserError as error:
            results.append(error)

    async with running(place) as (first, seen):
        await first.calls.make(export(chunks=2, chunks_per_attempt=1, interval_s=1))
        async with running(place) as (second, watch), anyio.create_task_group() as both:
            both.start_soon(resume, first)
            both.start_soon(resume, second)
    assert len(seen.sent("tools/call")) + len(watch.sent("tools/call")) == 2
    assert sum(isinstance(result, UserError) for result in results) == 1
    assert place.chunks() == whole(2)


async def test_a_damaged_file_is_set_aside_and_reported_once(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
    (place.data_dir / FILE).write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    async with running(place) as (engine, _):
        assert engine.resumer.error is not None
        assert "set aside" in engine.resumer.error.what
        assert list(engine.jobs.ids()) == []
        assert (await engine.calls.make(export(job="b"))).resume_id is not None
        assert len(saved_tokens(place)) == 1


async def test_a_newer_file_is_read_and_what_is_new_stays_in_memory(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
    query(place.data_dir, "PRAGMA user_version = 99")
    async with running(place) as (engine, _):
        assert engine.resumer.error is not None
        assert "newer version" in engine.resumer.error.what
        assert the_job(engine).can_resume
        with pytest.raises(UserError, match="newer version"):
            await engine.resumer.resume(1)
        outcome = await engine.calls.make(export(job="b"))
        assert (outcome.state, outcome.resume_id) == (JobState.RESUMABLE, None)
        assert "Not saved" in the_job(engine, outcome.job).resume_note
        again = await engine.resumer.resume(outcome.job or 0, auto_resume=AT_ONCE)
        assert again.state is JobState.DONE
    assert place.chunks("b") == whole()


async def test_what_is_not_to_be_restored_is_no_row(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make(export())
    async with Engine(store=place.store(), restores=False) as engine:
        Watch(engine)
        assert list(engine.jobs.ids()) == []
    assert len(saved_tokens(place)) == 1


async def test_a_hundred_chains_leave_nothing_behind(place: Place) -> None:
    async with running(place) as (engine, _):
        for number in range(100):
            call = export(job=f"j{number % 3}", chunks=2, chunks_per_attempt=1, interval_s=0)
            outcome = await engine.calls.make(call)
            assert (await engine.resumer.resume(outcome.job or 0)).state is JobState.DONE
        assert len(engine.jobs.ids()) == 100
        engine.jobs.remove(engine.jobs.ids())
        assert engine.resumer.size == 0
    assert saved_tokens(place) == []
