"""One transport's lifetime: its tasks, and all its traffic as frames and facts."""

from __future__ import annotations

import logging
import operator
import re
import time
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.eras import Era, era_of
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, FactRun, raws_of
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.sessions.connection.outbox import Outbox
from mcp_progress_monitor.sessions.transport.base import (
    CLOSED_INPUT,
    CLOSED_OUTPUT,
    DEFECT_HINT,
    FIRST_BYTES,
    ending,
)
from mcp_progress_monitor.snapshots.doctor import EndKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.protocol.peer import TokenSource
    from mcp_progress_monitor.sessions.connection.outbox import OutgoingMessage
    from mcp_progress_monitor.sessions.transport.base import Loss, Transport
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_log = logging.getLogger(__name__)

_TURN_S: Final = 0.001  # how long a flood of messages may block the loop before other tasks run
_WRITTEN_AT_ONCE: Final = 32  # replies to a server that makes many requests
_STDERR_TAIL: Final = 20
_TAIL_BYTES: Final = 4096
"""How much of a line of standard error is kept for quoting; the recording has all of it."""
_FOR_TERMINALS: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\([0-~]"
)
"""Terminal control sequences, such as colours: removed from quoted lines."""
_DRAIN_S: Final = 2.0
"""How long a server that no longer reads may keep sending before the connection ends."""
_LAST_READ_S: Final = 0.5
"""How long remaining data is read after the server has ended at our request."""
_ACTIVITY_EVENTS: Final = (b'{"event":"http_response"', b'{"event":"http_events"')
"""Prefixes of events that prove that the server sent bytes, although they are not messages."""

Sink: TypeAlias = "Callable[[Sequence[Frame], FactRun], None]"
"""Receives traffic immediately and in order: frames and the facts read from them."""


Room: TypeAlias = "Callable[[], Awaitable[None]]"
"""Waits while the receiver of the server's messages cannot take more."""

_raw_of = operator.attrgetter("raw")


class Upkeep(NamedTuple):
    """Services that a connection needs from its session.

    `schema_of` returns the input schema of a listed tool, `relist` reads the lists again, `outlook`
    says at the end what happens next, for those who waited for the server.
    """

    schema_of: Callable[[str], JsonObject | None]
    relist: Callable[[], Awaitable[None]]
    outlook: Callable[[], str]


