"""A server that is a function of what it receives, without a process."""

import json
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

import anyio

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.facts import Fact, JsonObject
from mcp_progress_monitor.protocol.frames import Frame
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.peer import TokenSource
from mcp_progress_monitor.sessions.connection.connection import Connection, Room, Upkeep
from mcp_progress_monitor.sessions.transport.base import Transport

Message: TypeAlias = dict[str, Any]
Script: TypeAlias = Callable[[Message], Iterable[Message | bytes]]

INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "played", "version": "1"},
}


def result(request: Message, value: JsonObject) -> Message:
    """A reply to `request`."""
    return {"jsonrpc": "2.0", "id": request["id"], "result": value}


def error(request: Message, code: int, message: str = "no", data: object = None) -> Message:
    """An error as the reply to `request`."""
    body = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": request["id"], "error": body}


def by_method(**answers: JsonObject | int) -> Script:
    """Answers by the method's last word: a result, or an error code; silence to all others."""

    def answer(message: Message) -> list[Message]:
        found = answers.get(message.get("method", "").rpartition("/")[2])
        if found is None or "id" not in message:
            return []
        if isinstance(found, int):
            return [error(message, found)]
        return [result(message, found)]

    return answer


class PlayedServer(Transport):
    """A transport that plays a script; keeps what was sent to it."""

    pid: int | None = None
    exit_code: int | None = None
    last_byte_at: float | None = None

    def __init__(self, script: Script, *, error: ErrorDetails | None = None) -> None:
        self.sent: list[Message] = []
        self.is_closed = False
        self.is_released = False
        self.pid = 4711
        self.when = self.at = 0.0  # the stamps of what is received
        self.last_output: list[Message] = []  # said when it is to end
        self._script = script
        self._error = error
        self._framer = Framer("played#1", FrameNumbers(1_000_000))
        self._to_us, self._from_server = anyio.create_memory_object_stream[bytes](math.inf)
        self._ended = anyio.Event()
        self._heard = anyio.Event()
        self._reading = anyio.Event()
        self._reading.set()
        self._stderr: list[bytes] = []

    def use(self, framer: Framer) -> None:
        """Make frames by `framer`, whose numbers the connection shares."""
        self._framer = framer

    async def open(self) -> JsonObject:
        if self._error is not None:
            raise UserError(self._error)
        return {"pid": self.pid}

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        for line in self._stderr:
            await on_stderr([self._framer.stderr(line, 0.0, 0.0)])
        await self._ended.wait()

    async def receive(self) -> list[Frame]:
        raw = await self._from_server.receive()
        return self._framer.received([raw], self.when, self.at)

    async def send(self, raw: bytes, frame: int) -> None:
        await self._reading.wait()
        for message in map(json.loads, raw.splitlines()):
            self.sent.append(message)
            self._heard.set()
            for reply in self._script(message):
                self.say(reply)

    async def close(self) -> None:
        self.is_closed = True
        while self.last_output:
            await anyio.wait_all_tasks_blocked()
            self.say(self.last_output.pop(0))
        self.end()

    async def release(self) -> None:
        self.is_released = True
        self._from_server.close()

    def say(self, message: Message | bytes) -> None:
        """Write one line to the session."""
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._to_us.send_nowait(raw)

    def complain(self, line: bytes) -> None:
        """Have a line of stderr ready before the connection opens."""
        self._stderr.append(line)

    def end(self, exit_code: int | None = None) -> None:
        """End as a process does."""
        self.exit_code = exit_code if self.exit_code is None else self.exit_code
        self._to_us.close()
        self._ended.set()

    def stop_reading(self) -> None:
        """Leave what is written next unread, as a busy server does."""
        self._reading = anyio.Event()

    def read_on(self) -> None:
        """Read again."""
        self._reading.set()

    async def until_count(self, count: int) -> None:
        """Wait until so many messages were sent."""
        with anyio.fail_after(10):
            while len(self.sent) < count:
                self._heard = anyio.Event()
                await self._heard.wait()

    async def until_sent(self, method: str) -> Message:
        """The first message with this method, once it was sent."""
        with anyio.fail_after(5):
            while True:
                for message in self.sent:
                    if message.get("method") == method:
                        return message
                self._heard = anyio.Event()
                await self._heard.wait()

    @property
    def methods(self) -> list[str]:
        """The methods of all requests and notifications that were sent."""
        return [message["method"] for message in self.sent if "method" in message]


class Log:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.facts: list[Fact] = []

    def take(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        self.frames += frames
        self.facts += facts


async def no_wait() -> None:
    """There is room at once."""


def connection_to(
    server: PlayedServer, log: Log | None = None, room: Room = no_wait, upkeep: Upkeep | None = None
) -> Connection:
    """A connection to a played server."""
    framer = Framer("played#1", FrameNumbers())
    server.use(framer)
    sink = (log or Log()).take
    return Connection("played#1", server, framer, TokenSource(1), Clock(), sink, room, upkeep)
