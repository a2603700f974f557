"""One stream of messages to the client: what was sent, who reads it, and where that reader is.

A stream is filled by the threads that serve requests and read by the one thread that holds the
client's connection. Events have numbers, from 1; number 0 is the priming event without a message.
"""

import contextlib
import io
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_progress_monitor.demo.wire import Wire, encode

_MOST_EVENTS: Final = 20_000
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Of what nobody has read, or could ask for again, this much is kept: the oldest goes first."""
_MOST_UNREAD: Final = 4 * 1024 * 1024
"""Who sends to a slow reader waits while this much is unread."""
_CHUNK: Final = 256 * 1024
"""About as much is written at once."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How streams are sent."""

    is_resumable: bool = False
    retry_ms: int | None = None
    break_after: int = 0


class Stream:
    """The messages of one exchange, or those that belong to none."""

    def __init__(self, name: str, manner: Manner, *, keeps: bool = False) -> None:
        """Be known as `name` in event ids; `keeps` what comes while nobody reads."""
        self.name = name
        self.manner = manner
        self.keep: Callable[[Sequence[bytes]], None] | None = None
        """Writes messages where they outlive the process."""
        self.on_end: Callable[[], None] | None = None
        self.to_skip = 0
        """How many messages were sent before a restart: they are made again, and dropped."""
        self.break_after = 0
        """After how many events the connection is cut, once; 0 is never."""
        self._keeps_unread = keeps or manner.is_resumable
        self._keeps = True
        """Whether what comes while nobody reads is for who comes next."""
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
        """Whether nothing more will come."""
        return self._has_ended

    @property
    def count(self) -> int:
        """How many messages came so far, those dropped included."""
        return self._first + len(self._messages) - 1

    @property
    def count_read(self) -> int:
        """The number of the last message that a reader got, or nobody can get any more."""
        return self._read

    def hold(self) -> None:
        """Keep the stream open until a `release`."""
        with self._changed:
            self._holds += 1

    def release(self) -> None:
        """End the stream unless somebody else holds it."""
        with self._changed:
            self._holds -= 1
            if self._holds:
                return
        self.end()

    def end(self) -> None:
        """Let nothing more come."""
        with self._changed:
            has_ended, self._has_ended = self._has_ended, True
            self._changed.notify_all()
        if self.on_end is not None and not has_ended:
            self.on_end()

    def put(self, messages: Sequence[bytes], *, waits: bool = True) -> None:
        """Take messages, each a line without its end.

        A reader that is far behind is waited for, or else gets no more than it has.
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
        """Have sent these before a restart."""
        with self._changed:
            self._messages.extend(messages)
            self._bytes = sum(map(len, messages))
            self._trim()

    def attach(self, after: int = 0) -> "Reader":
        """Return who reads from behind that event on; who read so far reads no more."""
        with self._changed:
            self._reader = reader = Reader(self, after)
            self._changed.notify_all()
            return reader

    def gap_after(self, number: int) -> list[str]:
        """Return a comment if some of what came after that event is not kept any more."""
        with self._changed:
            gap = self._first - 1 - number
        return [f": {gap} events are not kept any more\n\n"] if gap > 0 else []

    def detach(self, reader: "Reader") -> None:
        """Stop reading."""
        with self._changed:
            reader.is_gone = True
            if self._reader is reader:
                self._reader, self._keeps = None, self._keeps_unread
            self._trim()
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until everything is read, nobody reads, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._unread() == 0, seconds)

    def waited_for(self, is_so: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait until something is so that changes with the stream."""
        with self._changed:
            return self._changed.wait_for(is_so, seconds)

    def messages(self) -> list[bytes]:
        """Return all that is kept."""
        with self._changed:
            return list(self._messages)

    def read(self, reader: "Reader", patience_s: float) -> bytes | None:
        """Return the next events for a reader; nothing when time is over, None at its end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_due(reader), patience_s)
            if self._reader is not reader or reader.is_gone:
                return None
            if self._must_break(reader):
                self.break_after, reader.is_cut = 0, True
                return None
            if self.count > reader.last:
                return self._taken(reader)
            return None if self._has_ended else b""

    def _is_due(self, reader: "Reader") -> bool:
        is_over = self._has_ended or reader.is_gone or self._reader is not reader
        return is_over or self.count > reader.last

    def _must_break(self, reader: "Reader") -> bool:
        return 0 < self.break_after <= reader.last

    def _taken(self, reader: "Reader") -> bytes:
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
        """About how many bytes the reader has not got."""
        if self._reader is None or not self._messages:
            return 0
        behind = self.count - max(self._reader.last, self._first - 1)
        return behind * self._bytes // len(self._messages)

    def _has_room(self) -> bool:
        return self._unread() < _MOST_UNREAD or self._has_ended

    def _trim(self) -> None:
        """Drop what nobody can ask for any more, and the oldest of what is too much."""
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
    """Who reads a stream, and how far it has come."""

    def __init__(self, stream: Stream, last: int) -> None:
        """Have read everything up to event `last`."""
        self.stream = stream
        self.last = last
        self.is_gone = False
        self.is_cut = False
        """Whether the connection is to be cut here, without a farewell."""

    def preamble(self) -> bytes:
        """Return what opens the stream: how soon to come back, and an id to come back with."""
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
        """Return the next events; nothing when time is over, None at the end."""
        return self.stream.read(self, patience_s)

    def hang_up(self) -> None:
        """Note that the client is gone."""
        self.stream.detach(self)


def numbered(event_id: str) -> tuple[str, int] | None:
    """Return the stream and the number that an event id of ours names; None for another's."""
    name, _, number = event_id.rpartition("-")
    if not name or not number.isdecimal() or len(number) > 9:
        return None
    return name, int(number)


