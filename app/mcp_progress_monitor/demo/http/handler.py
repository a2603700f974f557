"""One connection: reads requests from it, writes answers and streams, and minds its end."""

import json
import socket
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_progress_monitor.demo.http.checks import EVENT_STREAM, JSON, RefusedError, refused
from mcp_progress_monitor.demo.http.hangups import Hangups
from mcp_progress_monitor.demo.http.streams import Reader
from mcp_progress_monitor.demo.messages import encode, error_reply

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
            words = f"More than {_MOST_BODY} bytes are not taken"
            raise refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, words)
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
