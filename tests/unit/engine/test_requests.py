"""How a call is put, and the clocks of those that wait."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import anyio
import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.engine.call import AutoResume, Call, Outcome
from mcp_progress_monitor.engine.calls import Calls
from mcp_progress_monitor.engine.requests import Requests
from mcp_progress_monitor.engine.task_runs import TaskRuns
from mcp_progress_monitor.engine.updates import LiveTracker
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.facts import RequestMade
from mcp_progress_monitor.protocol.frames import FactRun, Frame
from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.manager import SessionManager
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.limits import USUAL, LimitChoice, Limits
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Clocks, JobId, JobSnapshot, JobState
from mcp_progress_monitor.tracker.tracker import Tracker
from tests.unit.sessions.playbook import PlayedServer, by_method, connection_to

CALL = Call("played", "tools/call", {"name": "t"})


class Runs:
    """No request becomes a task; jobs are cancelled as a test says."""

    def __init__(self) -> None:
        self.asked: list[tuple[JobId, str]] = []
        self.cancels: Callable[[JobSnapshot], bool] = lambda _job: False

    async def cancel(self, job: JobSnapshot, reason: str) -> bool:
        self.asked.append((job.id, reason))
        return self.cancels(job)

    async def begin(self, *_call: object) -> None:
        """None."""


class Desk:
    """Calls to one played server that never answers, with their jobs; time is set by the test."""

    def __init__(self) -> None:
        self.server = PlayedServer(by_method())
        self.tracker = Tracker(clock_of=self._clock_of)
        self.reported: list[ChangeSet] = []
        self.now = Clock().monotonic() + 1000  # after whatever is sent
        self.connection_: Connection = connection_to(self.server)
        self.connection_._sink = self._take  # noqa: SLF001  # read by the tracker, as a monitor does
        manager = cast("SessionManager", self)
        self.runs = Runs()
        self.requests = Requests(
            manager,
            self.tracker,
            self.reported.append,
            self._settled,
            cast("TaskRuns", self.runs),
            lambda: self.now,
        )
        self.calls = Calls(
            self.requests,
            cast("Any", self),
            cast("Any", None),
            manager,
            cast("Any", None),
            LiveTracker(self.tracker, Clock(lambda: self.now, lambda: 0.0), self.reported.append),
            cast("Any", None),
        )
        self.reached = StdioDefinition(name="played", command="played")

    def connection(self, _name: str) -> Connection:
        return self.connection_

    def connection_of(self, connection: str) -> Connection | None:
        return self.connection_ if connection == self.connection_.id else None

    def _clock_of(self, request: RequestMade) -> CallClock | None:
        exchange = self.connection_.outbox.exchange_of(request.number)
        return None if exchange is None else exchange.clock

    def definition(self, _name: str) -> StdioDefinition:
        return self.reached

    def session(self, _name: str) -> None:
        """Nothing is known of its tools."""

    async def listed(self, _name: str) -> None:
        """So there is nothing to wait for."""

    def refuse_known_token(self, _call: Call) -> None:
        """It has none."""

    async def begin(self, idle_s: LimitChoice = USUAL, total_s: LimitChoice = USUAL) -> JobId:
        """Have one more call written; its job."""
        count = len(self.tracker.jobs())
        self.requests.ask(CALL._replace(idle_timeout_s=idle_s, total_timeout_s=total_s))
        with anyio.fail_after(5):
            while len(self.tracker.jobs()) == count:
                await anyio.lowlevel.checkpoint()
        return self.tracker.jobs()[-1]

    def idle_left_s(self, job: JobId, later_s: float = 0.0) -> float | None:
        clock = self.requests.clock_of(job)
        assert clock is not None
        return clock.read(self.now + later_s).idle_left_s

    def job(self, job: JobId) -> JobSnapshot:
        found = self.tracker.snapshot(job, self.now)
        assert found is not None
        return found

    def _take(self, _frames: Sequence[Frame], facts: FactRun) -> None:
        self.tracker.apply(facts, self.now)

    async def _settled(self, _job: JobId) -> None:
        """Nothing is kept on disk."""


@contextlib.asynccontextmanager
async def broker() -> AsyncIterator[Desk]:
    made = Desk()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.connection_.run)
        await made.connection_.opened()
        yield made
        made.connection_.end("enough")


def test_pauses_grow_and_the_last_one_repeats() -> None:
    automatic = AutoResume()
    assert [automatic.pause_s(made) for made in range(7)] == [0, 1, 2, 5, 10, 10, 10]
    assert AutoResume(pauses_s=()).pause_s(3) == 0


async def test_a_call_has_the_limits_it_chose_or_those_of_its_server() -> None:
    async with broker() as at:
        at.reached = at.reached.model_copy(update={"total_timeout_s": 3600.0})
        choices: list[tuple[LimitChoice, LimitChoice, Limits]] = [
            (USUAL, USUAL, Limits(1800, 3600)),
            (None, USUAL, Limits(None, 3600)),
            (5, 0, Limits(5, None)),
        ]
        for idle_s, total_s, limits in choices:
            clock = at.requests.clock_of(await at.begin(idle_s, total_s))
            assert clock is not None
            assert clock.limits == limits


async def test_calls_that_are_made_at_once_let_others_have_their_turn_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, required_inputs = 0, list[int]()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with broker() as at, anyio.create_task_group() as tasks:
        ask = at.requests.ask

        def asked(call: Call) -> object:
            required_inputs.append(turns)
            return ask(call)

        monkeypatch.setattr(at.requests, "ask", asked)
        tasks.start_soon(others)
        for _number in range(50):
            tasks.start_soon(at.calls.make, CALL)
        with anyio.fail_after(5):
            while len(at.tracker.jobs()) < 50:
                await anyio.lowlevel.checkpoint()
        assert len(set(required_inputs)) == 50
        tasks.cancel_scope.cancel()


async def test_a_limit_that_is_refused_sends_nothing() -> None:
    async with broker() as at:
        with pytest.raises(UserError, match="idle timeout cannot be -1"):
            at.requests.ask(Call("played", "tools/call", {}, idle_timeout_s=-1))
        assert at.connection_.outbox.waiting_count == 0


async def test_a_question_holds_the_clock_of_its_job_alone() -> None:
    async with broker() as at:
        asking, other = await at.begin(1e6), await at.begin(1e6)
        hold = at.requests.hold("played#1", asking)
        assert at.idle_left_s(asking, 5000) == pytest.approx(1e6)
        assert (at.idle_left_s(other, 5000) or 0) < 1e6
        at.now += 5000
        hold.release()
        assert at.idle_left_s(asking, 10) == pytest.approx(1e6 - 10)


async def test_a_question_without_a_known_job_holds_all_clocks_of_its_connection() -> None:
    async with broker() as at:
        jobs = [await at.begin(1e6) for _number in range(3)]
        hold = at.requests.hold("played#1", None)
        assert [at.idle_left_s(job, 5000) for job in jobs] == pytest.approx([1e6] * 3)
        hold.release()
        assert [at.idle_left_s(job, 10) for job in jobs] == pytest.approx([1e6 - 10] * 3)
        at.requests.hold("gone#1", None).release()
        at.requests.hold("played#1", 99).release()


async def test_a_clock_is_kept_for_a_job_whose_request_was_answered() -> None:
    async with broker() as at:
        job, clock = await at.begin(), CallClock(at.now, Limits(7, 8))
        with at.requests.keeping(job, clock):
            assert clock.read(at.now) == Clocks(7, 8, False, 7, 8)
            assert at.requests.clock_of(job) is clock
            at.calls.extend(job, idle_s=1, total_s=1)
            assert clock.limits == Limits(8, 9)
        assert at.requests.clock_of(job) is None


async def test_a_snapshot_has_the_clock_of_its_call_until_the_call_ends() -> None:
    async with broker() as at:
        connection, exchange = at.requests.ask(CALL)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(at.requests.complete, connection, exchange)
            with anyio.fail_after(5):
                while not at.tracker.jobs():
                    await anyio.lowlevel.checkpoint()
            job = at.tracker.jobs()[0]
            assert at.job(job).clocks == exchange.clock.read(at.now)
            at.requests.release(job)
        assert at.job(job).clocks is None


async def test_a_change_of_limits_is_published_and_a_refused_one_is_not() -> None:
    async with broker() as at:
        job = await at.begin()
        at.calls.extend(job, idle_s=60)
        with pytest.raises(UserError):
            at.calls.set_limits(job, Limits(-1))
        with pytest.raises(UserError, match="job 99"):
            at.calls.extend(99, idle_s=1, total_s=1)
        assert at.reported == [ChangeSet(progressed=frozenset({job}))]


async def test_a_job_may_be_cancelled_in_another_way_than_by_the_notification() -> None:
    async with broker() as at:
        at.runs.cancels = lambda job: job.id == 1
        for job in (await at.begin(), await at.begin()):
            await at.requests.cancel(at.job(job), "Enough")
        cancelled = await at.server.until_sent("notifications/cancelled")
        assert cancelled["params"]["requestId"] == at.job(2).request_id
        assert at.runs.asked == [(1, "Enough"), (2, "Enough")]
        assert at.job(1).state is JobState.RUNNING


@pytest.mark.parametrize("is_otherwise", [True, False])
async def test_what_runs_out_of_time_is_cancelled_in_its_own_way(is_otherwise: bool) -> None:
    async with broker() as at:
        at.runs.cancels = lambda _job: is_otherwise
        connection, exchange = at.requests.ask(CALL._replace(idle_timeout_s=2000))
        outcomes: list[Outcome] = []

        async def complete() -> None:
            outcomes.append(await at.requests.complete(connection, exchange))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(complete)
            await at.server.until_sent("tools/call")
            at.now += 2000
            exchange.clock.wake()
        connection.outbox.post(connection.outbox.peer.notify("end"))
        await at.server.until_sent("end")
        assert outcomes[0].state is JobState.TIMED_OUT
        assert ("notifications/cancelled" in at.server.methods) is not is_otherwise
        assert [reason for _, reason in at.runs.asked] == ["Timed out"]
