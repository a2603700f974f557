"""Tasks that outlive a connection, the program, or its being killed, and two programs at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.origins import ServerChangedError
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import Era, StdioDefinition
from mcp_progress_monitor.snapshots.questions import Decline
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import Place, running, the_job
from tests.integration.tasks import ERAS, begun, called, saved_tasks, task_call
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S
from tests.unit.store.samples import query

ROOT = Path(__file__).parents[2]


async def left(place: Place, era: Era, tool: str = "task_work", **wished: object) -> str:
    """Begin a task, leave it at its server by closing the program, and tell its id."""
    async with running(place, era=era) as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: called(engine, tool, era, **wished))
            job = await begun(engine, watch)
            engine.tasks.leave()
            tasks.cancel_scope.cancel()
        assert watch.sent("tasks/cancel") == []
    assert job.task is not None
    return job.task.id


async def ended(engine: Engine, watch: Watch, state: JobState) -> None:
    await watch.until(lambda: the_job(engine).state is state)


@pytest.mark.parametrize("era", ERAS)
async def test_closing_the_program_leaves_a_task_that_the_next_one_picks_up(
    place: Place, era: Era
) -> None:
    identity = await left(place, era, steps=30)
    assert saved_tasks(place) == [identity]
    async with running(place, is_connected=False) as (engine, watch):
        job = the_job(engine)
        assert (job.state, job.method, job.name) == (JobState.RUNNING, "tools/call", "task_work")
        assert job.task is not None
        assert (job.task.id, job.task.is_followed) == (identity, False)
        assert engine.tasks.can_pick_up(1)
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.tasks.pick_up(1)
        assert outcome.job == 1
        assert outcome.state is JobState.DONE
        assert outcome.result is not None
        assert outcome.raw
        assert [message["params"]["name"] for message in watch.sent("tools/call")] == []
        assert saved_tasks(place) == []
        assert not the_job(engine).marks
    async with running(place, is_connected=False) as (engine, _watch):
        assert engine.jobs.ids() == ()


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_is_resumed_automatically_once_its_server_is_connected(
    place: Place, era: Era
) -> None:
    await left(place, era, steps=10)
    async with running(place, era=era) as (engine, watch):
        await ended(engine, watch, JobState.DONE)


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_outlives_its_connection(place: Place, era: Era) -> None:
    async with running(place, era=era) as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: called(engine, "task_work", era, steps=40))
            await begun(engine, watch)
            await engine.servers.disconnect("demo")
        lost = the_job(engine)
        assert lost.state is JobState.LOST
        assert lost.failure is not None
        assert "may still be running on the server" in lost.failure.message
        assert engine.tasks.can_pick_up(1)
        await engine.servers.connect("demo")
        await ended(engine, watch, JobState.RUNNING)
        assert the_job(engine).connection == "demo#2"
        with pytest.raises(UserError, match="already being followed"):
            await engine.tasks.pick_up(1)
        await ended(engine, watch, JobState.DONE)
        assert len(engine.jobs.ids()) == 1


async def test_a_task_that_was_picked_up_can_be_cancelled(place: Place) -> None:
    await left(place, "handshake", "task_never_ends")
    async with running(place, is_connected=False) as (engine, watch):
        with pytest.raises(UserError, match="This task is not being followed"):
            await engine.calls.cancel(1)
        await engine.servers.connect("demo") if engine.servers.snapshots() else None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.tasks.pick_up, 1)
            await begun(engine, watch, is_so=lambda job: job.task and job.task.is_ours_to_cancel)
            await engine.calls.cancel(1)
        assert the_job(engine).state is JobState.CANCELLED
        assert the_job(engine).cancel_state == "confirmed"
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_task_that_the_server_has_forgotten_meanwhile_is_reported_and_removed(
    place: Place, era: Era
) -> None:
    await left(place, era, "task_never_ends")
    for path in place.state_dir.rglob("*.json"):
        path.unlink()
    async with running(place, is_connected=False) as (engine, _watch):
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.tasks.pick_up(1)
        assert outcome.state in {JobState.FAILED, JobState.LOST}
        assert outcome.failure is not None
        assert not engine.tasks.can_pick_up(1)
        with pytest.raises(UserError, match="no task running on a server"):
            await engine.tasks.pick_up(1)
    assert saved_tasks(place) == []


async def test_a_task_whose_time_is_over_is_reported_as_expired_and_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.tasks._CHECK_S", 0.05)
    await left(place, "per-request", "task_never_ends", ttl_s=3600)
    query(place.data_dir, "UPDATE tasks SET began_when = began_when - 3600")
    async with running(place, is_connected=False) as (engine, watch):
        with pytest.raises(UserError, match="has expired"):
            await engine.tasks.pick_up(1)
        assert not engine.tasks.can_pick_up(1)
        await ended(engine, watch, JobState.LOST)
        failure = the_job(engine).failure
        assert failure is not None
        assert "has expired" in failure.message
    assert saved_tasks(place) == []


@pytest.mark.parametrize("era", ERAS)
async def test_two_programs_never_follow_one_task(
    place: Place, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.tasks._CHECK_S", 0.1)
    async with running(place, era=era) as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_asks", era)  # which ends when it is answered
            await watch.until(engine.questions.open)
            async with running(place, is_connected=False) as (other, other_watch):
                assert not other.tasks.can_pick_up(1)
                with pytest.raises(UserError, match="Another running program"):
                    await other.tasks.pick_up(1)
                (question,) = engine.questions.open()
                engine.questions.answer(question.id, Decline())
                await ended(other, other_watch, JobState.LOST)
                failure = the_job(other).failure
                assert failure is not None
                assert "in another program" in failure.message
        assert the_job(engine).state is JobState.DONE
    assert saved_tasks(place) == []


async def test_a_task_of_a_server_that_is_defined_otherwise_now_asks_first(place: Place) -> None:
    await left(place, "handshake", "task_never_ends")
    async with running(place, is_connected=False) as (engine, watch):
        engine.servers.add(StdioDefinition(name="demo", command="elsewhere"))
        with pytest.raises(ServerChangedError):
            await engine.tasks.pick_up(1)
        assert engine.tasks.can_pick_up(1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: engine.tasks.pick_up(1, use_saved_definition=True))
            await begun(engine, watch, is_so=lambda job: job.task and job.task.is_ours_to_cancel)
            await engine.calls.cancel(1)
    assert saved_tasks(place) == []


async def test_a_task_that_is_forgotten_is_gone_from_the_list_and_the_disk(place: Place) -> None:
    await left(place, "handshake", "task_never_ends")
    async with running(place, is_connected=False) as (engine, _watch):
        await engine.jobs.forget([1])
        assert engine.jobs.ids() == ()
    assert saved_tasks(place) == []


async def test_a_lost_task_that_is_removed_from_the_list_does_not_come_back(place: Place) -> None:
    async with running(place, era="handshake") as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(called, engine, "task_never_ends", "handshake")
            await begun(engine, watch)
            await engine.servers.disconnect("demo")
        engine.jobs.remove([1])
        assert engine.jobs.ids() == ()
    assert saved_tasks(place) == []


async def test_without_a_store_a_task_is_followed_all_the_same(place: Place) -> None:
    async with running(place, saves=False, era="handshake") as (engine, watch):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: called(engine, "task_work", "handshake", steps=20))
            await begun(engine, watch)
            await engine.servers.disconnect("demo")
        await engine.servers.connect("demo")
        await ended(engine, watch, JobState.DONE)


async def test_a_full_disk_costs_the_saving_of_a_task_and_not_the_task(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place, era="handshake") as (engine, _watch):
        query(place.data_dir, "DROP TABLE tasks")
        outcome = await called(engine, "task_work", "handshake")
        assert outcome.state is JobState.DONE
        assert engine.resumer.error is not None


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("after_s", [0.0, 0.15])
async def test_a_program_that_is_killed_loses_no_task_that_anybody_saw(
    place: Place, era: Era, after_s: float
) -> None:
    victim = await anyio.open_process(
        [sys.executable, "-m", "tests.integration.task_victim", str(place.folder), era, "40"],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    async with victim:
        assert victim.stdout is not None
        with anyio.fail_after(PATIENCE_S):
            word, identity = (await victim.stdout.receive()).decode().split()[:2]
        assert word == "seen"
        await anyio.sleep(after_s)
        os.kill(victim.pid, signal.SIGKILL)
        await victim.wait()
    assert saved_tasks(place) == [identity]
    async with running(place, is_connected=False) as (engine, _watch):
        job = the_job(engine)
        assert job.task is not None
        assert job.task.id == identity
        with anyio.fail_after(PATIENCE_S):
            outcome = await engine.tasks.pick_up(1)
        assert outcome.state is JobState.DONE
        assert outcome.result is not None
        assert "Finished all 40 steps." in str(outcome.result)
    assert saved_tasks(place) == []


async def test_a_call_of_a_tool_as_a_task_is_refused_before_anything_is_sent(place: Place) -> None:
    async with running(place, era="handshake") as (engine, watch):
        with pytest.raises(UserError, match="Invalid task lifetime of -5 ms"):
            await engine.calls.make(task_call("task_work", "handshake", task_ttl_ms=-5))
        assert watch.sent("tools/call") == []
