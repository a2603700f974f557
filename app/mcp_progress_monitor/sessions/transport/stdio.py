"""The stdio transport: the pipes of a server process, split into frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.frames import line_count
from mcp_progress_monitor.protocol.framing import LineSplitter
from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE
from mcp_progress_monitor.secrets.references import NOTHING_ASKED, NoKeyring, resolved
from mcp_progress_monitor.sessions.transport.base import FIRST_BYTES, ProcessNotes, Transport
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.snapshots.definitions import StdioDefinition


_COALESCED_S: Final = 0.015
"""How long a busy server's messages gather at most: a seventh of the interval of the views."""
_WORTHWHILE_S: Final = 0.002
_MANY_LINES: Final = 16  # chunks of fewer are read at once: somebody may wait for a reply
_OFTEN_S: Final = 0.02  # between two chunks; slower ones cost little
_ENOUGH_LINES: Final = 256
_ENOUGH_BYTES: Final = 24 * 1024  # of the 64 KiB that a pipe holds: the server must not wait for us
_KEPT: Final = 0.875  # of the sums with each chunk, which are those of the last eight then


class ReadCoalescing:
    """How long a pipe is left to fill before it is read again.

    A chunk costs as much as a hundred ticks before its first message is read, so a server that
    writes two hundred times a second is read every 15 ms. The delay is not noticeable: views are
    updated every 100 ms. A flood that is read as fast as it is written is not delayed.
    """

    def __init__(self) -> None:
        self._lines = self._bytes = self._seconds = 0.0
        self._read_at: float | None = None

    def note(self, now: float, lines: int, size: int) -> None:
        """A chunk of so many lines and bytes was read."""
        passed_s = 1.0 if self._read_at is None else min(now - self._read_at, 1.0)
        self._lines = self._lines * _KEPT + lines
        self._bytes = self._bytes * _KEPT + size
        self._seconds = self._seconds * _KEPT + passed_s
        self._read_at = now

    def pause_s(self, now: float) -> float:
        """The seconds to wait before the next chunk is read; 0 for none."""
        lines, apart_s = self._lines * (1 - _KEPT), self._seconds * (1 - _KEPT)
        if self._read_at is None or lines < _MANY_LINES or apart_s > _OFTEN_S:
            return 0.0
        filled_s = self._seconds * min(_ENOUGH_LINES / self._lines, _ENOUGH_BYTES / self._bytes)
        if filled_s < _WORTHWHILE_S:
            return 0.0
        return max(self._read_at + min(filled_s, _COALESCED_S) - now, 0.0)


_SLICE_LINES: Final = 64  # most lines of standard error returned at once
MOST_BYTES: Final = 256 * 1024 * 1024  # longer messages are refused: they may never end
_KEPT_BYTES: Final = 64 * 1024  # how much of such a message is recorded
STDERR_LINE_BYTES: Final = 64 * 1024
"""Longer lines of stderr become several frames, all but the last marked as incomplete."""