class Connection:
    """Owns a transport and all its traffic.

    `run` is its one owner task; everyone else sends through `outbox` and waits for exchanges. All
    traffic goes through one synchronous sink, frame by frame in wire order.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        framer: Framer,
        tokens: TokenSource,
        clock: Clock,
        sink: Sink,
        room: Room = checkpoint_if_cancelled,
        upkeep: Upkeep | None = None,
    ) -> None:
        """A connection named `name`, `"<server>#<n>"`, which `run` opens.

        The server is read only as fast as `room` returns. `upkeep` is provided by its session.
        """
        self.id = name
        self.error: ErrorDetails | None = None
        self.reason = ""
        self.end_kind = EndKind.OPEN
        self._is_end_wanted = False
        self.stderr_tail: deque[str] = deque(maxlen=_STDERR_TAIL)
        self.stderr_at: float | None = None
        """When the server last wrote to its standard error, None if it did not."""
        self._last_life_at: float | None = None
        self._first_lines = b""
        self._upkeep = upkeep
        self._transport = transport
        self._framer = framer
        self._clock = clock
        self._sink = sink
        self._room = room
        self._conversation = Conversation(name)
        self.outbox = Outbox(self._conversation, tokens, clock)
        self._publishing = anyio.Lock(fast_acquire=True)
        self._opened = anyio.Event()
        self._ending = anyio.Event()
        self._over = anyio.Event()
        self._writing = anyio.CancelScope()
        self._reading = anyio.CancelScope()
        self._is_read = anyio.Event()  # set once everything was read, or the end was requested
        self._is_deaf = False
        transport.attach(self)

    def now(self) -> float:
        """Monotonic time, on the clock of the connection's frames."""
        return self._clock.monotonic()

    @property
    def pid(self) -> int | None:
        return self._transport.pid

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended, None while it runs."""
        return self._transport.exit_code

    @property
    def first_bytes(self) -> bytes:
        process = self._transport.process
        return self._first_lines if process is None else process.first_bytes

    @property
    def last_received_at(self) -> float | None:
        """When the server last sent a byte, even of an incomplete message."""
        times = (self._last_life_at, self._transport.last_byte_at)
        return max((at for at in times if at is not None), default=None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The resolved secrets in the server's definition: never shown."""
        process = self._transport.process
        return () if process is None else process.secrets

    @property
    def is_http(self) -> bool:
        """True if the server is reached by URL rather than as a process."""
        return self._transport.is_http

    @property
    def has_handshake(self) -> bool:
        """True if this transport exists only in the handshake era."""
        return self._transport.has_handshake

    @property
    def failure(self) -> ErrorDetails | None:
        """Why it ended unexpectedly, unless the exit code explains it."""
        return self._transport.failure

    @property
    def http_notes(self) -> Sequence[HttpNote]:
        """The last HTTP requests with their responses, oldest first; empty for a process."""
        return tuple(self._transport.notes)

    @property
    def is_open(self) -> bool:
        return self._opened.is_set() and not self._ending.is_set()

    def end(self, reason: str, kind: EndKind = EndKind.CLIENT) -> None:
        """Request a graceful end of the connection; the first reason counts.

        Without a reason of ours, how the server ended becomes the reason.
        """
        if not self._ending.is_set():
            self._is_end_wanted = True
            self.reason, self.end_kind = reason, kind
        self._ending.set()
        self._is_read.set()

    async def opened(self) -> None:
        await self._opened.wait()
        if self.error is not None:
            raise UserError(self.error)

    async def over(self) -> None:
        """Wait until everything has ended and was reported."""
        await self._over.wait()

    async def ended(self) -> None:
        """Wait until the connection begins to end, for whatever reason."""
        await self._ending.wait()

    async def record_event(self, event: str, **fields: object) -> None:
        """Record an event that only this side knows (see `Framer.event`); ignored after the end."""
        if not self._over.is_set():
            await self._event(event, **fields)

    def agreed(self, revision: str) -> None:
        self._transport.agreed(revision)
        is_per_request = era_of(revision) is Era.PER_REQUEST
        self.outbox.closes_streams = self._transport.is_http and is_per_request

    # Called by the transport

    def is_due(self, request: int) -> bool:
        """Return whether a request of ours is pending and not cancelled."""
        return self.outbox.is_due(request)

    def reconnect_stream(self, request: int) -> bool:
        """Resume the broken stream of a request immediately; whether there is one."""
        return self._transport.reconnect_stream(request)

    def lost(self, request: int, loss: Loss) -> None:
        """Record that a request of ours will get no reply."""
        self.outbox.lose(request, loss)

    def tool_schema(self, name: str) -> JsonObject | None:
        return None if self._upkeep is None else self._upkeep.schema_of(name)

    async def list_tools(self) -> None:
        if self._upkeep is not None:
            await self._upkeep.relist()

    # Lifetime

    async def run(self) -> None:
        """Open, serve and end the connection; cancelling also ends it gracefully."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_when_cancelled)
            with anyio.CancelScope(shield=True):
                await self._live()
            tasks.cancel_scope.cancel()

    async def _end_when_cancelled(self) -> None:
        try:
            # Not sleep_forever: Qt's loop has no infinite timer.
            await anyio.Event().wait()
        finally:
            self.end("The program is closing")

    async def _live(self) -> None:
        try:
            await self._open_and_serve()
        except UserError as error:
            self.error = error.details
            self.reason, self.end_kind = error.details.as_line(), EndKind.FAILED
            await self._event("failed", **error.details._asdict())
        except Exception:  # noqa: BLE001
            # The one place for internal errors in a connection's tasks: it ends, others continue.
            _log.exception("connection %s ended by a defect of this program", self.id)
            what = "An internal error ended the connection"
            self.error = ErrorDetails(what, self.id, DEFECT_HINT)
            self.reason, self.end_kind = self.error.what, EndKind.FAILED
        finally:
            await self._finish()

    async def _open_and_serve(self) -> None:
        detail = await self._transport.open()
        await self._event("opened", **detail)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._transport.watch, self._publish_stderr)
            tasks.start_soon(self._read)
            tasks.start_soon(self._write)
            self._opened.set()
            await self._ending.wait()
            self._stop_writing()
            await self._transport.close()
            await self._is_read.wait()
            self._reading.deadline = anyio.current_time() + _LAST_READ_S

    def _stop_writing(self) -> None:
        self._writing.cancel()
        self.outbox.stop()

    async def _finish(self) -> None:
        """Stop remaining work, report the end, and wake all waiting tasks."""
        self._ending.set()
        self._stop_writing()
        await self._release()
        if not self.reason:
            self.reason, self.end_kind = self._how_it_ended()
        await self._publish_end()
        self.outbox.close(self.reason)
        self._opened.set()
        self._over.set()

    async def _release(self) -> None:
        try:
            await self._transport.close()
            await self._transport.release()
        except Exception:  # noqa: BLE001  # as above: waiting tasks must still be released
            _log.exception("the transport of connection %s met a defect at its end", self.id)

    def _how_it_ended(self) -> tuple[str, EndKind]:
        failure, process = self._transport.failure, self._transport.process
        if failure is not None:
            return failure.as_line(), EndKind.FAILED
        if process is not None and process.was_ended:  # we caused its exit code
            if self._is_deaf:
                return CLOSED_INPUT, EndKind.CLOSED_INPUT
            return CLOSED_OUTPUT, EndKind.CLOSED_OUTPUT
        return ending(self._transport.exit_code), EndKind.SERVER

    def _end_fields(self) -> dict[str, object]:
        """Further details of the end: whether it was requested, and what happens next."""
        fields: dict[str, object] = {}
        process = self._transport.process
        if self._is_end_wanted and self.error is None:
            fields["wanted"] = True
            if process is not None and process.was_ended:
                fields["forced"] = True
            elif process is not None and process.left_children:
                fields["processes_left"] = True
        if self._reading.cancelled_caught and self._transport.unread_bytes:
            fields["unread"] = self._transport.unread_bytes
        outlook = "" if self._upkeep is None else self._upkeep.outlook()
        return {**fields, "outlook": outlook} if outlook else fields

    async def _publish_end(self) -> None:
        try:
            code, wanted = self._transport.exit_code, self._end_fields()
            await self._event("closed", reason=self.reason, exit_code=code, **wanted)
        except Exception:  # noqa: BLE001  # as above: waiting tasks must still be released
            _log.exception("the end of connection %s met a defect as well", self.id)

    async def _read(self) -> None:
        """Read to the end; after a requested end, only what is already on its way."""
        with self._reading:
            turn_ends = self._clock.monotonic() + _TURN_S
            while True:
                try:
                    frames = await self._transport.receive()
                except anyio.EndOfStream:
                    self._ending.set()
                    break
                await self._publish(frames)
                await self.outbox.room()
                await self._room()
                now = self._clock.monotonic()
                self._note_activity(frames, now)
                if now >= turn_ends:
                    await checkpoint()
                    turn_ends = self._clock.monotonic() + _TURN_S
        self._is_read.set()

    def _note_activity(self, frames: Sequence[Frame], now: float) -> None:
        first = frames[0]
        is_message = first.channel is Channel.RECEIVED
        if is_message or first.raw.startswith(_ACTIVITY_EVENTS):
            self._last_life_at = now
        if is_message and len(self._first_lines) < FIRST_BYTES:
            lines = b"".join(frame.raw[:FIRST_BYTES] + b"\n" for frame in frames[:FIRST_BYTES])
            self._first_lines = (self._first_lines + lines)[:FIRST_BYTES]

    async def _write(self) -> None:
        with self._writing:
            try:
                async for messages in self.outbox.outgoing(1 if self.is_http else _WRITTEN_AT_ONCE):
                    await self._write_messages(messages)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # Usually the server has ended, which the reader reports. A server that keeps
                # running receives neither requests nor cancels.
                await anyio.sleep(_DRAIN_S)
                self._is_deaf = True
                self._ending.set()

    async def _write_messages(self, messages: Sequence[OutgoingMessage]) -> None:
        """Publish, then write: a message that waits for a slow reader must be visible."""
        first = messages[0]
        if first.closes is not None:
            await self._event("stream_closed", request=first.closes, reason=first.reason)
            await self._transport.abandon(first.closes)
            return
        when, now = self._clock.wall(), self._clock.monotonic()
        frames = [self._framer.sent(message.raw, when, now) for message in messages]
        if first.exchange is not None:
            self.outbox.sent(first.exchange, frames[0].number, now)
        await self._publish(frames)
        await self._transport.send(b"\n".join(map(_raw_of, frames)), frames[0].number)

    async def _event(self, name: str, **fields: object) -> None:
        frame = self._framer.event(name, self._clock.wall(), self._clock.monotonic(), **fields)
        await self._publish([frame])

    async def _publish_stderr(self, frames: Sequence[Frame]) -> None:
        self.stderr_at = self.now()
        self.stderr_tail.extend(
            _FOR_TERMINALS.sub(b"", frame.raw[:_TAIL_BYTES]).decode(errors="replace").rstrip()
            for frame in frames[-_STDERR_TAIL:]
        )
        await self._publish(frames)
        await self._room()

    async def _publish(self, frames: Sequence[Frame]) -> None:
        """Read frames into facts, publish both, then act on the facts."""
        async with self._publishing:
            rest, parts = frames, 0
            began, part_size = time.thread_time(), self._conversation.part_size
            try:
                if max(map(len, raws_of(frames)), default=0) > OVERSIZED:
                    read = iter([(frames, await self._read_in_slices(frames))])
                else:
                    read = self._conversation.read_parts(frames)
                # In turns that are no longer than other tasks can wait.
                for some, facts in read:
                    parts += 1
                    rest = rest[len(some) :]
                    self._sink(some, facts)
                    self.outbox.take(facts, some)
                    part_size.note(time.thread_time() - began, is_cut=bool(rest))
                    if rest:
                        await checkpoint()
                        began = time.thread_time()
            finally:
                # A message that we cannot parse because of a bug still arrived, and must be
                # visible.
                if rest:
                    self._sink(rest, NO_FACTS)
        self._framer.note_parts(len(frames), parts)

    async def _read_in_slices(self, frames: Sequence[Frame]) -> FactRun:
        reading = self._conversation.read_in_slices(frames)
        while True:
            try:
                next(reading)
            except StopIteration as stop:
                facts: FactRun = stop.value
                return facts
            await checkpoint()


_QUOTED: Final = 200
_LINE: Final = 500
_NOTED: Final = 3
_LOST_HINT: Final = "Reconnect. If it keeps stopping, run its command in a terminal."
_LOST_URL_HINT: Final = "Reconnect. If it keeps failing, check the server's log."
_START_HINT: Final = (
    "Run the command in a terminal to check its arguments and environment variables."
)
_RUBBISH_HINT: Final = (
    "Check that the command starts an MCP server in stdio mode, and that it logs "
    "to stderr, not stdout."
)
_UNREAD_HINT: Final = (
    "Reading from the server is paused until it reads its input. Wait, or "
    "disconnect it: a server must keep reading while it writes."
)
_URL_HINT: Final = "Check that the URL is that of an MCP server. The path is often /mcp."
_SILENT_URL_HINT: Final = (
    "Check the URL, and that a server is running there. If it is slow, increase "
    "the connect timeout (“Connection timeout”, --connect-timeout)."
)
_BUSY: Final = {429: "Too Many Requests", 503: "Service Unavailable"}
_BUSY_HINT: Final = (
    "It may be starting or overloaded: try again later, or increase the connect "
    "timeout (“Connection timeout”, --connect-timeout)."
)
_SILENT_HINT: Final = (
    "Check that this is an MCP server on stdio. If it starts slowly, increase "
    "the connect timeout (“Connection timeout”, --connect-timeout)."
)


def start_error(command: str, connection: Connection) -> ErrorDetails:
    """The error if the process ended before it was connected, or its transport failed."""
    if connection.failure is not None:
        return connection.failure
    what = f"{_what_failed(connection)} before it was connected"
    hint = _URL_HINT if connection.is_http else _START_HINT
    return ErrorDetails(what, command, _or_defect(hint, connection), evidence(connection))


def loss_error(command: str, connection: Connection) -> ErrorDetails:
    """The error if a connected server's process ended, or the server became unreachable."""
    if connection.failure is not None:
        return connection.failure
    hint = _or_defect(_LOST_URL_HINT if connection.is_http else _LOST_HINT, connection)
    return ErrorDetails(_what_failed(connection), command, hint, evidence(connection))


