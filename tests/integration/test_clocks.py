"""Clocks and cancels of real calls: moved while they run, reported when they run out."""

import contextlib
import math
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.snapshots.limits import Limits
from mcp_progress_monitor.snapshots.questions import Decline
from mcp_progress_monitor.tracker.snapshot import Clocks, JobId, JobSnapshot, JobState
from tests.integration.watching import Watch
from tests.servers.definition import server_definition

SILENT = {"steps": 2, "interval_s": 0.002}
"""Arguments of `never_answers`: two ticks, then nothing."""


class Bench:
    """A monitor with one demo server, and calls of its tools that are under way."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.outcomes: list[Outcome] = []
        self._watch = Watch(engine)

    async def call(self, name: str, arguments: dict[str, Any], **options: Any) -> Outcome:
        params = {"name": name, "arguments": arguments}
        outcome = await self.engine.calls.make(Call("demo", "tools/call", params, **options))
        self.outcomes.append(outcome)
        return outcome

    async def silent_call(self, **options: Any) -> None:
        await self.call("never_answers", SILENT, **options)

    async def until(self, is_so: Callable[[], object]) -> None:
        await self._watch.until(is_so)

    async def until_ticks(self, job: JobId, count: int) -> None:
        """Wait until a job had so many."""
        await self.until(
            lambda: job in self.engine.jobs.ids() and self.job(job).tick_count >= count
        )

    def job(self, job: JobId) -> JobSnapshot:
        found = self.engine.jobs.snapshot(job)
        assert found is not None
        return found

    def clocks(self, job: JobId) -> Clocks:
        found = self.job(job).clocks
        assert found is not None
        return found


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let silence after a cancel be noticed soon."""
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)


@contextlib.asynccontextmanager
async def bench(
    cancel_grace_s: float = 0.1, era: Era = "auto", **limits: float
) -> AsyncIterator[Bench]:
    """A bench whose server is connected; `limits` are those of its definition."""
    async with Engine(cancel_grace_s=cancel_grace_s) as engine:
        engine.servers.add(server_definition(era=era).model_copy(update=limits))
        await engine.servers.connect("demo")
        yield Bench(engine)


async def test_a_call_is_extended_in_time_and_ends_at_the_limit_it_is_given_then() -> None:
    async with bench() as at, anyio.create_task_group() as calls:
        calls.start_soon(at.call, "never_answers", SILENT)
        await at.until_ticks(1, 2)
        at.engine.calls.set_limits(1, Limits(idle_s=30, total_s=60))
        at.engine.calls.extend(1, idle_s=60, total_s=600)
        clocks = at.clocks(1)
        assert (clocks.idle_s, clocks.total_s) == (90, 660)
        assert 60 < (clocks.idle_left_s or 0) <= 90
        assert 600 < (clocks.total_left_s or 0) < 660
        at.engine.calls.set_limits(1, Limits(idle_s=0.2))
        await at.until(lambda: at.job(1).state.is_over)
    (outcome,) = at.outcomes
    assert outcome.state is JobState.TIMED_OUT
    assert outcome.failure is not None
    text = outcome.failure.message
    assert "Idle timeout of 200 ms reached: tools/call (id " in text
    assert "has no reply after" in text
    assert "Last byte from the server: " in text
    assert "Last tick: " in text
    assert re.search(r"The server's process \d+ is running; .+ pending", text)


async def test_a_change_of_the_clocks_is_reported_to_listeners() -> None:
    async with bench() as at, anyio.create_task_group() as calls:
        calls.start_soon(at.silent_call)
        await at.until_ticks(1, 2)
        reported: list[frozenset[JobId]] = []
        at.engine.subscribe(lambda update: reported.append(update.changes.progressed))
        at.engine.calls.extend(1, idle_s=60)
        at.engine.calls.set_limits(1, Limits())
        assert reported == [frozenset({1})] * 2
        await at.engine.calls.cancel(1)


async def test_limits_that_are_switched_off_end_no_call() -> None:
    async with bench() as at, anyio.create_task_group() as calls:
        calls.start_soon(lambda: at.silent_call(idle_timeout_s=30, total_timeout_s=30))
        await at.until_ticks(1, 2)
        at.engine.calls.set_limits(1, Limits(0, None))
        assert at.clocks(1) == Clocks(None, None, False, None, None)
        at.engine.calls.extend(1, idle_s=60)
        assert at.clocks(1).idle_s is None
        await at.engine.calls.cancel(1)
    assert at.outcomes[0].state is JobState.CANCELLED


async def test_progress_restarts_only_the_idle_clock() -> None:
    async with bench() as at, anyio.create_task_group() as calls:
        steady = {"steps": 100_000, "interval_s": 0.02}
        calls.start_soon(
            lambda: at.call("known_total", steady, idle_timeout_s=100, total_timeout_s=100)
        )
        await at.until_ticks(1, 20)
        clocks = at.clocks(1)
        assert (clocks.idle_left_s or 0) > (clocks.total_left_s or 0) + 0.2
        await at.engine.calls.cancel(1)


async def test_the_limits_of_a_server_hold_for_calls_that_choose_none() -> None:
    async with bench(idle_timeout_s=0.2, total_timeout_s=40.0) as at:
        assert (await at.call("never_answers", SILENT)).state is JobState.TIMED_OUT
        async with anyio.create_task_group() as calls:
            calls.start_soon(lambda: at.silent_call(idle_timeout_s=None))
            await at.until_ticks(2, 2)
            clocks = at.clocks(2)
            assert (clocks.idle_s, clocks.total_s) == (None, 40.0)
            await at.engine.calls.cancel(2)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, 1e300])
