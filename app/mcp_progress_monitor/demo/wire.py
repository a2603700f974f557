"""Builds JSON-RPC messages and writes them to a pipe.

Sources: JSON-RPC 2.0 sections 4 and 5; MCP revision 2026-07-28, `schema.json`, for the reserved
codes -32020 to -32022.
"""

import io
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

JsonObject = dict[str, Any]
RequestId = str | int
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
"""Handshake era only; the per-request era uses `INVALID_PARAMS`."""
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
REQUEST_CANCELLED: Final = -32800
"""Outside the range that JSON-RPC reserves; the same code as in the Language Server Protocol."""


class RpcError(Exception):
    """Ends a request with a JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Set the members of the error; `data` is left out if None."""
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
    """Return an error reply; the id is None if that of the request is unknown."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.body()}


def request(request_id: RequestId, method: str, params: object) -> JsonObject:
    """Return a request to the client; `params` may be of any type, and is left out if None."""
    message: JsonObject = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: object) -> JsonObject:
    """Return a notification; `params` may be of any type, for tools that violate the protocol."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress_notification(params: object) -> JsonObject:
    return notification("notifications/progress", params)


def text_result(*texts: str, is_error: bool = False) -> JsonObject:
    result: JsonObject = {"content": [{"type": "text", "text": text} for text in texts]}
    if is_error:
        result["isError"] = True
    return result


def encode(message: object) -> bytes:
    r"""Return `message` as one compact line of UTF-8, including the newline.

    A message with a lone surrogate, which UTF-8 cannot represent, is escaped to ASCII: a client may
    send the escape `\ud800` in a token, which is echoed.
    """
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class PeerGoneError(Exception):
    """The client closed our stdout; nothing more can be written."""


class LineSource(Protocol):
    """The part of stdin that `Wire` uses."""

    def readline(self) -> bytes:
        """Return the next line with its newline, or nothing at the end."""
        ...


class ByteSink(Protocol):
    """The part of stdout that `Wire` uses: an unbuffered file, whose writes may be partial."""

    def write(self, data: memoryview, /) -> int | None:
        """Write some of `data` and return the number of bytes written."""
        ...


class Wire:
    """One client on the other side of two pipes.

    Frames of concurrent calls never mix: each `send` holds a lock until its last byte is written.
    The sink is unbuffered because a daemon thread that dies holding a buffer's lock would abort the
    interpreter at exit.
    """

    def __init__(self, source: LineSource, sink: ByteSink) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()

    def lines(self) -> Iterator[bytes]:
        """Yield each line of the client, including the newline, until it closes its end."""
        return iter(self._source.readline, b"")

    def announce(self, message: object) -> None:
        """Send a message that belongs to no request.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        self.send(message)

    def send(self, message: object) -> None:
        """Write one JSON value as one line.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        self.send_bytes(encode(message))

    def send_bytes(self, data: bytes) -> None:
        """Write exactly `data`, without a newline, and without anything else in between.

        Raises:
            PeerGoneError: The client no longer reads.
        """
        with self._lock:
            self._write_all(data)

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
    """Run a server on the process's stdin and stdout and return its exit code.

    The streams are opened by descriptor, because `sys.stdin` decodes and `sys.stdout` buffers.
    """
    source = io.BufferedReader(io.FileIO(0, closefd=False), _READ_SIZE)
    try:
        return run(Wire(source, io.FileIO(1, "w", closefd=False)))
    except KeyboardInterrupt:
        return _INTERRUPTED
