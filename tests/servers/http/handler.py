"""One connection: reads requests, checks their headers, writes answers and streams."""

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
"""The HTTP status of an error without an earlier answer (2026-07-28); all others are 200."""
Headers = Message
"""As they came, whatever the case of their names."""


class RefusedError(Exception):
    """Ends an exchange with a status and a JSON-RPC error that belongs to no request, or one."""

    def __init__(self, status: HTTPStatus, error: RpcError, request_id: Any = None) -> None:
        """Keep what the answer will be."""
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.request_id = request_id


def refused(status: HTTPStatus, text: str, code: int = INVALID_REQUEST) -> RefusedError:
    """Return a refusal in words."""
    return RefusedError(status, RpcError(code, text))


def check_origin(headers: Headers) -> None:
    """Keep out web pages of other hosts, and names that were bent to lead here (DNS rebinding).

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
    """See that the client takes every kind of answer that it may get.

    Raises:
        RefusedError: It does not say so.
    """
    accepted = [part.split(";")[0].strip() for part in headers.get("Accept", "").split(",")]
    for kind in needed:
        if not {kind, f"{kind.split('/')[0]}/*", "*/*"} & set(accepted):
            raise refused(HTTPStatus.NOT_ACCEPTABLE, f"Accept must include {' and '.join(needed)}")


def check_content_type(headers: Headers) -> None:
    """See that the body is said to be JSON.

    Raises:
        RefusedError: It is not.
    """
    if headers.get("Content-Type", "").split(";")[0].strip().lower() != JSON:
        raise refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {JSON}")


def check_version(headers: Headers) -> None:
    """See that the revision, if the client names one, is one there is.

    Raises:
        RefusedError: There is no such revision.
    """
    version = headers.get(VERSION_HEADER)
    if version is not None and version not in ERAS["both"]:
        data = {"supported": list(ERAS["both"])[::-1], "requested": version}
        error = RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {version}", data)
        raise RefusedError(HTTPStatus.BAD_REQUEST, error)


def stands_alone(headers: Headers, message: object) -> bool:
    """Whether a message is of the revision without sessions."""
    return headers.get(VERSION_HEADER) in PER_REQUEST_VERSIONS or _stamp(message) is not None


def check_mirrored(headers: Headers, message: JsonObject) -> None:
    """See that the headers say what the body says (2026-07-28).

    Raises:
        RefusedError: One of them is missing or says something else.
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
    """Return a header's value, which is in base64 where it could not be sent as it is."""
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
"""Where the system does not tell a waiting selector of new sockets, this often."""


