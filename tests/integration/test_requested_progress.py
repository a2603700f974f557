"""A client that asks for no progress gets what it got, while the recording has the progress."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.tap_http.program import HttpTap, TapOptions
from tests.integration.http_servers import http_server
from tests.integration.tapping import Tap, live, recordings, tap_command, until
from tests.patience import PATIENCE_S

_DEMO = (sys.executable, "-m", "mcp_progress_monitor.demo")
_STEPS = {"steps": 4, "interval_s": 0.01}


async def used(server: StdioServerParameters | str) -> list[Any]:
    """Collect everything a client receives that asks for progress in one call of three."""
    got: list[Any] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        got.append((progress, total, message))

    async def on_message(message: Any) -> None:
        got.append(type(message).__name__)

    with anyio.fail_after(PATIENCE_S):
        async with Client(server, message_handler=on_message) as client:
            for callback in (None, on_progress, None):
                result = await client.call_tool("known_total", _STEPS, progress_callback=callback)
                got.append([str(getattr(each, "text", each)) for each in result.content])
            read = await client.read_resource("demo://welcome")
            got.append([each.model_dump(mode="json") for each in read.contents])
    return got


def _parameters(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))


def _ticks(path: Path) -> list[int]:
    playback = Playback(path)
    while playback.advance(1.0):
        pass
    jobs = [playback.jobs.snapshot(each) for each in playback.jobs.ids()]
    assert any("asked for progress" in error.what for error in playback.errors)
    return [job.tick_count for job in jobs if job is not None and job.name == "known_total"]


@pytest.mark.parametrize("era", ["handshake", "per-request"])
async def test_a_client_on_stdio_gets_the_same_as_without(era: str, tmp_path: Path) -> None:
    direct = await used(_parameters(*_DEMO, "--era", era))
    tapped = tap_command(tmp_path, *_DEMO, "--era", era, options=("--request-progress",))
    assert await used(_parameters(*tapped)) == direct
    until(lambda: recordings(tmp_path))
    (path,) = recordings(tmp_path)
    until(lambda: b'"event":"closed"' in path.read_bytes())
    assert _ticks(path) == [4, 4, 4]
    assert path.read_bytes().count(b'"event":"changed"') == 3


@asynccontextmanager
async def tapped_url(url: str, data_dir: Path) -> AsyncIterator[str]:
    """The URL of a tap that asks for progress in front of a server with a URL."""
    tap = HttpTap(TapOptions(url, "0", data_dir=data_dir, requests_progress=True), lambda _: None)
    await tap.open()
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tap.run, stop)
        yield tap.addresses.own
        stop.set()


@pytest.mark.parametrize("options", [(), ("--resumable",)])
async def test_a_client_over_http_gets_the_same_as_without(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    async with http_server(*options) as server:
        direct = await used(server.url)
        async with tapped_url(server.url, tmp_path) as url:
            through = await used(url)
    assert through == direct
    (path,) = live(tmp_path).glob("*.mcprec")
    assert _ticks(path) == [4, 4, 4]


@pytest.mark.skipif(sys.platform == "win32", reason="a server of POSIX")
def test_a_line_of_100_mb_passes_byte_for_byte(tmp_path: Path) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}\n'
    data = call % (b"x" * 100_000_000) + b"[1]\n"
    with Tap(tmp_path, "cat", options=("--request-progress",)) as tap:
        out, _ = tap.rest(data + call % b"a")
    assert out.startswith(data)
    assert b'"_meta":{"progressToken":"mcp-progress-monitor:' in out[len(data) :]
