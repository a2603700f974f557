"""Servers that end by themselves and come back, as real processes."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_progress_monitor.monitor import Monitor, Outcome
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.definitions import RestartPolicy, demo_definition
from mcp_progress_monitor.sessions.snapshot import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.mending import LATE, SOON, Told, pid_of, plain, tool, words_of
from tests.integration.processes import is_alive
from tests.integration.resumable import AT_ONCE, Place, export, the_job, whole
from tests.many_servers import connect_all, disconnect_all
from tests.patience import allowed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


async def test_a_server_killed_during_calls_comes_back_and_the_jobs_say_what_happened() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await monitor.call(tool("tick")))

    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(plain())
        await monitor.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            calls.start_soon(call)
            await told.until(lambda: len(list(monitor.jobs())) == 2)
            first = pid_of(monitor)
            os.kill(first, signal.SIGKILL)
        assert [outcome.state for outcome in outcomes] == [JobState.LOST, JobState.LOST]
        failure = outcomes[0].failure
        assert failure is not None
        assert "SIGKILL" in failure.message
        assert "connected again in 50 ms (attempt 1 of 5)" in failure.message
        assert "re-issued" in failure.message
        await told.until_back()
        assert told.states[1:] == [
            ServerState.CONNECTING,
            ServerState.CONNECTED,
            ServerState.CLOSING,
            ServerState.WAITING,
            ServerState.CONNECTING,
            ServerState.CONNECTED,
        ]
        found = monitor.server("plain")
        assert (found.restarts, found.retry, found.problem) == (1, None, None)
        assert pid_of(monitor) != first
        assert words_of(await monitor.call(tool("echo"))) == "plain"


async def test_while_it_waits_a_server_says_so_and_why() -> None:
    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(plain(restart=LATE))
        await monitor.connect("plain")
        await monitor.call(tool("quit", code=4))
        await told.until_state(ServerState.WAITING)
        found = monitor.server("plain")
        assert found.retry is not None
        assert (found.retry.number, found.retry.limit) == (1, 5)
        assert found.retry.due_at is not None
        assert 590 < found.retry.due_at - monitor.now() <= 600
        assert found.problem is not None
        assert "exit code 4" in found.problem.what
        began = time.monotonic()
        await monitor.connect("plain")
        assert monitor.server("plain").restarts == 1
        assert time.monotonic() - began < LATE.first_delay_s


@pytest.mark.parametrize("how", ["disconnect", "stop_mending"])
async def test_what_waits_can_be_called_off_at_once(how: str) -> None:
    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(plain(restart=RestartPolicy(first_delay_s=1, longest_delay_s=1)))
        await monitor.connect("plain")
        await monitor.call(tool("quit"))
        await told.until_state(ServerState.WAITING)
        if how == "disconnect":
            await monitor.disconnect("plain")
        else:
            monitor.stop_mending("plain")
        found = monitor.server("plain")
        assert (found.state, found.retry) == (ServerState.CLOSED, None)
        await anyio.sleep(1.2)
        assert monitor.server("plain").connection == "plain#1"


async def test_a_server_that_waits_can_be_removed_and_the_program_closed() -> None:
    began = time.monotonic()
    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        for name in ("one", "two"):
            monitor.add_server(plain(restart=LATE, name=name))
        assert await connect_all(monitor.connect, ["one", "two"]) == {}
        for name in ("one", "two"):
            await monitor.call(tool("quit", name))
            await told.until_state(ServerState.WAITING, name)
        monitor.remove_server("one")
        assert monitor.server_names() == ("two",)
    assert time.monotonic() - began < LATE.first_delay_s


async def test_without_mending_a_server_that_ended_has_failed() -> None:
    async with Monitor() as monitor:
        told = Told(monitor)
        monitor.add_server(plain())
        await monitor.connect("plain")
        outcome = await monitor.call(tool("quit"))
        await told.until_state(ServerState.FAILED)
        assert outcome.failure is not None
        assert "connected again" not in outcome.failure.message
        assert monitor.server("plain").retry is None


async def test_at_the_limit_it_is_told_how_often_it_was_tried_and_why_it_failed() -> None:
    policy = RestartPolicy(first_delay_s=0.01, longest_delay_s=0.01, limit=2)
    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(plain("dies", restart=policy))
        try:
            await monitor.connect("plain")
        except ProblemError as error:  # it may be gone before its tools are read
            assert "exit code 7" in str(error)  # noqa: PT017
        await told.until_state(ServerState.FAILED)
        problem = monitor.server("plain").problem
        assert problem is not None
        assert problem.what == "The server was connected again 2 times in a row and did not last"
        assert "exit code 7" in problem.detail
        assert "that was all" in problem.detail
        assert monitor.server("plain").connection == "plain#3"
        assert told.states.count(ServerState.WAITING) == 2


async def test_a_server_that_never_came_up_is_not_tried_again() -> None:
    async with Monitor(mends=True) as monitor:
        monitor.add_server(demo_definition("--profile", "exit", name="plain"))
        with pytest.raises(ProblemError):
            await monitor.connect("plain")
        assert monitor.server("plain").state is ServerState.FAILED
        assert monitor.server("plain").retry is None


async def test_a_job_that_goes_on_by_itself_does_so_after_the_server_is_back(place: Place) -> None:
    definition = place.definition().model_copy(update={"restart": SOON})
    async with Monitor(store=place.store(), mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(definition)
        await monitor.connect("demo")
        async with anyio.create_task_group() as calls:
            calls.start_soon(monitor.call, export(interval_s=0.1, auto_resume=AT_ONCE))
            await told.until(lambda: monitor.jobs() and the_job(monitor).attempt_count == 2)
            os.kill(pid_of(monitor, "demo"), signal.SIGKILL)
        job = the_job(monitor)
        assert job.state is JobState.DONE
        assert monitor.server("demo").restarts == 1
    assert place.chunks() == whole()


async def test_a_restart_is_polite_and_no_mending() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await monitor.call(tool("tick")))

    async with Monitor(mends=True) as monitor:
        told = Told(monitor)
        monitor.add_server(plain())
        await monitor.restart("plain")
        first = pid_of(monitor)
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await told.until(monitor.jobs)
            await monitor.restart("plain")
        assert monitor.server("plain").state is ServerState.CONNECTED
        assert not is_alive(first)
        assert ServerState.WAITING not in told.states
        failure = outcomes[0].failure
        assert failure is not None
        assert failure.message.startswith("You restarted the server; the reply had not come yet")
        assert "started again at once" in failure.message
        assert b'{"event":"restarting","reason":"You restarted the server"' in told.raw()


async def test_many_servers_are_connected_side_by_side_and_gone_within_five_seconds() -> None:
    async with Monitor(mends=True) as monitor:
        names = [monitor.add_server(plain()) for _ in range(50)]
        bad = monitor.add_server(plain(command="no-such-command-anywhere"))
        problems = await connect_all(monitor.connect, [*names, bad])
        assert set(problems) == {bad}
        assert {monitor.server(name).state for name in names} == {ServerState.CONNECTED}
        pids = [pid_of(monitor, name) for name in names]
        began = time.monotonic()
        await monitor.aclose()
        assert time.monotonic() - began < allowed(5)
        assert not any(map(is_alive, pids))


async def test_many_servers_are_disconnected_side_by_side(tmp_path: Path) -> None:
    async with Monitor() as monitor:
        names = [monitor.add_server(plain(cwd=str(tmp_path))) for _ in range(4)]
        await connect_all(monitor.connect, names)
        await disconnect_all(monitor.disconnect, names)
        assert {found.state for found in monitor.servers()} == {ServerState.CLOSED}
