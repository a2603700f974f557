"""Collectors that are down, slow, full or wrong: signals are dropped and counted, nothing waits."""

import http.server
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.protocol.trace_context import TraceContext
from mcp_progress_monitor.telemetry.options import TelemetryOptions
from mcp_progress_monitor.telemetry.sender import QUEUE_LIMIT, Observed, Sender, SenderState
from mcp_progress_monitor.telemetry.signals import Duration, JobGauges, LogEvent, SpanEnd
from tests.integration.http_servers import self_signed
from tests.otel_collector import Answer, collecting, respond

_CONTEXT = TraceContext(7, 8)
_EVENT = LogEvent(names.STARTED, 1_000.5, "export: started", {names.SERVER: "demo"}, _CONTEXT)
_SPAN = SpanEnd(
    *("tools/call export", _CONTEXT, TraceContext(7, 9), True, 1_000.5, 1_002.0),
    {names.METHOD: "tools/call"},
    (TraceContext(5, 6),),
    "No",
)
_GAUGES = JobGauges({names.JOB: "08"}, 0.5, 3.0, None)


def _observed() -> Observed:
    return Observed(
        lambda: {(names.OWN, "running"): 2},
        lambda: {(names.OWN, "received", "progress"): 42},
        lambda: {"PROG-3": 1},
        lambda: [_GAUGES],
    )


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.9")


@contextmanager
def sending(url: str, *, waits: bool = False) -> Iterator[Sender]:
    sender = Sender(TelemetryOptions(url), _observed(), waits=waits)
    try:
        yield sender
    finally:
        sender.close(0.1)


def test_all_three_signals_arrive() -> None:
    with collecting() as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        sender.offer(_SPAN)
        sender.offer(Duration(names.DURATION, 90_000, {names.ROLE: names.OWN}))
        sender.close(30)

        assert sender.state == SenderState(2, 0)
        (event,), (span,) = collector.events, collector.spans
        assert (event.name, event.body) == (names.STARTED, "export: started")
        assert event.nanoseconds == 1_000_500_000_000
        assert event.attributes[names.EVENT_NAME] == event.name
        assert (event.trace, event.span) == (span.trace, span.span) == (f"{7:032x}", f"{8:016x}")
        assert (span.parent, span.kind, span.seconds) == (f"{9:016x}", 3, 1.5)
        assert (span.links, span.error) == ([f"{6:016x}"], "No")
        running = {names.ROLE: names.OWN, names.STATE: "running"}
        assert collector.metrics[names.ACTIVE] == [(running, 2)]
        assert [value for _, value in collector.metrics[names.MESSAGES]] == [42]
        assert collector.metrics[names.FINDINGS] == [({names.RULE: "PROG-3"}, 1)]
        assert collector.metrics[names.DROPPED] == [({}, 0)]
        assert collector.metrics[names.RATIO] == [({names.JOB: "08"}, 0.5)]
        assert names.TIME_LEFT not in collector.metrics
        ((_, (count, bounds)),) = collector.metrics[names.DURATION]
        assert (count, bounds) == (1, list(names.BUCKETS))
        for resource in collector.resources:
            assert resource["service.name"] == "mcp-progress-monitor"
            assert resource["service.instance.id"]
            assert resource["host.name"]


def test_the_standard_variables_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "nightly")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "host.name=ci-7,team=data")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=abc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    with collecting() as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        sender.offer(_SPAN)
        sender.close(30)
        assert collector.spans == []
        resource = collector.resources[0]
        assert (resource["service.name"], resource["host.name"]) == ("nightly", "ci-7")
        assert collector.headers[0]["api-key"] == "abc"


def _redirect(request: http.server.BaseHTTPRequestHandler) -> None:
    respond(request, 307, Location="http://127.0.0.1:9/elsewhere")


def _closed(request: http.server.BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    request.close_connection = True


def _rejecting(request: http.server.BaseHTTPRequestHandler) -> None:
    respond(request, 200, bytes([10, 2, 8, 1]))  # partial_success: one was rejected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda request: respond(request, 400), "HTTP 400"),
        (lambda request: respond(request, 429, Retry_After="99"), "HTTP 429"),
        (lambda request: respond(request, 503, Retry_After="99"), "HTTP 503"),
        (_redirect, "HTTP 307"),
        (_closed, ""),
        (_rejecting, "rejected a part"),
    ],
)
def test_what_is_not_accepted_is_counted_with_the_reason(answer: Answer, why: str) -> None:
    with collecting(answer) as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        sender.close(30)
        assert (sender.state.sent, sender.state.dropped) == (0, 1)
        assert why in sender.state.error
        assert {header["Host"] for header in collector.headers} == {collector.url[7:]}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20Zq7Xv%0AHunter2"),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://user:Hunter2@[::1"),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "htp://user:Hunter2@localhost/v1/logs"),
    ],
)
def test_the_reason_has_no_secret_of_an_invalid_header_or_url(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with sending("") as sender:
        sender.offer(_EVENT)
        sender.close(30)
        assert sender.state == SenderState(0, 1, "The URL or a header for the collector is invalid")


def test_the_reason_remains_while_other_signals_are_accepted() -> None:
    def no_logs(request: http.server.BaseHTTPRequestHandler) -> None:
        respond(request, 400 if request.path.endswith("logs") else 200)

    with collecting(no_logs) as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        sender.offer(_SPAN)
        sender.close(30)
        assert sender.state == SenderState(1, 1, "HTTP 400 Bad Request")


def test_garbage_in_place_of_an_answer_is_an_error() -> None:
    def garbage(request: http.server.BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"\x00\xff garbage\r\n\r\n")
        request.close_connection = True

    with collecting(garbage) as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        sender.close(30)
        assert sender.state.dropped == 1


def test_a_body_that_is_no_protobuf_is_a_success() -> None:
    with (
        collecting(lambda request: respond(request, 200, b"<html>" * 100_000)) as collector,
        sending(collector.url) as sender,
    ):
        sender.offer(_EVENT)
        sender.close(30)
        assert sender.state == SenderState(1, 0)


def test_nobody_listens() -> None:
    with sending("http://127.0.0.1:9") as sender:
        sender.offer(_EVENT)
        began = time.monotonic()
        sender.close(0.7)
        assert time.monotonic() - began < 30
        assert sender.state.dropped == 1
        assert "refused" in sender.state.error


def test_a_slow_collector_does_not_hold_up_the_end() -> None:
    def slow(request: http.server.BaseHTTPRequestHandler) -> None:
        time.sleep(3)

    with collecting(slow) as collector, sending(collector.url) as sender:
        sender.offer(_EVENT)
        collector.wait_for(lambda: collector.events)
        for _ in range(10):
            sender.offer(_EVENT)
        sender.close(0.2)
        assert sender.state.dropped == 11
        assert sender.state.error


def test_a_full_queue_drops_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sender, "_run", lambda self: self._wake.wait(30))
    with sending("http://127.0.0.1:9") as sender:
        for _ in range(QUEUE_LIMIT + 5):
            sender.offer(_EVENT)
        assert sender.state.dropped == 5


def test_an_unknown_certificate_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with collecting(tls=context) as collector:
        with sending(collector.url) as sender:
            sender.offer(_EVENT)
            sender.close(30)
            assert sender.state.dropped == 1
            assert "certificate verify failed" in sender.state.error
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate)
        with sending(collector.url) as sender:
            sender.offer(_EVENT)
            sender.close(30)
            assert sender.state == SenderState(1, 0)
