"""The demo server as a process: how it starts and ends, and who gets along with it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types.methods
import pytest
from mcp import Client, StdioServerParameters

from mcp_progress_monitor.demo.eras import HANDSHAKE_VERSIONS, PER_REQUEST_VERSIONS
from mcp_progress_monitor.demo.scenes import DEMO_CALLS
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
PER_REQUEST = PER_REQUEST_VERSIONS[-1]
STAMPS = {
    "io.modelcontextprotocol/protocolVersion": PER_REQUEST,
    "io.modelcontextprotocol/clientCapabilities": {},
}
QUICK = {"steps": 3, "interval_s": 0.001}


class Server:
    """A demo server in a process of its own, spoken to line by line."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcp_progress_monitor.demo", *options],
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
        def __init__(self, *options: str) -> None:
            super().__init__(*options)
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
    server.call("known_total", steps=100_000, interval_s=0.01)
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


def test_a_killed_server_s_export_goes_on(start: type[Server], tmp_path: Path) -> None:
    options = ("--state-dir", str(tmp_path))
    server = start(*options)
    server.call("resumable_export", **EXPORT)
    token = server.reply()["result"]["_meta"]["nextResumeToken"]
    server.kill()
    assert "error" not in _resumed(start(*options), token)
    assert (tmp_path / "export.txt").read_text().count("\n") == 7


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
        command=sys.executable, args=["-m", "mcp_progress_monitor.demo", *options], cwd=ROOT
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
@pytest.mark.parametrize(
    ("options", "version"),
    [
        ((), PER_REQUEST),
        (("--era", "handshake"), HANDSHAKE_VERSIONS[-1]),
        (("--era", "per-request"), PER_REQUEST),
    ],
)
async def test_the_official_client_finds_the_era_and_uses_everything(
    options: tuple[str, ...], version: str
) -> None:
    with anyio.fail_after(PATIENCE_S):
        async with Client(_parameters(*options)) as client:
            assert client.session.protocol_version == version
            ticks = await _use_all(client)
    assert [(progress, total) for progress, total, _ in ticks] == [(1, 3), (2, 3), (3, 3)]


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
    era = "handshake" if version in HANDSHAKE_VERSIONS else "per-request"
    server = start("--era", era)
    if era == "handshake":
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
