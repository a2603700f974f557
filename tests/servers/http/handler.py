"""One connection: reads requests, checks their headers, writes replies and streams."""

import base64
import binascii
import contextlib
import json
import re
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_progress_monitor.demo.eras import ERAS, PER_REQUEST_VERSIONS, VERSION_STAMP
from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    JsonObject,
    RpcError,
    encode,
    error_reply,
)
from tests.servers.http.streams import Reader

HEADER_MISMATCH: Final = -32020
SESSION_HEADER: Final = "Mcp-Session-Id"
VERSION_HEADER: Final = "MCP-Protocol-Version"
JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
_OURS: Final = frozenset({"127.0.0.1", "localhost", "::1"})

_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

_NAMED_IF_SENT: Final = {"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")

STATUS_OF: Final = {
    PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    MISSING_CAPABILITY: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
}
"""The HTTP status of an error that is the whole reply (2026-07-28); 200 for other errors."""
Headers = Message


class RefusedError(Exception):
    """Ends an exchange with a status and a JSON-RPC error, of a request if `request_id` is set."""

    def __init__(self, status: HTTPStatus, error: RpcError, request_id: Any = None) -> None:
        """Set the reply."""
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.request_id = request_id


def refused(status: HTTPStatus, text: str, code: int = INVALID_REQUEST) -> RefusedError:
    """Return a refusal with a message."""
    return RefusedError(status, RpcError(code, text))


def check_origin(headers: Headers) -> None:
    """Refuse web pages of other hosts, and DNS rebinding.

    Raises:
        RefusedError: Host or Origin is not this machine.
    """
    host = headers.get("Host")
    if host is not None and _host_of(f"//{host}") not in _OURS:
        raise refused(HTTPStatus.MISDIRECTED_REQUEST, f"Host {host} is not served here")
    origin = headers.get("Origin")
    if origin is not None and _host_of(origin) not in _OURS:
        raise refused(HTTPStatus.FORBIDDEN, f"Pages of {origin} may not call this server")


def check_accept(headers: Headers, *needed: str) -> None:
    """Check that the client accepts every media type that it may get.

    Raises:
        RefusedError: It does not.
    """
    accepted = [part.split(";")[0].strip() for part in headers.get("Accept", "").split(",")]
    for kind in needed:
        if not {kind, f"{kind.split('/')[0]}/*", "*/*"} & set(accepted):
            raise refused(HTTPStatus.NOT_ACCEPTABLE, f"Accept must include {' and '.join(needed)}")


def check_content_type(headers: Headers) -> None:
    """Check that the content type is JSON.

    Raises:
        RefusedError: It is not.
    """
    if headers.get("Content-Type", "").split(";")[0].strip().lower() != JSON:
        raise refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}")


def check_version(headers: Headers) -> None:
    """Check the revision in the header, if any.

    Raises:
        RefusedError: The revision is unknown.
    """
    version = headers.get(VERSION_HEADER)
    if version is not None and version not in ERAS["both"]:
        data = {"supported": list(ERAS["both"])[::-1], "requested": version}
        error = RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", data)
        raise RefusedError(HTTPStatus.BAD_REQUEST, error)


def stands_alone(headers: Headers, message: object) -> bool:
    """Return whether a message belongs to a revision without sessions."""
    return headers.get(VERSION_HEADER) in PER_REQUEST_VERSIONS or _stamp(message) is not None


def check_mirrored(headers: Headers, message: JsonObject) -> None:
    """Check that the headers match the body (2026-07-28).

    Raises:
        RefusedError: A header is missing or differs.
    """
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    method = message.get("method")
    expected = [(VERSION_HEADER, _stamp(message), True), ("Mcp-Method", method, True)]
    if method in _NAMED:
        expected.append(("Mcp-Name", params.get(_NAMED[method]), True))
    elif method in _NAMED_IF_SENT:
        expected.append(("Mcp-Name", params.get(_NAMED_IF_SENT[method]), False))
    for name, value, is_needed in expected:
        given = headers.get(name, "").strip(" \t") or None
        if isinstance(value, str) and (is_needed or given is not None):
            _compare(name, given, value, message.get("id"))


