"""The exchanges of a recording: which requests it has, and what each of them led to.

The index is made while requests are answered already.
"""

from __future__ import annotations

import difflib
import enum
import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import Channel, server_name
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    INITIALIZED,
    META,
    OF_TASKS,
    PROGRESS,
    PROGRESS_TOKEN,
    RELATED_TASK,
    SERVER_KEY,
    STATUS_METHODS,
    TASK_ID,
    VERSION_KEY,
)
from mcp_progress_monitor.serving.index import Exchange, ExchangeIndex
from mcp_progress_monitor.serving.lines import RecordedLines, RecordedMessage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.serving.lines import Place, RecordedLine

_SLICE_S: Final = 0.005
_NAMES_SHOWN: Final = 300  # characters
_MOST_NAMES: Final = 200
_CANDIDATES: Final = 50
"""Requests that are compared to find the closest one; the newest of that tool."""
_COMPARED: Final = 2_000  # characters of their arguments
_VARYING: Final = frozenset({META, "inputResponses", "requestState"})
"""Parameters that differ from call to call; those of the answers to a server's questions too."""
_CAPABILITIES: Final = {
    "tools": "tools",
    "resources": "resources",
    "prompts": "prompts",
    "logging": "logging",
    "completion": "completions",
}
"""The capability that the methods with a prefix need."""
_OPENINGS: Final = frozenset({INITIALIZE, DISCOVER})


class StepKind(enum.Enum):
    """The meaning of a recorded line for the request that is played."""

    SENT = enum.auto()  # a message of the server, sent as it was
    TICK = enum.auto()  # progress of the request, with its token replaced
    ASKED = enum.auto()  # a request of the server, with its id replaced
    ANSWERED = enum.auto()  # the client's reply to it
    CANCELLED = enum.auto()  # the client cancelled the request
    INITIALIZED = enum.auto()  # the client ended the handshake that the request began
    REPLY = enum.auto()  # the reply, with its id replaced
    STDERR = enum.auto()


class Step(NamedTuple):
    """One thing that followed a request, so many seconds after it."""

    kind: StepKind
    after_s: float
    raw: bytes
    id: Any = None


class Found(NamedTuple):
    """The exchange to play; with `closest`, its parameters differ from those asked for."""

    exchange: Exchange | None
    closest: Exchange | None = None


