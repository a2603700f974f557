"""Servers that close a pipe and live on, or leave it to a stranger, as real processes."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.snapshots.definitions import RestartPolicy
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.processes import is_alive
from tests.integration.reconnecting import Reports, pid_of, plain, tool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")

_NEVER = RestartPolicy(is_on=False)


@pytest.mark.parametrize("pause", [0, 0.02, 0.1])
async def test_a_stranger_that_writes_on_to_the_pipes_does_not_hold_up_the_end(
    tmp_path: Path, pause: float
) -> None:
    file = tmp_path / "pid"
    try:
        async with Engine() as engine:
            engine.servers.add(plain(restart=_NEVER))
            await engine.servers.connect("plain")
            with anyio.fail_after(60):
                outcome = await engine.calls.make(tool("haunt", file=str(file), pause=pause))
            assert outcome.state is JobState.LOST
            assert outcome.failure is not None
            assert "exit code 3" in outcome.failure.message
            with anyio.fail_after(60):
                await engine.servers.disconnect("plain")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


async def test_a_server_that_closes_its_output_is_not_said_to_be_ended_by_others() -> None:
    async with Engine() as engine:
        reported = Reports(engine)
        engine.servers.add(plain(restart=_NEVER))
        await engine.servers.connect("plain")
        pid = pid_of(engine)
        with anyio.fail_after(60):
            outcome = await engine.calls.make(tool("mute"))
        assert outcome.state is JobState.LOST
        assert outcome.failure is not None
        assert "closed its output" in outcome.failure.message
        await reported.until_state(ServerState.FAILED)
        (cause,) = engine.servers.doctor("plain").causes
        assert cause.text == "It closed stdout but kept running"
        assert not is_alive(pid)


async def test_a_server_that_closes_its_input_is_ended_and_its_calls_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.engine.engine._TICK_S", 0.05)
    async with Engine() as engine:
        reported = Reports(engine)
        engine.servers.add(plain(restart=_NEVER, ping_interval_s=0.3))
        await engine.servers.connect("plain")
        pid = pid_of(engine)
        with anyio.fail_after(60):
            outcome = await engine.calls.make(tool("deaf"))
        assert outcome.state is JobState.LOST
        assert outcome.failure is not None
        assert "closed its input" in outcome.failure.message
        await reported.until_state(ServerState.FAILED)
        (cause,) = engine.servers.doctor("plain").causes
        assert cause.text == "It closed stdin but kept running"
        assert not is_alive(pid)


async def test_what_a_server_asks_without_ending_the_line_is_seen() -> None:
    asks = "import sys, time; sys.stdout.write('Password: '); sys.stdout.flush(); time.sleep(600)"
    definition = plain(connect_timeout_s=1)
    async with Engine() as engine:
        engine.servers.add(definition.model_copy(update={"args": ("-c", asks)}))
        with pytest.raises(UserError):
            await engine.servers.connect("plain")
        report = engine.servers.doctor("plain")
        assert report.first_bytes == b"Password: "
        assert "Password:" in report.causes[0].text


async def test_a_message_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.transport.stdio.MOST_BYTES", 1_000_000)
    flood = "import sys\nwhile True: sys.stdout.write('x' * 100_000)"
    definition = plain().model_copy(update={"args": ("-c", flood)})
    async with Engine() as engine:
        engine.servers.add(definition)
        with anyio.fail_after(60), pytest.raises(UserError, match=r"more than 1.0 MB without"):
            await engine.servers.connect("plain")
        pid = pid_of(engine)
        await engine.servers.disconnect("plain")
        assert not is_alive(pid)
        places = range(engine.timeline.first, engine.timeline.end)
        assert 10_000 < max(map(engine.timeline.size, places)) < 100_000


async def test_what_references_stand_for_is_in_no_report_that_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEST_KEY", "open-sesame")
    reported = "import os, sys; print(os.environ['KEY'], file=sys.stderr)"
    definition = plain(env={"KEY": "Bearer ${env:TEST_KEY}"})
    async with Engine() as engine:
        engine.servers.add(definition.model_copy(update={"args": ("-c", reported)}))
        with pytest.raises(UserError):
            await engine.servers.connect("plain")
        report = engine.servers.doctor("plain")
        assert report.stderr_tail == ("Bearer open-sesame",)
        assert report.secrets == ("open-sesame",)
