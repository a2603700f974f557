"""A stand-in for an OpenTelemetry collector: decodes all three signals, and misbehaves on demand.

Run it by hand: `python3 -m tests.otel_collector [PORT]` prints what arrives.
"""

import gzip
import http.server
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.patience import PATIENCE_S

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Event(NamedTuple):
    name: str
    trace: str
    span: str
    body: str
    attributes: dict[str, Any]
    nanoseconds: int
    arrived_at: float


class Span(NamedTuple):
    name: str
    trace: str
    span: str
    parent: str
    kind: int
    seconds: float
    attributes: dict[str, Any]
    links: list[str]
    error: str


class Collector:
    """Keeps what has arrived, and answers requests as `answer` does."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or accept
        self.payloads: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.events: list[Event] = []
        self.spans: list[Span] = []
        self.metrics: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        self.resources: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.url = ""

    def take(self, path: str, payload: bytes) -> None:
        with self.changed:
            self.payloads.append(payload)
            if path.endswith("/logs"):
                self._take_logs(payload)
            elif path.endswith("/traces"):
                self._take_spans(payload)
            else:
                self._take_metrics(payload)
            self.changed.notify_all()

    def wait_for(self, is_there: Callable[[], Any], within_s: float = PATIENCE_S) -> None:
        with self.changed:
            assert self.changed.wait_for(is_there, within_s), self.events[-20:]

    def of(self, name: str) -> list[Event]:
        return [event for event in self.events if event.name == name]

    def _take_logs(self, payload: bytes) -> None:
        for each in ExportLogsServiceRequest.FromString(payload).resource_logs:
            self.resources.append(_plain(each.resource.attributes))
            for scope in each.scope_logs:
                for log in scope.log_records:
                    trace, span = log.trace_id.hex(), log.span_id.hex()
                    attributes, body = _plain(log.attributes), log.body.string_value
                    stamps = log.time_unix_nano, time.monotonic()
                    self.events.append(
                        Event(log.event_name, trace, span, body, attributes, *stamps)
                    )

    def _take_spans(self, payload: bytes) -> None:
        for each in ExportTraceServiceRequest.FromString(payload).resource_spans:
            self.resources.append(_plain(each.resource.attributes))
            for scope in each.scope_spans:
                for span in scope.spans:
                    seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
                    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
                    links = [link.span_id.hex() for link in span.links]
                    more = _plain(span.attributes), links, span.status.message
                    self.spans.append(Span(span.name, *ids, span.kind, seconds, *more))

    def _take_metrics(self, payload: bytes) -> None:
        self.metrics = {}
        for each in ExportMetricsServiceRequest.FromString(payload).resource_metrics:
            self.resources.append(_plain(each.resource.attributes))
            for scope in each.scope_metrics:
                for metric in scope.metrics:
                    data = getattr(metric, metric.WhichOneof("data") or "gauge")
                    points = [
                        (_plain(point.attributes), _value(point)) for point in data.data_points
                    ]
                    self.metrics.setdefault(metric.name, []).extend(points)


def _plain(attributes: Sequence[Any]) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def _value(point: Any) -> Any:
    if hasattr(point, "bucket_counts"):
        return point.count, list(point.explicit_bounds)
    return getattr(point, point.WhichOneof("value"))


def accept(request: http.server.BaseHTTPRequestHandler) -> None:
    respond(request, 200)


def respond(
    request: http.server.BaseHTTPRequestHandler, code: int, body: bytes = b"", **headers: str
) -> None:
    request.send_response(code)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


@contextmanager
def collecting(
    answer: Answer | None = None, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[Collector]:
    """A collector on a port of this machine, until the end of the block."""
    collector = Collector(answer)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            payload = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                payload = gzip.decompress(payload)
            collector.headers.append(dict(self.headers))
            collector.take(self.path, payload)
            collector.answer(self)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        collector.url = f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        try:
            yield collector
        finally:
            server.shutdown()


def _show(port: int) -> None:
    with collecting(port=port) as collector:
        sys.stdout.write(f"{collector.url}\n")
        shown = 0
        while True:
            time.sleep(0.2)
            found = [*collector.events, *collector.spans]
            for each in found[shown:]:
                sys.stdout.write(f"{each}\n")
            shown = len(found)
            sys.stdout.flush()


if __name__ == "__main__":
    _show(int(sys.argv[1]) if sys.argv[1:] else 4318)