class StdioTransport(Transport):
    """Connects to a process over its stdin and stdout, one message a line."""

    failure: ErrorDetails | None = None
    last_byte_at: float | None = None

    def __init__(
        self,
        definition: StdioDefinition,
        framer: Framer,
        clock: Clock,
        keyring: Keyring | None = None,
        asked: Mapping[str, str] = NOTHING_ASKED,
    ) -> None:
        """Frames are made by `framer` and stamped once for every chunk read.

        References in the values of variables are resolved when it is opened.
        """
        self._definition = definition
        self._keyring = keyring or NoKeyring()
        self._asked = asked
        self._framer = framer
        self._clock = clock
        self._process: ServerProcess | None = None
        self.process = self._notes = ProcessNotes()
        self._splitter = LineSplitter()
        self._coalescing = ReadCoalescing()
        self._slices: Iterator[Sequence[Frame]] = iter(())
        self._stamp = (0.0, 0.0)
        self._is_over = False
        self._lines: Sequence[bytes] = ()
        """Lines that are being framed; the first `_framed` of them are done."""
        self._framed = 0
        self._held = 0  # the size of an incomplete line

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal, None while the server runs."""
        return self._process.exit_code if self._process else None

    @property
    def unread_bytes(self) -> int:
        """Bytes that were not framed yet: of a message that is being split."""
        return sum(map(len, self._lines[self._framed :]))

    async def open(self) -> JsonObject:
        """Start the process; returns command, arguments, folder, names of variables, pid."""
        definition = self._definition
        self._process = await ServerProcess.start(await self._with_secrets(definition))
        return {
            "command": definition.command,
            "args": list(definition.args),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
            "pid": self._process.pid,
        }

    async def _with_secrets(self, definition: StdioDefinition) -> StdioDefinition:
        """The definition with its references resolved: to be run, never shown."""
        secrets: set[str] = set()
        where = f"the variables of {definition.name}"
        env = await resolved(definition.env, self._keyring, where, secrets, self._asked)
        numbered = {str(place): word for place, word in enumerate(definition.args)}
        where = f"the arguments of {definition.name}"
        args = await resolved(numbered, self._keyring, where, secrets, self._asked)
        self._notes.secrets = tuple(secrets)
        return definition.model_copy(update={"env": env, "args": tuple(args.values())})

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._running.watch)
            await self._read_stderr(on_stderr)

    async def receive(self) -> Sequence[Frame]:
        """The next lines of stdout as frames; a last line without an end is marked so."""
        while True:
            for frames in self._slices:
                if frames:
                    return frames
                await checkpoint()  # inside a message of many megabytes
            await self._read_on()

    async def send(self, raw: bytes, frame: int) -> None:
        await self._running.write(raw + b"\n")

    async def close(self) -> None:
        """End the process and its children: stdin closed, then SIGTERM, then SIGKILL."""
        if self._process is not None:
            await self._process.end()
            self._notes.was_ended = self._process.was_ended
            self._notes.left_children = self._process.left_children

    async def release(self) -> None:
        if self._process is not None:
            await self._process.release()

    async def _read_on(self) -> None:
        """Read the next chunk; at the end of the stream, the rest of a line."""
        if self._is_over:
            raise anyio.EndOfStream
        if pause_s := self._coalescing.pause_s(self._clock.monotonic()):
            await anyio.sleep(pause_s)
        data = await self._running.read_stdout()
        if len(self._notes.first_bytes) < FIRST_BYTES:
            self._notes.first_bytes = (self._notes.first_bytes + data)[:FIRST_BYTES]
        self._stamp = self._clock.wall(), self._clock.monotonic()
        self._is_over = not data
        if data:
            self.last_byte_at = self._stamp[1]
        last = data.rfind(b"\n") + 1
        self._held = len(data) - last if last else self._held + len(data)
        if self._held > MOST_BYTES:
            self._refuse()
            return
        if not last:
            await checkpoint()  # the pipe may never be empty before the message ends
        lines = self._splitter.feed(data) if data else [self._splitter.flush()]
        self._coalescing.note(self._stamp[1], len(lines), len(data))
        self._slices = self._cut([line for line in lines if line is not None])

    def _refuse(self) -> None:
        """Drop the rest of a message that is too long; its beginning is recorded."""
        self._is_over = True
        self._slices = self._cut([(self._splitter.flush() or b"")[:_KEPT_BYTES]])
        self.failure = ErrorDetails(
            f"The server sent more than {formatting.size(MOST_BYTES)} without ending the message",
            self._definition.address,
            "This is a bug in the server. Reconnect, and request less at once.",
        )

    def _cut(self, lines: Sequence[bytes]) -> Iterator[Sequence[Frame]]:
        """Frames of the lines, a slice at a time."""
        self._lines, self._framed = lines, 0
        is_complete = not self._is_over
        for frames in self._framer.in_slices(lines, *self._stamp, is_complete=is_complete):
            self._framed += line_count(frames)
            yield frames

    @property
    def _running(self) -> ServerProcess:
        if self._process is None:
            raise anyio.ClosedResourceError
        return self._process

    async def _read_stderr(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        lines = _StderrLines()
        while data := await self._running.read_stderr():
            pieces = lines.feed(data)
            for start in range(0, len(pieces), _SLICE_LINES):
                await on_stderr(self._stderr_frames(pieces[start : start + _SLICE_LINES]))
                await checkpoint()  # a flood of lines on stderr must not block the loop either
        if rest := lines.flush():
            await on_stderr(self._stderr_frames(rest))

    def _stderr_frames(self, pieces: Sequence[tuple[bytes, bool]]) -> list[Frame]:
        when, at = self._clock.wall(), self._clock.monotonic()
        return [
            self._framer.stderr(self._recordable(raw), when, at)._replace(is_complete=is_complete)
            for raw, is_complete in pieces
        ]

    def _recordable(self, raw: bytes) -> bytes:
        """A line of stderr without secrets that the user entered: they are saved nowhere."""
        for secret in self._asked.values():
            raw = raw.replace(secret.encode(), HIDDEN_VALUE.encode())
        return raw


class _StderrLines:
    """Splits stderr into (bytes, whether they end a line): at line feeds and at a bound."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        pieces = [piece for line in whole for piece in _bounded(line)]
        *full, (self._rest, _) = _bounded(self._rest)
        return pieces + full

    def flush(self) -> list[tuple[bytes, bool]]:
        rest, self._rest = self._rest, b""
        return [(rest, False)] if rest else []


def _bounded(line: bytes) -> Iterator[tuple[bytes, bool]]:
    """`line` in pieces of bounded length; the last one, perhaps empty, ends it."""
    start = 0
    while len(line) - start > STDERR_LINE_BYTES:
        yield line[start : start + STDERR_LINE_BYTES], False
        start += STDERR_LINE_BYTES
    yield line[start:], True