def _compare(name: str, given: str | None, value: str, request_id: object) -> None:
    if given is None:
        text = f"{name} is missing; the body says {value}"
    elif _unwrapped(given) != value:
        text = f"{name} is {given}, but the body says {value}"
    else:
        return
    raise RefusedError(HTTPStatus.BAD_REQUEST, RpcError(HEADER_MISMATCH, text), request_id)


def _unwrapped(value: str) -> str | None:
    """Return a header's value, decoded if it is in Base64."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _stamp(message: object) -> object:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get(VERSION_STAMP) if isinstance(meta, dict) else None


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


_POLL_S: Final = 0.5
"""How often to look for new sockets, on systems where they do not wake a selector."""


class Hangups:
    """A thread that watches the sockets of all running streams for disconnects."""

    def __init__(self) -> None:
        """Start the thread."""
        self._selector = selectors.DefaultSelector()
        self._ours, self._wake = socket.socketpair()  # some selectors need at least one socket
        self._selector.register(self._ours, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hang-ups", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._wake.close()
        self._thread.join()
        self._selector.close()
        self._ours.close()

    @contextlib.contextmanager
    def watched(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> Iterator[None]:
        """Call `on_hang_up` if the client disconnects within the context."""
        with self._lock:
            self._selector.register(connection, selectors.EVENT_READ, on_hang_up)
        try:
            yield
        finally:
            self._forget(connection)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select(_POLL_S):
                if key.fileobj is self._ours:
                    return
                if isinstance(key.fileobj, socket.socket):
                    self._check(key.fileobj, key.data)

    def _check(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> None:
        """Check whether the client has disconnected, or only sent its next request."""
        self._forget(connection)
        if _is_gone(connection):
            on_hang_up()

    def _forget(self, connection: socket.socket) -> None:
        with self._lock, contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection)


def _is_gone(connection: socket.socket) -> bool:
    """Return whether the other end was closed; assumed if TLS sends anything."""
    flags = getattr(socket, "MSG_DONTWAIT", 0) | socket.MSG_PEEK
    try:
        return connection.recv(1, flags) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True


_MOST_BODY: Final = 16 * 1024 * 1024
_PATIENCE_S: Final = 75.0
"""Connections are closed after this time without traffic."""
_COMMENT_EVERY_S: Final = 15.0
_STILL_HERE: Final = b": still here\n\n"
_NO_HEADERS: Final[dict[str, str]] = {}


class Handler(BaseHTTPRequestHandler):
    """Serves the requests of one connection in a thread of its own."""

    protocol_version = "HTTP/1.1"
    server_version = "mcp-progress-demo"
    timeout = _PATIENCE_S
    disable_nagle_algorithm = True
    _has_body = False
    """Whether the body is still unread."""
    server: Any

    def __getattr__(self, name: str) -> Any:
        """Serve every HTTP method, also unknown ones; some get 405."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    @property
    def route(self) -> str:
        """The requested path, without its query."""
        return urlsplit(self.path).path

    @property
    def hangups(self) -> Hangups:
        """Detects disconnected clients."""
        hangups: Hangups = self.server.hangups
        return hangups

    def version_string(self) -> str:
        """Return the name for the `Server` header."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing: stderr is for messages to the user."""

    def setup(self) -> None:
        """Do the TLS handshake, if any, in this connection's thread."""
        self.request.settimeout(self.timeout)
        if hasattr(self.request, "do_handshake"):
            self.request.do_handshake()
        super().setup()

    def body(self) -> bytes:
        """Read the request's body.

        Raises:
            RefusedError: It is too large or has no `Content-Length`.
        """
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True
            raise refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if len(length) > len(str(_MOST_BODY)) or int(length) > _MOST_BODY:
            self.close_connection = True
            text = f"More than {_MOST_BODY} bytes are not accepted"
            raise refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        self._has_body = False
        data = self.rfile.read(int(length))
        if len(data) < int(length):
            raise ConnectionAbortedError
        return data

    def reply(
        self,
        status: HTTPStatus,
        body: bytes = b"",
        kind: str = JSON,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        """Write a complete reply."""
        self.begin_body(status, len(body), kind, headers)
        if body and self.command != "HEAD":
            self.wfile.write(body)

    def begin_body(
        self, status: HTTPStatus, size: int, kind: str, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        """Begin a reply of a known size."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if size:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def reply_json(
        self, status: HTTPStatus, value: object, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        """Write a complete reply in JSON."""
        self.reply(status, encode(value), headers=headers)

    def refuse(self, error: RefusedError, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Reply with a status and a JSON-RPC error."""
        self.reply_json(error.status, error_reply(error.request_id, error.error), headers)

    def begin_stream(self, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Begin an event stream as the reply."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", EVENT_STREAM)
        self.send_header("Cache-Control", "no-cache, no-transform")
        for name, value in headers.items():
            self.send_header(name, value)
        if self._is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def write_chunk(self, data: bytes) -> None:
        """Write a part of a stream unless it is empty."""
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    def end_stream(self) -> None:
        """End a stream properly."""
        if self._is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def stream(
        self, reader: Reader, headers: Mapping[str, str] = _NO_HEADERS, opening: bytes = b""
    ) -> bool:
        """Send a reader's events; return whether its stream ended properly."""
        try:
            self.begin_stream(headers)
            with self.hangups.watched(self.connection, reader.hang_up):
                self.write_chunk(opening + reader.preamble())
                while (events := reader.read(_COMMENT_EVERY_S)) is not None:
                    self.write_chunk(events or _STILL_HERE)
            if reader.is_cut:
                self.cut()
            elif reader.is_gone:
                self.close_connection = True
            else:
                self.end_stream()
        finally:
            is_whole = not (reader.is_gone or reader.is_cut)
            reader.hang_up()
        return is_whole

    def cut(self) -> None:
        """Cut the connection without ending the stream, like a network failure."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    @property
    def _is_chunked(self) -> bool:
        return self.request_version != "HTTP/1.0"

    def _answer(self) -> None:
        self._has_body = self.headers.get("Content-Length", "0") != "0"
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # chunked bodies are not supported
        try:
            self.server.site.answer(self)
        except RefusedError as error:
            self._drain()
            self.refuse(error)

    def _drain(self) -> None:
        """Read an unread body, since the next request follows it."""
        if self._has_body and not self.close_connection:
            try:
                self.body()
            except RefusedError:
                self.close_connection = True


def json_of(data: bytes) -> Any:
    """Parse a body.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(data)


_NO_STORE: Final = {"Cache-Control": "no-store"}


def base_of(handler: Handler) -> str:
    """Return the base URL of this server, with the host that the client used."""
    scheme = "https" if hasattr(handler.connection, "do_handshake") else "http"
    host, port = handler.connection.getsockname()[:2]
    return f"{scheme}://{handler.headers.get('Host', f'{host}:{port}')}"


def query_of(handler: Handler) -> dict[str, str]:
    """Return the query parameters, the last one of each name."""
    return _fields(urlsplit(handler.path).query)


def form_of(handler: Handler) -> dict[str, str]:
    """Return the fields of a submitted form."""
    return _fields(handler.body().decode("utf-8", "replace"))


def object_of(handler: Handler) -> dict[str, Any] | None:
    """Return the JSON object in the body; None if it is something else."""
    try:
        value = json_of(handler.body())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def reply_uncached(handler: Handler, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
    """Reply in JSON that must not be cached."""
    handler.reply_json(status, value, _NO_STORE)


def refuse(handler: Handler, error: str, text: str) -> None:
    """Reply with an OAuth error."""
    reply_uncached(handler, {"error": error, "error_description": text}, HTTPStatus.BAD_REQUEST)


def send_to(handler: Handler, address: str, **parameters: str | None) -> None:
    """Redirect to a URL with additional parameters, except those that are None."""
    joint = "&" if urlsplit(address).query else "?"
    given = {name: value for name, value in parameters.items() if value is not None}
    where = {"Location": f"{address}{joint}{urlencode(given)}"}
    handler.reply(HTTPStatus.FOUND, headers={**where, **_NO_STORE})


def _fields(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text).items()}
