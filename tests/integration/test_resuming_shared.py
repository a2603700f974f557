"""Two programs on one data folder, and data folders that cannot be used as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_progress_monitor.monitor import Monitor
from mcp_progress_monitor.problem import ProblemError
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

if TYPE_CHECKING:
    from mcp_progress_monitor.monitor import Outcome


async def test_what_one_program_resumes_the_other_does_not(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.resuming.restorer._LOOK_S", 0.05)
    async with running(place) as (first, seen), running(place) as (second, watch):
        await first.call(export(fault="silence", at_attempt=2))
    async with (
        running(place, is_connected=False) as (first, seen),
        running(place, is_connected=False) as (second, watch),
        anyio.create_task_group() as calls,
    ):
        calls.start_soon(first.resume, 1)
        await seen.until(lambda: the_job(first).attempt_count == 2)
        with pytest.raises(ProblemError, match="Another running program"):
            await second.resume(1)
        assert not the_job(second).can_resume
        assert the_job(second).resume_note == "Another running program is resuming it"
        with pytest.raises(ProblemError, match="Another running program"):
            await second.forget([1])
        assert list(second.jobs()) == [1]
        await first.cancel(1)
        await seen.until(lambda: the_job(first).can_resume)
        await watch.until(lambda: the_job(second).can_resume)
        assert the_job(second).attempt_count == 2
        assert (await second.resume(1, auto_resume=AT_ONCE)).state is JobState.DONE
        with pytest.raises(ProblemError, match="no longer resumable"):
            await first.resume(1)
        assert the_job(first).state is JobState.FAILED
        assert "another program" in the_job(first).resume_note
    assert place.chunks() == whole()


async def test_a_program_that_comes_late_goes_on_with_the_newest_token(place: Place) -> None:
    async with running(place) as (first, _):
        await first.call(export())
        async with running(place, is_connected=False) as (second, watch):
            await first.resume(1)
            detail = first.detail(1)
            assert detail is not None
            assert (await second.resume(1)).state is JobState.DONE
            (message,) = watch.sent("tools/call")
            assert message["params"]["_meta"]["resumeToken"] == detail.resume_token
            assert the_job(second).attempt_count == 3
    assert place.chunks() == whole()


async def test_two_that_press_resume_at_once_make_one_attempt(place: Place) -> None:
    results: list[Outcome | ProblemError] = []

    async def resume(monitor: Monitor) -> None:
        try:
            results.append(await monitor.resume(1))
        except ProblemError as error:
            results.append(error)

    async with running(place) as (first, seen):
        await first.call(export(chunks=2, chunks_per_attempt=1, interval_s=1))
        async with running(place) as (second, watch), anyio.create_task_group() as both:
            both.start_soon(resume, first)
            both.start_soon(resume, second)
    assert len(seen.sent("tools/call")) + len(watch.sent("tools/call")) == 2
    assert sum(isinstance(result, ProblemError) for result in results) == 1
    assert place.chunks() == whole(2)


async def test_a_damaged_file_is_set_aside_and_told_once(place: Place) -> None:
    async with running(place) as (monitor, _):
        await monitor.call(export())
    (place.data_dir / FILE).write_bytes(b"SQLite format 3\0" + b"rubbish" * 1000)
    async with running(place) as (monitor, _):
        assert monitor.store_problem is not None
        assert "set aside" in monitor.store_problem.what
        assert list(monitor.jobs()) == []
        assert (await monitor.call(export(job="b"))).resume_id is not None
        assert len(saved_tokens(place)) == 1


async def test_a_newer_file_is_read_and_what_is_new_stays_in_memory(place: Place) -> None:
    async with running(place) as (monitor, _):
        await monitor.call(export())
    query(place.data_dir, "PRAGMA user_version = 99")
    async with running(place) as (monitor, _):
        assert monitor.store_problem is not None
        assert "newer version" in monitor.store_problem.what
        assert the_job(monitor).can_resume
        with pytest.raises(ProblemError, match="newer version"):
            await monitor.resume(1)
        outcome = await monitor.call(export(job="b"))
        assert (outcome.state, outcome.resume_id) == (JobState.RESUMABLE, None)
        assert "Not saved" in the_job(monitor, outcome.job).resume_note
        again = await monitor.resume(outcome.job or 0, auto_resume=AT_ONCE)
        assert again.state is JobState.DONE
    assert place.chunks("b") == whole()


async def test_what_is_not_to_be_restored_is_no_row(place: Place) -> None:
    async with running(place) as (monitor, _):
        await monitor.call(export())
    async with Monitor(store=place.store(), restores=False) as monitor:
        Watch(monitor)
        assert list(monitor.jobs()) == []
    assert len(saved_tokens(place)) == 1


async def test_a_hundred_chains_leave_nothing_behind(place: Place) -> None:
    async with running(place) as (monitor, _):
        for number in range(100):
            call = export(job=f"j{number % 3}", chunks=2, chunks_per_attempt=1, interval_s=0)
            outcome = await monitor.call(call)
            assert (await monitor.resume(outcome.job or 0)).state is JobState.DONE
        assert len(monitor.jobs()) == 100
        monitor.remove_jobs(monitor.jobs())
        assert monitor.resuming_size == 0
    assert saved_tokens(place) == []
