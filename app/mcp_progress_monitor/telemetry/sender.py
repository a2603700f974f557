"""Sends signals to a collector by OTLP over HTTP, on a thread of its own.

The only module that imports OpenTelemetry. The queue is bounded: what a slow or absent collector
leaves no room for is dropped and counted.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import requests
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Observation
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor, ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    PeriodicExportingMetricReader,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from mcp_progress_monitor import __version__
from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.paths import APPLICATION
from mcp_progress_monitor.telemetry.signals import Duration, LogEvent, SpanEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions
    from opentelemetry.sdk._logs import ReadWriteLogRecord

    from mcp_progress_monitor.protocol.trace_context import TraceContext
    from mcp_progress_monitor.telemetry.options import TelemetryOptions
    from mcp_progress_monitor.telemetry.signals import JobGauges, Signal

_log = logging.getLogger(__name__)

QUEUE_LIMIT: Final = 8_192
_BATCH: Final = 256
_EVERY_S: Final = 0.5
_METRICS_S: Final = 10.0
_RESPONSE_LIMIT: Final = 64 * 1024
_REASON_LIMIT: Final = 200
_FAR: Final = 1 << 62  # nanoseconds since the epoch that OTLP can carry


class SenderState(NamedTuple):
    """Counts of signals so far; `error` says why the last failed request did, if there was one."""

    sent: int = 0
    dropped: int = 0
    error: str = ""


class Observed(NamedTuple):
    """The figures behind the metrics: each is read on the sender's thread."""

    active: Callable[[], dict[tuple[str, str], int]]
    messages: Callable[[], dict[tuple[str, str, str], int]]
    findings: Callable[[], dict[str, int]]
    gauges: Callable[[], Sequence[JobGauges]]


class _CollectorError(requests.RequestException):
    """The collector's answer cannot be used, and the request is not to be repeated."""


class _Session(requests.Session):
    """The HTTP client of one signal: follows no redirect, and reads little of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.reason = ""
        self.rejected = 0

    def request(self, *args: Any, **how: Any) -> requests.Response:
        """Send, and keep why it failed: the exporter only says that it did."""
        self.reason, self.rejected = "", 0
        how |= {"allow_redirects": False, "stream": True}
        how["verify"] = self.verify  # else REQUESTS_CA_BUNDLE precedes the certificate of OTEL_…
        try:
            response = super().request(*args, **how)
            self._read(response)
        except (requests.RequestException, OSError, ValueError) as error:
            self.reason = self.reason or _reason(error)
            raise
        return response

    def _read(self, response: requests.Response) -> None:
        status = response.status_code
        body = response.raw.read(_RESPONSE_LIMIT, decode_content=True) or b""
        if not 200 <= status < 300:
            self.reason = f"HTTP {status} {one_line(response.reason or '', 60)}".strip()
        if len(body) >= _RESPONSE_LIMIT:
            response.close()
        if 300 <= status < 400:  # the exporter takes it for a success
            self.reason += f", redirected to {one_line(response.headers.get('location', ''), 100)}"
            raise _CollectorError(self.reason)
        response._content = body  # noqa: SLF001  # else the rest would be read
        if 200 <= status < 300:
            self.rejected = _rejected(response.url, body)
            if self.rejected:
                self.reason = "The collector rejected a part"


def check_variables() -> None:
    """Raise `ValueError` if the SDK does not accept one of its variables."""
    nothing = Resource.get_empty()
    LoggerProvider(nothing, shutdown_on_exit=False)
    TracerProvider(resource=nothing, shutdown_on_exit=False)


def _rejected(url: str, body: bytes) -> int:
    """The number of items that a successful answer says were rejected (`partial_success`)."""
    kinds: dict[str, Any] = {
        "logs": (ExportLogsServiceResponse, "rejected_log_records"),
        "traces": (ExportTraceServiceResponse, "rejected_spans"),
        "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    }
    kind, member = kinds.get(url.rpartition("/")[2], (None, ""))
    if kind is None or not body:
        return 0
    try:
        return max(int(getattr(kind.FromString(body).partial_success, member)), 0)
    except Exception:  # noqa: BLE001  # not Protobuf: nothing is known to be rejected
        return 0


def _reason(error: Exception) -> str:
    """The innermost cause of a failed request, without the address that every layer repeats.

    What `requests` finds invalid is not shown: it quotes the header or the URL, with its secrets.
    """
    if isinstance(error, requests.RequestException) and isinstance(error, ValueError):
        return "The URL or a header for the collector is invalid"
    found: object = error
    while isinstance(found, Exception):
        inner = getattr(found, "reason", None) or (found.args[0] if found.args else None)
        if not isinstance(inner, Exception):
            break
        found = inner
    text = str(found).rpartition("object at 0x")[2].partition(">: ")[2] or str(found)
    return one_line(text or type(error).__name__, _REASON_LIMIT)


class _ChosenIds(IdGenerator):
    """Gives a span the ids that were chosen when its job began."""

    def __init__(self) -> None:
        self.next = (1, 1)

    def generate_span_id(self) -> int:
        return self.next[1]

    def generate_trace_id(self) -> int:
        return self.next[0]


class _Spans(SpanProcessor):
    def __init__(self) -> None:
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


class _Records(LogRecordProcessor):
    def __init__(self) -> None:
        self.emitted: list[ReadableLogRecord] = []

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        resource = log_record.resource or Resource.get_empty()
        scope, limits = log_record.instrumentation_scope, log_record.limits
        self.emitted.append(ReadableLogRecord(log_record.log_record, resource, scope, limits))

    def shutdown(self) -> None:
        """Nothing is kept open."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


