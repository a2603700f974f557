"""HAR 1.1 and 1.2, as browsers, HTTP debuggers and this program write them.

Each exchange takes the way of one that passes a tap, at the times that its entry gives. HAR has no
times within a response, so all events of a stream come when it ended. A file may have any size: its
entries are found one by one, in bounded memory.
"""

from __future__ import annotations

import base64
import binascii
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
from mcp_progress_monitor.tap_http.client_sessions import ClientSessions, outline
from mcp_progress_monitor.tap_http.exchange import COMPLETE, TappedExchange
from mcp_progress_monitor.tap_http.recorder import TapRecorder
from mcp_progress_monitor.tap_http.sign_in import WELL_KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

    from mcp_progress_monitor.imports.recording import ImportedRecording
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tap_http.client_sessions import ClientSession, TappedRequest

    Headers = list[tuple[str, str]]
    from collections.abc import Sequence

_ENTRIES: Final = ("log", "entries")
_SERVERS: Final = 1000
_HEADERS: Final = 500
_LONGEST_S: Final = 30 * 24 * 3600.0
_HELD_BYTES: Final = 256 * 1024 * 1024
_PHASES: Final = ("blocked", "dns", "connect", "send", "wait")
_OURS: Final = "_mcp"  # the member of an entry in which this program says what HAR has no place for
_PLACE: Final = re.compile(
    rb"(?:[^\r\n]{0,200}\r?\n){0,20}?event: ?endpoint\r?\ndata: ?([^\r\n]{1,2000})\r?\n\r?\n"
)
"""The event `endpoint` of HTTP+SSE and what precedes it (2024-11-05)."""
_NO_TIMES: Final = "The times of events within a response: all have the time at which it ended"
_NO_BYTES: Final = "The bytes of bodies as they were: HAR has them as text"
_NO_END: Final = "How connections ended"
_NOT_MCP: Final = "Requests that are not MCP"
_UNREADABLE: Final = "Entries that cannot be read"
_BODILESS: Final = "Bodies of responses, which are not in the file"
_CUT: Final = "The rest of the file, which cannot be read"


class _Entry(NamedTuple):
    """One entry, as far as it is what it should be."""

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
    begun: float | None
    answered_s: float
    ended_s: float
    ours: JsonObject

    @property
    def asked(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers}

    @property
    def target(self) -> str:
        return self.url.raw_path.decode("ascii", "replace")

    @property
    def opening(self) -> bytes:
        """What a stream of HTTP+SSE begins with: where to post, which comes at once."""
        found = _PLACE.match(self.answer) if self.is_stream and self.method == "GET" else None
        return b"" if found is None else found[0]


class OneSession(ClientSessions):
    """The one session of a connection that this program recorded."""

    def of(self, asked: TappedRequest) -> ClientSession:
        """The session, which begins with the first request."""
        return self.open[0] if self.open else super().of(asked)


class HarRecorder(TapRecorder):
    """Records the exchanges with one server."""

    def opening(self, asked: TappedRequest) -> dict[str, object]:
        fields = super().opening(asked)
        del fields["listen"]
        return fields


def read_har(file: FileIO, recording: ImportedRecording) -> Iterator[None]:
    """Read a HAR file, pausing by yielding. `UserError` if nothing of it can be read."""
    for what in (_NO_TIMES, _NO_BYTES, _NO_END):
        recording.miss(what)
    servers = _Servers(recording)
    line = _Line(recording)
    try:
        for raw in elements(file, _ENTRIES):
            entry = _entry_of(raw)
            recorder = None if entry is None else servers.of(entry)
            if entry is None:
                recording.miss(_UNREADABLE, 1)
            elif recorder is None:
                recording.miss(_NOT_MCP, 1)
            else:
                line.put(recorder, entry)
            yield
    except JsonStreamError as error:
        recording.miss(f"{_CUT}: {error}")
    yield from line.rest()


class _Step(NamedTuple):
    """A part of an exchange that is to be recorded at its time; `order` is that of the file."""

    when: float
    order: int
    size: int
    apply: Callable[[], None]


class _Line:
    """Parts of exchanges, in the order of their times as far as the file is in that of its own."""

    def __init__(self, recording: ImportedRecording) -> None:
        self._recording = recording
        self._steps: list[_Step] = []
        self._count = 0
        self._held = 0
        self._latest = 0.0

    def put(self, recorder: HarRecorder, entry: _Entry) -> None:
        """Put the parts of an exchange in line, and record those that come before it."""
        begun = self._latest if entry.begun is None else entry.begun
        self._latest = max(self._latest, begun)
        while self._steps and (self._steps[0].when <= begun or self._held > _HELD_BYTES):
            self._apply()
        exchange = TappedExchange(recorder, entry.method, entry.target, entry.headers)
        for part, after_s, size in (
            (_Request(recorder, exchange, entry), 0.0, len(entry.body)),
            (_Head(recorder, exchange, entry), entry.answered_s, 0),
            (_End(self._recording, recorder, exchange, entry), entry.ended_s, len(entry.answer)),
        ):
            self._count += 1
            self._held += size
            heapq.heappush(self._steps, _Step(begun + after_s, self._count, size, part.apply))

    def rest(self) -> Iterator[None]:
        while self._steps:
            self._apply()
            yield

    def _apply(self) -> None:
        step = heapq.heappop(self._steps)
        self._held -= step.size
        self._recording.at(step.when)
        step.apply()


