"""A recording over HTTP: sessions, streams, and what is refused."""

import contextlib
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.serving.exchanges import RecordedServer
from mcp_progress_monitor.serving.http import HttpServing
from mcp_progress_monitor.serving.session import ServeOptions
from tests.patience import until
from tests.taps import HandTap
from tests.unit.serving.recordings import answer, call, log, notification, tick

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25"},
}


def _ignore(line: str, *, is_odd: bool = False) -> None:
    """Report nothing."""


@contextlib.asynccontextmanager
async def served(path: Path, speed: float = math.inf) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a recording that is served over HTTP."""
    serving = HttpServing(RecordedServer(path), ServeOptions(speed), _ignore)
    await serving.open(0)
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serving.run, stop)
        async with httpx2.AsyncClient(base_url=serving.url.removesuffix("/mcp")) as client:
            yield client
        stop.set()


def recorded(tmp_path: Path) -> Path:
    tap = HandTap(tmp_path)
    tap.write(tap.handshake(), tap.sent(call(1, token="a")), tap.received(tick("a", 1)))
    tap.write(tap.received(answer(1)), tap.received(log("late"), 0.05), tap.sent(call(2, n=1)))
    return tap.path


def messages(response: httpx2.Response) -> list[Any]:
    lines = [line for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def test_a_request_is_answered_with_a_stream_that_ends(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        opened = await client.post("/mcp", json=_INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        response = await client.post("/mcp", json=call("x", token="mine"), headers=session)  # type: ignore[arg-type]
    assert messages(opened)[0]["result"]["protocolVersion"] == "2025-11-25"
    assert messages(response) == [tick("mine", 1), answer("x")]


async def test_a_client_without_streams_gets_the_reply_alone(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        only_json = {"Accept": "application/json"}
        response = await client.post("/mcp", json=call(5, token="a"), headers=only_json)
    assert response.headers["content-type"] == "application/json"
    assert response.json() == answer(5)


async def test_what_follows_a_reply_goes_to_the_clients_stream(tmp_path: Path) -> None:
    async with served(recorded(tmp_path), 1.0) as client:
        opened = await client.post("/mcp", json=_INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        async with client.stream("GET", "/mcp", headers=session) as stream:
            response = await client.post("/mcp", json=call(5), headers=session)
            with anyio.fail_after(10):
                lines = [line async for line in _until_data(stream)]
    assert messages(response) == [answer(5)]
    assert json.loads(lines[-1].removeprefix("data: ")) == log("late")


async def test_what_follows_a_reply_waits_for_a_stream_that_opens_later(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        opened = await client.post("/mcp", json=_INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        await client.post("/mcp", json=call(5), headers=session)
        async with client.stream("GET", "/mcp", headers=session) as stream:
            with anyio.fail_after(10):
                lines = [line async for line in _until_data(stream)]
    assert json.loads(lines[-1].removeprefix("data: ")) == log("late")


async def _until_data(stream: httpx2.Response) -> AsyncIterator[str]:
    async for line in stream.aiter_lines():
        yield line
        if line.startswith("data: "):
            return


async def test_notifications_are_accepted(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        response = await client.post("/mcp", json=note)
    assert (response.status_code, response.content) == (202, b"")


async def test_sessions_end_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        opened = await client.post("/mcp", json=_INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        assert (await client.delete("/mcp", headers=session)).status_code == 200
        gone = await client.post("/mcp", json=call(1), headers=session)
        assert gone.status_code == 404
        assert (await client.get("/mcp")).status_code == 405
        assert (await client.put("/mcp")).status_code == 405
        assert (await client.get("/elsewhere")).status_code == 404


async def test_pages_of_other_sites_are_refused(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        for headers in ({"Origin": "https://example.com"}, {"Host": "example.com"}):
            response = await client.post("/mcp", json=call(1), headers=headers)
            assert response.status_code == 403
            assert "recording" in response.text


async def test_a_body_that_is_no_message_gets_an_error(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        response = await client.post("/mcp", content=b"\xffnonsense")
    assert messages(response)[0]["error"]["code"] == -32700


async def test_bytes_that_are_no_http_end_that_connection_alone(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        port = client.base_url.port
        assert port is not None
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"\x00\x01nonsense\r\n\r\n")
            assert b"400" in await stream.receive()
        assert (await client.post("/mcp", json=call(1))).status_code == 200


async def test_a_client_that_leaves_ends_its_stream(tmp_path: Path) -> None:
    tap = HandTap(tmp_path)
    tap.write(tap.sent(call(1)), tap.received(answer(1), 60))
    async with served(tap.path, 1.0) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.post("/mcp", json=call(1), timeout=0.2)
        with anyio.fail_after(10):
            assert (await client.get("/mcp")).status_code == 405


async def test_a_client_that_leaves_ends_its_subscription(tmp_path: Path) -> None:
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {}}
    tap = HandTap(tmp_path)
    tap.write(tap.sent(listen), tap.received(notification("notifications/acknowledged")))
    async with served(tap.path) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.post("/mcp", json={**listen, "id": 7}, timeout=0.2)
        await until(
            lambda: not any("_answer" in (each.name or "") for each in anyio.get_running_tasks())
        )


async def test_a_port_in_use_says_what_to_do(tmp_path: Path) -> None:
    async with served(recorded(tmp_path)) as client:
        port = client.base_url.port
        assert port is not None
        serving = HttpServing(RecordedServer(recorded(tmp_path / "b")), ServeOptions(), _ignore)
        with pytest.raises(UserError) as refused:
            await serving.open(port)
    assert refused.value.details.hint == "Choose another port, or 0 for any."
