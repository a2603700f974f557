"""Many calls as one series: so many at once, a pause between, stopped, refused."""

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, CallSeries
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.resumable import Place, running, the_job

_PARAMS = {"name": "known_total", "arguments": {"steps": 2, "interval_s": 0.01}}
_CALL = Call("demo", "tools/call", _PARAMS)


@pytest.mark.parametrize("at_once", [1, 3])
async def test_no_more_calls_are_pending_than_wanted(place: Place, at_once: int) -> None:
    pending: list[int] = []

    def may_start(_count: int) -> bool:
        jobs = [the_job(engine, job) for job in engine.jobs.ids()]
        pending.append(sum(not job.state.is_over for job in jobs))
        return True

    async with running(place) as (engine, _):
        await engine.calls.make_series(CallSeries((_CALL,) * 7, at_once), may_start)
        states = [the_job(engine, job).state for job in engine.jobs.ids()]
    assert states == [JobState.DONE] * 7
    assert max(pending) <= at_once - 1


async def test_without_a_number_all_are_made_at_once(place: Place) -> None:
    slow = {"name": "known_total", "arguments": {"steps": 1, "interval_s": 0.5}}
    pending: list[int] = []

    def may_start(_count: int) -> bool:
        pending.append(len([*engine.jobs.ids()]))
        return True

    async with running(place) as (engine, _):
        await engine.calls.make_series(
            CallSeries((Call("demo", "tools/call", slow),) * 5), may_start
        )
        assert len([*engine.jobs.ids()]) == 5
    assert len(pending) == 5


async def test_each_further_call_waits_for_the_pause(place: Place) -> None:
    async with running(place) as (engine, _):
        before = anyio.current_time()
        ended: list[int] = []
        end = await engine.calls.make_series(CallSeries((_CALL,) * 3, 0, 0.1), on_end=ended.append)
        assert sorted(ended) == sorted(end.jobs) == [1, 2, 3]
        assert end.total == 3
        assert end.duration_s >= 0.2
        assert anyio.current_time() - before >= 0.2


async def test_a_series_that_is_stopped_ends_what_was_begun(place: Place) -> None:
    async with running(place) as (engine, _):
        await engine.calls.make_series(CallSeries((_CALL,) * 9, 1), lambda count: count <= 2)
        states = [the_job(engine, job).state for job in engine.jobs.ids()]
    assert states == [JobState.DONE] * 2


async def test_the_first_call_that_cannot_be_made_ends_the_series(place: Place) -> None:
    asked: list[int] = []

    def may_start(count: int) -> bool:
        asked.append(count)
        return True

    async with running(place, is_connected=False) as (engine, _):
        with pytest.raises(UserError, match="demo"):
            await engine.calls.make_series(CallSeries((_CALL,) * 50, 1), may_start)
    assert asked == [1]
