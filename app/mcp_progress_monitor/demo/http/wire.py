"""The HTTP counterpart of the pipe: what is sent goes on the stream where it belongs.

Requests and notifications that belong to a request go on that request's own stream, as its reply
does; all others on the stream the client opened with GET (spec 2025-11-25, basic, transports,
"Sending Messages to the Server" and "Listening for Messages from the Server").
"""

import contextlib
import io
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_progress_monitor.demo.http.streams import Stream
from mcp_progress_monitor.demo.messages import encode
from mcp_progress_monitor.demo.wire import Wire

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