class Hangups:
    """One thread that watches all sockets on which long answers are being given."""

    def __init__(self) -> None:
        """Begin to watch."""
        self._selector = selectors.DefaultSelector()
        self._ours, self._wake = socket.socketpair()  # some selectors cannot wait for nothing
        self._selector.register(self._ours, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="hang-ups", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Watch nothing any more."""
        self._wake.close()
        self._thread.join()
        self._selector.close()
        self._ours.close()

    @contextlib.contextmanager
    def watched(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> Iterator[None]:
        """Call `on_hang_up` once the client is gone, as long as the context is open."""
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
                    self._look(key.fileobj, key.data)

    def _look(self, connection: socket.socket, on_hang_up: Callable[[], None]) -> None:
        """See whether the client is gone, or has only begun with its next request."""
        self._forget(connection)
        if _is_gone(connection):
            on_hang_up()

    def _forget(self, connection: socket.socket) -> None:
        with self._lock, contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(connection)


def _is_gone(connection: socket.socket) -> bool:
    """Whether the other end was closed; what is encrypted is taken as a farewell."""
    flags = getattr(socket, "MSG_DONTWAIT", 0) | socket.MSG_PEEK
    try:
        return connection.recv(1, flags) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True


_MOST_BODY: Final = 16 * 1024 * 1024
_PATIENCE_S: Final = 75.0
"""A connection that neither sends nor takes anything for so long is closed."""
_COMMENT_EVERY_S: Final = 15.0
_STILL_HERE: Final = b": still here\n\n"
_NO_HEADERS: Final[dict[str, str]] = {}


class Handler(BaseHTTPRequestHandler):
    """Serves the requests of one connection, one after the other, in a thread of its own."""

    protocol_version = "HTTP/1.1"
    server_version = "mcp-progress-demo"
    timeout = _PATIENCE_S
    disable_nagle_algorithm = True
    _has_body = False
    """Whether there is still a body to read."""
    server: Any

    def __getattr__(self, name: str) -> Any:
        """Answer every method there is, and those there are not: some with 405."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    @property
    def route(self) -> str:
        """The path that was asked for, without its query."""
        return urlsplit(self.path).path

    @property
    def hangups(self) -> Hangups:
        """What notices that the client is gone."""
        hangups: Hangups = self.server.hangups
        return hangups

    def version_string(self) -> str:
        """Return what the server calls itself."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: stderr is for what a user should read."""

    def setup(self) -> None:
        """Shake hands here, where it holds up nobody else, if the connection is encrypted."""
        self.request.settimeout(self.timeout)
        if hasattr(self.request, "do_handshake"):
            self.request.do_handshake()
        super().setup()

    def body(self) -> bytes:
        """Read what was sent with the request.

        Raises:
            RefusedError: It is too much, or nobody knows how much.
        """
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True
            raise refused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if len(length) > len(str(_MOST_BODY)) or int(length) > _MOST_BODY:
            self.close_connection = True
            text = f"More than {_MOST_BODY} bytes are not taken"
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
        """Give a whole answer."""
        self.begin_body(status, len(body), kind, headers)
        if body and self.command != "HEAD":
            self.wfile.write(body)

    def begin_body(
        self, status: HTTPStatus, size: int, kind: str, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        """Begin an answer of that size."""
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
        """Give an answer in JSON."""
        self.reply(status, encode(value), headers=headers)

    def refuse(self, error: RefusedError, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Answer with a status and an error in words."""
        self.reply_json(error.status, error_reply(error.request_id, error.error), headers)

    def begin_stream(self, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Begin an answer that is an event stream."""
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
        """Write a part of a stream, if there is any."""
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)

    def end_stream(self) -> None:
        """End a stream well."""
        if self._is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def stream(
        self, reader: Reader, headers: Mapping[str, str] = _NO_HEADERS, opening: bytes = b""
    ) -> bool:
        """Send what a reader gets, to the end of its stream; return whether it came to that."""
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
        """End the connection without a farewell, as a broken network does."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    @property
    def _is_chunked(self) -> bool:
        return self.request_version != "HTTP/1.0"

    def _answer(self) -> None:
        self._has_body = self.headers.get("Content-Length", "0") != "0"
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True  # bodies in chunks are not read
        try:
            self.server.site.answer(self)
        except RefusedError as error:
            self._drain()
            self.refuse(error)

    def _drain(self) -> None:
        """Read what nobody wanted to read, so that the next request is found behind it."""
        if self._has_body and not self.close_connection:
            try:
                self.body()
            except RefusedError:
                self.close_connection = True


def json_of(data: bytes) -> Any:
    """Return what a body says.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(data)


_NO_STORE: Final = {"Cache-Control": "no-store"}


def base_of(handler: Handler) -> str:
    """Return the address of this server, as the client calls it."""
    scheme = "https" if hasattr(handler.connection, "do_handshake") else "http"
    host, port = handler.connection.getsockname()[:2]
    return f"{scheme}://{handler.headers.get('Host', f'{host}:{port}')}"


def query_of(handler: Handler) -> dict[str, str]:
    """Return the parameters of the address, the last of each name."""
    return _fields(urlsplit(handler.path).query)


def form_of(handler: Handler) -> dict[str, str]:
    """Return the fields of a form that was sent."""
    return _fields(handler.body().decode("utf-8", "replace"))


def object_of(handler: Handler) -> dict[str, Any] | None:
    """Return the JSON object that was sent, None if it is something else."""
    try:
        value = json_of(handler.body())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def tell(handler: Handler, value: object, status: HTTPStatus = HTTPStatus.OK) -> None:
    """Answer in JSON that nobody may keep."""
    handler.reply_json(status, value, _NO_STORE)


def refuse(handler: Handler, error: str, text: str) -> None:
    """Answer with an error as OAuth has them."""
    tell(handler, {"error": error, "error_description": text}, HTTPStatus.BAD_REQUEST)


def send_to(handler: Handler, address: str, **parameters: str | None) -> None:
    """Redirect to an address with more parameters; those that are None are left out."""
    joint = "&" if urlsplit(address).query else "?"
    given = {name: value for name, value in parameters.items() if value is not None}
    where = {"Location": f"{address}{joint}{urlencode(given)}"}
    handler.reply(HTTPStatus.FOUND, headers={**where, **_NO_STORE})


def _fields(text: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(text).items()}
