"""Jobs that are gone on with by themselves, against the demo server's export."""

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.engine.call import AutoResume, Outcome
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import AT_ONCE, Place, export, running, the_job, whole
from tests.patience import PATIENCE_S


async def test_a_call_is_resumed_automatically(place: Place) -> None:
    async with running(place) as (engine, _):
        outcome = await engine.calls.make(export(auto_resume=AT_ONCE))
        job = the_job(engine)
    assert (outcome.state, outcome.job) == (JobState.DONE, 1)
    assert (job.attempt_count, job.is_automatic, job.next_attempt_at) == (3, False, None)
    assert place.chunks() == whole()


async def test_attempts_that_make_progress_do_not_wait_longer_and_longer(place: Place) -> None:
    async with running(place) as (engine, _):
        with anyio.fail_after(PATIENCE_S):
            patient = AutoResume(pauses_s=(0, 3600))
            outcome = await engine.calls.make(export(chunks_per_attempt=1, auto_resume=patient))
        job = the_job(engine)
    assert (outcome.state, job.attempt_count > 3) == (JobState.DONE, True)
    assert place.chunks() == whole()


async def test_automatic_resuming_has_a_limit(place: Place) -> None:
    async with running(place) as (engine, _):
        automatic = AutoResume(limit=2, pauses_s=(0,))
        outcome = await engine.calls.make(export(chunks_per_attempt=1, auto_resume=automatic))
        job = the_job(engine)
        assert outcome.state is JobState.RESUMABLE
        assert (job.attempt_count, job.is_automatic, job.can_resume) == (3, False, True)
        assert job.resume_note == "Stopped after 2 automatic attempts"
        assert (await engine.resumer.resume(1)).state is JobState.RESUMABLE


@pytest.mark.parametrize("fault", ["rpc_error", "refused", "error_with_token"])
async def test_automatic_resuming_stops_on_an_error(place: Place, fault: str) -> None:
    async with running(place) as (engine, _):
        outcome = await engine.calls.make(export(fault=fault, at_attempt=2, auto_resume=AT_ONCE))
        job = the_job(engine)
    assert job.attempt_count == 2
    assert not job.is_automatic
    assert outcome.failure is not None
    assert outcome.state is (JobState.FAILED if fault == "refused" else JobState.RESUMABLE)


async def test_auto_resume_can_be_turned_on_and_off_while_the_job_runs(place: Place) -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await engine.calls.make(export(chunks_per_attempt=1)))
        returned.set()

    returned = anyio.Event()
    async with running(place) as (engine, watch), anyio.create_task_group() as calls:
        calls.start_soon(call)
        await watch.until(engine.jobs.ids)
        engine.resumer.set_automatic(1, AutoResume(pauses_s=(3600,)))
        assert the_job(engine).is_automatic
        await watch.until(lambda: the_job(engine).next_attempt_at is not None)
        assert the_job(engine).can_resume
        assert outcomes == []
        engine.resumer.set_automatic(1, None)
        await watch.until(lambda: not the_job(engine).is_automatic)
        await returned.wait()
        assert outcomes[0].state is JobState.RESUMABLE
        engine.resumer.set_automatic(1, AT_ONCE)
        await watch.until(lambda: the_job(engine).state is JobState.DONE)
    assert place.chunks() == whole()


async def test_resuming_a_job_that_waits_does_not_wait(place: Place) -> None:
    async with running(place) as (engine, watch):
        await engine.calls.make(export(chunks_per_attempt=6))
        engine.resumer.set_automatic(1, AutoResume(pauses_s=(3600,)))
        await watch.until(lambda: the_job(engine).next_attempt_at is not None)
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.resumer.resume(1)
    assert outcome.state is JobState.DONE


async def test_cancelling_a_job_that_waits_leaves_it_resumable(place: Place) -> None:
    async with running(place) as (engine, watch):
        await engine.calls.make(export())
        engine.resumer.set_automatic(1, AutoResume(pauses_s=(3600,)))
        await watch.until(lambda: the_job(engine).next_attempt_at is not None)
        await engine.calls.cancel(1)
        await watch.until(lambda: not the_job(engine).is_automatic)
        assert the_job(engine).can_resume
        assert the_job(engine).attempt_count == 1


async def test_closing_the_program_ends_what_is_resumed_automatically(place: Place) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with running(place) as (engine, watch):
            await engine.calls.make(export())
            engine.resumer.set_automatic(1, AutoResume(pauses_s=(3600,)))
            await watch.until(lambda: the_job(engine).next_attempt_at is not None)
    with pytest.raises(UserError, match="closing"):
        await engine.resumer.resume(1)
