"""Connecting without knowing the era: servers that our question breaks, misleads or keeps busy."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.sessions.connection import clocks
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.snapshots.servers import ServerSnapshot, Waiting
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.commands import run

SERVER = str(Path(__file__).with_name("opening_server.py"))


def server(manner: str, delay_s: float = 0.0, **settings: Any) -> StdioDefinition:
    args = ("-S", SERVER, manner, str(delay_s))
    return StdioDefinition(name="s", command=sys.executable, args=args, **settings)


async def called(
    definition: StdioDefinition, folder: Path | None = None
) -> tuple[ServerSnapshot, Outcome, list[Frame]]:
    """A server once it was connected, what a call came to, and all frames."""
    frames: list[Frame] = []
    async with Engine(folder=folder) as engine:
        engine.subscribe(lambda update: frames.extend(update.frames))
        with anyio.fail_after(30):
            name = engine.servers.add(definition)
            found = await engine.servers.connect(name)
            outcome = await engine.calls.make(Call(name, "tools/call", {"name": "work"}))
    return found, outcome, frames


def sent(frames: list[Frame], connection: str) -> list[str]:
    """The methods of what went to the server over one connection."""
    found = [f.raw for f in frames if f.channel is Channel.SENT and f.connection == connection]
    return [m["method"] for m in map(json.loads, found) if "method" in m]


async def test_a_server_that_our_question_breaks_is_connected_by_the_handshake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", 0.3)
    found, outcome, frames = await called(server("breaks"))
    assert (found.revision, outcome.state) == ("2025-06-18", JobState.DONE)
    assert sent(frames, "s#1") == ["server/discover", "initialize"]
    assert sent(frames, "s#2")[:2] == ["initialize", "notifications/initialized"]
    assert found.error is None
    reasons = [f.raw for f in frames if f.raw.startswith(b'{"event":"restarting"')]
    assert len(reasons) == 1
    assert b"the server exited after server/discover and initialize" in reasons[0]


async def test_one_that_it_breaks_and_that_starts_late_is_connected_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", 0.2)
    found, outcome, _ = await called(server("breaks", 0.6))
    assert (found.era, outcome.state) == (Era.HANDSHAKE, JobState.DONE)


async def test_one_that_refuses_the_question_and_ends_is_connected_by_the_handshake() -> None:
    found, outcome, frames = await called(server("quits"))
    assert (found.era, outcome.state) == (Era.HANDSHAKE, JobState.DONE)
    assert sent(frames, "s#2")[0] == "initialize"


async def test_a_late_good_answer_counts_when_the_handshake_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", 0.2)
    found, outcome, frames = await called(server("locks", 0.6))
    assert (found.revision, outcome.state) == ("2026-07-28", JobState.DONE)
    assert sent(frames, "s#1")[:2] == ["server/discover", "initialize"]
    assert not any(frame.connection == "s#2" for frame in frames)


async def test_an_empty_answer_is_no_evidence_of_the_newer_era() -> None:
    found, outcome, frames = await called(server("empties"))
    assert (found.revision, outcome.state) == ("2025-06-18", JobState.DONE)
    assert [tool.name for tool in found.tools] == ["work", "ask", "change"]
    assert sent(frames, "s#1")[:2] == ["server/discover", "initialize"]


async def test_a_server_that_names_the_revision_it_refuses_is_asked_once_more() -> None:
    found, outcome, frames = await called(server("insists"))
    assert (found.revision, outcome.state) == ("2026-07-28", JobState.DONE)
    assert sent(frames, "s#1")[:3] == ["server/discover", "server/discover", "tools/list"]


async def test_a_call_goes_out_after_the_lists_so_that_its_question_is_answered() -> None:
    frames: list[Frame] = []
    async with Engine() as engine:
        engine.subscribe(lambda update: frames.extend(update.frames))
        with anyio.fail_after(20):
            name = engine.servers.add(server("in-turn", era="handshake"))
            await engine.servers.connect(name)
            outcome = await engine.calls.make(Call(name, "tools/call", {"name": "ask"}))
    assert outcome.state is JobState.DONE
    methods = [m for m in sent(frames, "s#1") if m.endswith(("/list", "/call"))]
    assert methods == ["tools/list", "resources/list", "prompts/list", "tools/call"]


async def test_lists_that_change_meanwhile_are_read_once_nothing_runs() -> None:
    frames: list[Frame] = []
    async with Engine() as engine:
        engine.subscribe(lambda update: frames.extend(update.frames))
        with anyio.fail_after(20):
            name = engine.servers.add(server("in-turn", era="handshake"))
            await engine.servers.connect(name)
            outcome = await engine.calls.make(Call(name, "tools/call", {"name": "change"}))
            while sent(frames, "s#1")[-1] != "tools/list":  # noqa: ASYNC110  # seen in frames
                await anyio.sleep(0.02)
    assert outcome.state is JobState.DONE
    assert sent(frames, "s#1")[-2:] == ["tools/call", "tools/list"]


def test_the_command_line_asks_for_the_tools_alone(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    arguments = ("call", "ask", "--data-dir", str(tmp_path / "data"), "--record", str(record))
    command = (sys.executable, "-S", SERVER, "in-turn")
    assert run(*arguments, "--era", "handshake", "--", *command).code == 0
    written = record.read_text()
    assert "tools/list" in written
    assert "resources/list" not in written
    assert "prompts/list" not in written


async def test_the_verdict_is_kept_so_that_the_next_run_does_not_ask(tmp_path: Path) -> None:
    definition = server("quits")
    first, _, _ = await called(definition, tmp_path)
    second, outcome, frames = await called(definition, tmp_path)
    assert (second.revision, outcome.state) == (first.revision, JobState.DONE)
    assert sent(frames, "s#1")[0] == "initialize"
    assert not any(frame.connection == "s#2" for frame in frames)


async def test_a_server_that_changed_is_asked_again_and_the_change_is_noticed(
    tmp_path: Path,
) -> None:
    manner = tmp_path / "manner"
    manner.write_text("empties")
    definition = server(f"@{manner}")
    await called(definition, tmp_path)
    manner.write_text("locks")  # which refuses a handshake once it was asked for the newest
    found, outcome, frames = await called(definition, tmp_path)
    assert sent(frames, "s#1")[0] == "initialize"
    assert (found.era, outcome.state) == (Era.HANDSHAKE, JobState.DONE)
    found, _, frames = await called(definition, tmp_path)
    assert sent(frames, "s#1")[0] == "server/discover"
    assert found.revision == "2026-07-28"


async def test_a_remembered_handshake_that_is_refused_is_asked_about(tmp_path: Path) -> None:
    manner = tmp_path / "manner"
    manner.write_text("empties")
    definition = server(f"@{manner}")
    await called(definition, tmp_path)
    manner.write_text("newest")
    found, outcome, frames = await called(definition, tmp_path)
    assert sent(frames, "s#1")[:2] == ["initialize", "server/discover"]
    assert (found.revision, outcome.state) == ("2026-07-28", JobState.DONE)
    _, _, frames = await called(definition, tmp_path)
    assert sent(frames, "s#1")[0] == "server/discover"


async def test_the_doctor_shows_what_was_asked_and_why() -> None:
    async with Engine() as engine:
        with anyio.fail_after(20):
            name = engine.servers.add(server("quits"))
            await engine.servers.connect(name)
        opening = engine.servers.doctor(name).opening
    assert [(each.method, each.why, each.answer) for each in opening] == [
        (
            "server/discover",
            "era unknown: trying the newest revision first",
            "error -32600: Expected initialize",
        ),
        ("initialize", "server/discover was refused (-32600)", "the server exited"),
        ("initialize", "second attempt, over a new connection", "speaks 2025-06-18"),
    ]


async def test_a_server_that_writes_to_stderr_while_it_starts_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "FIRST_SILENCE_S", 2.0)
    monkeypatch.setattr(clocks, "STDERR_EXTRA_S", 2.5)
    reported: list[Waiting] = []
    async with Engine() as engine:

        def listen(update: Update) -> None:
            waiting = engine.servers.snapshot("s").waiting if "s" in update.servers else None
            reported.extend([] if waiting is None else [waiting])

        engine.subscribe(listen)
        with anyio.fail_after(30):
            found = await engine.servers.connect(engine.servers.add(server("chatty", 4)))
    assert found.era is Era.HANDSHAKE
    assert found.waiting is None
    assert reported[-1].stderr_at is not None
    assert reported[-1].until - reported[-1].began_at > 2.5


async def test_one_that_stays_silent_after_our_question_is_begun_again_with_the_handshake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "FIRST_SILENCE_S", 1.5)
    monkeypatch.setattr(eras, "DISCOVER_LIMIT_S", 0.2)
    found, outcome, frames = await called(server("wedges"))
    assert (found.era, outcome.state) == (Era.HANDSHAKE, JobState.DONE)
    assert sent(frames, "s#1") == ["server/discover", "initialize"]
    assert sent(frames, "s#2")[0] == "initialize"


async def test_a_chosen_limit_is_kept_though_the_server_is_starting() -> None:
    async with Engine() as engine:
        name = engine.servers.add(server("chatty", 20, connect_timeout_s=1.0))
        with anyio.fail_after(8), pytest.raises(UserError, match="within 1 s"):
            await engine.servers.connect(name)
