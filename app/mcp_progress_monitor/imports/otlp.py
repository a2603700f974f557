"""MCP calls in OpenTelemetry's data as messages: spans, and this program's log events (OTLP 1.x).

A span names a request, its times and how it ended, as the conventions for MCP say
(`semantic-conventions-genai` v0.1.0) and the official SDKs write it. Parameters and results are in
it only if the sender was told so. So each message is made with the least that its method demands,
and a request whose reply would be made up, such as a handshake or a list, is left out.

The log events of this program report a job while it runs, so the span that follows is ignored.
"""

from __future__ import annotations

import heapq
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from mcp_progress_monitor import telemetry_names as names
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    CALLS,
    CANCELLED,
    GET_PROMPT,
    META,
    PROGRESS,
    PROGRESS_TOKEN,
    READ_RESOURCE,
)
from mcp_progress_monitor.recording.reader import read_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

    from mcp_progress_monitor.imports.recording import ImportedRecording

_K = TypeVar("_K")
_V = TypeVar("_V")
_HEAD: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:')
_WHOLE: Final = 128 * 1024 * 1024  # of a document on several lines
_QUEUED: Final = 500_000  # messages that are sorted by time
_OPEN_IDS: Final = 100_000
_TIMES: Final = 1 << 64  # nanoseconds that OTLP can carry
_CONNECTIONS: Final = 10_000
_LONGEST_NAME: Final = 200
_INTERNAL_ERROR: Final = -32603
_CLIENT: Final = frozenset({3, "SPAN_KIND_CLIENT"})
_FAILED: Final = frozenset({2, "STATUS_CODE_ERROR"})
_OPEN_JOBS: Final = 100_000
_JOB_EVENTS: Final = frozenset(
    {
        names.STARTED,
        names.PROGRESSED,
        names.SILENCE,
        names.STALLED,
        names.QUESTION,
        names.RESUMABLE,
        names.FINISHED,
    }
)
_LEAST_RESULTS: Final[dict[str, dict[str, Any]]] = {
    CALL_TOOL: {"content": []},
    READ_RESOURCE: {"contents": []},
    GET_PROMPT: {"messages": []},
}

_NO_BYTES: Final = "The bytes of messages: they were made from spans"
_NO_PROGRESS: Final = "Progress, log messages and questions, which spans do not have"
_NO_CONTENT: Final = "Parameters and results, where the sender was not told to add them"
_LEFT_OUT: Final = "Handshakes, lists and notifications, whose content is not in spans"
_NOT_MCP: Final = "Spans of something else than MCP"
_OTHER_LOGS: Final = "Log records that are not of this program's jobs"
_METRICS: Final = "Metrics, which say nothing of single requests"
_UNREADABLE: Final = "Lines that are not in this format"