class _Request(NamedTuple):
    """The request of an exchange."""

    recorder: HarRecorder
    exchange: TappedExchange
    entry: _Entry

    def apply(self) -> None:
        if self.entry.body:
            self.exchange.sent(self.entry.body)
        self.exchange.sent_all()
        self.recorder.work()


class _Head(NamedTuple):
    """The head of a response."""

    recorder: HarRecorder
    exchange: TappedExchange
    entry: _Entry

    def apply(self) -> None:
        entry = self.entry
        if entry.status:
            # HAR has decoded bodies, whatever the header says.
            headers = [each for each in entry.answer_headers if each[0].lower() != _CODING]
            self.exchange.answered(entry.status, entry.reason, entry.version, headers)
            if entry.opening:
                self.exchange.received(entry.opening)
        self.recorder.work()


_CODING: Final = "content-encoding"


class _End(NamedTuple):
    """The body of a response, and the end of the exchange."""

    recording: ImportedRecording
    recorder: HarRecorder
    exchange: TappedExchange
    entry: _Entry

    def apply(self) -> None:
        entry, exchange = self.entry, self.exchange
        if entry.status and entry.answer:
            exchange.received(entry.answer[len(entry.opening) :])
        if entry.is_body_missing:
            self.recording.miss(_BODILESS, 1)
        reason = entry.ours.get("ended")
        if not isinstance(reason, str):
            is_whole = entry.status and not entry.is_body_missing
            reason = COMPLETE if is_whole else "it is not in the HAR file"
        exchange.ended(reason, "client" if reason.startswith("closed by") else "server")
        self.recorder.work()


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
            return self._of_ours(entry, connection)
        origin = f"{entry.url.scheme}://{entry.url.netloc.decode('ascii', 'replace')}"
        key = (origin, entry.target.partition("?")[0])
        known = self._by_endpoint.get(key)
        if known is None and entry.target.startswith(WELL_KNOWN):
            known = next((each for (o, _), each in self._by_endpoint.items() if o == origin), None)
        if known is not None or not _is_mcp(entry):
            return known
        made = self._begin(entry, key)
        place = _told_place(entry)
        if made is not None and place is not None:
            self._by_endpoint.setdefault((origin, place), made)
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

    def _of_ours(self, entry: _Entry, connection: str) -> HarRecorder | None:
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
        return HarRecorder(name, addresses, recording, _ignore, recording.clock, recording.numbers)


def _ignore(_line: str) -> None:
    """What a tap would report while it runs is in the recording."""


def _is_mcp(entry: _Entry) -> bool:
    """Whether an exchange is one of MCP, as far as it shows."""
    headers = entry.asked
    names = {name.lower() for name, _ in entry.answer_headers} | set(headers)
    if SESSION in names or "mcp-protocol-version" in names:
        return True
    if entry.body and outline(entry.body, headers).is_message:
        return True
    return bool(entry.opening)


def _told_place(entry: _Entry) -> str | None:
    """The path to which a server of HTTP+SSE wants messages."""
    found = _PLACE.match(entry.opening)
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
        begun=epoch_of(_text(entry, "startedDateTime")),
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
    # HTTP/2 writes what stands in the first line of a request as headers.
    return [(name, value) for name, value in read if name and not name.startswith(":")]


def _timings(entry: JsonObject) -> tuple[float, float]:
    """Seconds from the beginning until the response came, and until it ended."""
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


LARGEST: Final = 256 * 1024 * 1024  # an element with more bytes is given up
_BLOCK: Final = 1024 * 1024
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["\[\]{}:,]', re.DOTALL)
_LONGEST_KEY: Final = 200


class JsonStreamError(Exception):
    """The file is no JSON, ends too early, or has something larger than is held."""


class _Scanner:
    """Tokens of a file. What was passed is let go of, but for what begins at `kept`."""

    def __init__(self, file: FileIO) -> None:
        self.kept: int | None = None  # where an element begins in the buffer
        self.end = 0  # where the last token ends in the buffer
        self.buffer = b""
        self._file = file
        self._step = _BLOCK

    def next(self) -> bytes | None:
        """The next token, a string as a whole; None at the end of the file."""
        while True:
            found = _TOKEN.search(self.buffer, self.end)
            # A quotation mark alone is a string whose end is still to come.
            if found is not None and found[0] != b'"':
                self.end = found.end()
                self._step = _BLOCK
                return found[0]
            begin = len(self.buffer) if found is None else found.start()
            if not self._read_on(begin):
                return None

    def _read_on(self, begin: int) -> bool:
        """Have more in the buffer, of which all before `begin` is read; False at the end."""
        kept = begin if self.kept is None else self.kept
        data = self._file.read(self._step)
        # A long string is looked through again each time: each time there is twice as much of it.
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
    """The objects in the array at `path`, below an object each, as they stand in the file.

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