class _Metrics(OTLPMetricExporter):
    """The exporter of metrics, which adds the figures of running jobs.

    Instruments of the SDK would keep the attributes of every job for ever.
    """

    def __init__(self, gauges: Callable[[], Sequence[JobGauges]], **how: Any) -> None:
        super().__init__(**how)
        self._gauges = gauges
        self.has_failed = False

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **how: Any
    ) -> MetricExportResult:
        metrics = _job_metrics(self._gauges())
        if metrics and metrics_data.resource_metrics:
            first = metrics_data.resource_metrics[0]
            scope = ScopeMetrics(InstrumentationScope(names.SCOPE), metrics, "")
            scopes = [*first.scope_metrics, scope]
            metrics_data = MetricsData([ResourceMetrics(first.resource, scopes, first.schema_url)])
        found = super().export(metrics_data, timeout_millis, **how)
        self.has_failed = found is not MetricExportResult.SUCCESS
        return found


def _job_metrics(gauges: Sequence[JobGauges]) -> list[Metric]:
    now = time.time_ns()
    values: dict[tuple[str, str], Callable[[JobGauges], float | None]] = {
        (names.RATIO, "1"): lambda job: job.progress_ratio,
        (names.SILENT, "s"): lambda job: job.since_last_tick_s,
        (names.TIME_LEFT, "s"): lambda job: job.eta_s,
    }
    found = []
    for (name, unit), value_of in values.items():
        points = [
            NumberDataPoint(job.attributes, now, now, value)
            for job in gauges
            if (value := value_of(job)) is not None and math.isfinite(value)
        ]
        if points:
            found.append(Metric(name, "", unit, Gauge(points)))
    return found


