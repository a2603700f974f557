"""Takes OpenTelemetry's data on this machine (OTLP 1.x over HTTP) and records it as it comes.

The recording is live, like that of a tap: whatever follows those shows this one too. A span comes
when its request has ended, so messages are not in the order of their times.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import zlib
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

import msgspec

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.imports.otlp import Batch, SpanMessages, decode_batch
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.tap_http.addresses import read_listen, refusal_of
from mcp_progress_monitor.tap_http.program import HttpJournal, live_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.imports.otlp import Message

_PATHS: Final = {
    "/v1/traces": ("trace", "ExportTraceServiceRequest"),
    "/v1/logs": ("logs", "ExportLogsServiceRequest"),
    "/v1/metrics": ("metrics", "ExportMetricsServiceRequest"),
}
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_LARGEST: Final = 20 * 1024 * 1024  # bytes of a body, also when unpacked; as collectors have it
_AT_ONCE: Final = 128 * 1024 * 1024  # bytes of all bodies that are being sent
_LARGEST_CHUNK_LINE: Final = 1024
_PATIENCE_S: Final = 30.0
_CONNECTIONS: Final = 10_000
_SENDERS: Final = 64  # connections at once, each with a thread; above half of it, none is kept
_REASONS: Final = 20  # reasons and gaps that are reported
_BUSY: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    b"Connection: close\r\n\r\n"
)
_SERVER: Final = "OpenTelemetry"


class OtlpReceiver:
    """Listens on one address and records what comes there, until it is closed."""

    def __init__(self, address: str, data_dir: Path, report: Callable[[str], None]) -> None:
        """Listen on `address`; `report` gets lines for the user, from any thread.

        Raises:
            UserError: the address is invalid, not on this machine or in use, or the extra `otel`
                is not installed.
        """
        _require_protobuf()
        wanted = read_listen(address)
        try:
            self._server = _Server((wanted.host, wanted.port))
        except OSError as error:
            what = f"Cannot listen on {wanted.host} port {wanted.port}"
            hint = "Choose another port, or stop the program that uses this one."
            raise UserError(ErrorDetails(what, "", hint, error.strerror or "")) from error
        port = self._server.server_address[1]
        self.url: Final = f"http://{wanted.host}:{port}"
        clock = Clock()
        settings, _ = load_settings(data_dir)
        fields = {"client": None, "pid": os.getpid(), "transport": "otlp"}
        stamp = clock.wall(), clock.monotonic()
        journal = HttpJournal(live_folder(data_dir), _SERVER, fields, stamp, report, settings)
        self._server.sink = _Sink(journal, stamp[1] - stamp[0], self.url, report)
        self._journal = journal
        self._thread = threading.Thread(target=self._server.serve_forever, name="otlp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end the recording."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._journal.close()


class _Sink:
    """Writes messages to the recording; requests come in many threads."""

    def __init__(
        self, journal: HttpJournal, shift_s: float, url: str, report: Callable[[str], None]
    ) -> None:
        self.url = url
        self._journal = journal
        self._shift_s = shift_s
        self._report = report
        self.lock: Final = threading.Lock()
        """Held while data is decoded and taken: one batch at a time bounds the memory."""
        self._made = SpanMessages(self._miss)
        self._missing: set[str] = set()
        self._numbers = FrameNumbers()
        self._framers: dict[str, Framer] = {}

    def take(self, batch: Batch) -> None:
        """Record a batch; the caller holds `lock`."""
        for message in self._made.of(batch):
            self._write(message)
        self._journal.hand_over()

    def refuse(self, reason: str) -> None:
        """Tell the user why data was refused, once for each reason."""
        with self.lock:
            self._once(f"Data was refused: {reason}")

    def _write(self, message: Message) -> None:
        framer = self._framers.get(message.connection)
        if framer is None:
            if len(self._framers) >= _CONNECTIONS:
                self._framers.clear()
            framer = self._framers[message.connection] = Framer(message.connection, self._numbers)
        stamp = message.when, message.when + self._shift_s
        if message.is_sent:
            self._journal.take([framer.sent(message.raw, *stamp)])
        else:
            self._journal.take(framer.received([message.raw], *stamp))

    def _miss(self, what: str, _: int) -> None:
        self._once(f"Not shown: {what[:1].lower()}{what[1:]}")

    def _once(self, line: str) -> None:
        if line not in self._missing and len(self._missing) < _REASONS:
            self._missing.add(line)
            self._report(line)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name != "nt"
    request_queue_size = _SENDERS
    sink: _Sink

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, _Handler)
        self._lock = threading.Lock()
        self._held = 0
        self._left = _AT_ONCE

    @property
    def is_crowded(self) -> bool:
        """True if senders should connect again rather than keep their connections."""
        return self._held > _SENDERS // 2

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, or send it away if there are too many."""
        with self._lock:
            is_full = self._held >= _SENDERS
            self._held += not is_full
        if is_full:
            with contextlib.suppress(OSError):
                request.sendall(_BUSY)
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._held -= 1

    def reserve(self, size: int) -> bool:
        """Reserve memory for a body, or release it (`size` is negative); False without any left."""
        with self._lock:
            is_there = self._left >= size
            self._left -= size * is_there
        return is_there

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore senders that disconnect in the middle of a request."""


class _RefusedError(Exception):
    """A request that is answered with `status`."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class _Handler(BaseHTTPRequestHandler):
    """One connection of a sender."""

    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE_S
    server: _Server
    _reserved = 0

    def do_POST(self) -> None:
        """Take a batch: an empty answer says that all of it was taken (OTLP 1.x, OTLP/HTTP)."""
        sink = self.server.sink
        kind = self.headers.get_content_type()
        try:
            path = self._path(kind, sink.url)
            body = b"".join(self._body())
            with sink.lock:
                sink.take(self._batch(body, kind, path))
        except _RefusedError as refusal:
            sink.refuse(refusal.reason)
            self.close_connection = True  # its body may not have been read
            self._answer(refusal.status, "text/plain; charset=utf-8", refusal.reason.encode())
        else:
            self.close_connection = self.close_connection or self.server.is_crowded
            self._answer(HTTPStatus.OK, kind, b"{}" if kind == _JSON else b"")
        finally:
            self.server.reserve(-self._reserved)
            self._reserved = 0

    def log_message(self, *_: object) -> None:
        """Requests are not logged."""

    def _path(self, kind: str, own: str) -> str:
        """The path of a request that is acceptable as far as its headers say."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        refused = refusal_of(headers, self.server.server_address[1], own, "receiver")
        if refused:
            raise _RefusedError(HTTPStatus.FORBIDDEN, refused)
        path = self.path.partition("?")[0]
        if path not in _PATHS:
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"Send to {', '.join(sorted(_PATHS))}")
        if kind not in {_JSON, _PROTOBUF}:
            raise _RefusedError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Only {_JSON} and {_PROTOBUF} are understood"
            )
        return path

    def _batch(self, body: bytes, kind: str, path: str) -> Batch:
        data = _unpacked(body, self.headers.get("content-encoding", ""))
        try:
            return decode_batch(data) if kind == _JSON else _from_protobuf(data, *_PATHS[path])
        except ValueError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The body is not valid OTLP") from error

    def _body(self) -> Iterator[bytes]:
        """Read the request's body, in chunks if it is sent so."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            yield self._exactly(_number(self.headers.get("content-length", ""), 10))
            return
        left = _LARGEST
        while True:
            line = self.rfile.readline(_LARGEST_CHUNK_LINE).partition(b";")[0]
            size = _number(line.decode("latin-1").strip(), 16)
            left -= size
            if left < 0:
                raise _too_large()
            yield self._exactly(size)
            self.rfile.readline(_LARGEST_CHUNK_LINE)
            if not size:
                return

    def _exactly(self, size: int) -> bytes:
        if size > _LARGEST:
            raise _too_large()
        if not self.server.reserve(size):
            raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Too much data comes at once")
        self._reserved += size
        data = self.rfile.read(size)
        if len(data) < size:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The body is not complete")
        return data

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _number(text: str, base: int) -> int:
    try:
        number = int(text, base)
    except ValueError:
        number = -1
    if number < 0:
        raise _RefusedError(
            HTTPStatus.LENGTH_REQUIRED, "The length of the body is missing or invalid"
        )
    return number


