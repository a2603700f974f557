"""A recording in the place of its server: real clients get of it what they got of the server."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.format import header, prefix
from tests.integration.commands import linux_only, run
from tests.integration.tapping import recordings, tap_command, until
from tests.patience import PATIENCE_S, allowed
from tests.taps import HandTap
from tests.unit.imports.imported import SAMPLES
from tests.unit.serving.recordings import answer, call, tick

_PROGRAM = (sys.executable, "-m", "mcp_progress_monitor")
_DEMO = (sys.executable, "-m", "mcp_progress_monitor.demo")


def serving(recording: Path, *options: str) -> tuple[str, ...]:
    return (*_PROGRAM, "serve", str(recording), *options)


async def transcript(server: StdioServerParameters | str) -> list[Any]:
    """Everything that the official client gets of a server: lists, ticks, logs, forms, results."""
    found: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        found.append(("progress", progress, total, message))

    async def on_log(params: Any) -> None:
        found.append(("log", params.level, params.data))

    async def on_question(context: Any, params: Any) -> ElicitResult:
        found.append(("asked", params.message))
        return ElicitResult(action="accept", content={"name": "Ada", "age": 36})

    with anyio.fail_after(PATIENCE_S):
        async with Client(
            server, logging_callback=on_log, elicitation_callback=on_question
        ) as client:
            assert client.server_info is not None
            found.append((client.protocol_version, client.server_info.name, client.instructions))
            found.append([each.name for each in (await client.list_tools()).tools])
            for tool, arguments in _CALLS:
                result = await client.call_tool(tool, arguments, progress_callback=on_progress)
                found.append((tool, result.is_error, [_text(each) for each in result.content]))
            read = await client.read_resource("demo://welcome")
            found.append([each.model_dump(mode="json") for each in read.contents])
            prompt = await client.get_prompt("greet", {"name": "Ann"})
            found.append([each.model_dump(mode="json") for each in prompt.messages])
    return found


def _text(content: Any) -> str:
    return str(getattr(content, "text", content))


_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("known_total", {"steps": 4, "interval_s": 0.01}),
    ("known_total", {"steps": 2, "interval_s": 0.01}),
    ("ask_form", {"message": "Who are you?"}),
    ("burst", {"count": 200}),
)


def _parameters(*command: str, data_dir: Path | None = None) -> StdioServerParameters:
    environment = dict(os.environ)
    if data_dir is not None:
        environment["XDG_DATA_HOME"] = str(data_dir)
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=environment)


@contextlib.contextmanager
def served_over_http(recording: Path, *options: str) -> Iterator[str]:
    """A recording that is served over HTTP, as its URL."""
    command = serving(recording, "--http", "0", *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)


async def recorded(tmp_path: Path, era: str) -> tuple[Path, list[Any]]:
    """Make a recording of the demo server by a tap, and what its client got."""
    tapped = tap_command(tmp_path, *_DEMO, "--era", era)
    got = await transcript(_parameters(*tapped))
    until(lambda: recordings(tmp_path))
    (recording,) = recordings(tmp_path)
    until(lambda: b'"event":"closed"' in recording.read_bytes())
    return recording, got


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_the_official_client_gets_what_it_got_of_the_server(era: str, tmp_path: Path) -> None:
    recording, got = await recorded(tmp_path, era)
    assert len(got) > 200
    for options in (("--speed", "max", "--strict"), ("--speed", "10")):
        assert await transcript(_parameters(*serving(recording, *options))) == got
    with served_over_http(recording, "--speed", "10", "--strict") as url:
        assert await transcript(url) == got


async def test_many_clients_are_served_over_http_at_once(tmp_path: Path) -> None:
    recording, got = await recorded(tmp_path, "handshake")
    results: list[list[Any]] = []
    with served_over_http(recording, "--speed", "10") as url:

        async def use() -> None:
            results.append(await transcript(url))

        async with anyio.create_task_group() as clients:
            for _ in range(5):
                clients.start_soon(use)
    assert results == [got] * 5


def test_our_own_recording_is_served_to_our_own_client(tmp_path: Path) -> None:
    recording = tmp_path / "a.mcprec"
    call = ("call", "known_total", "--arg", "steps=3", "--arg", "interval_s=0.01", "--json")
    first = run(*call, "--record", str(recording), "--demo")
    again = run(*call, "--", *serving(recording, "--strict"))
    assert (first.code, again.code) == (0, 0)
    assert [each["progress"] for each in again.only("progress")] == [1, 2, 3]
    checked = run("check", "--", *serving(recording))
    assert checked.code in {0, 7}, checked.err


def test_a_script_changes_what_is_served(tmp_path: Path) -> None:
    recording, script = tmp_path / "a.mcprec", tmp_path / "rules.txt"
    call = ("call", "known_total", "--arg", "steps=3", "--arg", "interval_s=0.01", "--json")
    run(*call, "--record", str(recording), "--demo")
    script.write_text("drop server progress\n")
    dropped = run(*call, "--", *serving(recording, "--script", str(script)))
    assert (dropped.code, dropped.only("progress")) == (0, [])
    script.write_text("kill server after 2 progress\n")
    killed = run(*call, "--", *serving(recording, "--script", str(script)))
    assert killed.code == 3
    script.write_text("reorder server 2 messages\n")
    refused = run("serve", str(recording), "--script", str(script))
    assert refused.code == 2
    assert '"reorder" cannot be used' in refused.err


def test_a_file_that_cannot_be_served_says_why(tmp_path: Path) -> None:
    empty, foreign = tmp_path / "empty.mcprec", tmp_path / "a.mcprec"
    empty.touch()
    foreign.write_text("nonsense\n")
    for path in (empty, foreign, tmp_path / "missing.mcprec"):
        refused = run("serve", str(path))
        assert refused.code == 8
        assert str(path) in refused.err
        assert "Traceback" not in refused.err
    silent = tmp_path / "silent.mcprec"
    silent.write_bytes(header({"at": 0.0}))
    nothing = run("serve", str(silent))
    assert nothing.code == 8
    assert nothing.err.count("nothing to serve") == 1


def test_what_is_not_served_is_reported_at_the_start(tmp_path: Path) -> None:
    tap = HandTap(tmp_path, "first")
    tap.write(tap.sent(call(1)), tap.received(answer(1)))
    tap.name = "second"
    tap.write(tap.sent(call(2)), tap.received(answer(2)))
    started = run("serve", str(tap.path))
    assert (started.code, started.err.count("\n")) == (0, 1)
    assert "also has: second. Use --server" in started.err
    chosen = run("serve", str(tap.path), "--server", "second")
    assert (chosen.code, chosen.err) == (0, "")
    imported = run("serve", str(SAMPLES / "chrome-137.har"))
    assert (imported.code, imported.err.count("\n")) == (0, 1)
    assert "Imported from HAR; some details are missing" in imported.err


def test_garbage_of_a_client_is_answered_and_survived(tmp_path: Path) -> None:
    recording = tmp_path / "a.mcprec"
    run("tools", "--demo", "--record", str(recording))
    listing = b'{"jsonrpc":"2.0","id":"\\ud83d","method":"tools/list"}\n'
    lines = b"\x00\xff\n[[[\n{}\n" + b"[" * 100_000 + b"\n" + listing
    command = serving(recording, "--speed", "max")
    done = subprocess.run(command, input=lines, capture_output=True, timeout=PATIENCE_S)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert replies[0]["error"]["code"] == -32700
    assert replies[-1]["id"] == "\ud83d"


def _lasting_call(tmp_path: Path) -> Path:
    """A recording whose only call reports at once, and is answered after ten minutes."""
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1, token="a")), tap.received(tick("a", 1)))
    tap.write(tap.received(answer(1), 600))
    return tap.path


@pytest.mark.parametrize("closed", ["stdin", "stdout"])
def test_a_client_that_closes_in_the_middle_ends_it(closed: str, tmp_path: Path) -> None:
    command = serving(_lasting_call(tmp_path))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(json.dumps(call(1, token="b")).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == tick("b", 1)
        if closed == "stdout":
            process.stdout.close()
            process.stdin.write(json.dumps(call(2, token="c")).encode() + b"\n")
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
        assert b"Traceback" not in process.stderr.read()


def test_one_recording_is_served_twice_at_once(tmp_path: Path) -> None:
    recording = _lasting_call(tmp_path)
    asked = json.dumps(call(5, token="x"))
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            process = stack.enter_context(subprocess.Popen(serving(recording), **pipes))  # type: ignore[call-overload]
            process.stdin.write(f"{asked}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == tick("x", 1)
            stack.callback(process.stdin.close)


@linux_only
@pytest.mark.parametrize(
    "size",
    [
        100_000_000,
        pytest.param(2_000_000_000, marks=[pytest.mark.campaign, pytest.mark.timeout(900)]),
    ],
)
def test_a_large_recording_is_served_before_it_is_read(size: int, tmp_path: Path) -> None:
    recording = tmp_path / "large.mcprec"
    _write_large(recording, size)
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
    command = serving(recording, "--speed", "max")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    real = sys.executable  # not forked: its memory is measured
    with subprocess.Popen(command, executable=real, **pipes) as process:  # type: ignore[call-overload]
        began = time.monotonic()
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        reply = json.loads(process.stdout.readline())
        spent = time.monotonic() - began
        last = {"name": "last"}
        called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": last}
        process.stdin.write(json.dumps(called).encode() + b"\n")
        process.stdin.flush()
        answered = json.loads(process.stdout.readline())
        memory = psutil.Process(process.pid).memory_info().rss / 1e6
        process.stdin.close()
    recording.unlink()
    assert reply["result"]["protocolVersion"] == "2025-11-25"
    assert answered["result"] == {"n": 7}
    assert spent < allowed(2.0)
    assert memory < 100


def _write_large(path: Path, size: int) -> None:
    """A recording with its opening, one call that reports all the time, and a last call."""

    def line(channel: Channel, message: dict[str, Any]) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return prefix("s#1", channel, 1e9, 1.0) + text + b"\n"

    reported = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
    ticks = {"progressToken": "a", "progress": 1, "message": "x" * 100}
    tick = line(Channel.RECEIVED, {"method": "notifications/progress", "params": ticks})
    with path.open("wb") as file:
        file.write(header({"at": 0.0}))
        file.write(line(Channel.SENT, {"id": 0, "method": "initialize", "params": {}}))
        file.write(line(Channel.RECEIVED, {"id": 0, "result": reported}))
        reporting = {"name": "long", "_meta": {"progressToken": "a"}}
        file.write(line(Channel.SENT, {"id": 5, "method": "tools/call", "params": reporting}))
        block = tick * 5_000
        for _ in range(size // len(block)):
            file.write(block)
        file.write(line(Channel.RECEIVED, {"id": 5, "result": {}}))
        called = {"id": 1, "method": "tools/call", "params": {"name": "last"}}
        file.write(line(Channel.SENT, called))
        file.write(line(Channel.RECEIVED, {"id": 1, "result": {"n": 7}}))