class _Value(msgspec.Struct, frozen=True, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None  # text in JSON, as other 64-bit numbers
    double_value: float | str | None = None  # text for NaN and the infinities

    @property
    def plain(self) -> str:
        """The value as text; empty for lists, maps and bytes."""
        for value in (self.string_value, self.int_value, self.double_value, self.bool_value):
            if value is not None:
                return str(value)
        return ""


class _Attribute(msgspec.Struct, frozen=True):
    key: str = ""
    value: _Value = _Value()


class _Attributed(msgspec.Struct, frozen=True, rename="camel"):
    attributes: list[_Attribute] = []

    @property
    def named(self) -> dict[str, str]:
        """The attributes as text, by their names."""
        return {each.key: each.value.plain for each in self.attributes}


class _Status(msgspec.Struct, frozen=True):
    message: str = ""
    code: int | str = 0


class _Span(_Attributed, frozen=True, rename="camel"):
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    status: _Status = _Status()


class _LogRecord(_Attributed, frozen=True, rename="camel"):
    time_unix_nano: int | str = 0
    observed_time_unix_nano: int | str = 0
    span_id: str = ""
    event_name: str = ""


class _Scope(msgspec.Struct, frozen=True, rename="camel"):
    spans: list[_Span] = []
    log_records: list[_LogRecord] = []


class _OfResource(msgspec.Struct, frozen=True, rename="camel"):
    resource: _Attributed = _Attributed()
    scope_spans: list[_Scope] = []
    scope_logs: list[_Scope] = []


class _Job(NamedTuple):
    """A job reported by log events; its first span names it and is its token."""

    connection: str
    method: str
    id: str
    progress: float | None = None


class Batch(msgspec.Struct, frozen=True, rename="camel"):
    """The signals of one request, or of one line of a file."""

    resource_spans: list[_OfResource] = []
    resource_logs: list[_OfResource] = []
    resource_metrics: list[msgspec.Raw] = []


class Message(NamedTuple):
    """A message made from telemetry; `when` is in seconds since the epoch."""

    when: float
    connection: str
    is_sent: bool
    raw: bytes


_decoder: Final = msgspec.json.Decoder(Batch)


def decode_batch(data: bytes) -> Batch:
    """Decode OTLP in JSON. `ValueError` if it is anything else."""
    try:
        return _decoder.decode(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def is_otlp(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def read_otlp(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    """Read a file of the collector's file exporter, or one document, however it is formatted."""
    for what in (_NO_BYTES, _NO_PROGRESS, _NO_CONTENT):
        recording.miss(what)
    made = SpanMessages(recording.miss)
    waiting: list[tuple[float, int, Message]] = []
    count = 0
    for batch in _batches(file, recording):
        for message in made.of(batch):
            count += 1
            heapq.heappush(waiting, (message.when, count, message))
        while len(waiting) > _QUEUED:
            _record(heapq.heappop(waiting)[2], recording)
        yield
    while waiting:
        _record(heapq.heappop(waiting)[2], recording)
        yield


def _record(message: Message, recording: ImportedRecording) -> None:
    recording.at(message.when)
    (recording.sent if message.is_sent else recording.received)(message.connection, message.raw)


def _batches(file: FileIO, recording: ImportedRecording) -> Iterator[Batch]:
    """Decode each line, or the whole file if its first line is not a complete document."""
    is_first = True
    for block in read_blocks(file, 0):
        if block is None:
            continue
        if block.size is not None:
            recording.miss(_UNREADABLE, 1)
            continue
        for line in block.lines:
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text:
                continue
            try:
                yield decode_batch(text)
            except ValueError:
                if is_first:
                    yield from _document(file, recording)
                    return
                recording.miss(_UNREADABLE, 1)
            is_first = False


def _document(file: FileIO, recording: ImportedRecording) -> Iterator[Batch]:
    file.seek(0)
    data = file.read(_WHOLE)  # what is cut off makes it unreadable
    try:
        yield decode_batch(data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        recording.miss(_UNREADABLE, 1)


class SpanMessages:
    """Makes messages of batches, in the order in which they come."""

    def __init__(self, miss: Callable[[str, int], object]) -> None:
        """`miss` is called with something that is not in the messages, and how many there are."""
        self._miss = miss
        self._connections: dict[tuple[str, ...], str] = {}
        self._numbers: dict[str, int] = {}
        self._ended: dict[tuple[str, str], float] = {}
        self._jobs: dict[str, _Job] = {}
        self._over: dict[str, None] = {}

    def of(self, batch: Batch) -> Iterator[Message]:
        """The messages of a batch."""
        if batch.resource_metrics:
            self._miss(_METRICS, len(batch.resource_metrics))
        for of_resource in batch.resource_logs:
            resource = of_resource.resource.named
            for scope in of_resource.scope_logs:
                for record in scope.log_records:
                    yield from self._of_log(record, resource)
        for of_resource in batch.resource_spans:
            resource = of_resource.resource.named
            for scope in of_resource.scope_spans:
                for span in scope.spans:
                    yield from self._of_span(span, resource)

    def _of_log(self, record: _LogRecord, resource: dict[str, str]) -> Iterator[Message]:
        named = record.named
        event = record.event_name or named.get(names.EVENT_NAME, "")
        when = _seconds(record.time_unix_nano) or _seconds(record.observed_time_unix_nano)
        if not (event in _JOB_EVENTS and record.span_id and named.get(names.METHOD) in CALLS):
            self._miss(_OTHER_LOGS, 1)
            return
        key = named.get(names.JOB) or record.span_id  # a resumed job has several spans
        job = self._jobs.get(key)
        if job is None:
            if key in self._over:
                return
            job = self._begin(key, named, resource)
            elapsed_s = min(max(_float(named.get(names.ELAPSED, "")) or 0.0, 0.0), when)
            params = _params(job.method, "", named)
            params[META] = {PROGRESS_TOKEN: job.id}
            yield _request(when - elapsed_s, job.connection, job.id, job.method, params)
        progress = _float(named.get(names.PROGRESS, ""))
        # The end may name progress of which no other event told.
        if progress is not None and (event == names.PROGRESSED or progress != job.progress):
            self._jobs[key] = job._replace(progress=progress)
            yield _progress(when, job, progress, named)
        if event == names.FINISHED:
            del self._jobs[key]
            _keep(self._over, key, None, _OPEN_JOBS)
            status = _Status(named.get(names.MESSAGE, ""))
            reply, is_sent = _reply(job.method, job.id, named, status, is_client=True)
            yield Message(when, job.connection, is_sent, encode({"jsonrpc": "2.0", **reply}))

    def _begin(self, span: str, named: dict[str, str], resource: dict[str, str]) -> _Job:
        server, host = named.get(names.SERVER, ""), resource.get("host.name", "")
        label = f"{server} ({host})" if host else server
        key = (resource.get("service.instance.id", ""), label)
        job = _Job(self._named(key, label), named[names.METHOD], span)
        _keep(self._jobs, span, job, _OPEN_JOBS)
        return job

    def _of_span(self, span: _Span, resource: dict[str, str]) -> Iterator[Message]:
        named = span.named
        method = named.get(names.METHOD, "")
        key = named.get(names.JOB) or span.span_id
        if key in self._jobs or key in self._over:
            return
        if method not in CALLS:
            self._miss(_LEFT_OUT if method else _NOT_MCP, 1)
            return
        end = _seconds(span.end_time_unix_nano)
        begin = _seconds(span.start_time_unix_nano) or end
        is_client = span.kind in _CLIENT
        connection = self._connection(resource, named.get("mcp.session.id", ""), is_client)
        id_ = self._id(connection, named.get(names.REQUEST_ID, ""), span.span_id, begin, end)
        params = _params(method, span.name, named)
        yield _request(begin, connection, id_, method, params)
        reply, is_sent = _reply(method, id_, named, span.status, is_client=is_client)
        yield Message(max(begin, end), connection, is_sent, encode({"jsonrpc": "2.0", **reply}))

    def _connection(self, resource: dict[str, str], session: str, is_client: bool) -> str:
        service = resource.get("service.name", "")
        label = f"{service} (client)" if is_client else service
        return self._named((resource.get("service.instance.id", ""), session, label), label)

    def _named(self, key: tuple[str, ...], label: str) -> str:
        """The connection of `key`, which is unique; its server is called `label`."""
        known = self._connections.get(key)
        if known is None:
            name = (label or "unknown service")[:_LONGEST_NAME].replace("#", "-")
            number = self._numbers.get(name, 0) + 1
            _keep(self._numbers, name, number, _CONNECTIONS)
            known = f"{name}#{number}"
            _keep(self._connections, key, known, _CONNECTIONS)
        return known

    def _id(self, connection: str, id_: str, span: str, begin: float, end: float) -> str | int:
        """The request's id, or the span's if that is missing or in use at that time."""
        key = (connection, id_)
        if not id_ or begin < self._ended.get(key, -math.inf):
            return span or id_
        _keep(self._ended, key, end, _OPEN_IDS)
        return int(id_) if re.fullmatch(r"-?[1-9]\d{0,14}|0", id_) else id_


def _params(method: str, name: str, named: dict[str, str]) -> dict[str, Any]:
    if method == READ_RESOURCE:
        return {"uri": named.get(names.RESOURCE_URI, "")}
    target = named.get(names.TOOL_NAME) or named.get(names.PROMPT_NAME)
    target = target or name.partition(method)[2].strip()
    return {"name": target, "arguments": _object(named.get(names.ARGUMENTS, "")) or {}}


def _request(
    when: float, connection: str, id_: str | int, method: str, params: dict[str, Any]
) -> Message:
    raw = encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
    return Message(when, connection, True, raw)


def _progress(when: float, job: _Job, progress: float, named: dict[str, str]) -> Message:
    params: dict[str, Any] = {PROGRESS_TOKEN: job.id, "progress": progress}
    total = _float(named.get(names.TOTAL, ""))
    if total is not None:
        params["total"] = total
    if named.get(names.MESSAGE):
        params["message"] = named[names.MESSAGE]
    raw = encode({"jsonrpc": "2.0", "method": PROGRESS, "params": params})
    return Message(when, job.connection, False, raw)


def _reply(
    method: str, id_: str | int, named: dict[str, str], status: _Status, *, is_client: bool
) -> tuple[dict[str, Any], bool]:
    """A message that ends the request, without its version, and if the client sent it."""
    kind = named.get(names.ERROR_TYPE, "")
    code = named.get(names.STATUS_CODE, "") or kind
    if re.fullmatch(r"-?\d{1,9}", code):
        return {"id": id_, "error": {"code": int(code), "message": status.message}}, False
    if kind == names.TOOL_ERROR:
        return {"id": id_, "result": _result(method, named, status.message, is_error=True)}, False
    if not kind and status.code not in _FAILED:
        return {"id": id_, "result": _result(method, named, "")}, False
    reason = status.message or kind
    if is_client:  # it gave up: no reply came
        return {"method": CANCELLED, "params": {"requestId": id_, "reason": reason}}, True
    return {"id": id_, "error": {"code": _INTERNAL_ERROR, "message": reason}}, False


def _result(
    method: str, named: dict[str, str], text: str, *, is_error: bool = False
) -> dict[str, Any]:
    least = _LEAST_RESULTS[method]
    if method != CALL_TOOL:
        return least
    text = named.get(names.RESULT, "") or text
    found = _object(text)
    if found is not None and isinstance(found.get("content"), list):
        return found
    result = {"content": [{"type": "text", "text": text}]} if text else least
    return {**result, "isError": True} if is_error else result


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value


def _keep(into: dict[_K, _V], key: _K, value: _V, most: int) -> None:
    """Set an entry; beyond `most`, the oldest goes."""
    if key not in into and len(into) >= most:
        del into[next(iter(into))]
    into[key] = value


def _seconds(nanoseconds: int | str) -> float:
    """Seconds since the epoch; 0, which means unknown, if OTLP cannot carry them."""
    try:
        found = int(nanoseconds)
    except ValueError:
        return 0.0
    return found / 1e9 if 0 < found < _TIMES else 0.0