class Sender:
    """Sends what is offered, until it is closed."""

    def __init__(self, options: TelemetryOptions, observed: Observed, *, waits: bool) -> None:
        """With `waits`, `offer` waits for room instead of dropping, until something failed."""
        for name in ("opentelemetry", "urllib3"):  # failures are counted and shown by us
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._options = options
        self._waits = waits
        self._queue: deque[Signal] = deque()
        self._wake = threading.Event()
        self._is_closing = self._is_over = False
        self._sent = self._dropped = self._in_flight = 0
        self._error = ""
        self._sessions = {each: _Session() for each in ("logs", "metrics", "traces")}
        self._resource = _resource()
        self._records, self._spans, self._ids = _Records(), _Spans(), _ChosenIds()
        logs = LoggerProvider(self._resource, shutdown_on_exit=False)
        logs.add_log_record_processor(self._records)
        self._logger = logs.get_logger(names.SCOPE, __version__)
        traces = TracerProvider(
            resource=self._resource, shutdown_on_exit=False, id_generator=self._ids
        )
        traces.add_span_processor(self._spans)
        self._tracer = traces.get_tracer(names.SCOPE, __version__)
        self._log_exporter = OTLPLogExporter(**self._how("logs"))
        self._span_exporter = OTLPSpanExporter(**self._how("traces"))
        self._metric_exporter = _Metrics(observed.gauges, **self._how("metrics"))
        self._reader = PeriodicExportingMetricReader(self._metric_exporter, math.inf)
        meters = MeterProvider([self._reader], self._resource, shutdown_on_exit=False)
        meter = meters.get_meter(names.SCOPE, __version__)
        self._durations = {
            name: meter.create_histogram(
                name, "s", what, explicit_bucket_boundaries_advisory=names.BUCKETS
            )
            for name, what in (
                (names.DURATION, "Duration of the MCP requests of this client"),
                (names.WATCHED_DURATION, "Duration of the MCP requests of watched clients"),
            )
        }
        self._meters = meters
        self._observe(observed)
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def state(self) -> SenderState:
        return SenderState(self._sent, self._dropped, self._error)

    def offer(self, signal: Signal) -> None:
        """Queue a signal. If the queue is full, drop it and count it."""
        if len(self._queue) >= QUEUE_LIMIT:
            while self._waits and len(self._queue) >= QUEUE_LIMIT and self._thread.is_alive():
                self._wake.set()
                time.sleep(0.01)
            if len(self._queue) >= QUEUE_LIMIT:
                self._dropped += 1
                return
        self._queue.append(signal)

    def drop(self, count: int) -> None:
        """Count signals that were lost before they could be offered."""
        self._dropped += count

    def close(self, within_s: float) -> None:
        """Send what is left for at most `within_s`, and count the rest as dropped."""
        self._is_closing = True
        self._wake.set()
        self._thread.join(within_s)
        if self._thread.is_alive():
            self._is_over = True
            self._dropped += len(self._queue) + self._in_flight
            self._queue.clear()
            reasons = (self._error, *(each.reason for each in self._sessions.values()))
            self._error = next(filter(None, reasons), "The collector did not answer in time")
        for exporter in (self._log_exporter, self._span_exporter, self._metric_exporter):
            exporter.shutdown()  # ends the waiting before another attempt

    def _how(self, signal: str) -> dict[str, Any]:
        return {"endpoint": self._options.url(signal), "session": self._sessions[signal]}

    def _observe(self, observed: Observed) -> None:
        meter = self._meters.get_meter(names.SCOPE, __version__)

        def active(_: CallbackOptions) -> Iterable[Observation]:
            for (role, state), count in observed.active().items():
                yield Observation(count, {names.ROLE: role, names.STATE: state})

        def messages(_: CallbackOptions) -> Iterable[Observation]:
            for (role, direction, kind), count in observed.messages().items():
                attributes = {names.ROLE: role, names.DIRECTION: direction, names.KIND: kind}
                yield Observation(count, attributes)

        def findings(_: CallbackOptions) -> Iterable[Observation]:
            for rule, count in observed.findings().items():
                yield Observation(count, {names.RULE: rule})

        def dropped(_: CallbackOptions) -> Iterable[Observation]:
            yield Observation(self._dropped)

        meter.create_observable_up_down_counter(names.ACTIVE, [active], "{job}", "Running jobs")
        meter.create_observable_counter(names.MESSAGES, [messages], "{message}", "Messages")
        meter.create_observable_counter(names.FINDINGS, [findings], "{finding}", "Findings")
        meter.create_observable_counter(names.DROPPED, [dropped], "{signal}", "Signals not sent")

    def _run(self) -> None:
        interval_s = _interval_s()
        metrics_at = time.monotonic() + min(interval_s, 1.0)
        while True:
            self._wake.wait(_EVERY_S)
            self._wake.clear()
            try:
                while self._queue:
                    self._send_batch()
                if self._is_closing or time.monotonic() >= metrics_at:
                    metrics_at = time.monotonic() + interval_s
                    self._send_metrics()
            except Exception:  # noqa: BLE001
                # The one place for internal errors of the thread: the rest is sent.
                _log.exception("telemetry met a defect")
            if self._is_closing and not self._queue:
                return

    def _send_batch(self) -> None:
        for _ in range(min(_BATCH, len(self._queue))):
            try:
                signal = self._queue.popleft()
            except IndexError:  # cleared by `close`
                break
            if type(signal) is LogEvent:
                self._emit(signal)
            elif type(signal) is SpanEnd:
                self._end(signal)
            elif type(signal) is Duration:
                self._durations[signal.metric].record(signal.seconds, signal.attributes)
        records, self._records.emitted = self._records.emitted, []
        spans, self._spans.ended = self._spans.ended, []
        has_logs = bool(records) and self._options.sends("logs")
        has_spans = bool(spans) and self._options.sends("traces")
        self._in_flight = len(records) * has_logs + len(spans) * has_spans
        if has_logs:
            found = self._log_exporter.export(records)
            self._count("logs", len(records), is_sent=found is LogRecordExportResult.SUCCESS)
        if has_spans:
            is_sent = self._span_exporter.export(spans) is SpanExportResult.SUCCESS
            self._count("traces", len(spans), is_sent=is_sent)

    def _send_metrics(self) -> None:
        if self._options.sends("metrics"):
            self._reader.collect()
            if self._metric_exporter.has_failed:  # they are cumulative: the next ones tell it all
                self._error = self._sessions["metrics"].reason or "The metrics were not accepted"

    def _count(self, signal: str, count: int, *, is_sent: bool) -> None:
        if self._is_over:  # they were given up
            return
        self._in_flight -= count
        session = self._sessions[signal]
        dropped = min(session.rejected, count) if is_sent else count
        self._sent += count - dropped
        self._dropped += dropped
        if dropped:
            self._error = session.reason or "The collector did not accept them"
            self._waits = False

    def _emit(self, event: LogEvent) -> None:
        severity = SeverityNumber.WARN if event.is_warning else SeverityNumber.INFO
        record = LogRecord(
            timestamp=_nanoseconds(event.when),
            context=_context(event.context),
            severity_number=severity,
            severity_text=severity.name,
            body=event.body,
            attributes={**event.attributes, names.EVENT_NAME: event.name},
            event_name=event.name,
        )
        self._logger.emit(record)

    def _end(self, end: SpanEnd) -> None:
        self._ids.next = (end.context.trace_id, end.context.span_id)
        span = self._tracer.start_span(
            end.name,
            None if end.parent is None else _context(end.parent),
            SpanKind.CLIENT if end.is_client else SpanKind.INTERNAL,
            end.attributes,
            [Link(_span_context(each)) for each in end.links],
            _nanoseconds(end.began_when),
        )
        if end.error is not None:
            span.set_status(Status(StatusCode.ERROR, end.error))
        span.end(_nanoseconds(end.ended_when))


def _span_context(context: TraceContext) -> SpanContext:
    flags = TraceFlags(context.flags)
    return SpanContext(context.trace_id, context.span_id, is_remote=True, trace_flags=flags)


def _context(context: TraceContext) -> Context:
    return set_span_in_context(NonRecordingSpan(_span_context(context)))


def _nanoseconds(when: float) -> int:
    return min(max(int(when * 1e9), 0), _FAR) if math.isfinite(when) else 0


def _interval_s() -> float:
    """Seconds between two sets of metrics, as the standard variable says it."""
    try:
        chosen = float(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")) / 1000
    except ValueError:
        return _METRICS_S
    return chosen if 0 < chosen < math.inf else _METRICS_S


def _resource() -> Resource:
    """Name this process; the `OTEL_…` variables take precedence."""
    ours = Resource(
        {
            "service.name": APPLICATION,
            "service.version": __version__,
            "service.instance.id": str(uuid.uuid4()),
            "host.name": socket.gethostname() or "unknown",
        }
    )
    chosen = Resource.create()
    kept = dict(chosen.attributes)
    if str(kept.get("service.name", "")).startswith("unknown_service"):
        del kept["service.name"]
    return ours.merge(Resource(kept))
