"""HAR 1.1 and 1.2, as browsers, HTTP debuggers and this program write them.

Each exchange is recorded like one that passes a tap, at the times of its entry. HAR has no times
within a response, so all events of a stream get the time at which it ended. A file may have any
size: its entries are read one by one, in bounded memory.
"""

from __future__ import annotations

import base64
import binascii
import functools
import heapq
import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx2
import msgspec

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.imports.recording import epoch_of
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS, SESSION
from mcp_progress_monitor.tap_http.addresses import TapAddresses
from mcp_progress_monitor.tap_http.exchange import COMPLETE, TappedExchange
from mcp_progress_monitor.tap_http.recorder import WELL_KNOWN, ClientSessions, TapRecorder, outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import FileIO

    from mcp_progress_monitor.imports.recording import ImportedRecording
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tap_http.recorder import ClientSession, TappedRequest

    Headers = list[tuple[str, str]]

_ENTRIES: Final = ("log", "entries")
_SERVERS: Final = 1000
_HEADERS: Final = 500
_LONGEST_S: Final = 30 * 24 * 3600.0
_QUEUED_BYTES: Final = 256 * 1024 * 1024
_PHASES: Final = ("blocked", "dns", "connect", "send", "wait")
_OURS: Final = "_mcp"  # the member in which this program writes what HAR has no field for
_ENDPOINT_EVENT: Final = re.compile(
    rb"(?:[^\r\n]{0,200}\r?\n){0,20}?event: ?endpoint\r?\ndata: ?([^\r\n]{1,2000})\r?\n\r?\n"
)
"""The `endpoint` event of HTTP+SSE and what precedes it (2024-11-05)."""
_NO_TIMES: Final = "The times of events within a response: all have the time at which it ended"
_NO_BYTES: Final = "The exact bytes of bodies: HAR has them as text"
_NO_END: Final = "How connections ended"
_NOT_MCP: Final = "Requests that are not MCP"
_UNREADABLE: Final = "Entries that cannot be read"
_BODILESS: Final = "Bodies of responses, which are not in the file"
_CUT: Final = "The rest of the file, which cannot be read"


class _Entry(NamedTuple):
    """One entry, with defaults for what is missing or invalid."""

    method: str
    url: httpx2.URL
    headers: Headers
    body: bytes
    status: int
    reason: str
    version: str
    answer_headers: Headers
    answer: bytes
    is_body_missing: bool
    is_stream: bool  # whether the response is an event stream
    started: float | None
    answered_s: float
    ended_s: float
    ours: JsonObject

    @property
    def lowercase_headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers}

    @property
    def target(self) -> str:
        return self.url.raw_path.decode("ascii", "replace")

    @property
    def opening(self) -> bytes:
        """The `endpoint` event at the start of an HTTP+SSE stream, sent immediately."""
        is_sse = self.is_stream and self.method == "GET"
        found = _ENDPOINT_EVENT.match(self.answer) if is_sse else None
        return b"" if found is None else found[0]


class OneSession(ClientSessions):
    """The only session of a connection that this program recorded."""

    def of(self, request: TappedRequest) -> ClientSession:
        """The session, started by the first request."""
        return self.open[0] if self.open else super().of(request)


class HarRecorder(TapRecorder):
    """Records the exchanges with one server."""

    def opening(self, request: TappedRequest) -> dict[str, object]:
        fields = super().opening(request)
        del fields["listen"]
        return fields


