"""Real clients and servers through a tap: the same answers, and a recording of both sides."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.exports.formats import HAR, ExportOptions, export_chunks
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from mcp_progress_monitor.snapshots.definitions import Era, HttpDefinition
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.tap_http.program import live_folder
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.commands import run, start
from tests.integration.http_servers import http_server, self_signed
from tests.integration.proxy import proxy
from tests.integration.test_official_http import line_of, served
from tests.integration.watching import Watch
from tests.patience import PATIENCE_S
from tests.unit.tap_http.tapped import client, request, rpc, tapped

STEPS = {"name": "known_total", "arguments": {"steps": 4, "interval_s": 0.01}}


async def lived(url: str, era: Era, transport: str) -> list[Any]:
    """What our own client gets of a server: what it offers, the ticks of a call, its end."""
    definition = HttpDefinition.model_validate(
        {"name": "demo", "url": url, "era": era, "transport": transport}
    )
    async with Engine() as engine:
        watch = Watch(engine)
        engine.servers.add(definition)
        await engine.servers.connect("demo")
        outcome = await engine.calls.make(Call("demo", "tools/call", STEPS))
        server = engine.servers.snapshot("demo")
    ticks = [fact.progress for update in watch.updates for _, _, fact in update.changes.ticks]
    return [server.revision, server.tools, server.server_info, ticks, outcome.state, outcome.result]


@pytest.mark.parametrize(
    ("era", "options", "transport"),
    [
        ("auto", (), "http"),
        ("handshake", (), "http"),
        ("handshake", ("--reply", "json"), "http"),
        ("per-request", (), "http"),
        ("handshake", ("--sse",), "sse"),
        ("handshake", ("--resumable", "--break-after", "2", "--retry", "10"), "http"),
    ],
)
async def test_our_client_gets_the_same_through_a_tap(
    era: Era, options: tuple[str, ...], transport: str, tmp_path: Path
) -> None:
    async with http_server(*options) as server:
        direct = await lived(server.url, era, transport)
        async with tapped(server.url, tmp_path) as tap:
            through = await lived(tap.url, era, transport)
    playback = tap.played()
    (job,) = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert job is not None
    assert job.state is JobState.DONE
    if "json" in options:  # ticks come on another connection: the reply may overtake the last
        assert direct.pop(3)[:3] == through.pop(3)[:3] == [1, 2, 3]
    else:
        assert job.tick_count == len(direct[3])
    assert through == direct
    assert playback.errors == []
    recorded = playback.servers.snapshot("demo")
    assert (recorded.revision, recorded.state) == (direct[0], ServerState.CLOSED)
    assert {frame.connection for frame in tap.frames} == {"demo#1"}


@pytest.fixture(scope="module")
def official() -> Iterator[str]:
    """The URL of a server of the official SDK."""
    with served() as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_the_official_client_and_server_say_the_same_through_a_tap(
    mode: Any, official: str, tmp_path: Path
) -> None:
    async def asked(url: str) -> list[Any]:
        ticks: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            ticks.append(progress)

        async with Client(url, mode=mode) as client:
            tools = await client.list_tools()
            read = await client.read_resource("text://one")
            counted = await client.call_tool("count", {"to": 5}, progress_callback=hear)
        return [tools, read, counted, ticks]

    direct = await asked(official)
    async with tapped(official, tmp_path) as tap:
        through = await asked(tap.url)
    assert through == direct
    assert direct[3] == [1, 2, 3, 4, 5]
    playback = tap.played()
    states = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert {job.state for job in states if job is not None} == {JobState.DONE}


async def test_the_official_legacy_client_posts_through_a_tap(tmp_path: Path) -> None:
    async with (
        http_server("--sse") as server,
        tapped(server.url, tmp_path) as tap,
        Client(sse_client(tap.url), mode="legacy") as client,
    ):
        result = await client.call_tool("known_total", {"steps": 2, "interval_s": 0})
    assert not result.is_error
    methods = [message.get("method") for _, mark, message in tap.messages if mark == ">"]
    assert methods[:3] == ["initialize", "notifications/initialized", "tools/call"]
    posts = [event for event in tap.events if event["event"] == "http_request"]
    assert [post["method"] for post in posts] == ["GET", *("POST" for _ in methods)]


async def test_the_official_client_comes_back_to_a_cut_stream_through_a_tap(tmp_path: Path) -> None:
    options = ("--resumable", "--break-after", "3", "--retry", "20")
    ticks: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        ticks.append(progress)

    async with (
        http_server(*options) as server,
        tapped(server.url, tmp_path) as tap,
        Client(tap.url, mode="legacy") as client,
    ):
        arguments = {"steps": 7, "interval_s": 0.01}
        await client.call_tool("known_total", arguments, progress_callback=hear)
    assert ticks == list(range(1, 8))
    assert [e["event"] for e in tap.events if e["event"] == "stream_resumed"] != []
    assert [e["reason"] for e in tap.events if e["event"] == "closed"] == [
        "The client ended the session"
    ]


async def test_the_recording_of_a_tap_can_be_exported_as_har(tmp_path: Path) -> None:
    async with http_server() as server, tapped(server.url, tmp_path) as tap:
        await lived(tap.url, "handshake", "http")
    playback = tap.played()
    made = b"".join(export_chunks(playback, ExportOptions(HAR), Redaction(), FindingTexts()))
    entries = json.loads(made)["log"]["entries"]
    asked = [e["event"] for e in tap.events].count("http_request")
    assert len(entries) == asked
    texts = [entry["response"]["content"]["text"] for entry in entries]
    results = [text for text in texts if "Finished all 4 steps." in text]
    assert results[0].count("notifications/progress") == 4
    assert {entry["request"]["url"] for entry in entries} == {server.url}


@contextlib.asynccontextmanager
async def tap_process(
    url: str, folder: Path, *arguments: str
) -> AsyncIterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the URL that it prints."""
    process = start("tap", "--to", url, "--data-dir", str(folder), "--name", "demo", *arguments)
    try:
        yield process, await line_of(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.announces_log("Session termination failed")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
async def test_a_signal_ends_the_tap_cleanly(number: int, tmp_path: Path) -> None:
    async with (
        http_server() as server,
        tap_process(server.url, tmp_path) as (process, url),
        Client(url, mode="legacy") as client,
    ):
        some = anyio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            some.set()

        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with contextlib.suppress(Exception):
                    await client.call_tool("known_total", {"steps": 10**6}, progress_callback=hear)

            tasks.start_soon(call)
            await some.wait()
            (entry,) = live_folder(tmp_path).entries()
            assert entry.is_in_use
            process.send_signal(number)
            with anyio.fail_after(PATIENCE_S):
                code = await anyio.to_thread.run_sync(process.wait)
            tasks.cancel_scope.cancel()
        assert code == 0
        assert process.stderr is not None
        said = process.stderr.read().splitlines()
    (entry,) = live_folder(tmp_path).entries()
    assert not entry.is_in_use
    assert [path.suffix for path in entry.path.parent.iterdir()] == [".mcprec"]
    assert entry.path.stat().st_mode & 0o777 == 0o600
    events = [
        json.loads(frame.raw)
        for chunk in RecordingReader(entry.path)
        for frame in chunk.frames
        if frame.channel is Channel.EVENT
    ]
    closed = [event for event in events if event["event"] == "closed"]
    assert [(event["reason"], event["ended_by"]) for event in closed] == [
        ("The tap was stopped", "tap")
    ]
    assert len(said) == 2
    assert str(entry.path) in said[1]


@pytest.mark.announces_log("Session termination failed")
async def test_nothing_is_recorded_while_recording_is_turned_off(tmp_path: Path) -> None:
    save_settings(tmp_path, RecordingSettings(is_on=False))
    async with (
        http_server() as server,
        tap_process(server.url, tmp_path) as (process, url),
        Client(url, mode="legacy") as client,
    ):
        result = await client.call_tool("known_total", {"steps": 2, "interval_s": 0})
        assert not result.is_error
        process.terminate()
        assert process.stderr is not None
        assert "Recording is turned off" in process.stderr.read()
    made = [path.name for path in tmp_path.rglob("*")]  # noqa: ASYNC240
    assert made == ["recordings", "settings.json"]


@pytest.mark.announces_log("Session termination failed")
async def test_a_killed_tap_leaves_a_recording_and_nothing_else(tmp_path: Path) -> None:
    async def call(url: str, process: subprocess.Popen[str]) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            process.kill()

        async with Client(url, mode="legacy") as client:
            steps = {"steps": 10**6}
            await client.call_tool("known_total", steps, progress_callback=hear)

    async with (
        http_server() as server,
        tap_process(server.url, tmp_path) as (process, url),
        Client(server.url, mode="legacy") as other,
    ):
        with anyio.fail_after(PATIENCE_S), pytest.raises(Exception):  # noqa: B017, PT011
            await call(url, process)
        assert (await other.list_tools()).tools, "the server lives on"
    (entry,) = live_folder(tmp_path).entries()
    assert not entry.is_in_use
    reader = RecordingReader(entry.path)
    raws = [frame.raw for chunk in reader for frame in chunk.frames]
    assert any(b"tools/call" in raw for raw in raws)


async def test_many_clients_at_once_are_kept_apart(tmp_path: Path) -> None:
    counted: list[int] = []

    async def call(url: str, steps: int) -> None:
        ticks: list[float] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            ticks.append(progress)

        async with Client(url, mode="legacy") as client:
            arguments = {"steps": steps, "interval_s": 0.01}
            await client.call_tool("known_total", arguments, progress_callback=hear)
        counted.append(len(ticks) - steps)

    async with (
        http_server() as server,
        tapped(server.url, tmp_path) as tap,
        anyio.create_task_group() as tasks,
    ):
        for steps in range(5, 13):
            tasks.start_soon(call, tap.url, steps)
    assert counted == [0] * 8
    playback = tap.played()
    jobs = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    found = sorted((job.connection, job.state, job.tick_count) for job in jobs if job is not None)
    assert [each[0] for each in found] == [f"demo#{n}" for n in range(1, 9)]
    assert {each[1] for each in found} == {JobState.DONE}
    assert sorted(each[2] for each in found) == list(range(5, 13))


async def test_the_proxy_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with http_server() as server, proxy() as through:
        monkeypatch.setenv("HTTP_PROXY", through.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with tapped(server.url, tmp_path) as tap, client(tap.port) as peer:
            accept = "Accept: application/json, text/event-stream"
            await peer.write(request(tap.port, rpc("initialize", 0), accept))
            await peer.until(b"\r\n\r\n")
    assert through.asked == [f"POST {server.url} HTTP/1.1"]


async def test_a_server_with_tls_is_reached_by_a_client_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    async with (
        http_server("--tls", certificate, key) as server,
        tapped(server.url, tmp_path) as tap,
        Client(tap.url, mode="legacy") as client,
    ):
        result = await client.call_tool("known_total", {"steps": 2, "interval_s": 0})
    assert not result.is_error
    assert tap.event("opened")["url"] == server.url


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--to", "example.com/mcp"), "Not the URL of a server"),
        (("--to", "ftp://example.com"), "Not the URL of a server"),
        (("--to", "http://user:pass@example.com/mcp"), "user name or password"),
        (
            ("--to", "http://h/mcp", "--listen", "0.0.0.0:8123"),
            "Only addresses of this machine can be listened on",
        ),
        (("--to", "http://h/mcp", "--listen", "127.0.0.1:http"), "Not a valid listen address"),
        (("--listen", "127.0.0.1:8123"), "--listen needs --to URL."),
        (("--oauth", "--", "python"), "--oauth needs --to URL."),
        (("--oauth-client-id", "mine"), "--oauth needs --to URL."),
        (("--to", "http://h/mcp", "--", "python"), "Use either --to URL or -- COMMAND."),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    ran = run("tap", *arguments[:2], "--data-dir", str(tmp_path), *arguments[2:])
    assert ran.code == 2
    assert why in ran.err
    assert "pass@" not in ran.err
    assert ran.out == ""
