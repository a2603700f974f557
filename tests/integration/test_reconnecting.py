"""Servers that end by themselves and come back, as real processes."""

import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import RestartPolicy
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.processes import is_alive
from tests.integration.reconnecting import LATE, SOON, Reports, pid_of, plain, text_of, tool
from tests.integration.resumable import AT_ONCE, Place, export, the_job, whole
from tests.many_servers import connect_all, disconnect_all
from tests.patience import allowed
from tests.servers.definition import server_definition

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


async def test_a_server_killed_during_calls_comes_back_and_the_jobs_say_what_happened() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await engine.calls.make(tool("tick")))

    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(plain())
        await engine.servers.connect("plain")
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            calls.start_soon(call)
            await reported.until(lambda: len(list(engine.jobs.ids())) == 2)
            first = pid_of(engine)
            os.kill(first, signal.SIGKILL)
        assert [outcome.state for outcome in outcomes] == [JobState.LOST, JobState.LOST]
        failure = outcomes[0].failure
        assert failure is not None
        assert "SIGKILL" in failure.message
        assert "Reconnecting in 50 ms (attempt 1 of 5)" in failure.message
        assert "re-issued" in failure.message
        await reported.until_back()
        assert reported.states[1:] == [
            ServerState.CONNECTING,
            ServerState.CONNECTED,
            ServerState.CLOSING,
            ServerState.WAITING,
            ServerState.CONNECTING,
            ServerState.CONNECTED,
        ]
        found = engine.servers.snapshot("plain")
        assert (found.restarts, found.retry, found.error) == (1, None, None)
        assert pid_of(engine) != first
        assert text_of(await engine.calls.make(tool("echo"))) == "plain"


async def test_while_it_waits_a_server_says_so_and_why() -> None:
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(plain(restart=LATE))
        await engine.servers.connect("plain")
        await engine.calls.make(tool("quit", code=4))
        await reported.until_state(ServerState.WAITING)
        found = engine.servers.snapshot("plain")
        assert found.retry is not None
        assert (found.retry.number, found.retry.limit) == (1, 5)
        assert found.retry.due_at is not None
        assert 590 < found.retry.due_at - engine.now() <= 600
        assert found.error is not None
        assert "exit code 4" in found.error.what
        began = time.monotonic()
        await engine.servers.connect("plain")
        assert engine.servers.snapshot("plain").restarts == 1
        assert time.monotonic() - began < LATE.first_delay_s


@pytest.mark.parametrize("how", ["disconnect", "stop_reconnecting"])
async def test_what_waits_can_be_called_off_at_once(how: str) -> None:
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(plain(restart=RestartPolicy(first_delay_s=1, longest_delay_s=1)))
        await engine.servers.connect("plain")
        await engine.calls.make(tool("quit"))
        await reported.until_state(ServerState.WAITING)
        if how == "disconnect":
            await engine.servers.disconnect("plain")
        else:
            engine.servers.stop_reconnecting("plain")
        found = engine.servers.snapshot("plain")
        assert (found.state, found.retry) == (ServerState.CLOSED, None)
        await anyio.sleep(1.2)
        assert engine.servers.snapshot("plain").connection == "plain#1"


async def test_a_server_that_waits_can_be_removed_and_the_program_closed() -> None:
    began = time.monotonic()
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        for name in ("one", "two"):
            engine.servers.add(plain(restart=LATE, name=name))
        assert await connect_all(engine.servers.connect, ["one", "two"]) == {}
        for name in ("one", "two"):
            await engine.calls.make(tool("quit", name))
            await reported.until_state(ServerState.WAITING, name)
        engine.servers.remove("one")
        assert engine.servers.names() == ("two",)
    assert time.monotonic() - began < LATE.first_delay_s


async def test_without_auto_reconnect_a_server_that_exits_has_failed() -> None:
    async with Engine() as engine:
        reported = Reports(engine)
        engine.servers.add(plain())
        await engine.servers.connect("plain")
        outcome = await engine.calls.make(tool("quit"))
        await reported.until_state(ServerState.FAILED)
        assert outcome.failure is not None
        assert "connected again" not in outcome.failure.message
        assert engine.servers.snapshot("plain").retry is None


