"""Records one request and its response as they pass a tap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import httpx2

from mcp_progress_monitor.protocol.messages import INITIALIZE
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS, SESSION
from mcp_progress_monitor.sessions.transport.http.errors import HttpAnswer
from mcp_progress_monitor.sessions.transport.http.receive_queue import EventStream
from mcp_progress_monitor.sessions.transport.http.record import BODY_KEPT
from mcp_progress_monitor.sessions.transport.http.transport import is_message
from mcp_progress_monitor.tap_http import recorder
from mcp_progress_monitor.tap_http.addresses import ENDPOINT
from mcp_progress_monitor.tap_http.recorder import (
    FULL,
    MOST_WAITING,
    TappedRequest,
    is_per_request,
    outline,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.protocol.sse import SseEvent, SseTooLargeError
    from mcp_progress_monitor.sessions.transport.http.record import RecordedExchange
    from mcp_progress_monitor.tap_http.recorder import ClientSession, MessageOutline, TapRecorder

    Headers = list[tuple[str, str]]

COMPLETE: Final = "complete"
CLIENT_GONE: Final = "closed by the client"
NOT_SENT: Final = "not sent"
_CODED: Final = "the server compressed it ({}) although that was not accepted"
_AFTER_GAP: Final = "what came before it is missing"
_AUTHORIZATION: Final = "authorization"
_CUT: Final = "the client's request is incomplete or compressed"
_CANCELLED: Final = "The client closed the stream, which cancels the request"
_FORGOTTEN: Final = "The server no longer knows the session"
_ENDED: Final = "The client ended the session"
_BLANK_LINE: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")
_ELSEWHERE: Final = 202


class _Gap:
    """Counts what was not recorded."""

    def __init__(self) -> None:
        self.size = 0
        self.messages = 0

    def add(self, size: int, messages: int) -> None:
        self.size += size
        self.messages += messages

    def take(self) -> tuple[int, int]:
        counted = self.size, self.messages
        self.size = self.messages = 0
        return counted


class _StreamSink:
    """Reads the events of a response; after a gap, from the next blank line on."""

    def __init__(
        self, session: ClientSession, exchange: int, on_other: Callable[[SseEvent], None]
    ) -> None:
        self._source = session.inbound, exchange, on_other
        self._stream = EventStream(*self._source, MOST_WAITING)
        self._skips = False
        self._skipped = _Gap()

    @property
    def held_bytes(self) -> int:
        return self._stream.held_bytes

    @property
    def has_reply(self) -> bool:
        """True if the last message was a reply to any request."""
        return self._stream.ended_with_reply

    @property
    def last_event_id(self) -> str | None:
        return self._stream.last_event_id

    @property
    def retry_ms(self) -> int | None:
        return self._stream.retry_ms

    @property
    def too_large(self) -> SseTooLargeError | None:
        return self._stream.too_large

    def add(self, data: bytes) -> None:
        if self._skips:
            found = _BLANK_LINE.search(data)
            end = len(data) if found is None else found.end()
            self._skipped.add(end, 0 if found is None else 1)
            self._skips = found is None
            data = data[end:]
        if data:
            self._stream.add(data)

    def resynchronise(self) -> None:
        """Continue after a gap."""
        self._stream.end()
        self._stream = EventStream(*self._source, MOST_WAITING)
        self._skips = True

    def left_out(self) -> tuple[int, int]:
        """The bytes and messages that were skipped, once the next event starts."""
        return (0, 0) if self._skips else self._skipped.take()

    def end(self) -> None:
        self._stream.end()


class _BodySink:
    """Keeps a body that is not a stream: a whole message, or the start of anything else."""

    last_event_id = None
    retry_ms = None
    too_large = None

    def __init__(self, most: int) -> None:
        self.body = bytearray()
        self.size = 0
        self.has_reply = False
        self._most = most

    @property
    def held_bytes(self) -> int:
        return len(self.body)

    @property
    def is_whole(self) -> bool:
        return self.size == len(self.body)

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.body += data[: max(self._most - len(self.body), 0)]

    def resynchronise(self) -> None:
        self.size += 1  # so that it does not count as whole
        del self.body[BODY_KEPT:]
        self._most = BODY_KEPT

    def left_out(self) -> tuple[int, int]:
        return 0, 0

    def end(self) -> None:
        pass


class TappedExchange:
    """One request and its response.

    The proxy calls `sent`, `sent_all`, `answered`, `received` and `ended` before it passes on what
    they are about; they queue copies and never wait. The recorder does the rest later.
    """

    def __init__(
        self,
        tap: TapRecorder,
        method: str,
        target: str,
        headers: Headers,
        *,
        url: str = "",
        body: str = "",
    ) -> None:
        """Record a request to the server; or one of a sign-in, to `url` with `body`.

        What is given of a sign-in must be without secrets.
        """
        self._tap = tap
        self._url = url
        self._shown_body = body
        self._method = method
        self._target = target
        self._headers = headers
        self._asked = {name.lower(): value for name, value in headers}
        self._credentials = {n: v for n, v in self._asked.items() if n == _AUTHORIZATION}
        self._body = bytearray()
        self._is_sent = False
        self._gap = _Gap()
        self._counted = 0
        self._session: ClientSession | None = None
        self._exchange: RecordedExchange | None = None
        self._message: MessageOutline | None = None
        self._request: int | None = None
        """The frame of the request whose reply is due on this exchange."""
        self._is_at_endpoint = False
        self._is_session_stream = False
        self._answer: HttpAnswer | None = None
        self._sink: _StreamSink | _BodySink | None = None
        self._size = 0
        self._is_failed = False

    # What passes

    def sent(self, data: bytes) -> None:
        if self._gap.size or not self._tap.has_room(len(data)):
            self._gap.add(len(data) + len(self._body), 0)
            self._body.clear()
        else:
            self._body += data
        self._count_held()

    def signed(self, headers: httpx2.Headers) -> None:
        """The tap has signed the request: what is recorded must not have the token."""
        self._credentials = {n: v for n, v in headers.items() if n == _AUTHORIZATION}

    def sent_all(self) -> None:
        """The request is complete; called before the last piece of its body is passed on."""
        if not self._is_sent:
            self._is_sent = True
            lost, _ = self._gap.take()
            self._put(self._record_request(lost, is_whole=True))

    def answered(self, status: int, reason: str, version: str, headers: Headers) -> None:
        self._put(self._record_response(status, reason, version, headers))

    def received(self, data: bytes) -> None:
        if not self._tap.has_room(len(data)):
            self._gap.add(len(data), len(_BLANK_LINE.findall(data)))
            return
        self._put_gap()
        self._put(self._record_piece(data), len(data))

    def changed(self, fields: dict[str, object]) -> None:
        """A script changed a message; the request is complete."""
        self._put(self._record_change(fields))

    def ended(self, reason: str, ended_by: str) -> None:
        """The exchange has ended; `ended_by` is `server`, `client` or `tap`."""
        if not self._is_sent:
            self._is_sent = True
            lost, _ = self._gap.take()
            self._put(self._record_request(lost, is_whole=False))
        self._put_gap()
        self._put(self._record_end(reason, ended_by))

    def _put(self, pieces: Iterator[None], size: int = 0) -> None:
        self._tap.put(self._contained(pieces), size)

    def _contained(self, pieces: Iterator[None]) -> Iterator[None]:
        """Run a step of the recording; its failure costs the rest of this exchange's recording."""
        if self._is_failed:
            return
        try:
            yield from pieces
        except Exception as error:  # noqa: BLE001  # what is watched must go on
            self._is_failed = True
            why = self._tap.report_failure(error)
            self._body.clear()
            self._sink = None
            self._count_held()
            if self._session is not None:
                self._event("not_recorded", bytes=self._size, messages=1, why=why)
                try:
                    yield from self._tap.drain(self._session)
                finally:
                    self._leave(why, "tap")

    def _put_gap(self) -> None:
        if self._gap.size:
            self._put(self._record_gap(*self._gap.take()))

    def _count_held(self) -> None:
        held = len(self._body) + (0 if self._sink is None else self._sink.held_bytes)
        self._tap.held_bytes += held - self._counted
        self._counted = held

    # What is recorded

    def _record_request(self, lost: int, *, is_whole: bool) -> Iterator[None]:
        tap, raw, headers = self._tap, bytes(self._body), self._asked
        self._body.clear()
        is_readable = is_whole and "content-encoding" not in headers
        found = outline(raw, headers) if raw and is_readable else None
        self._is_at_endpoint = tap.is_endpoint(self._target)
        self._message = found if self._is_at_endpoint or (found and found.is_message) else None
        request = TappedRequest(self._method, self._target, headers, self._message)
        self._session = session = tap.sessions.of(request)
        session.is_listening |= request.is_listening
        self._learn_secrets(session)
        yield from tap.drain(session)
        carried = None
        if self._message is not None:
            carried = tap.take_sent(session, raw)
            if self._message.id is not None:
                self._request = carried
                session.open_ids.add(self._message.id)
        elif self._is_at_endpoint and (raw or lost):
            why = FULL if lost else _CUT
            self._event("not_recorded", bytes=lost or len(raw), messages=1, why=why)
        url = self._url or tap.addresses.upstream_url(self._target)
        purpose = self._purpose(request)
        self._exchange = session.record.sent(
            self._method, url, self._headers, purpose, carried, self._shown_body
        )
        self._count_held()
        yield from tap.drain(session)

    def _learn_secrets(self, session: ClientSession) -> None:
        session.record.redactor.learn({}, self._credentials, str(self._tap.addresses.upstream))

    def _purpose(self, request: TappedRequest) -> str:
        if self._url or self._target.startswith(recorder.WELL_KNOWN):
            return "auth"
        if not self._is_at_endpoint and self._message is None:
            return "other"
        if request.method == "GET":
            return "resume" if "last-event-id" in request.headers else "listen"
        return {"POST": "message", "DELETE": "end"}.get(request.method, "other")

    def _record_response(
        self, status: int, reason: str, version: str, headers: Headers
    ) -> Iterator[None]:
        session, exchange = self._known()
        # As bytes: any from 0x80 up may come, and text would be encoded as ASCII.
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        answer = HttpAnswer(status, reason, httpx2.Headers(raw))
        self._answer = answer
        self._learn_secrets(session)
        session.record.answered(exchange, status, reason, version, headers)
        self._note_session(session, answer)
        found = recorder.sign_in_refusal(status, self._asked, answer.headers, self._tap.addresses)
        if found is not None:
            self._tap.report_sign_in(session, exchange.number, found)
        self._sink = self._sink_of(session, exchange, answer)
        if self._asked.get("last-event-id") in session.broken and answer.kind == EVENTS:
            last = self._asked["last-event-id"]
            self._request = self._tap.resumed(session, last)
            self._event("stream_resumed", request=self._request, last_event_id=last, attempt=None)
        yield from self._tap.drain(session)

    def _note_session(self, session: ClientSession, answer: HttpAnswer) -> None:
        if answer.status >= 300 or self._message is None:
            return
        id_ = answer.headers.get(SESSION)
        if self._message.method == INITIALIZE or is_per_request(self._message):
            session.is_established = True
        if id_ is not None and self._message.method == INITIALIZE:
            self._tap.sessions.name(session, id_)

    def _sink_of(
        self, session: ClientSession, exchange: RecordedExchange, answer: HttpAnswer
    ) -> _StreamSink | _BodySink | None:
        """The sink for the body; None for one that is compressed or not about MCP."""
        is_shown = (
            self._is_at_endpoint
            or bool(self._url)
            or self._message is not None
            or self._target.startswith(recorder.WELL_KNOWN)
        )
        if not is_shown or answer.headers.get("content-encoding", "identity") != "identity":
            return None
        if answer.status == 200 and answer.kind == EVENTS:
            return _StreamSink(session, exchange.number, self._on_other)
        return _BodySink(MOST_WAITING if self._message is not None else BODY_KEPT)

    def _on_other(self, event: SseEvent) -> None:
        session = self._session
        if session is None or event.name != ENDPOINT or self._method != "GET":
            return
        url = (event.data or b"").decode(errors="replace").strip()
        try:
            endpoint = self._tap.addresses.upstream.join(url)
        except httpx2.InvalidURL:
            return
        self._is_session_stream = True
        self._tap.sessions.post_to(session, endpoint.raw_path.decode("ascii"))

    def _record_piece(self, data: bytes) -> Iterator[None]:
        session, _ = self._known()
        self._size += len(data)
        sink = self._sink
        if sink is None:
            return
        sink.add(data)
        yield from self._tap.drain(session)
        left_out = sink.left_out()
        if left_out[0]:
            self._note_gap(*left_out, _AFTER_GAP)
        if sink.too_large is not None:
            self._note_gap(sink.too_large.size, 1, FULL)
            sink.resynchronise()
        self._count_held()

    def _record_change(self, fields: dict[str, object]) -> Iterator[None]:
        session, _ = self._known()
        self._event("changed", **fields)
        yield from self._tap.drain(session)

    def _record_gap(self, size: int, messages: int) -> Iterator[None]:
        session, _ = self._known()
        self._size += size
        if self._sink is not None:
            self._sink.resynchronise()
        self._note_gap(size, messages, FULL)
        self._count_held()
        yield from self._tap.drain(session)

    def _note_gap(self, size: int, messages: int, why: str) -> None:
        _, exchange = self._known()
        self._event(
            "not_recorded", exchange=exchange.number, bytes=size, messages=messages, why=why
        )

    def _record_end(self, reason: str, ended_by: str) -> Iterator[None]:
        session, exchange = self._known()
        sink = self._sink
        if sink is not None:
            sink.end()
        yield from self._tap.drain(session)
        if isinstance(sink, _BodySink):
            self._record_body(sink, is_complete=reason == COMPLETE)
        elif sink is None and self._message is not None and self._size and self._answer is not None:
            why = _CODED.format(self._answer.headers.get("content-encoding"))
            self._note_gap(self._size, 1, why)
        self._record_outcome(reason, ended_by)
        session.record.ended(exchange, self._size, reason)
        yield from self._tap.drain(session)
        self._leave(reason, ended_by)
        self._sink = None
        self._count_held()

    def _record_body(self, sink: _BodySink, *, is_complete: bool) -> None:
        session, exchange = self._known()
        body, answer = bytes(sink.body), self._answer
        if not body or answer is None:
            return
        if self._message is not None and sink.is_whole and is_complete:
            sink.has_reply = is_message(body, answer)
        if sink.has_reply:
            inbound = session.inbound
            inbound.put(inbound.body(exchange.number, body, inbound.stamp()))
            return
        self._learn_secrets(session)
        session.record.body(exchange, body, sink.size)
        found = recorder.metadata_refusal(self._target, body, self._tap.addresses)
        if found is not None:
            self._tap.report_sign_in(session, exchange.number, found)

    def _record_outcome(self, reason: str, ended_by: str) -> None:
        """Record the outcome of a request without a reply."""
        session, request, answer = self._session, self._request, self._answer
        if request is None or session is None:
            return
        if answer is not None and (session.is_legacy_sse or answer.status == _ELSEWHERE):
            return
        sink = self._sink
        if sink is not None and sink.has_reply:
            return
        last = None if sink is None else sink.last_event_id
        if last is None and self._method == "GET":  # no new events: it can be resumed there again
            last = self._asked.get("last-event-id")
        if answer is not None and answer.status >= 300:
            text = f"The server answered {answer.line}"
            self._event("call_ended", request=request, outcome="failed", text=text)
        elif ended_by == "client" and is_per_request(self._message):
            self._event("stream_closed", request=request, reason=reason)
            self._event("call_ended", request=request, outcome="cancelled", text=_CANCELLED)
        elif last is not None and not is_per_request(self._message):
            self._event("stream_broken", request=request, reason=reason, last_event_id=last)
            retry_s = 0.0 if sink is None else (sink.retry_ms or 0) / 1000
            is_left = ended_by == "client"
            self._tap.broken(session, last, request, retry_s=retry_s, is_left=is_left)
        else:
            outcome = "failed" if reason.startswith(NOT_SENT) else "lost"
            self._event("call_ended", request=request, outcome=outcome, text=_no_reply(reason))

    def _leave(self, reason: str, ended_by: str) -> None:
        session, answer = self._session, self._answer
        if session is None:
            return
        if self._message is not None and self._message.id is not None:
            session.open_ids.discard(self._message.id)
        if self._method == "GET":
            session.is_listening = False
        status = 0 if answer is None else answer.status
        if self._is_session_stream:
            self._tap.end_session(session, f"The event stream ended: {reason}", ended_by)
        elif status == 404 and SESSION in self._asked and self._is_at_endpoint:
            self._tap.end_session(session, _FORGOTTEN, "server")
        elif self._method == "DELETE" and self._is_at_endpoint and 200 <= status < 300:
            self._tap.end_session(session, _ENDED, "client")

    def _known(self) -> tuple[ClientSession, RecordedExchange]:
        """The session and the exchange, which `_record_request` has set."""
        if self._session is None or self._exchange is None:
            raise AssertionError("a response before its request")
        return self._session, self._exchange

    def _event(self, event: str, **fields: Any) -> None:
        if self._session is not None:
            self._session.inbound.record_event(event, **fields)


def _no_reply(reason: str) -> str:
    if reason == COMPLETE:
        return "The response ended without the reply"
    return f"No reply came: {reason}"
