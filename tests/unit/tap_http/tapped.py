"""Taps within the test, servers that say what a test wants, and clients that write bytes."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.tap.script import Script, read_rules
from mcp_progress_monitor.tap_http.program import HttpTap, SignInOptions, TapOptions
from tests.patience import PATIENCE_S

_OVER = (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead)
LONGEST = 64 * 1024 * 1024


class Tapped:
    """A tap that runs."""

    def __init__(self, tap: HttpTap, lines: list[str]) -> None:
        self.tap = tap
        self.lines = lines
        """What it said to its user."""

    @property
    def url(self) -> str:
        return self.tap.addresses.own

    @property
    def port(self) -> int:
        return self.tap.addresses.listening.port

    @property
    def recording(self) -> Path:
        assert self.tap.recording is not None
        return self.tap.recording

    def has_recorded(self, text: bytes) -> bool:
        """Whether these words are recorded by now."""
        return self.recording.exists() and text in self.recording.read_bytes()

    @property
    def frames(self) -> list[Frame]:
        """All that is recorded, once the tap has ended."""
        return [frame for chunk in RecordingReader(self.recording) for frame in chunk.frames]

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(f.raw) for f in self.frames if f.channel is Channel.EVENT]

    def event(self, name: str) -> dict[str, Any]:
        """The only event of that name."""
        (found,) = [event for event in self.events if event["event"] == name]
        return found

    def event_entries(self) -> list[dict[str, Any]]:
        """What is recorded of events of streams."""
        reported = [event["events"] for event in self.events if event["event"] == "http_events"]
        return [entry for entries in reported for entry in entries]

    @property
    def messages(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Connection, direction and message."""
        marks = {Channel.SENT: ">", Channel.RECEIVED: "<"}
        return [
            (f.connection, marks[f.channel], json.loads(f.raw))
            for f in self.frames
            if f.channel in marks
        ]

    def played(self) -> Playback:
        playback = Playback(self.recording)
        while playback.advance(1.0):
            pass
        return playback


@contextlib.asynccontextmanager
async def tapped(
    url: str,
    folder: Path,
    name: str = "demo",
    script: str = "",
    sign_in: SignInOptions | None = None,
    *,
    rewrites_auth: bool = False,
) -> AsyncIterator[Tapped]:
    """A tap to a server; its recording is complete after the context."""
    lines: list[str] = []
    rules = Script("faults.txt", read_rules(script), 1) if script else None
    options = TapOptions(
        url,
        listen="127.0.0.1:0",
        name=name,
        data_dir=folder,
        script=rules,
        sign_in=sign_in,
        rewrites_auth=rewrites_auth,
    )
    tap = HttpTap(options, lines.append)
    await tap.open()
    stop = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tap.run, stop)
        try:
            yield Tapped(tap, lines)
        finally:
            stop.set()


class Peer:
    """One side of a connection, which reads and writes bytes."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._read = BufferedByteReceiveStream(stream)

    async def write(self, data: bytes) -> None:
        await self.stream.send(data)

    async def until(self, end: bytes) -> bytes:
        """All up to these bytes, with them."""
        with anyio.fail_after(PATIENCE_S):
            return await self._read.receive_until(end, LONGEST) + end

    async def exactly(self, count: int) -> bytes:
        with anyio.fail_after(PATIENCE_S):
            return await self._read.receive_exactly(count) if count else b""

    async def message(self) -> bytes:
        """A request or a response whose head tells its length."""
        head = await self.until(b"\r\n\r\n")
        lengths = [
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ]
        return head + await self.exactly(lengths[0] if lengths else 0)

    async def rest(self) -> bytes:
        """All up to the end of the connection."""
        data = b""
        with anyio.fail_after(PATIENCE_S), contextlib.suppress(anyio.EndOfStream, OSError):
            while True:
                data += await self._read.receive()
        return data

    async def is_closed(self) -> bool:
        """Wait for the other side to close, with nothing more to say."""
        return await self.rest() == b""


@contextlib.asynccontextmanager
async def client(port: int) -> AsyncIterator[Peer]:
    """A connection to a port of this machine."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        yield Peer(stream)


@contextlib.asynccontextmanager
async def server(serve: Callable[[Peer], Awaitable[None]]) -> AsyncIterator[str]:
    """A server of which each connection is one call of `serve`; its URL, with the path /mcp."""

    async def handle(stream: SocketStream) -> None:
        async with stream:
            with contextlib.suppress(*_OVER):
                await serve(Peer(stream))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # of anyio
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            tasks.cancel_scope.cancel()


def request(port: int, body: bytes = b"", *headers: str, line: str = "") -> bytes:
    """A request to a tap: a POST with a body, a GET without."""
    method = "POST" if body else "GET"
    lines = [line or f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", *headers]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, "", "")).encode() + body


def response(body: bytes, *headers: str, status: str = "200 OK", kind: str = "") -> bytes:
    """A response of a known length."""
    kind = kind or "application/json"
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers]
    return "\r\n".join((*lines, f"Content-Length: {len(body)}", "", "")).encode() + body


async def ask(tap: Tapped, body: bytes, *headers: str, line: str = "") -> bytes:
    """Make a request on a connection of its own."""
    async with client(tap.port) as peer:
        await peer.write(request(tap.port, body, *headers, line=line))
        return await peer.message()


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def rpc(method: str, id_: int | None = None, **params: Any) -> bytes:
    """A message of a client, in the words of a test."""
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if id_ is not None:
        message["id"] = id_
    message["method"] = method
    if params:
        message["params"] = params
    return json.dumps(message).encode()


def reply(id_: int, **result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode()


def event(data: bytes, id_: str = "") -> bytes:
    """A message as an event of a stream."""
    return (f"id: {id_}\n" if id_ else "").encode() + b"data: " + data + b"\n\n"
