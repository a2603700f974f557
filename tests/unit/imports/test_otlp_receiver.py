"""The receiver records valid data as it arrives, and refuses invalid data with a reason."""

import gzip
import http.client
import json
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.imports.otlp_receiver import OtlpReceiver
from mcp_progress_monitor.recording.reader import RecordingReader
from tests.patience import PATIENCE_S
from tests.unit.imports.test_otlp import span, spans

JSON = {"Content-Type": "application/json"}
HEAD = b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
PROTOBUF = {"Content-Type": "application/x-protobuf"}


class Receiving:
    """A receiver on a free port, with what it reports."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lines: list[str] = []
        self.receiver = OtlpReceiver("127.0.0.1:0", folder, self.lines.append)
        self._port = int(self.receiver.url.rpartition(":")[2])

    def post(self, body: Any, path: str = "/v1/traces", **headers: str) -> int:
        """Post a body and return the status of the answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            chunked = isinstance(body, list)
            connection.request("POST", path, body, named, encode_chunked=chunked)
            return connection.getresponse().status
        finally:
            connection.close()

    def send(self, raw: bytes) -> bytes:
        """Send bytes and return what comes until the receiver closes."""
        with socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def hold(self, head: bytes = b"") -> socket.socket:
        """Connect, send the beginning of a request, and leave it at that."""
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        connection.sendall(head.replace(b"PORT", b"%d" % self._port))
        return connection

    def methods(self) -> list[str]:
        """End the recording, and return the methods of its requests."""
        self.receiver.close()
        (path,) = self._folder.rglob("*.mcprec")
        frames = [frame for chunk in RecordingReader(path) for frame in chunk.frames]
        messages = (json.loads(frame.raw) for frame in frames)
        return [message["method"] for message in messages if "method" in message]


@pytest.fixture
def receiving(tmp_path: Path) -> Iterator[Receiving]:
    found = Receiving(tmp_path)
    yield found
    found.receiver.close()


def protobuf() -> bytes:
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.span_id = b"\x01" * 8
    made.name = "MCP send tools/call crawl"
    made.kind = Span.SPAN_KIND_CLIENT
    made.start_time_unix_nano, made.end_time_unix_nano = (
        1_795_000_000 * 10**9,
        1_795_000_001 * 10**9,
    )
    for key, value in (("mcp.method.name", "tools/call"), ("jsonrpc.request.id", "7")):
        attribute = made.attributes.add()
        attribute.key, attribute.value.string_value = key, value
    return bytes(request.SerializeToString())


def test_spans_are_recorded_however_they_are_packed(receiving: Receiving) -> None:
    body = json.dumps(spans(span())).encode()
    packed = {"Content-Encoding": "gzip"}
    assert receiving.post(body, **JSON) == 200
    assert receiving.post(gzip.compress(body), **JSON, **packed) == 200
    assert receiving.post([body[:50], body[50:]], **JSON, Transfer_Encoding="chunked") == 200
    assert receiving.post(protobuf(), **PROTOBUF) == 200
    assert receiving.post(gzip.compress(protobuf()), **PROTOBUF, **packed) == 200
    assert receiving.methods() == ["tools/call"] * 5
    assert receiving.lines == []


@pytest.mark.parametrize(
    ("body", "path", "headers", "status"),
    [
        (b"{}", "/v1/other", JSON, 404),
        (b"{}", "/v1/traces", {"Content-Type": "text/plain"}, 415),
        (b"{}", "/v1/traces", {**JSON, "Origin": "https://example.com"}, 403),
        (b"{}", "/v1/traces", {**JSON, "Host": "rebound.example"}, 403),
        (b"{", "/v1/traces", JSON, 400),
        (b"\xff\xff", "/v1/traces", PROTOBUF, 400),
        (b"no gzip", "/v1/traces", {**JSON, "Content-Encoding": "gzip"}, 400),
        (b"{}", "/v1/traces", {**JSON, "Content-Encoding": "zstd"}, 415),
        (
            gzip.compress(bytes(65 * 1024**2), 1),
            "/v1/logs",
            {**JSON, "Content-Encoding": "gzip"},
            413,
        ),
        (b"{}", "/v1/traces", {**JSON, "Content-Length": str(65 * 1024**2)}, 413),
    ],
)
def test_what_is_wrong_is_refused_and_reported_once(
    receiving: Receiving, body: bytes, path: str, headers: dict[str, str], status: int
) -> None:
    named = {name.replace("-", "_"): value for name, value in headers.items()}
    assert [receiving.post(body, path, **named) for _ in range(2)] == [status, status]
    (line,) = receiving.lines
    assert line.startswith("Data was refused: ")


@pytest.mark.parametrize(
    "raw",
    [
        (HEAD + b"Content-Length: 50\r\n\r\n{}"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nnone\r\n"),
        b"\x00\x01\x02\r\n\r\n",
        b"",
    ],
)
def test_a_sender_that_breaks_off_or_sends_garbage_ends_alone(
    receiving: Receiving, raw: bytes
) -> None:
    port = receiving.receiver.url.rpartition(":")[2].encode()
    assert b" 200 " not in receiving.send(raw.replace(b"PORT", port))
    assert receiving.post(json.dumps(spans(span())).encode(), **JSON) == 200
    assert receiving.methods() == ["tools/call"]


@pytest.mark.parametrize(
    "address", ["0.0.0.0:4318", "example.com:4318", "4318x", "127.0.0.1:99999"]
)
def test_an_address_that_is_not_on_this_machine_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        OtlpReceiver(address, tmp_path, print)


def test_a_port_that_is_taken_is_reported(receiving: Receiving, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot listen"):
        OtlpReceiver(receiving.receiver.url.removeprefix("http://"), tmp_path, print)


def test_senders_that_hold_many_connections_are_sent_away_and_others_served_later(
    receiving: Receiving,
) -> None:
    held = [receiving.hold() for _ in range(65)]
    assert b" 503 " in held[-1].recv(1000)
    for connection in held:
        connection.close()
    deadline = time.monotonic() + PATIENCE_S
    body = json.dumps(spans(span())).encode()
    while receiving.post(body, **JSON) != 200:
        assert time.monotonic() < deadline
    assert receiving.methods() == ["tools/call"]


def test_bodies_that_are_too_much_together_are_refused(receiving: Receiving) -> None:
    slow = HEAD + b"Content-Length: 20000000\r\n\r\n"
    held = [receiving.hold(slow) for _ in range(7)]
    (refused, *_), _, _ = select.select(held, [], [], PATIENCE_S)
    assert b" 503 " in refused.recv(1000)
    for connection in held:
        connection.close()


def test_reasons_that_a_sender_varies_are_not_all_reported(receiving: Receiving) -> None:
    for number in range(30):
        receiving.post(b"{}", **JSON, Host=f"rebound-{number}.example")
    assert len(receiving.lines) == 20