_FLUSH_S: Final = 1.0


class HttpWire(Wire):
    """One client, or all clients without a session, on the other side of many streams."""

    def __init__(self, general: Stream, aside: str = "nothing") -> None:
        """Send what belongs to no request on `general`.

        What else goes there, `aside`, is nothing, "requests", or "all but replies".
        """
        super().__init__(io.BytesIO(), _Nowhere())
        self._general = general
        self._aside = aside
        self._thread = threading.local()

    @property
    def is_catching_up(self) -> bool:
        """Whether this thread does again what was done, and told, before a restart."""
        return self._stream().to_skip > 0

    @contextlib.contextmanager
    def serving(self, owner: object) -> Iterator[None]:
        """Send on the stream of `owner` whatever this thread sends meanwhile."""
        before = getattr(self._thread, "owner", None)
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
        """Wait until this thread's stream is read, for a moment at most."""
        self._stream().wait(_FLUSH_S)

    def announce(self, message: object) -> None:
        """Send what belongs to no request."""
        self._general.put([_line(encode(message))], waits=False)

    def send(self, message: object, owner: object = None) -> None:
        """Send one JSON value on the stream of `owner`, or of what this thread serves."""
        stream = owner if isinstance(owner, Stream) else self._stream()
        if self._goes_aside(message):
            stream = self._general
        stream.put([_line(encode(message))], waits=owner is None)

    def send_bytes(self, data: bytes) -> None:
        """Send each line of `data`, right or wrong, as a message."""
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        self._stream_for_lines().put(lines)

    def send_slowly(self, pieces: Sequence[bytes], pause_s: float) -> None:
        """Send one message that took as long as its pieces: streams have no parts of messages."""
        time.sleep(pause_s * len(pieces))
        self.send_bytes(b"".join(pieces))

    def _stream(self) -> Stream:
        owner = getattr(self._thread, "owner", None)
        return owner if isinstance(owner, Stream) else self._general

    def _stream_for_lines(self) -> Stream:
        return self._general if self._aside == "all but replies" else self._stream()

    def _goes_aside(self, message: object) -> bool:
        if self._aside == "nothing" or not isinstance(message, dict) or "method" not in message:
            return False
        return self._aside != "requests" or "id" in message


class _Nowhere:
    """Stands for stdout, which nothing is written to here."""

    def write(self, data: memoryview, /) -> int:
        """Drop everything."""
        return len(data)


def _line(encoded: bytes) -> bytes:
    return encoded[:-1]