def _or_defect(hint: str, connection: Connection) -> str:
    """The hint, or another one if this program is at fault."""
    return hint if connection.error is None else connection.error.hint or hint


def silence_error(
    command: str, limit_s: float, asked: Sequence[str], connection: Connection
) -> ErrorDetails:
    """The error if a server did not answer in time, or answered with invalid lines."""
    what = f"The server did not answer {' or '.join(asked) or 'anything'} within {limit_s:g} s"
    hint = _SILENT_URL_HINT if connection.is_http else _SILENT_HINT
    if busy := _busy(connection):
        what = f"The server kept answering {busy} until the connect timeout"
        hint = _BUSY_HINT
    if connection.outbox.invalid_lines:
        what, hint = "Not an MCP server: its output is not JSON-RPC", _RUBBISH_HINT
        if connection.is_http:
            what, hint = "Not an MCP server: its responses are not JSON-RPC", _URL_HINT
    detail = "\n".join(filter(None, [queued_text(connection.outbox), evidence(connection)]))
    return ErrorDetails(what, command, hint, detail)


def _busy(connection: Connection) -> str:
    """The response of an HTTP server that is not ready; empty otherwise."""
    notes = connection.http_notes
    status = notes[-1].status if notes else None
    return f"{status} {_BUSY[status]}" if status in _BUSY else ""