def read_har(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    """Read a HAR file, pausing by yielding."""
    for what in (_NO_TIMES, _NO_BYTES, _NO_END):
        recording.miss(what)
    servers = _Servers(recording)
    queue = _Queue(recording)
    try:
        for raw in elements(file, _ENTRIES):
            entry = _entry_of(raw)
            recorder = None if entry is None else servers.of(entry)
            if entry is None:
                recording.miss(_UNREADABLE, 1)
            elif recorder is None:
                recording.miss(_NOT_MCP, 1)
            else:
                queue.put(recorder, entry)
            yield
    except JsonStreamError as error:
        recording.miss(f"{_CUT}: {error}")
    yield from queue.rest()


class _Step(NamedTuple):
    """A part of an exchange to record at its time; `order` is its position in the file."""

    when: float
    order: int
    size: int
    recorder: HarRecorder
    apply: Callable[[], None]


class _Queue:
    """Parts of exchanges in order of time, provided that the entries of the file are."""

    def __init__(self, recording: ImportedRecording) -> None:
        self._recording = recording
        self._steps: list[_Step] = []
        self._count = 0
        self._bytes = 0
        self._latest = 0.0

    def put(self, recorder: HarRecorder, entry: _Entry) -> None:
        """Queue the parts of an exchange, and record the parts that come before it."""
        started = self._latest if entry.started is None else entry.started
        self._latest = max(self._latest, started)
        while self._steps and (self._steps[0].when <= started or self._bytes > _QUEUED_BYTES):
            self._apply()
        if entry.is_body_missing:
            self._recording.miss(_BODILESS, 1)
        exchange = TappedExchange(recorder, entry.method, entry.target, entry.headers)
        for part, after_s, size in (
            (_request, 0.0, len(entry.body)),
            (_response_head, entry.answered_s, 0),
            (_response_end, entry.ended_s, len(entry.answer)),
        ):
            self._count += 1
            self._bytes += size
            apply = functools.partial(part, exchange, entry)
            heapq.heappush(
                self._steps, _Step(started + after_s, self._count, size, recorder, apply)
            )

    def rest(self) -> Iterator[None]:
        while self._steps:
            self._apply()
            yield

    def _apply(self) -> None:
        step = heapq.heappop(self._steps)
        self._bytes -= step.size
        self._recording.at(step.when)
        step.apply()
        step.recorder.work()


def _request(exchange: TappedExchange, entry: _Entry) -> None:
    if entry.body:
        exchange.sent(entry.body)
    exchange.sent_all()


def _response_head(exchange: TappedExchange, entry: _Entry) -> None:
    if entry.status:
        # Bodies in HAR are decoded, whatever the header says.
        headers = [each for each in entry.answer_headers if each[0].lower() != "content-encoding"]
        exchange.answered(entry.status, entry.reason, entry.version, headers)
        if entry.opening:
            exchange.received(entry.opening)


def _response_end(exchange: TappedExchange, entry: _Entry) -> None:
    if entry.status and entry.answer:
        exchange.received(entry.answer[len(entry.opening) :])
    reason = entry.ours.get("ended")
    if not isinstance(reason, str):
        is_whole = entry.status and not entry.is_body_missing
        reason = COMPLETE if is_whole else "it is not in the HAR file"
    exchange.ended(reason, "client" if reason.startswith("closed by") else "server")


class _Servers:
    """The servers of a file, by the URL of their endpoints."""

    def __init__(self, recording: ImportedRecording) -> None:
        self._recording = recording
        self._by_endpoint: dict[tuple[str, str], HarRecorder] = {}
        self._by_connection: dict[str, HarRecorder] = {}
        self._names: set[str] = set()

    def of(self, entry: _Entry) -> HarRecorder | None:
        connection = entry.ours.get("connection")
        if isinstance(connection, str) and "#" in connection:
            return self._exported_by_us(entry, connection)
        origin = f"{entry.url.scheme}://{entry.url.netloc.decode('ascii', 'replace')}"
        key = (origin, entry.target.partition("?")[0])
        known = self._by_endpoint.get(key)
        if known is None and entry.target.startswith(WELL_KNOWN):
            known = next((each for (o, _), each in self._by_endpoint.items() if o == origin), None)
        if known is not None or not _is_mcp(entry):
            return known
        made = self._begin(entry, key)
        path = _post_path(entry)
        if made is not None and path is not None:
            self._by_endpoint.setdefault((origin, path), made)
        return made

    def _begin(self, entry: _Entry, key: tuple[str, str]) -> HarRecorder | None:
        if len(self._by_endpoint) >= _SERVERS:
            return None
        name = entry.url.host.replace("#", "-")
        if name in self._names:
            name = f"{name}{key[1]}".replace("#", "-")
        self._names.add(name)
        made = self._made(entry, name)
        if made is not None:
            self._by_endpoint[key] = made
        return made

    def _exported_by_us(self, entry: _Entry, connection: str) -> HarRecorder | None:
        known = self._by_connection.get(connection)
        if known is None and len(self._by_connection) < _SERVERS:
            made = self._made(entry, server_name(connection))
            number = connection.rpartition("#")[2]
            if made is None or not (number.isdigit() and len(number) < 10):
                return None
            made.count = int(number) - 1
            made.sessions = OneSession(made.begin_session)
            known = self._by_connection[connection] = made
        return known

    def _made(self, entry: _Entry, name: str) -> HarRecorder | None:
        try:
            addresses = TapAddresses(str(entry.url.copy_with(query=None, fragment=None)))
        except UserError:
            return None
        recording = self._recording
        return HarRecorder(
            name, addresses, recording, lambda _report: None, recording.clock, recording.numbers
        )


def _is_mcp(entry: _Entry) -> bool:
    """Return whether an exchange is recognisably MCP."""
    headers = entry.lowercase_headers
    names = {name.lower() for name, _ in entry.answer_headers} | set(headers)
    if SESSION in names or "mcp-protocol-version" in names:
        return True
    if entry.body and outline(entry.body, headers).is_message:
        return True
    return bool(entry.opening)


def _post_path(entry: _Entry) -> str | None:
    """The path to which an HTTP+SSE server wants messages posted."""
    found = _ENDPOINT_EVENT.match(entry.opening)
    if found is None:
        return None
    try:
        return entry.url.join(found[1].decode(errors="replace").strip()).path
    except httpx2.InvalidURL:
        return None


def _entry_of(raw: bytes) -> _Entry | None:
    try:
        entry = as_object(msgspec.json.decode(raw))
        request, response = as_object(entry.get("request")), as_object(entry.get("response"))
        url = httpx2.URL(_text(request, "url")).copy_with(userinfo=b"")
    except (msgspec.MsgspecError, ValueError, RecursionError, httpx2.InvalidURL):
        return None
    if url.scheme not in {"http", "https"} or not url.host:
        return None
    content = as_object(response.get("content"))
    answer = _content(content)
    status = response.get("status")
    size = content.get("size")
    answered_s, ended_s = _timings(entry)
    answer_headers = _headers(response) or _mime(content)
    method = _text(request, "method").upper() or "GET"
    is_stream = _value(answer_headers, "content-type").lower().startswith(EVENTS)
    has_body = (type(size) is int and size > 0) or (is_stream and method == "POST")
    return _Entry(
        method=method,
        url=url,
        headers=_headers(request),
        body=_text(as_object(request.get("postData")), "text").encode(errors="replace"),
        status=status if type(status) is int and 100 <= status <= 599 else 0,
        reason=_text(response, "statusText"),
        version=_text(response, "httpVersion"),
        answer_headers=answer_headers,
        answer=answer,
        is_body_missing=has_body and not answer,
        is_stream=is_stream,
        started=epoch_of(_text(entry, "startedDateTime")),
        answered_s=answered_s,
        ended_s=ended_s,
        ours=as_object(entry.get(_OURS)),
    )


def _content(content: JsonObject) -> bytes:
    text = _text(content, "text")
    if _text(content, "encoding") != "base64":
        return text.encode(errors="replace")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def _mime(content: JsonObject) -> Headers:
    kind = _text(content, "mimeType")
    return [("content-type", kind)] if kind else []


def _headers(message: JsonObject) -> Headers:
    found: Any = message.get("headers")
    pairs = found[:_HEADERS] if isinstance(found, list) else []
    read = [(_text(as_object(pair), "name"), _text(as_object(pair), "value")) for pair in pairs]
    # HTTP/2 has pseudo-headers in place of the request line.
    return [(name, value) for name, value in read if name and not name.startswith(":")]


def _timings(entry: JsonObject) -> tuple[float, float]:
    """Seconds from the request to the start of the response, and to its end."""
    timings = as_object(entry.get("timings"))
    answered_s = sum(_seconds(timings.get(phase)) for phase in _PHASES)
    ended_s = max(_seconds(entry.get("time")), answered_s + _seconds(timings.get("receive")))
    return answered_s, ended_s


def _seconds(milliseconds: object) -> float:
    if not isinstance(milliseconds, int | float) or isinstance(milliseconds, bool):
        return 0.0
    is_sound = math.isfinite(milliseconds) and milliseconds > 0
    return min(milliseconds / 1000, _LONGEST_S) if is_sound else 0.0


def _text(members: JsonObject, name: str) -> str:
    found = members.get(name)
    return found if isinstance(found, str) else ""


def _value(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


LARGEST: Final = 256 * 1024 * 1024  # bytes of the largest element
_BLOCK: Final = 1024 * 1024
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}:,]', re.DOTALL)
_LONGEST_KEY: Final = 200