class RecordedServer:
    """One server of a recording, as far as it has been indexed."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """Open a recording; `name` is the server, by default the first one in it.

        `UserError` if the file cannot be read, or is not a recording.
        """
        self.lines = RecordedLines(path)
        self.name = name
        self._is_chosen = name is not None
        self.others: set[str] = set()
        """The other servers of the recording."""
        self.revision = ""
        """The revision that requests name themselves, since 2026-07-28; empty if none does."""
        self.info: JsonObject = {}
        """The server as replies describe it, since 2026-07-28."""
        self.is_indexed = False
        self._requests = 0
        self._index = ExchangeIndex()
        self._open: dict[str, dict[bytes, tuple[int, str]]] = {}
        """The open requests of each connection: number and method, by the JSON of their ids."""
        self._grown = anyio.Event()

    @property
    def names(self) -> list[str]:
        """The first tools, prompts and resources that were called, by their names."""
        return self._index.names(_MOST_NAMES)

    @property
    def is_empty(self) -> bool:
        return self.is_indexed and not self.count

    @property
    def unserved(self) -> list[str]:
        """Lines that say what of the recording is not served, once it is indexed."""
        if self.is_empty:
            return [_empty_error(self).as_text()]
        lines = []
        if self.others and not self._is_chosen:
            names = formatting.one_line(", ".join(sorted(self.others)), _NAMES_SHOWN)
            lines.append(
                f"Only {self.name!r} is served. The recording also has: {names}. Use --server to"
                " choose another one."
            )
        if self.left_out:
            lines.append(
                f"{self.left_out:,} requests after the first {self.count:,} are not served: the"
                " folder for temporary files is full. Make room there, and serve again."
            )
        return lines

    @property
    def left_out(self) -> int:
        """How many requests the index has no room for: they cannot be played."""
        return self._requests - self.count

    @property
    def has_opening(self) -> bool:
        return bool(self._index.methods() & _OPENINGS)

    @property
    def capabilities(self) -> JsonObject:
        """The capabilities that the recorded requests need."""
        kinds = {method.partition("/")[0] for method in self._index.methods()}
        return {_CAPABILITIES[kind]: {} for kind in sorted(kinds & _CAPABILITIES.keys())}

    @property
    def count(self) -> int:
        return self._index.count

    async def index(self) -> None:
        """Read the recording to its end, in slices of some milliseconds."""
        until = time.monotonic() + _SLICE_S
        for line in self.lines.read(phrase=_ID):
            if line is not None and line.channel in _WIRE and self._is_served(line.connection):
                for message in line.messages():
                    self._take(line.place, line.connection, line.channel, message)
            if time.monotonic() >= until:
                self._announce()
                await checkpoint()
                until = time.monotonic() + _SLICE_S
        self.is_indexed = True
        self._open.clear()
        self._announce()

    def _announce(self) -> None:
        self._index.commit()
        grown, self._grown = self._grown, anyio.Event()
        grown.set()

    def _is_served(self, connection: str) -> bool:
        server = server_name(connection)
        if self.name is None:
            self.name = server
        if server != self.name:
            self.others.add(server)
        return server == self.name

    def _take(
        self, place: Place, connection: str, channel: Channel, message: RecordedMessage
    ) -> None:
        waiting = self._open.setdefault(connection, {})
        if channel is Channel.SENT and message.is_request:
            self._requests += 1
            if self._index.error:
                return
            method, name = message.method, named_by(message.params)
            waiting[canonical(message.id)] = self.count, method
            exchange = Exchange(method, name, place, connection, message.id)
            self._index.add(exchange, key_of(method, message.params))
            revision = as_object(message.params.get(META)).get(VERSION_KEY)
            if not self.revision and isinstance(revision, str):
                self.revision = revision
        elif channel is Channel.RECEIVED and message.is_reply:
            ended = waiting.pop(canonical(message.id), None)
            if ended is not None:
                number, method = ended
                if self.revision and not self.info:
                    meta = as_object(as_object(message.members.get("result")).get(META))
                    self.info = as_object(meta.get(SERVER_KEY))
                revision = _revision(method, message.members)
                self._index.answer(number, revision, is_alone=not waiting)

    async def find(self, method: str, params: JsonObject, turn: int) -> Found:
        """Find what was recorded for a request that is made for the time `turn`, from 0.

        Equal requests are answered in the recorded order, the last one again and again. Waits until
        the recording is indexed, or as far as necessary.
        """
        key = key_of(method, params)
        while True:
            found = self._index.same(key, turn, or_last=self.is_indexed)
            if found is not None or self.is_indexed:
                break
            await self._grown.wait()
        return Found(found, None if found else self._closest(method, params))

    async def opening(self, method: str, revision: str) -> Exchange | None:
        """The recorded opening with that revision, else the last one of the method, or None."""
        while True:
            found = self._index.opening(method, revision)
            if found or self.is_indexed:
                return found or self._index.opening(method)
            await self._grown.wait()

    def _closest(self, method: str, params: JsonObject) -> Exchange | None:
        """The recorded request of the same tool with the most similar parameters."""
        wanted = _compared(params)

        def likeness(exchange: Exchange) -> tuple[bool, float]:
            text = _compared(self.request_of(exchange).params)
            ratio = difflib.SequenceMatcher(None, wanted, text, autojunk=False).ratio()
            return exchange.is_answered, ratio

        found = self._index.newest(method, named_by(params), _CANDIDATES)
        return max(found, key=likeness, default=None)

    def request_of(self, exchange: Exchange) -> RecordedMessage:
        """Read the request of an exchange again."""
        line = next(line for line in self.lines.read(exchange.place) if line is not None)
        same = (message for message in line.messages() if message.id == exchange.id)
        return next(same, RecordedMessage(b"{}", {}))

    def steps(self, exchange: Exchange) -> Iterator[Step | None]:
        """Everything that followed a request, in order; None as a pause while reading on.

        Progress belongs to it by its token, and a task's messages by its id. Other messages of the
        server belong to the request that was made last and is open, or was the last one.
        """
        return _Follower(self, exchange).steps()


class _Follower:
    """Follows one exchange through the lines after its request."""

    def __init__(self, server: RecordedServer, exchange: Exchange) -> None:
        self._recorded = server.lines
        self._lines = server.lines.read(exchange.place)
        self._exchange = exchange
        self._began_at: float | None = None
        self._token: Any = None
        self._task: Any = None
        self._is_task_known = exchange.method.startswith(OF_TASKS)
        """Requests about a task get no more of its messages: those belong to what created it."""
        self._later: set[bytes] = set()  # requests made after this one that are open
        self._asked: set[bytes] = set()
        self._is_over = self._is_last = False
        self._is_replied = False

    def steps(self) -> Iterator[Step | None]:
        for line in self._lines:
            if line is None:
                yield None
            elif line.connection != self._exchange.connection:
                continue
            elif self._began_at is None:
                self._begin(line.at, line.messages())
            else:
                if not self._is_task_known and _names_task(line):
                    yield from self._learn_task(line)
                yield from self._of_line(line, max(0.0, line.at - self._began_at))
            if self._is_over:
                return

    def _of_line(self, line: RecordedLine, after_s: float) -> Iterator[Step]:
        if line.channel is Channel.STDERR:
            if self._is_mine:
                yield Step(StepKind.STDERR, after_s, line.raw)
            return
        if line.channel is Channel.EVENT:
            self._is_over = line.raw.startswith(_CLOSED)
            return
        messages = line.messages()
        if not messages and line.channel is Channel.RECEIVED and self._is_mine:
            yield Step(StepKind.SENT, after_s, line.raw)  # not a JSON-RPC message
        take = self._sent if line.channel is Channel.SENT else self._received
        for message in messages:
            kind = take(message)
            if kind is not None:
                yield Step(kind, after_s, message.raw, message.id)

    def _begin(self, at: float, messages: list[RecordedMessage]) -> None:
        self._began_at = at
        for message in messages:
            if message.is_request and message.id == self._exchange.id:
                self._token = as_object(message.params.get(META)).get(PROGRESS_TOKEN)

    def _learn_task(self, line: RecordedLine) -> Iterator[None]:
        """Look ahead for the task in the reply: its messages may come before."""
        self._is_task_known = True
        for later in self._recorded.read(line.place, _ID):
            if later is None:
                yield None
            elif later.connection == line.connection and later.channel is Channel.RECEIVED:
                for message in later.messages():
                    if message.is_reply and message.id == self._exchange.id:
                        self._task = _created_task(message)
                        return

    @property
    def _is_mine(self) -> bool:
        """True where a message that names no request belongs to this one."""
        return not self._later and (not self._is_replied or self._exchange.is_alone)

    def _sent(self, message: RecordedMessage) -> StepKind | None:
        if message.is_request:
            if self._is_replied and self._task is None:
                self._is_over = True
            elif self._is_replied:
                self._is_last = True
            self._later.add(canonical(message.id))
        elif message.is_reply:
            return StepKind.ANSWERED if canonical(message.id) in self._asked else None
        elif message.method == CANCELLED and message.params.get("requestId") == self._exchange.id:
            return StepKind.CANCELLED
        elif message.method == INITIALIZED and self._exchange.method == INITIALIZE:
            return StepKind.INITIALIZED
        return None

    def _received(self, message: RecordedMessage) -> StepKind | None:
        if message.is_reply:
            return self._replied(message)
        if message.method == PROGRESS:
            is_own = self._token is not None and message.params.get(PROGRESS_TOKEN) == self._token
            return StepKind.TICK if is_own else None
        task = as_object(as_object(message.params.get(META)).get(RELATED_TASK)).get(TASK_ID)
        if message.method in STATUS_METHODS:
            task = message.params.get(TASK_ID, task)
        is_own = task == self._task if task is not None else self._is_mine and not self._is_last
        if not is_own:
            return None
        if message.is_request:
            self._asked.add(canonical(message.id))
            return StepKind.ASKED
        return StepKind.SENT

    def _replied(self, message: RecordedMessage) -> StepKind | None:
        if message.id != self._exchange.id or self._is_replied:
            self._later.discard(canonical(message.id))
            return None
        self._is_replied = True
        if not self._exchange.method.startswith(OF_TASKS):
            self._task, self._is_task_known = _created_task(message), True
        return StepKind.REPLY


_WIRE: Final = frozenset({Channel.SENT, Channel.RECEIVED})
_ID: Final = b'"id"'
"""In the bytes of every request and reply, but of few messages of a flood."""
_TASK: Final = f'"{TASK_ID}"'.encode()
_CLOSED: Final = (b'{"event":"closed"', b'{"event":"failed"')


def _names_task(line: RecordedLine) -> bool:
    """Tell whether a message of the server may be about a task; replies are looked at later."""
    return line.channel is Channel.RECEIVED and _TASK in line.raw and b'"method"' in line.raw


def _created_task(reply: RecordedMessage) -> Any:
    result = as_object(reply.members.get("result"))
    return as_object(result.get("task")).get(TASK_ID, result.get(TASK_ID))


def key_of(method: str, params: JsonObject) -> bytes:
    """Digest what equal requests have in common: method, and parameters that do not vary."""
    kept = _fixed(params)
    try:
        text = canonical(kept)
    except (ValueError, RecursionError):
        text = repr(kept).encode(errors="replace")
    return hashlib.sha256(method.encode(errors="replace") + b"\n" + text).digest()[:16]


def _fixed(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name not in _VARYING}


def named_by(params: JsonObject) -> str:
    """The tool, prompt or URI that parameters name; empty if none."""
    name = params.get("name", params.get("uri"))
    return name if isinstance(name, str) else ""


def _compared(params: JsonObject) -> str:
    try:
        return json.dumps(_fixed(params), sort_keys=True)[:_COMPARED]
    except (ValueError, RecursionError):
        return ""


def _revision(method: str, reply: JsonObject) -> str:
    if method not in _OPENINGS:
        return ""
    revision = as_object(reply.get("result")).get("protocolVersion")
    return revision if isinstance(revision, str) else ""


def _empty_error(server: RecordedServer) -> ErrorDetails:
    """The error of a recording that has no request to answer."""
    where = str(server.lines.path)
    if server.others:
        what = f"The recording has no server {server.name!r}"
        return ErrorDetails(what, where, f"It has: {', '.join(sorted(server.others))}.")
    return ErrorDetails("The recording has no requests, so there is nothing to serve", where)
