"""A server on loopback that answers HTTP as a test says, byte for byte."""

import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import anyio
from anyio.abc import SocketStream, TaskGroup

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.facts import Fact
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.secrets.references import NoKeyring
from mcp_progress_monitor.sessions.connection.connection import Connection
from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
from mcp_progress_monitor.sessions.transport.base import SignIns, TransportResources
from mcp_progress_monitor.sessions.transport.http.transport import HttpTransport
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from tests.unit.sessions.playbook import Log

PATIENCE_S = 10


class Asked(NamedTuple):
    """One request that came; `message` is what its body says, None if there is none."""

    method: str
    path: str
    headers: dict[str, str]
    message: Any


class Out:
    """What the server writes in answer to one request."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def raw(self, data: bytes) -> None:
        await self._stream.send(data)

    async def head(self, status: str, headers: dict[str, str] | None = None) -> None:
        """Begin an answer that ends when the connection does."""
        lines = [f"HTTP/1.1 {status}", *(f"{k}: {v}" for k, v in (headers or {}).items())]
        await self.raw("\r\n".join([*lines, "", ""]).encode())

    async def body(
        self, status: str, kind: str, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        """A whole answer."""
        reported = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
        await self.head(status, reported)
        await self.raw(body)

    async def json(self, value: object, status: str = "200 OK", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await self.body(status, "application/json", json.dumps(value).encode(), named)

    async def nothing(self, status: str = "202 Accepted") -> None:
        await self.head(status, {"Content-Length": "0"})

    async def events(self, *events: str) -> None:
        """Begin an event stream with these events, which ends when the connection does."""
        await self.head("200 OK", {"Content-Type": "text/event-stream"})
        await self.say(*events)

    async def say(self, *events: str) -> None:
        await self.raw("".join(events).encode())

    async def until_closed(self) -> None:
        """Wait until the client closes the connection."""
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await self._stream.receive()

    async def reset(self) -> None:
        """Break the connection off as a program that crashes does."""
        raw = self._stream.extra(anyio.abc.SocketAttribute.raw_socket)  # noqa: S610
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self._stream.aclose()

    async def drop(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


Script: TypeAlias = "Callable[[Asked, Out], Awaitable[None]]"


def event(message: object, id_: str | None = None) -> str:
    """A message as an event."""
    head = "" if id_ is None else f"id: {id_}\n"
    return f"{head}data: {json.dumps(message)}\n\n"


def reply(asked: Asked, result: object = None) -> dict[str, Any]:
    """A reply to what was asked."""
    return {"jsonrpc": "2.0", "id": asked.message["id"], "result": result or {}}


def progress(token: object, value: int) -> dict[str, Any]:
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


class Web:
    """A server that plays a script, and keeps what it was asked."""

    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        self.port = 0
        self._script = script
        self._scope = anyio.CancelScope()
        self._stopped = anyio.Event()
        self._heard = anyio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def serve(self, listener: Any) -> None:
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610
        async with listener:
            with self._scope:
                await listener.serve(self._serve_one)

        self._stopped.set()

    async def stop(self) -> None:
        """Close all connections and listen no more."""
        self._scope.cancel()
        await self._stopped.wait()

    async def _serve_one(self, stream: SocketStream) -> None:
        async with stream:
            with contextlib.suppress(
                anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError
            ):
                buffered = b""
                while True:
                    asked, buffered = await _read(stream, buffered)
                    self.asked.append(asked)
                    self._heard.set()
                    await self._script(asked, Out(stream))

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so, looking whenever something is asked."""
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                self._heard = anyio.Event()
                await self._heard.wait()

    def asked_with(self, method: str) -> list[Asked]:
        """What was asked with this method of HTTP."""
        return [asked for asked in self.asked if asked.method == method]


async def _read(stream: SocketStream, data: bytes) -> tuple[Asked, bytes]:
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    length = int(headers.get("content-length", "0"))
    while len(rest) < length:
        rest += await stream.receive()
    method, path, _ = first.split(" ")
    message = json.loads(rest[:length]) if length else None
    return Asked(method, path, headers, message), rest[length:]


class Reports(Log):
    """What was reported, for tests that wait for something in it."""

    def __init__(self) -> None:
        super().__init__()
        self.more = anyio.Event()

    def take(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        super().take(frames, facts)
        self.more.set()


class Line:
    """A connection to a scripted server, and all events of it."""

    def __init__(self, web: Web, connection: Connection, log: Reports) -> None:
        self.web = web
        self.connection = connection
        self.log = log

    def ask(self, method: str = "tools/call", **params: Any) -> PendingRequest:
        return self.connection.outbox.ask(method, params, token="t")

    async def over(self, exchange: PendingRequest) -> PendingRequest:
        with anyio.fail_after(PATIENCE_S):
            await exchange.over()
        return exchange

    async def until_reported(self, name: str) -> None:
        """Wait until an event of this name was reported."""
        with anyio.fail_after(PATIENCE_S):
            while not self.events(name):
                self.log.more = anyio.Event()
                await self.log.more.wait()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The events of this name that were reported."""
        frames = [frame for frame in self.log.frames if b'"event":' in frame.raw[:12]]
        found = [json.loads(frame.raw) for frame in frames]
        return [fields for fields in found if fields["event"] == name]


def transport_to(url: str, **fields: Any) -> tuple[HttpTransport, Framer]:
    """A transport that is not opened yet."""
    definition = HttpDefinition(name="web", url=url, **fields)
    framer = Framer("web#1", FrameNumbers())
    means = TransportResources(NoKeyring(), SignIns(_ignore), folder=None, older=set())
    return HttpTransport(definition, framer, Clock(), means), framer


@contextlib.asynccontextmanager
async def connected(script: Script, query: str = "", **fields: Any) -> AsyncIterator[Line]:
    """A connection to a server that plays `script`, ended with the context."""
    web, log = Web(script), Reports()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(web.serve, listener)
        await _until_listening(web)
        transport, framer = transport_to(web.url + query, **fields)
        connection = Connection(
            "web#1", transport, framer, TokenSource(1), Clock(), log.take, _no_wait
        )
        await _live(tasks, connection)
        try:
            yield Line(web, connection, log)
        finally:
            connection.end("enough")
            with anyio.fail_after(PATIENCE_S, shield=True):
                await connection.over()
            tasks.cancel_scope.cancel()


async def _live(tasks: TaskGroup, connection: Connection) -> None:
    tasks.start_soon(connection.run)
    await connection.opened()


async def _until_listening(web: Web) -> None:
    while not web.port:
        await anyio.lowlevel.checkpoint()


def _ignore(_name: str) -> None:
    """Only HTTP servers use sign-in here."""


async def _no_wait() -> None:
    """There is room at once."""
