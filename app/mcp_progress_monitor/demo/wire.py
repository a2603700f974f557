"""JSON-RPC message shapes and error codes, built and never parsed here.

Sources: JSON-RPC 2.0 sections 4 and 5; MCP revision 2026-07-28, `schema.json`, for the reserved
codes -32020 to -32022.
"""

import contextlib
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

JsonObject = dict[str, Any]
RequestId = str | int
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""Handshake era only; the per-request era answers `INVALID_PARAMS` instead."""
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_NEEDED: Final = -32042
"""Revision 2025-11-25: the call can be served once the user has been to some address."""
REQUEST_CANCELLED: Final = -32800
"""Outside the range JSON-RPC reserves; the number language servers use for the same news."""


class RpcError(Exception):
    """Ends a request with a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Keep what the reply will carry; `data` of None is left out of it."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def body(self) -> JsonObject:
        body: JsonObject = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def result_reply(request_id: RequestId | None, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_reply(request_id: RequestId | None, error: RpcError) -> JsonObject:
    """Return an error reply; the id is None if the request's own was unreadable."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.body()}


def request(request_id: RequestId, method: str, params: object) -> JsonObject:
    """Return a request of ours to the client; `params` may be of any type, None for no member."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: object) -> JsonObject:
    """Return a notification; `params` may be of any type, for the tools that break the rules."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress_notification(params: object) -> JsonObject:
    return notification("notifications/progress", params)


def text_result(*texts: str, is_error: bool = False) -> JsonObject:
    result: JsonObject = {"content": [{"type": "text", "text": text} for text in texts]}
    if is_error:
        result["isError"] = True
    return result


def encode(message: object) -> bytes:
    r"""Return `message` as one compact line of UTF-8, its newline included.

    Text with a lone surrogate (a client may send the escape `\ud800`, and we echo tokens) cannot
    be written as UTF-8; such a message is escaped to ASCII as a whole.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class PeerGoneError(Exception):
    """The client closed our stdout; nothing more can be written."""


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


_INTERRUPTED: Final = 130
_READ_SIZE: Final = 65_536


def serve(run: Callable[[Wire], int]) -> int:
    """Run a server on the process's own stdin and stdout and return its exit code.

    The streams are opened by number, because `sys.stdin` decodes and `sys.stdout` buffers.
    """
    source = io.BufferedReader(io.FileIO(0, closefd=False), _READ_SIZE)
    try:
        return run(Wire(source, io.FileIO(1, "w", closefd=False)))
    except KeyboardInterrupt:
        return _INTERRUPTED