class JsonStreamError(Exception):
    """The file is not JSON, ends early, or has an element that is too large."""


class _Scanner:
    """Reads tokens of a file, and keeps only what starts at `kept`."""

    def __init__(self, file: FileIO) -> None:
        self.kept: int | None = None  # the start of an element in the buffer
        self.end = 0  # the end of the last token in the buffer
        self.buffer = b""
        self._file = file
        self._step = _BLOCK

    def next(self) -> bytes | None:
        """The next token, such as a whole string; None at the end of the file."""
        while True:
            found = _TOKEN.search(self.buffer, self.end)
            # A lone quotation mark starts a string that has not been read to its end.
            if found is not None and found[0] != b'"':
                self.end = found.end()
                self._step = _BLOCK
                return found[0]
            begin = len(self.buffer) if found is None else found.start()
            if not self._read_more(begin):
                return None

    def _read_more(self, begin: int) -> bool:
        """Read more into the buffer, dropping what is before `begin`; False at the end."""
        kept = begin if self.kept is None else self.kept
        data = self._file.read(self._step)
        # A long string is scanned again after each read, so each read is twice as large.
        self._step *= 2
        if not data:
            if begin < len(self.buffer):
                raise JsonStreamError("it ends within a string")
            return False
        self.buffer = self.buffer[kept:] + data
        self.end = begin - kept
        if self.kept is not None:
            self.kept = 0
        if len(self.buffer) > LARGEST:
            raise JsonStreamError("it has an element that is too large")
        return True


