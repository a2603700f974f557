"""The demo servers as processes: how they start, end, crash and flood, and who gets along."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types.methods
import pytest
from mcp import Client, StdioServerParameters

from mcp_progress_monitor.demo.eras import ERAS, HANDSHAKE_VERSIONS, PER_REQUEST_VERSIONS
from mcp_progress_monitor.demo.scenes import DEMO_CALLS
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PER_REQUEST = PER_REQUEST_VERSIONS[-1]
STAMPS = {
    "io.modelcontextprotocol/protocolVersion": PER_REQUEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
QUICK = {"steps": 3, "interval_s": 0.001}


class Server:
    """A demo server in a process of its own, spoken to line by line."""

    def __init__(self, *options: str, module: str = "tests.servers") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._last_id = 0

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a stamped request and return its id."""
        self._last_id += 1
        meta = {**STAMPS, "progressToken": f"token-{self._last_id}"}
        message = {
            "jsonrpc": "2.0",
            "id": self._last_id,
            "method": method,
            "params": {**(params or {}), "_meta": meta},
        }
        self.write(json.dumps(message).encode() + b"\n")
        return self._last_id

    def call(self, tool: str, **arguments: object) -> int:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def reply(self) -> dict[str, Any]:
        """Return the next reply, ticks before it left out."""
        while line := self.read():
            message: dict[str, Any] = json.loads(line)
            if "id" in message:
                return message
        raise AssertionError("The server exited without a reply")

    def hang_up(self) -> tuple[int, bytes, bytes]:
        """Close stdin and return exit code and the rest of both outputs."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        # Not communicate(): it would miss what our reader has taken in already.
        rest, errors = process.stdout.read(), process.stderr.read()
        return process.wait(PATIENCE_S), rest, errors

    def kill(self) -> None:
        """End it by force if it has not ended by itself."""
        with self.process:
            self.process.kill()


@pytest.fixture
def start() -> Iterator[type[Server]]:
    """Start servers that are all gone after the test."""
    started: list[Server] = []

    class Started(Server):
        def __init__(self, *options: str, module: str = "tests.servers") -> None:
            super().__init__(*options, module=module)
            started.append(self)

    yield Started
    for server in started:
        server.kill()


def test_a_polite_server_ends_cleanly_with_its_stdin(start: type[Server]) -> None:
    server = start()
    server.request("tools/list")
    assert server.reply()["result"]["tools"]
    assert server.hang_up() == (0, b"", b"")


def test_a_running_call_does_not_hold_up_the_end(start: type[Server]) -> None:
    server = start()
    server.call("never_answers", steps=1, interval_s=0)
    server.call("known_total", steps=100_000, interval_s=0.01, on_cancel="ignore")
    server.read()
    code, _, errors = server.hang_up()
    assert (code, errors) == (0, b"")


def test_a_client_that_stops_reading_is_no_reason_for_a_traceback(start: type[Server]) -> None:
    server = start()
    server.call("burst", count=1_000_000)
    server.read()
    assert server.process.stdout is not None
    assert server.process.stderr is not None
    assert server.process.stdin is not None
    server.process.stdout.close()
    server.process.stdin.close()
    assert server.process.stderr.read() == b""
    assert server.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("how", ["exits", "in_mid_line"])
def test_a_crash_has_its_tick_its_code_and_a_last_word(start: type[Server], how: str) -> None:
    server = start()
    server.call("crash", at_tick=2, interval_s=0, exit_code=41, how=how)
    ticks = [json.loads(server.read())["params"]["progress"] for _ in range(2)]
    code, rest, errors = server.hang_up()
    assert (ticks, code) == ([1, 2], 41)
    assert b"crashing at tick 2" in errors
    assert rest.startswith(b'{"jsonrpc"') is (how == "in_mid_line")
    assert not rest.endswith(b"\n")


EXPORT = {"chunks": 7, "chunks_per_attempt": 5, "interval_s": 0}


def _resumed(server: Server, token: str, **arguments: object) -> dict[str, Any]:
    params = {"name": "resumable_export", "arguments": {**EXPORT, **arguments}}
    message = {
        "jsonrpc": "2.0",
        "id": "resumed",
        "method": "tools/call",
        "params": {**params, "_meta": {**STAMPS, "resumeToken": token}},
    }
    server.write(json.dumps(message).encode() + b"\n")
    return server.reply()


def test_an_export_goes_on_after_a_crash_and_writes_every_chunk_once(
    start: type[Server], tmp_path: Path
) -> None:
    options = ("--state-dir", str(tmp_path))
    server = start(*options)
    server.call("resumable_export", **EXPORT, fault="crash", at_chunk=6)
    token = server.reply()["result"]["_meta"]["nextResumeToken"]
    with pytest.raises(AssertionError, match="without a reply"):
        _resumed(server, token, fault="crash", at_chunk=6)
    code, _, errors = server.hang_up()
    assert code == 70
    assert b"crashing after chunk 6" in errors
    reply = _resumed(start(*options), token, fault="crash", at_chunk=6)
    assert "nextResumeToken" not in reply["result"]["_meta"]
    lines = (tmp_path / "export.txt").read_text().splitlines()
    assert lines == [f"chunk {number}" for number in range(1, 8)]


def test_a_killed_server_s_export_goes_on(start: type[Server], tmp_path: Path) -> None:
    options = ("--state-dir", str(tmp_path))
    server = start(*options)
    server.call("resumable_export", **EXPORT)
    token = server.reply()["result"]["_meta"]["nextResumeToken"]
    server.kill()
    assert "error" not in _resumed(start(*options), token)
    assert (tmp_path / "export.txt").read_text().count("\n") == 7


def test_tools_change_once_one_was_called(start: type[Server], tmp_path: Path) -> None:
    server = start("--profile", "changing-tools", "--state-dir", str(tmp_path))
    server.call("resumable_export", **EXPORT)
    token = server.reply()["result"]["_meta"]["nextResumeToken"]
    assert _resumed(server, token)["error"]["code"] == -32602
    server.request("tools/list")
    tools = server.reply()["result"]["tools"]
    assert all("is_sure" in tool["inputSchema"]["properties"] for tool in tools)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_a_crash_can_be_a_signal(start: type[Server]) -> None:
    server = start()
    server.call("crash", at_tick=0, how="killed")
    assert server.hang_up()[0] == -signal.SIGKILL


def test_a_silent_server_answers_nothing_and_ends_cleanly(start: type[Server]) -> None:
    server = start("--profile", "silent")
    server.request("server/discover")
    server.write(b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}\n')
    assert server.hang_up() == (0, b"", b"")


def test_a_server_that_exits_says_why_on_stderr(start: type[Server]) -> None:
    code, output, errors = start("--profile", "exit").hang_up()
    assert (code, output) == (3, b"")
    assert b"DEMO_API_KEY is not set" in errors
    assert start("--profile", "exit", "--exit-code", "9").hang_up()[0] == 9


def test_a_server_of_rubbish_prints_no_message_at_all(start: type[Server]) -> None:
    server = start("--profile", "rubbish")
    server.request("server/discover")
    code, output, _ = server.hang_up()
    assert code == 0
    assert b"Unknown command" in output
    for line in output.splitlines():
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(line)


def test_a_wrong_version_is_claimed_in_the_handshake(start: type[Server]) -> None:
    server = start("--profile", "wrong-version")
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    server.request("initialize", client)
    assert server.reply()["result"]["protocolVersion"] == "3000-01-01"


def test_an_old_and_silent_server_ignores_discovery_and_shakes_hands(start: type[Server]) -> None:
    server = start("--profile", "old-and-silent")
    server.request("server/discover")
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    opening = server.request("initialize", client)
    assert server.reply()["id"] == opening


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM to ignore")
def test_a_stubborn_server_outlives_a_closed_stdin_and_a_sigterm(start: type[Server]) -> None:
    server = start("--profile", "stubborn")
    server.request("tools/list")
    server.reply()
    server.call("known_total", steps=20, interval_s=0.02)
    assert server.process.stdin is not None
    server.process.stdin.close()
    os.kill(server.process.pid, signal.SIGTERM)
    assert "all 20" in server.reply()["result"]["content"][0]["text"]
    assert server.process.poll() is None


def test_outliving_has_an_end(start: type[Server]) -> None:
    assert start("--ignore-eof", "--linger", "0.05").hang_up()[0] == 0


def test_a_late_start_still_answers(start: type[Server]) -> None:
    server = start("--profile", "slow-start", "--start-delay", "0.1")
    server.request("server/discover")
    assert server.reply()["result"]["supportedVersions"] == [PER_REQUEST]


def test_stderr_is_written_while_ticks_go_on(start: type[Server]) -> None:
    server = start()
    server.call("chatty_stderr", lines=3, interval_s=0, has_bad_bytes=True)
    server.reply()
    _, _, errors = server.hang_up()
    assert errors.count(b"all is well\n") == 3
    assert errors.count(b"\xff\xfe") == 3


@pytest.mark.parametrize("tokens", [1, 3])
def test_a_flood_is_shared_by_all_its_tokens_and_answered_last(
    start: type[Server], tokens: int
) -> None:
    server = start("--count", "3000", "--tokens", str(tokens), module="tests.servers.flood")
    for _ in range(tokens):
        server.call("flood")
    ticks = [json.loads(server.read())["params"] for _ in range(3_000)]
    replies = [server.reply()["id"] for _ in range(tokens)]
    names = [f"token-{number}" for number in range(1, tokens + 1)]
    assert sorted(replies) == list(range(1, tokens + 1))
    for name in names:
        values = [tick["progress"] for tick in ticks if tick["progressToken"] == name]
        assert values == list(range(1, 3_000 // tokens + 1))
    assert {tick["progressToken"] for tick in ticks[:tokens]} == set(names)


def test_a_flood_can_come_in_paced_rounds_with_a_message(start: type[Server]) -> None:
    options = ("--count", "6", "--tokens", "2", "--interval", "0.001", "--message", "Step")
    server = start(*options, module="tests.servers.flood")
    for _ in range(2):
        server.call("flood")
    ticks = [json.loads(server.read())["params"] for _ in range(6)]
    assert [tick["progress"] for tick in ticks] == [1, 1, 2, 2, 3, 3]
    assert {tick["message"] for tick in ticks} == {"Step"}


def test_all_calls_of_the_demo_start_together(start: type[Server]) -> None:
    server = start()
    for call in DEMO_CALLS:
        server.call(call.tool, **call.arguments)
    expected = {f"token-{number}" for number in range(1, len(DEMO_CALLS) + 1)}
    seen: set[str] = set()
    while seen != expected:
        message = json.loads(server.read())
        assert "id" not in message, f"A call of the demo ended at once: {message}"
        seen.add(message["params"]["progressToken"])


def _parameters(*options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "tests.servers", *options], cwd=ROOT
    )


async def _use_all(client: Client) -> list[tuple[float, float | None, str | None]]:
    """Use everything the server has through the official client and return the ticks."""
    ticks: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        ticks.append((progress, total, message))

    assert (await client.list_tools()).tools
    assert len((await client.list_resources()).resources) == 6
    assert len((await client.list_prompts()).prompts) == 3
    assert (await client.read_resource("demo://welcome")).contents
    assert (await client.get_prompt("greet", {"name": "Ann"})).messages
    result = await client.call_tool("known_total", QUICK, progress_callback=on_progress)
    assert not result.is_error
    return ticks


@pytest.mark.anyio
@pytest.mark.parametrize("version", ERAS["both"])
async def test_the_official_client_gets_along_in_every_revision(version: str) -> None:
    mode = "legacy" if version in HANDSHAKE_VERSIONS else "auto"
    with anyio.fail_after(PATIENCE_S):
        async with Client(_parameters("--protocol-version", version), mode=mode) as client:
            assert client.session.protocol_version == version
            ticks = await _use_all(client)
    assert [(progress, total) for progress, total, _ in ticks] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "version"),
    [
        ((), PER_REQUEST),
        (("--era", "handshake"), HANDSHAKE_VERSIONS[-1]),
        (("--era", "per-request"), PER_REQUEST),
    ],
)
async def test_the_official_client_finds_the_era_by_itself(
    options: tuple[str, ...], version: str
) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with Client(_parameters(*options)) as client:
            assert client.session.protocol_version == version


@pytest.mark.anyio
async def test_the_official_client_answers_our_questions() -> None:
    with anyio.fail_after(PATIENCE_S):
        async with Client(_parameters("--era", "handshake")) as client:
            result = await client.call_tool("ask_client", {"method": "ping"})
    assert json.loads(getattr(result.content[0], "text", ""))["result"] == {}


# Each method we serve, and parameters for it.
REQUESTS: dict[str, dict[str, Any]] = {
    "server/discover": {},
    "tools/list": {},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "demo://picture"},
    "prompts/list": {},
    "prompts/get": {"name": "greet", "arguments": {"name": "Ann"}},
    "tools/call": {"name": "error_result", "arguments": {"at_tick": 0}},
    "ping": {},
}


@pytest.mark.parametrize(
    "version", sorted({v for method, v in mcp_types.methods.CLIENT_REQUESTS if method in REQUESTS})
)
def test_every_result_fits_the_schema_of_its_revision(start: type[Server], version: str) -> None:
    server = start("--protocol-version", version)
    if version in HANDSHAKE_VERSIONS:
        client = {"name": "test", "version": "0"}
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        server.request("initialize", opening)
        hello = server.reply()["result"]
        mcp_types.methods.validate_server_result("initialize", version, hello)
        server.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    for method, known in mcp_types.methods.CLIENT_REQUESTS:
        if known == version and method in REQUESTS:
            server.request(method, REQUESTS[method])
            result = server.reply()["result"]
            mcp_types.methods.validate_server_result(method, version, result)
