"""A proxy on loopback, which forwards requests and opens tunnels, and keeps what it was asked."""

import contextlib
from collections.abc import AsyncIterator

import anyio
import anyio.abc
from anyio.abc import SocketStream

_OVER = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Proxy:
    """Lets through what it is asked for, or nothing with `refusal`, a status line."""

    def __init__(self, refusal: str = "") -> None:
        self.asked: list[str] = []
        """The first line of each request."""
        self.url = ""
        self._refusal = refusal

    async def serve(self, client: SocketStream) -> None:
        with contextlib.suppress(*_OVER):
            async with client:
                head, rest = await _head(client, b"")
                if self._refusal:
                    self.asked.append(head.partition("\r\n")[0])
                    await client.send(
                        f"HTTP/1.1 {self._refusal}\r\ncontent-length: 0\r\n\r\n".encode()
                    )
                elif head.startswith("CONNECT "):
                    await self._tunnel(client, head)
                else:
                    await self._forward(client, head, rest)

    async def _tunnel(self, client: SocketStream, head: str) -> None:
        self.asked.append(head.partition("\r\n")[0])
        host, _, port = head.split(" ")[1].rpartition(":")
        async with await anyio.connect_tcp(host, int(port)) as server:
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_pump, server, client, tasks.cancel_scope)
                await _pump(client, server, tasks.cancel_scope)

    async def _forward(self, client: SocketStream, head: str, rest: bytes) -> None:
        place = head.split(" ")[1].removeprefix("http://").partition("/")[0]
        host, _, port = place.rpartition(":")
        async with (
            await anyio.connect_tcp(host, int(port)) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_pump, server, client, tasks.cancel_scope)
            with contextlib.suppress(*_OVER):
                while True:
                    self.asked.append(head.partition("\r\n")[0])
                    plain = head.replace(f"http://{place}", "", 1)
                    await server.send(plain.encode() + b"\r\n\r\n")
                    rest = await _body(client, server, _length(head), rest)
                    head, rest = await _head(client, rest)
            tasks.cancel_scope.cancel()


async def _head(stream: SocketStream, data: bytes) -> tuple[str, bytes]:
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, rest = data.partition(b"\r\n\r\n")
    return head.decode(), rest


def _length(head: str) -> int:
    lines = [line.partition(":") for line in head.lower().split("\r\n")]
    return next((int(value) for name, _, value in lines if name == "content-length"), 0)


async def _body(client: SocketStream, server: SocketStream, length: int, data: bytes) -> bytes:
    while len(data) < length:
        data += await client.receive()
    await server.send(data[:length])
    return data[length:]


async def _pump(source: SocketStream, sink: SocketStream, until: anyio.CancelScope) -> None:
    with contextlib.suppress(*_OVER):
        while True:
            await sink.send(await source.receive())
    until.cancel()


@contextlib.asynccontextmanager
async def proxy(refusal: str = "") -> AsyncIterator[Proxy]:
    """A proxy, until the end of the context."""
    made = Proxy(refusal)
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
        made.url = f"http://127.0.0.1:{port}"
        tasks.start_soon(listener.serve, made.serve)
        yield made
        tasks.cancel_scope.cancel()
