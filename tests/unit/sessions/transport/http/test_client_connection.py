"""The HTTP client of one connection, at servers that end connections in their own way."""

import contextlib
import gzip
import ssl
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from anyio.lowlevel import checkpoint
from anyio.streams.tls import TLSListener, TLSStream

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.sessions.transport.http.client import HttpClient, HttpRequest
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import ExchangeRecorder
from tests.integration.http_servers import self_signed


async def test_nothing_is_sent_on_a_connection_whose_end_was_that_of_a_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def serve(stream: TLSStream) -> None:
        with contextlib.suppress(anyio.BrokenResourceError):  # the client says no goodbye
            await stream.receive()
            # Without a length it goes on until the end, which TLS marks here.
            await stream.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
            await stream.aclose()

    wire = HttpClient(ExchangeRecorder(ReceiveQueue(Framer("web#1", FrameNumbers()), Clock())), 5)
    plain: Any = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners[0]
    listener = TLSListener(plain, context)
    port = plain.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - not Django
    url = f"https://127.0.0.1:{port}/"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        wire.open({}, None, url)
        with anyio.fail_after(10):
            for _ in range(3):
                async with wire.exchange(HttpRequest("GET", url, {}, "listen")) as reply:
                    assert await reply.read(100) == (b"hello", True)
        await wire.close()
        tasks.cancel_scope.cancel()


async def test_others_get_their_turn_while_a_few_bytes_unpack_to_many() -> None:
    packed = gzip.compress(bytes(32 * 1024 * 1024))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"

    async def serve(stream: SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(head % len(packed) + packed)

    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await checkpoint()
            turns += 1

    wire = HttpClient(ExchangeRecorder(ReceiveQueue(Framer("web#1", FrameNumbers()), Clock())), 5)
    listener: Any = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners[0]
    url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"  # noqa: S610
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        wire.open({}, None, url)
        async with wire.exchange(HttpRequest("GET", url, {}, "listen")) as reply:
            tasks.start_soon(count)
            tracemalloc.start()
            body, is_whole = await reply.read(1 << 30)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert (len(body), is_whole) == (32 * 1024 * 1024, True)
            assert reply.size == len(packed)
        assert turns >= 30
        assert peak < 1.5 * len(body)  # it is joined as it comes
        await wire.close()
        tasks.cancel_scope.cancel()


async def test_a_cookie_with_any_bytes_is_ignored_and_others_are_sent_back() -> None:
    asked: list[bytes] = []
    head = b"HTTP/1.1 200 caf\xe9\r\nServer: caf\xe9\r\nSet-Cookie: a=\x80\r\nSet-Cookie: b=2\r\n"

    async def serve(stream: SocketStream) -> None:
        async with stream:
            for _ in range(2):
                asked.append(await stream.receive())
                await stream.send(head + b"Content-Length: 2\r\n\r\nok")

    wire = HttpClient(ExchangeRecorder(ReceiveQueue(Framer("web#1", FrameNumbers()), Clock())), 5)
    listener: Any = (await anyio.create_tcp_listener(local_host="127.0.0.1")).listeners[0]
    url = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"  # noqa: S610
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        wire.open({}, None, url)
        with anyio.fail_after(10):
            for _ in range(2):
                async with wire.exchange(HttpRequest("GET", url, {}, "listen")) as reply:
                    assert await reply.read(100) == (b"ok", True)
        await wire.close()
        tasks.cancel_scope.cancel()
    assert b"\r\ncookie: b=2\r\n" in asked[1].lower()
