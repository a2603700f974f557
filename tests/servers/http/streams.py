"""A stream of messages to the client: the messages, its reader and the reader's position.

Threads that serve requests write to a stream; the thread of the client's connection reads it.
Events are numbered from 1; number 0 is the priming event without a message.
"""

import contextlib
import io
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_progress_monitor.demo.wire import encode
from tests.servers.call import SharedWire

_MOST_EVENTS: Final = 20_000
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Limits of the messages kept for replay or a later reader; the oldest are dropped."""
_MOST_UNREAD: Final = 4 * 1024 * 1024
"""Writers wait while a slow reader has this many unread bytes."""
_CHUNK: Final = 256 * 1024
"""About the size of one write."""


@dataclass(frozen=True, slots=True)
class Manner:
    """Settings for streams."""

    is_resumable: bool = False
    retry_ms: int | None = None
    break_after: int = 0


class Stream:
    """The messages of one exchange, or those that belong to no exchange."""

    def __init__(self, name: str, manner: Manner, *, keeps: bool = False) -> None:
        """Use `name` in event IDs; with `keeps`, keep messages while there is no reader."""
        self.name = name
        self.manner = manner
        self.keep: Callable[[Sequence[bytes]], None] | None = None
        """Saves messages so that they outlive the process."""
        self.on_end: Callable[[], None] | None = None
        self.to_skip = 0
        """The number of messages sent before a restart: they are created again and dropped."""
        self.break_after = 0
        """The number of events after which the connection is cut, once; 0 for never."""
        self._keeps_unread = keeps or manner.is_resumable
        self._keeps = True
        """Whether messages without a reader are kept for the next one."""
        self._messages: deque[bytes] = deque()
        self._first = 1
        self._bytes = 0
        self._read = 0
        self._holds = 0
        self._has_ended = False
        self._reader: Reader | None = None
        self._changed = threading.Condition()

    @property
    def has_ended(self) -> bool:
        """Whether no more messages will follow."""
        return self._has_ended

    @property
    def count(self) -> int:
        """The number of messages so far, including dropped ones."""
        return self._first + len(self._messages) - 1

    @property
    def count_read(self) -> int:
        """The number of the last message that was read."""
        return self._read

    def hold(self) -> None:
        """Keep the stream open until `release`."""
        with self._changed:
            self._holds += 1

    def release(self) -> None:
        """End the stream unless it is held elsewhere."""
        with self._changed:
            self._holds -= 1
            if self._holds:
                return
        self.end()

    def end(self) -> None:
        """End the stream."""
        with self._changed:
            has_ended, self._has_ended = self._has_ended, True
            self._changed.notify_all()
        if self.on_end is not None and not has_ended:
            self.on_end()

    def put(self, messages: Sequence[bytes], *, waits: bool = True) -> None:
        """Add messages, each a line without its end.

        If the reader is far behind, wait for it or, without `waits`, disconnect it.
        """
        with self._changed:
            if self.to_skip:
                skipped = min(self.to_skip, len(messages))
                self.to_skip -= skipped
                messages = messages[skipped:]
            if self._has_ended or not messages:
                return
            if self.keep is not None:
                self.keep(messages)
            self._messages.extend(messages)
            self._bytes += sum(map(len, messages))
            self._changed.notify_all()
            if waits:
                self._changed.wait_for(self._has_room)
            elif self._reader is not None and not self._has_room():
                self._reader.is_gone = True
            self._trim()

    def restore(self, messages: Sequence[bytes]) -> None:
        """Restore messages that were sent before a restart."""
        with self._changed:
            self._messages.extend(messages)
            self._bytes = sum(map(len, messages))
            self._trim()

    def attach(self, after: int = 0) -> "Reader":
        """Return a reader that starts after an event, in place of the current reader."""
        with self._changed:
            self._reader = reader = Reader(self, after)
            self._changed.notify_all()
            return reader

    def gap_after(self, number: int) -> list[str]:
        """Return a comment if events after `number` were dropped."""
        with self._changed:
            gap = self._first - 1 - number
        return [f": {gap} events are no longer available\n\n"] if gap > 0 else []

    def detach(self, reader: "Reader") -> None:
        """Remove the reader."""
        with self._changed:
            reader.is_gone = True
            if self._reader is reader:
                self._reader, self._keeps = None, self._keeps_unread
            self._trim()
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until everything is read, there is no reader, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._unread() == 0, seconds)

    def waited_for(self, is_so: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until a condition on the stream is true; return whether it is."""
        with self._changed:
            return self._changed.wait_for(is_so, seconds)

    def messages(self) -> list[bytes]:
        """Return the messages that are kept."""
        with self._changed:
            return list(self._messages)

    def read(self, reader: "Reader", patience_s: float) -> bytes | None:
        """Return a reader's next events; empty after a timeout, None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_due(reader), patience_s)
            if self._reader is not reader or reader.is_gone:
                return None
            if self._must_break(reader):
                self.break_after, reader.is_cut = 0, True
                return None
            if self.count > reader.last:
                return self._next_events(reader)
            return None if self._has_ended else b""

    def _is_due(self, reader: "Reader") -> bool:
        is_over = self._has_ended or reader.is_gone or self._reader is not reader
        return is_over or self.count > reader.last

    def _must_break(self, reader: "Reader") -> bool:
        return 0 < self.break_after <= reader.last

    def _next_events(self, reader: "Reader") -> bytes:
        reader.last = max(reader.last, self._first - 1)
        start, size, taken = reader.last - self._first + 1, 0, []
        end = self.break_after - self._first + 1 if self.break_after else len(self._messages)
        for index in range(start, min(end, len(self._messages))):
            taken.append(self._messages[index])
            size += len(taken[-1])
            if size > _CHUNK:
                break
        first, reader.last = reader.last + 1, reader.last + len(taken)
        self._read = max(self._read, reader.last)
        self._trim()
        self._changed.notify_all()
        return self._events(taken, first)

    def _events(self, messages: Sequence[bytes], first: int) -> bytes:
        if not self.manner.is_resumable:
            return b"".join([b"event: message\ndata: " + data + b"\n\n" for data in messages])
        name = self.name.encode()
        return b"".join(
            [
                b"event: message\nid: %b-%d\ndata: %b\n\n" % (name, number, data)
                for number, data in enumerate(messages, start=first)
            ]
        )

    def _unread(self) -> int:
        """Return about how many bytes are unread."""
        if self._reader is None or not self._messages:
            return 0
        behind = self.count - max(self._reader.last, self._first - 1)
        return behind * self._bytes // len(self._messages)

    def _has_room(self) -> bool:
        return self._unread() < _MOST_UNREAD or self._has_ended

    def _trim(self) -> None:
        """Drop messages that can no longer be read, and the oldest ones beyond the limits."""
        reader = self._reader
        read = self.count if reader is None else reader.last
        if not self.manner.is_resumable and (reader is not None or not self._keeps):
            self._drop(lambda: self._first <= read)
        most = _MOST_EVENTS if self._keeps_unread else sys.maxsize
        self._drop(
            lambda: (
                self._first <= read and (len(self._messages) > most or self._bytes > _MOST_BYTES)
            )
        )

    def _drop(self, is_due: Callable[[], bool]) -> None:
        while self._messages and is_due():
            self._bytes -= len(self._messages.popleft())
            self._first += 1


class Reader:
    """A reader of a stream, and its position."""

    def __init__(self, stream: Stream, last: int) -> None:
        """Start after event `last`."""
        self.stream = stream
        self.last = last
        self.is_gone = False
        self.is_cut = False
        """Whether to cut the connection here without ending the stream."""

    def preamble(self) -> bytes:
        """Return the start of the stream: the retry time, and an ID to resume from."""
        manner, lines = self.stream.manner, self.stream.gap_after(self.last)
        if manner.is_resumable and not self.last:
            lines.append(f"id: {self.stream.name}-0\n")
        if manner.retry_ms is not None:
            lines.append(f"retry: {manner.retry_ms}\n")
        if manner.is_resumable and not self.last:
            lines.append("data: \n")
        if lines and not lines[-1].endswith("\n\n"):
            lines.append("\n")
        return "".join(lines).encode()

    def read(self, patience_s: float) -> bytes | None:
        """Return the next events; empty after a timeout, None at the end."""
        return self.stream.read(self, patience_s)

    def hang_up(self) -> None:
        """Disconnect the client."""
        self.stream.detach(self)


def numbered(event_id: str) -> tuple[str, int] | None:
    """Return the stream and the number of an event ID; None if it is not one of ours."""
    name, _, number = event_id.rpartition("-")
    if not name or not number.isdecimal() or len(number) > 9:
        return None
    return name, int(number)


_FLUSH_S: Final = 1.0


class HttpWire(SharedWire):
    """Writes to the streams of one client, or of all clients without a session."""

    def __init__(self, general: Stream, aside: str = "nothing") -> None:
        """Send messages that belong to no request on `general`.

        `aside` says what else is sent there: "nothing", "requests" or "all but replies".
        """
        super().__init__(io.BytesIO(), _Nowhere())
        self._general = general
        self._aside = aside
        self._thread = threading.local()

    @property
    def owner(self) -> object:
        """The stream that this thread serves, or None for messages of no request."""
        return getattr(self._thread, "owner", None)

    @property
    def is_catching_up(self) -> bool:
        """Whether this thread repeats work whose messages were sent before a restart."""
        return self._stream().to_skip > 0

    @contextlib.contextmanager
    def serving(self, owner: object) -> Iterator[None]:
        """Send this thread's messages on the stream of `owner` within the context."""
        before = self.owner
        self._thread.owner = owner
        try:
            yield
        finally:
            self._thread.owner = before

    def began(self, owner: object) -> None:
        """Keep the owner's stream open."""
        if isinstance(owner, Stream):
            owner.hold()

    def ended(self, owner: object) -> None:
        """Let the owner's stream end."""
        if isinstance(owner, Stream):
            owner.release()

    def flush(self) -> None:
        """Wait until this thread's stream is read, for a second at most."""
        self._stream().wait(_FLUSH_S)

    def announce(self, message: object) -> None:
        """Send a message that belongs to no request."""
        self._general.put([encode(message)[:-1]], waits=False)

    def send(self, message: object) -> None:
        """Send one JSON value on the stream that this thread serves."""
        self._put(self._stream(), message, waits=True)

    def send_to(self, owner: object, message: object) -> None:
        """Send one JSON value on the stream of `owner`, without waiting for room."""
        stream = owner if isinstance(owner, Stream) else self._general
        self._put(stream, message, waits=False)

    def _put(self, stream: Stream, message: object, *, waits: bool) -> None:
        if self._goes_aside(message):
            stream = self._general
        stream.put([encode(message)[:-1]], waits=waits)

    def send_bytes(self, data: bytes) -> None:
        """Send each line of `data` as a message, valid or not."""
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        stream = self._general if self._aside == "all but replies" else self._stream()
        stream.put(lines)

    def _stream(self) -> Stream:
        return self.owner if isinstance(self.owner, Stream) else self._general

    def _goes_aside(self, message: object) -> bool:
        if self._aside == "nothing" or not isinstance(message, dict) or "method" not in message:
            return False
        return self._aside != "requests" or "id" in message


class _Nowhere:
    """Replaces stdout, which is not used."""

    def write(self, data: memoryview, /) -> int:
        """Discard the data."""
        return len(data)