async def test_at_the_limit_it_is_reported_how_often_it_was_tried_and_why_it_failed() -> None:
    policy = RestartPolicy(first_delay_s=0.01, longest_delay_s=0.01, limit=2)
    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(plain("dies", restart=policy))
        try:
            await engine.servers.connect("plain")
        except UserError as error:  # it may be gone before its tools are read
            assert "exit code 7" in str(error)  # noqa: PT017
        await reported.until_state(ServerState.FAILED)
        details = engine.servers.snapshot("plain").error
        assert details is not None
        assert details.what == "The server was reconnected 2 times in a row and failed each time"
        assert "exit code 7" in details.detail
        assert "that was all" in details.detail
        assert engine.servers.snapshot("plain").connection == "plain#3"
        assert reported.states.count(ServerState.WAITING) == 2


async def test_a_server_that_never_came_up_is_not_tried_again() -> None:
    async with Engine(reconnects=True) as engine:
        engine.servers.add(server_definition("--profile", "exit", name="plain"))
        with pytest.raises(UserError):
            await engine.servers.connect("plain")
        assert engine.servers.snapshot("plain").state is ServerState.FAILED
        assert engine.servers.snapshot("plain").retry is None


async def test_a_job_is_resumed_automatically_after_its_server_reconnects(place: Place) -> None:
    definition = place.definition().model_copy(update={"restart": SOON})
    async with Engine(store=place.store(), reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(definition)
        await engine.servers.connect("demo")
        async with anyio.create_task_group() as calls:
            calls.start_soon(engine.calls.make, export(interval_s=0.1, auto_resume=AT_ONCE))
            await reported.until(lambda: engine.jobs.ids() and the_job(engine).attempt_count == 2)
            os.kill(pid_of(engine, "demo"), signal.SIGKILL)
        job = the_job(engine)
        assert job.state is JobState.DONE
        assert engine.servers.snapshot("demo").restarts == 1
    assert place.chunks() == whole()


async def test_a_restart_ends_the_server_gracefully_and_is_no_reconnect() -> None:
    outcomes: list[Outcome] = []

    async def call() -> None:
        outcomes.append(await engine.calls.make(tool("tick")))

    async with Engine(reconnects=True) as engine:
        reported = Reports(engine)
        engine.servers.add(plain())
        await engine.servers.restart("plain")
        first = pid_of(engine)
        async with anyio.create_task_group() as calls:
            calls.start_soon(call)
            await reported.until(engine.jobs.ids)
            await engine.servers.restart("plain")
        assert engine.servers.snapshot("plain").state is ServerState.CONNECTED
        assert not is_alive(first)
        assert ServerState.WAITING not in reported.states
        failure = outcomes[0].failure
        assert failure is not None
        assert failure.message.startswith("You restarted the server; the reply had not arrived")
        assert "Restarting now" in failure.message
        assert b'{"event":"restarting","reason":"You restarted the server"' in reported.raw()


async def test_many_servers_are_connected_side_by_side_and_gone_within_five_seconds() -> None:
    async with Engine(reconnects=True) as engine:
        names = [engine.servers.add(plain()) for _ in range(25)]
        bad = engine.servers.add(plain(command="no-such-command-anywhere"))
        errors = await connect_all(engine.servers.connect, [*names, bad])
        assert set(errors) == {bad}
        assert {engine.servers.snapshot(name).state for name in names} == {ServerState.CONNECTED}
        pids = [pid_of(engine, name) for name in names]
        began = time.monotonic()
        await engine.aclose()
        assert time.monotonic() - began < allowed(5)
        assert not any(map(is_alive, pids))


async def test_many_servers_are_disconnected_side_by_side(tmp_path: Path) -> None:
    async with Engine() as engine:
        names = [engine.servers.add(plain(cwd=str(tmp_path))) for _ in range(4)]
        await connect_all(engine.servers.connect, names)
        await disconnect_all(engine.servers.disconnect, names)
        assert {found.state for found in engine.servers.snapshots()} == {ServerState.CLOSED}
