"""Responses that are not read to their end: nothing of the client's is left for the collector."""

import contextlib
import gc
import gzip
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, PendingRequest
from mcp_progress_monitor.sessions.transport.http import streams, transport
from tests.unit.sessions.http.scripted import (
    Asked,
    Line,
    Out,
    Script,
    connected,
    event,
    progress,
    reply,
)

_MOST = 100_000
_CHUNK = b"x" * 40_000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large is soon there."""
    monkeypatch.setattr(transport, "MOST_BYTES", _MOST)
    monkeypatch.setattr(streams, "MOST_BYTES", _MOST)
    monkeypatch.setattr(
        "mcp_progress_monitor.sessions.transport.http.receive_queue._HELD_BYTES", 1000
    )


@pytest.fixture(autouse=True)
def unraisable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[list[str]]:
    """Fail where Python, its loop or this program complains in passing."""
    found: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda reported: found.append(repr(reported)))
    yield found
    gc.collect()
    assert found == []
    assert [record.getMessage() for record in caplog.records if record.levelname != "DEBUG"] == []


@contextlib.asynccontextmanager
async def without_hooks() -> AsyncIterator[None]:
    """As on the window's loop: generators that are left are ended by the collector alone."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(*hooks)


async def _flood(out: Out, kind: str, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    await out.head("200 OK", {"Content-Type": kind, "Transfer-Encoding": "chunked", **named})
    body = b'{"jsonrpc": "2.0", "result": "' if kind.endswith("json") else b'data: {"x": "'
    for _ in range(50):
        await out.raw(b"%x\r\n%s\r\n" % (len(body), body))
        body = _CHUNK


def too_large(kind: str) -> Script:
    async def script(asked: Asked, out: Out) -> None:
        if asked.message and asked.message["params"].get("name") == "large":
            await _flood(out, kind)
            await out.until_closed()
        else:
            await out.json(reply(asked))

    return script


async def _goes_on(line: Line) -> PendingRequest:
    """The connection is as usable as before."""
    gc.collect()
    for _ in range(3):
        await anyio.lowlevel.checkpoint()
    return await line.over(line.ask(name="small"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_what_is_too_large_is_broken_off_and_the_connection_goes_on(kind: str) -> None:
    async with without_hooks(), connected(too_large(kind)) as line:
        exchange = await line.over(line.ask(name="large"))
        after = await _goes_on(line)
        assert line.connection.is_open
    assert exchange.end is ExchangeEnd.GIVEN_UP
    assert "The server sent a message larger than" in exchange.reason
    assert after.end is ExchangeEnd.ANSWERED
    assert line.connection.reason == "enough"
    assert any(reported["reason"].startswith("too large") for reported in line.events("http_ended"))


async def _ticking(asked: Asked, out: Out) -> None:
    if asked.message and asked.message["params"].get("name") == "long":
        await out.events()
        for value in range(100_000):
            await out.say(event(progress("t", value)))
            await anyio.lowlevel.checkpoint()
    else:
        await out.json(reply(asked))


async def _until_ticks(line: Line) -> None:
    with anyio.fail_after(10):
        while not any(b"notifications/progress" in frame.raw for frame in line.log.frames):
            line.log.more = anyio.Event()
            await line.log.more.wait()


async def test_a_call_is_cancelled_in_the_middle_and_the_connection_goes_on() -> None:
    async with without_hooks(), connected(_ticking) as line:
        line.connection.agreed("2026-07-28")
        exchange = line.ask(name="long")
        await _until_ticks(line)
        line.connection.outbox.send_cancel(exchange, "You cancelled it")
        line.connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
        await line.until_reported("http_ended")
        after = await _goes_on(line)
    assert after.end is ExchangeEnd.ANSWERED
    assert line.connection.reason == "enough"


async def test_a_connection_is_ended_in_the_middle() -> None:
    async with without_hooks(), connected(_ticking) as line:
        line.ask(name="long")
        await _until_ticks(line)
    assert line.connection.reason == "enough"


async def test_the_program_ends_in_the_middle() -> None:
    async with without_hooks():
        with anyio.CancelScope() as scope:
            async with connected(_ticking) as line:
                line.ask(name="long")
                await _until_ticks(line)
                scope.cancel()
                await anyio.sleep(10)
    assert scope.cancelled_caught
    assert line.events("closed")


async def test_a_compressed_body_that_cannot_be_read_is_broken_off() -> None:
    async def script(asked: Asked, out: Out) -> None:
        if asked.message and asked.message["params"].get("name") == "large":
            packed = gzip.compress(b'{"a": 1}')[:10] + b"no deflate at all" * 100
            headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
            await out.head("200 OK", {**headers, "Content-Length": "1000000"})
            await out.raw(packed)
            await out.until_closed()
        else:
            await out.json(reply(asked))

    async with without_hooks(), connected(script) as line:
        exchange = await line.over(line.ask(name="large"))
        after: Any = await _goes_on(line)
    assert "its compressed content cannot be decoded" in exchange.reason
    assert after.end is ExchangeEnd.ANSWERED