def elements(file: FileIO, path: Sequence[str]) -> Iterator[bytes]:
    """The raw elements of the array at `path`, a path of nested object keys.

    Raises:
        JsonStreamError: the rest cannot be read.
    """
    scanner = _Scanner(file)
    _find(scanner, path)
    depth = 0
    while (token := scanner.next()) is not None:
        if token in {b"{", b"["}:
            if not depth:
                scanner.kept = scanner.end - 1
            depth += 1
        elif token in {b"}", b"]"}:
            depth -= 1
            if depth < 0 and token == b"]":
                return
            if depth < 0:
                break
            if not depth and scanner.kept is not None:
                element = scanner.buffer[scanner.kept : scanner.end]
                scanner.kept = None
                yield element
    raise JsonStreamError("it ends within the list")


def _find(scanner: _Scanner, path: Sequence[str]) -> None:
    depth, matched = 0, 0
    key = ""
    before = b""
    while (token := scanner.next()) is not None:
        if token == b":" and depth == matched + 1:
            key = _key(before)
        elif token in {b"{", b"["}:
            is_wanted = depth == matched + 1 and matched < len(path) and key == path[matched]
            if is_wanted:
                matched += 1
                if matched == len(path) and token == b"[":
                    return
            depth += 1
            key = ""
        elif token in {b"}", b"]"}:
            depth -= 1
            matched = min(matched, max(depth - 1, 0))
            key = ""
        elif token == b",":
            key = ""
        before = token
    raise JsonStreamError(f"it has no {'.'.join(path)}")


def _key(token: bytes) -> str:
    if len(token) > _LONGEST_KEY:
        return ""
    try:
        found = json.loads(token)
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""