def unread_error(command: str, outbox: Outbox) -> ErrorDetails | None:
    """The error if the server sends requests without reading our replies; else None."""
    return ErrorDetails(queued_text(outbox), command, _UNREAD_HINT) if outbox.is_on_hold else None


def queued_text(outbox: Outbox) -> str:
    """Describe the queue for a server that does not read its input; empty without one."""
    if not outbox.queued_count:
        return ""
    waiting = formatting.count(outbox.queued_count, "message")
    verb = "waits" if outbox.queued_count == 1 else "wait"
    return f"The server is not reading its input: {waiting} {verb}"


def _what_failed(connection: Connection) -> str:
    """Say how the server ended, with its own exit code."""
    code = connection.exit_code
    is_own = code is not None and code >= 0 and connection.end_kind is EndKind.SERVER
    return f"{connection.reason} with exit code {code}" if is_own else connection.reason


def evidence(connection: Connection) -> str:
    """Evidence: invalid output, and the last lines of stderr or HTTP responses."""
    parts = []
    if connection.outbox.invalid_lines:
        invalid_lines = [line.decode(errors="replace") for line in connection.outbox.invalid_lines]
        lines = [formatting.one_line(line, _QUOTED) for line in invalid_lines]
        parts.append("First output:\n" + _indented(lines))
    if connection.http_notes:
        parts.append("Last requests:\n" + _indented(map(_noted, connection.http_notes[-_NOTED:])))
    if connection.stderr_tail:
        lines = [formatting.one_line(line, _LINE) for line in connection.stderr_tail]
        parts.append("Last lines of standard error:\n" + _indented(lines))
    return "\n".join(parts)


def _noted(note: HttpNote) -> str:
    status = "" if note.status is None else f"{note.status} "
    return formatting.one_line(f"{note.request}: {status}{note.text}", _QUOTED)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)