async def test_an_invalid_timeout_is_rejected_before_anything_is_sent(seconds: float) -> None:
    async with bench() as at:
        for limit in ("idle_timeout_s", "total_timeout_s"):
            with pytest.raises(UserError, match="timeout cannot be"):
                await at.call("known_total", {"steps": 1}, **{limit: seconds})
        assert at.engine.jobs.ids() == ()
        async with anyio.create_task_group() as calls:
            calls.start_soon(at.silent_call)
            await at.until_ticks(1, 2)
            with pytest.raises(UserError, match="timeout cannot be"):
                at.engine.calls.extend(1, idle_s=seconds)
            with pytest.raises(UserError, match="timeout cannot be"):
                at.engine.calls.set_limits(1, Limits(None, seconds))
            assert at.clocks(1).idle_s == 1800
            await at.engine.calls.cancel(1)


async def test_what_is_over_or_unknown_has_no_clocks_and_says_so() -> None:
    async with bench() as at:
        await at.call("known_total", {"steps": 1, "interval_s": 0})
        for job in (1, 99):
            found = at.engine.jobs.snapshot(job)
            assert found is None or found.clocks is None
            with pytest.raises(UserError, match="no limits to change"):
                at.engine.calls.extend(job, idle_s=1)


async def test_nobodys_time_runs_out_while_it_is_unknown_who_of_several_asks() -> None:
    async with bench(era="handshake") as at, anyio.create_task_group() as calls:
        calls.start_soon(at.silent_call)
        await at.until_ticks(1, 2)
        calls.start_soon(at.call, "ask_form", {})
        await at.until(at.engine.questions.open)
        assert at.job(3).parent_is_unclear
        for job in (1, 2):
            at.engine.calls.set_limits(job, Limits(0.1, None))
            assert at.clocks(job).is_suspended
        await anyio.sleep(0.3)
        assert at.outcomes == []
        (question,) = at.engine.questions.open()
        at.engine.questions.answer(question.id, Decline())
        await at.until(lambda: at.job(1).state.is_over)
        assert at.job(1).state is JobState.TIMED_OUT


async def test_many_are_cancelled_at_once_and_the_connection_is_not_hurt() -> None:
    cancelling: set[JobId] = set()

    def look(_update: object) -> None:
        found = (at.job(job) for job in at.engine.jobs.ids())
        cancelling.update(job.id for job in found if job.state is JobState.CANCELLING)

    async with bench() as at:
        async with anyio.create_task_group() as calls:
            for _number in range(20):
                calls.start_soon(at.silent_call)
            await at.until(lambda: len(at.engine.jobs.ids()) == 20)
            at.engine.subscribe(look)
            async with anyio.create_task_group() as cancels:
                for job in at.engine.jobs.ids():
                    cancels.start_soon(at.engine.calls.cancel, job)
        assert cancelling == set(at.engine.jobs.ids())
        assert {outcome.state for outcome in at.outcomes} == {JobState.CANCELLED}
        assert (await at.call("known_total", {"steps": 1})).state is JobState.DONE


@pytest.mark.parametrize(
    ("reaction", "ends_as"), [("error", "confirmed"), ("result", "ignored"), ("stop", "confirmed")]
)
async def test_a_cancel_is_requested_then_sent_then_confirmed_or_ignored(
    reaction: str, ends_as: str
) -> None:
    course: list[str] = []
    # Silence is waited for where it is what is to come, and a reply as long as it takes.
    async with (
        bench(cancel_grace_s=0.3 if reaction == "stop" else 60) as at,
        anyio.create_task_group() as calls,
    ):
        arguments = {"steps": 1000, "interval_s": 0.01, "on_cancel": reaction}
        calls.start_soon(at.call, "known_total", arguments)
        await at.until_ticks(1, 2)
        at.engine.subscribe(lambda _update: course.append(at.job(1).cancel_state))
        await at.engine.calls.cancel(1)
        await at.until(lambda: at.job(1).state.is_over)
    assert list(dict.fromkeys(filter(None, course))) == ["requested", "sent", ends_as]


async def test_a_result_after_the_silence_is_kept_with_its_late_ticks_and_reported_as_late() -> (
    None
):
    async with bench() as at:
        deaf = {"steps": 80, "interval_s": 0.02, "on_cancel": "ignore"}
        async with anyio.create_task_group() as calls:
            calls.start_soon(at.call, "known_total", deaf)
            await at.until_ticks(1, 2)
            await at.engine.calls.cancel(1)
        assert at.outcomes[0].state is JobState.CANCELLED
        await at.until(lambda: at.job(1).reply_size is not None)
        found = at.job(1)
        assert (found.state, found.cancel_state) == (JobState.CANCELLED, "ignored")
        assert (found.cancel_s or 0) > 0.1
        assert found.late_count > 0
        assert {mark.key for mark in found.marks} >= {"after-cancel", "late-result"}
        detail = at.engine.jobs.detail(1)
        assert detail is not None
        assert detail.answer is not None
        assert (await at.call("known_total", {"steps": 1})).state is JobState.DONE