def _too_large() -> _RefusedError:
    return _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The body is too large")


def _unpacked(data: bytes, encoding: str) -> bytes:
    if encoding.lower() in {"", "identity"}:
        return data
    if encoding.lower() != "gzip":
        raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Only gzip can be unpacked")
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        unpacked = unpacker.decompress(data, _LARGEST)
    except zlib.error as error:
        raise _RefusedError(HTTPStatus.BAD_REQUEST, "The body is not valid gzip") from error
    if unpacker.unconsumed_tail:
        raise _too_large()
    return unpacked


def _from_protobuf(data: bytes, package: str, message: str) -> Batch:
    """Decode OTLP in Protobuf. `ValueError` if it is anything else."""
    protobuf = importlib.import_module("google.protobuf.message")  # has no types
    name = f"opentelemetry.proto.collector.{package}.v1.{package}_service_pb2"
    request = getattr(importlib.import_module(name), message)()
    try:
        request.ParseFromString(data)
    except protobuf.DecodeError as error:
        raise ValueError(str(error)) from error
    json_format = importlib.import_module("google.protobuf.json_format")
    return msgspec.convert(json_format.MessageToDict(request), Batch)


def _require_protobuf() -> None:
    try:
        import opentelemetry.proto.collector.trace.v1.trace_service_pb2  # noqa: F401
    except ImportError as error:
        what = "Receiving OpenTelemetry's data needs libraries that are not installed"
        hint = (
            'Install the extra "otel" in this program\'s environment: '
            'pip install "mcp-progress-monitor[otel]".'
        )
        raise UserError(ErrorDetails(what, "", hint)) from error
