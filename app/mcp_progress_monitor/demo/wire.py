"""The pipe: reads lines from the client, writes whole frames under a lock."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from mcp_progress_monitor.demo.messages import encode


class PeerGoneError(Exception):
    """The client closed its end of our stdout; there is nobody left to write to."""


class LineSource(Protocol):
    """What `Wire` needs of stdin."""

    def readline(self) -> bytes:
        """Return the next line with its newline, or nothing at the end."""
        ...


class ByteSink(Protocol):
    """What `Wire` needs of stdout: an unbuffered file, whose writes may be partial."""

    def write(self, data: memoryview, /) -> int | None:
        """Write some of `data` and return how many bytes were taken."""
        ...


class Wire:
    """One client on the other side of two pipes.

    Frames of concurrent calls never mix: each `send` holds the lock until its last byte is taken.
    The sink is unbuffered on purpose. A daemon thread that dies holding a buffer's lock would
    abort the interpreter on its way out.
    """

    def __init__(self, source: LineSource, sink: ByteSink) -> None:
        """Take both ends; neither is closed here."""
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def lines(self) -> Iterator[bytes]:
        """Yield each line the client writes, newline included, until it closes its end."""
        return iter(self._source.readline, b"")

    @property
    def is_catching_up(self) -> bool:
        """Whether this thread does again what was done, and told, before a restart."""
        return False

    def serving(self, _owner: object) -> contextlib.AbstractContextManager[None]:
        """Say what this thread serves: on a pipe that makes no difference."""
        return contextlib.nullcontext()

    def began(self, _owner: object) -> None:
        """Note that a request of that owner is being served."""

    def ended(self, _owner: object) -> None:
        """Note that it is served: nothing more will be sent for it."""

    def flush(self) -> None:
        """Wait until everything sent so far is written; here that is always so."""

    def announce(self, message: object) -> None:
        """Send what belongs to no request.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        self.send(message)

    def send(self, message: object, _owner: object = None) -> None:
        """Write one JSON value as one line.

        What other transports send where the request came from whose owner is given (by default
        that which the thread serves) goes the one way that a pipe has.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        self.send_bytes(encode(message))

    def send_bytes(self, data: bytes) -> None:
        """Write exactly `data`: no newline is added and nothing else gets between its bytes.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        with self._lock:
            self._write_all(data)

    def send_slowly(self, pieces: Sequence[bytes], pause_s: float) -> None:
        """Write `pieces` one by one with pauses; everybody else waits for the last of them.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        with self._lock:
            for piece in pieces:
                self._write_all(piece)
                time.sleep(pause_s)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._write(rest) :]

    def _write(self, data: memoryview) -> int:
        try:
            return self._sink.write(data) or 0
        except (OSError, ValueError) as error:
            raise PeerGoneError from error
