"""The clocks of a call: counting down, standing still, moved on, against a plain oracle."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.connection.clocks import CallClock, Hold
from mcp_progress_monitor.snapshots.limits import LONGEST_LIMIT_S, Limit, Limits
from mcp_progress_monitor.tracker.snapshot import Clocks
from tests.patience import until


class Time:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Waiting:
    """A call that waits by a clock, and what became of it."""

    def __init__(self, clock: CallClock, time: Time) -> None:
        self.clock = clock
        self.time = time
        self.is_answered = False
        self.is_over = False
        self.limit: Limit | None = None

    async def run(self) -> None:
        self.limit = await self.clock.until(lambda: self.is_answered, self.time)
        self.is_over = True

    async def at(self, now: float) -> None:
        """Let it be `now`, and the wait notice that."""
        self.time.now = now
        self.clock.wake()
        await settle()


async def settle() -> None:
    for _ in range(5):
        await checkpoint()


@asynccontextmanager
async def waiting(limits: Limits) -> AsyncIterator[Waiting]:
    """A call that waits since 100, by limits far beyond what the test lasts."""
    time = Time()
    call = Waiting(CallClock(100.0, limits), time)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call.run)
        await settle()
        yield call
        call.is_answered = True
        call.clock.wake()


def test_both_clocks_count_down_from_the_beginning() -> None:
    assert CallClock(100.0, Limits(60, 90)).read(130.0) == Clocks(30.0, 60.0, False, 60.0, 90.0)


def test_a_limit_that_is_off_has_nothing_left_to_tell() -> None:
    assert CallClock(100.0).read(1e6) == Clocks(None, None, False, None, None)


def test_what_is_left_is_never_below_zero() -> None:
    clocks = CallClock(100.0, Limits(1, 2)).read(130.0)
    assert (clocks.idle_left_s, clocks.total_left_s) == (0.0, 0.0)


def test_any_message_restarts_only_the_idle_clock() -> None:
    clock = CallClock(100.0, Limits(60, 90))
    clock.touch(120.0)
    clock.touch(110.0)  # reported late: an older one takes nothing back
    assert clock.read(130.0)[:2] == (50.0, 60.0)


def test_both_clocks_stand_still_while_held() -> None:
    clock = CallClock(100.0, Limits(60, 90))
    clock.hold(110.0)
    assert clock.read(5000.0) == Clocks(60.0, 80.0, True, 60.0, 90.0)
    clock.release(6000.0)
    assert clock.read(6010.0) == Clocks(50.0, 70.0, False, 60.0, 90.0)


def test_two_questions_at_once_hold_until_both_are_answered() -> None:
    time, clock = Time(), CallClock(100.0, Limits(60))
    first, second = Hold([clock, clock], time), Hold([clock], time)
    first.release()
    first.release()
    time.now = 500.0
    assert clock.read(500.0) == Clocks(60.0, None, True, 60.0, None)
    second.release()
    assert clock.read(501.0) == Clocks(59.0, None, False, 60.0, None)


def test_one_release_too_many_does_no_harm() -> None:
    clock = CallClock(100.0, Limits(60))
    clock.release(110.0)
    clock.hold(120.0)
    assert clock.is_suspended
    clock.release(130.0)
    assert clock.read(140.0)[0] == 50.0


def test_extending_moves_on_what_is_on_and_leaves_what_is_off() -> None:
    clock = CallClock(100.0, Limits(60))
    clock.extend(60, 600)
    assert clock.limits == Limits(120, None)
    assert clock.read(150.0)[0] == 70.0


def test_limits_can_be_switched_off_and_on_while_it_runs() -> None:
    clock = CallClock(100.0, Limits(60, 90))
    clock.set_limits(Limits(0, None))
    assert clock.read(130.0)[:2] == (None, None)
    clock.set_limits(Limits(None, 40))
    assert clock.read(130.0)[:2] == (None, 10.0)


def test_a_limit_that_was_turned_off_is_restored_with_time_to_spare() -> None:
    clock = CallClock(0.0, Limits(30.0, 3600.0))
    clock.touch(86.0)
    clock.turn_off(Limit.IDLE)
    clock.turn_off(Limit.TOTAL)
    assert clock.read(100.0) == Clocks(None, None, False, None, None, 30.0, 3600.0)
    clock.turn_on(Limit.IDLE, 100.0)
    clock.turn_on(Limit.TOTAL, 100.0)
    # It has been silent for 14 s of the 30 s that it had.
    assert clock.read(100.0) == Clocks(60.0, 3500.0, False, 74.0, 3600.0)
    clock.turn_on(Limit.IDLE, 200.0)
    assert clock.limits == Limits(74.0, 3600.0)


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, 1e300])
def test_what_cannot_be_counted_changes_nothing(seconds: float) -> None:
    clock = CallClock(100.0, Limits(60, 90))
    refusals: list[Callable[[], None]] = [
        lambda: clock.extend(idle_s=seconds),
        lambda: clock.extend(total_s=seconds),
        lambda: clock.set_limits(Limits(seconds)),
        lambda: clock.set_limits(Limits(5, seconds)),
    ]
    for refuse in refusals:
        with pytest.raises(UserError):
            refuse()
    assert clock.limits == Limits(60, 90)


def test_extending_ends_at_the_longest_limit() -> None:
    clock = CallClock(100.0, Limits(LONGEST_LIMIT_S))
    with pytest.raises(UserError):
        clock.extend(idle_s=1)
    assert clock.limits.idle_s == LONGEST_LIMIT_S


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (Limits(60, 61), Limit.IDLE),
        (Limits(61, 60), Limit.TOTAL),
        (Limits(60, 60), Limit.TOTAL),
        (Limits(None, 60), Limit.TOTAL),
        (Limits(60, None), Limit.IDLE),
    ],
)
async def test_the_first_limit_is_reported_and_of_equals_the_total_one(
    limits: Limits, limit: Limit
) -> None:
    async with waiting(limits) as call:
        await call.at(159.999)
        assert not call.is_over
        await call.at(160.0)
        assert call.limit is limit


async def test_an_extension_at_the_last_moment_counts() -> None:
    async with waiting(Limits(60)) as call:
        call.time.now = 159.999
        call.clock.extend(60)
        await call.at(160.5)
        assert not call.is_over
        await call.at(219.999)
        assert not call.is_over
        await call.at(220.0)
        assert call.limit is Limit.IDLE


async def test_a_shorter_limit_is_noticed_at_once() -> None:
    async with waiting(Limits(None, 1800)) as call:
        call.time.now = 120.0
        call.clock.set_limits(Limits(10))
        await settle()
        assert call.limit is Limit.IDLE


async def test_a_call_without_limits_waits_until_one_is_set() -> None:
    async with waiting(Limits()) as call:
        await call.at(1e9)
        assert not call.is_over
        call.clock.set_limits(Limits(None, 5))
        await settle()
        assert call.limit is Limit.TOTAL


async def test_no_limit_is_reached_while_a_question_is_open() -> None:
    async with waiting(Limits(60, 90)) as call:
        call.time.now = 150.0
        hold = Hold([call.clock], call.time)
        await call.at(10_000.0)
        assert not call.is_over
        hold.release()
        await call.at(10_039.0)
        assert not call.is_over
        await call.at(10_040.0)
        assert call.limit is Limit.TOTAL


async def test_a_limit_that_would_be_reached_does_not_count_while_held() -> None:
    async with waiting(Limits(None, 60)) as call:
        call.time.now = 150.0
        hold = Hold([call.clock], call.time)
        call.clock.set_limits(Limits(None, 20))
        await settle()
        assert not call.is_over
        hold.release()
        await settle()
        assert call.limit is Limit.TOTAL


@pytest.mark.parametrize("is_alive", [True, False])
async def test_what_came_while_the_program_stood_still_is_read_before_a_limit_counts(
    is_alive: bool,
) -> None:
    time = Time()
    call = Waiting(CallClock(100.0, Limits(0.05)), time)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call.run)
        await settle()
        time.now = 200.0  # the wait ends a hundred seconds late by that
        await anyio.sleep(0.2)
        assert not call.is_over
        if is_alive:
            call.is_answered = True
            call.clock.wake()
        await until(lambda: call.is_over)
    assert call.limit is (None if is_alive else Limit.IDLE)


async def test_what_is_answered_reaches_no_limit() -> None:
    async with waiting(Limits(60)) as call:
        call.is_answered = True
        await call.at(1000.0)
        assert call.is_over
        assert call.limit is None


Step: TypeAlias = tuple[str, int, int]
_SECONDS = st.integers(0, 40)
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(("pass", "touch", "hold", "release", "extend", "set")), _SECONDS, _SECONDS
    ),
    max_size=40,
)


class Oracle:
    """The same by counting seconds one by one: what ran since the beginning and the last sign."""

    def __init__(self, idle: int, total: int) -> None:
        self.idle, self.total = idle, total
        self.since_sign = self.since_start = self.holds = 0

    def take(self, step: Step) -> None:
        what, one, two = step
        if what == "pass":
            for _ in range(one):
                self.since_sign += not self.holds
                self.since_start += not self.holds
        elif what in {"touch", "hold"}:
            self.since_sign = 0
            self.holds += what == "hold"
        elif what == "release":
            self.holds = max(self.holds - 1, 0)
        elif what == "set":
            self.idle, self.total = one, two
        else:
            self.idle += one if self.idle else 0
            self.total += two if self.total else 0

    def read(self) -> Clocks:
        return Clocks(
            float(max(self.idle - self.since_sign, 0)) if self.idle else None,
            float(max(self.total - self.since_start, 0)) if self.total else None,
            self.holds > 0,
            float(self.idle) or None,
            float(self.total) or None,
        )


@given(idle=_SECONDS, total=_SECONDS, steps=_STEPS)
def test_any_course_of_events_reads_as_if_counted_by_the_second(
    idle: int, total: int, steps: list[Step]
) -> None:
    now, clock, oracle = 1000, CallClock(1000.0, Limits(idle, total)), Oracle(idle, total)
    for step in steps:
        what, one, two = step
        oracle.take(step)
        match what:
            case "pass":
                now += one
            case "touch":
                clock.touch(now)
            case "hold":
                clock.hold(now)
            case "release":
                clock.release(now)
            case "extend":
                clock.extend(one, two)
            case "set":
                clock.set_limits(Limits(one, two))
        assert clock.read(now) == oracle.read()
