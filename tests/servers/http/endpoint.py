"""The endpoints of Streamable HTTP and of HTTP with SSE (2024-11-05)."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from mcp_progress_monitor.demo.wire import PARSE_ERROR, encode
from tests.servers.http.faults import as_batch, endless, huge
from tests.servers.http.handler import (
    EVENT_STREAM,
    JSON,
    SESSION_HEADER,
    STATUS_OF,
    Handler,
    check_accept,
    check_content_type,
    check_mirrored,
    check_version,
    json_of,
    query_of,
    refused,
    stands_alone,
)
from tests.servers.http.sessions import Session, Sessions
from tests.servers.http.streams import Reader, Stream
from tests.servers.options import Options

_FIRST_MESSAGE_S: Final = 0.05
"""How long to wait for an early error, which gets a status of its own, before streaming."""


@dataclass(frozen=True, slots=True)
class _Post:
    """The message of a POST, and its session."""

    body: bytes
    message: Any
    session: Session
    headers: dict[str, str]
    is_new: bool = False

    @property
    def stands_alone(self) -> bool:
        return self.session.is_shared

    @property
    def calls(self) -> bool:
        members = self.message if isinstance(self.message, list) else [self.message]
        return any(isinstance(m, dict) and m.get("method") == "tools/call" for m in members)


class Endpoint:
    """The endpoint of Streamable HTTP."""

    def __init__(self, options: Options, sessions: Sessions) -> None:
        """Reply as the options say."""
        self._options = options
        self._sessions = sessions
        self._has_handshake = any(v < "2026" for v in options.versions)
        self._has_per_request = options.versions[-1] >= "2026"

    def answer(self, handler: Handler) -> None:
        """Serve one request.

        Raises:
            RefusedError: It cannot be served.
        """
        if handler.command == "POST":
            self._post(handler)
        elif handler.command == "GET" and self._is_for_session(handler):
            self._get(handler)
        elif handler.command == "DELETE" and self._is_for_session(handler):
            self._delete(handler)
        else:
            allowed = "GET, POST, DELETE" if self._has_handshake else "POST"
            handler.close_connection = True  # the body, if any, is not read
            handler.reply(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": allowed})

    def _is_for_session(self, handler: Handler) -> bool:
        return self._has_handshake and not stands_alone(handler.headers, None)

    def _post(self, handler: Handler) -> None:
        body = handler.body()
        check_accept(handler.headers, JSON, EVENT_STREAM)
        check_content_type(handler.headers)
        try:
            message = json_of(body)
        except (ValueError, RecursionError) as error:
            raise refused(HTTPStatus.BAD_REQUEST, f"Not JSON: {error}", PARSE_ERROR) from error
        self._serve(handler, self._session_post(handler, body, message))

    def _session_post(self, handler: Handler, body: bytes, message: Any) -> _Post:
        alone = self._has_per_request and stands_alone(handler.headers, message)
        shakes_hands = isinstance(message, dict) and message.get("method") == "initialize"
        if alone and not (shakes_hands and self._has_handshake):
            return self._shared_post(handler, body, message)
        if shakes_hands:
            session = self._sessions.new()
            return _Post(body, message, session, {SESSION_HEADER: session.id}, is_new=True)
        check_version(handler.headers)
        return _Post(body, message, self._session(handler), {})

    def _shared_post(self, handler: Handler, body: bytes, message: Any) -> _Post:
        if not isinstance(message, dict):
            raise refused(HTTPStatus.BAD_REQUEST, "The body must be one message")
        if "id" in message and "method" in message:
            check_mirrored(handler.headers, message)
        return _Post(body, message, self._sessions.shared, {})

    def _session(self, handler: Handler) -> Session:
        session_id = handler.headers.get(SESSION_HEADER)
        if session_id is None:
            raise refused(HTTPStatus.BAD_REQUEST, f"{SESSION_HEADER} is missing: initialize first")
        session = self._sessions.get(session_id)
        if session is None:
            raise refused(HTTPStatus.NOT_FOUND, "The session is unknown or has ended")
        return session

    def _serve(self, handler: Handler, post: _Post) -> None:
        if post.calls and self._is_faulty(handler, post):
            return
        request = encode(post.message)[:-1]
        stream = post.session.new_stream(request, is_call=post.calls)
        post.session.set_up(post.message)
        stream.hold()
        reader = stream.attach() if self._options.reply == "sse" else None
        if not (post.stands_alone and "id" not in post.message):  # they have no effect there
            post.session.server.receive(post.body, stream)
        stream.release()
        if post.is_new:
            self._open(post, stream)
        if reader is None:
            self._reply_at_end(handler, post, stream)
        elif not self._has_short_answer(handler, post, stream):
            self._stream(handler, post, reader)

    def _is_faulty(self, handler: Handler, post: _Post) -> bool:
        """Reply to a call with a fault, if the options have one."""
        options = self._options
        if options.endless is not None:
            endless(handler, options.endless, post.headers)
        elif options.huge and isinstance(post.message, dict) and "id" in post.message:
            huge(handler, post.message["id"], options.huge, is_event=options.reply == "sse")
        else:
            return False
        return True

    def _open(self, post: _Post, stream: Stream) -> None:
        """Register the session if the handshake succeeded."""
        if any("result" in json_of(answer) for answer in stream.messages()):
            self._sessions.add(post.session)
        else:
            post.headers.clear()
            post.session.close()

    def _has_short_answer(self, handler: Handler, post: _Post, stream: Stream) -> bool:
        """Reply without a stream, if there is no message or only an early error."""
        stream.waited_for(lambda: stream.count > 0 or stream.has_ended, _FIRST_MESSAGE_S)
        messages = stream.messages()
        if not messages:
            if stream.has_ended:
                handler.reply(HTTPStatus.ACCEPTED)
            return stream.has_ended
        status = _status(post, messages) if len(messages) == 1 else HTTPStatus.OK
        if status == HTTPStatus.OK:
            return False
        handler.reply(status, messages[0])
        return True

    def _stream(self, handler: Handler, post: _Post, reader: Reader) -> None:
        is_whole = False
        try:
            is_whole = handler.stream(reader, post.headers)
        finally:
            if post.stands_alone and not is_whole:
                post.session.server.cancel(reader.stream)

    def _reply_at_end(self, handler: Handler, post: _Post, stream: Stream) -> None:
        """Reply with one JSON value at the end."""
        gone = Reader(stream, 0)
        with handler.hangups.watched(handler.connection, gone.hang_up):
            stream.waited_for(lambda: stream.has_ended or gone.is_gone)
        if gone.is_gone:
            if post.stands_alone:
                post.session.server.cancel(stream)
            return
        messages = stream.messages()
        if self._options.reply == "batch":
            messages = as_batch(post.session.late, messages, keeps_some=self._options.late_batch)
        if not messages:
            handler.reply(HTTPStatus.ACCEPTED)
            return
        body = messages[0] if len(messages) == 1 else b"[" + b",".join(messages) + b"]"
        handler.reply(_status(post, messages), body, headers=post.headers)

    def _get(self, handler: Handler) -> None:
        check_accept(handler.headers, EVENT_STREAM)
        check_version(handler.headers)
        session = self._session(handler)
        event_id = handler.headers.get("Last-Event-ID")
        if event_id is None or not self._options.is_resumable:
            stream, number = session.general, session.general.count_read
        else:
            found = session.find(event_id)
            if found is None:
                raise refused(HTTPStatus.BAD_REQUEST, f"Unknown event id: {event_id}")
            stream, number = found
        handler.stream(stream.attach(number))

    def _delete(self, handler: Handler) -> None:
        check_version(handler.headers)
        self._sessions.remove(self._session(handler).id)
        handler.reply(HTTPStatus.NO_CONTENT)


def _status(post: _Post, messages: list[bytes]) -> HTTPStatus:
    """Return the status of a complete reply."""
    answer = json_of(messages[-1]) if messages[-1].startswith(b'{"jsonrpc"') else {}
    error = answer.get("error") if isinstance(answer, dict) else None
    if error is None:
        return HTTPStatus.OK
    if post.stands_alone or post.is_new or answer.get("id") is None:
        return STATUS_OF.get(error.get("code"), HTTPStatus.OK)
    return HTTPStatus.OK


STREAM: Final = "/sse"
_POSTS: Final = "/messages"


class OlderEndpoint:
    """The endpoints of HTTP with SSE, in which a session ends with its stream."""

    def __init__(self, sessions: Sessions) -> None:
        """Register sessions in `sessions`."""
        self._sessions = sessions

    def answer(self, handler: Handler) -> None:
        """Serve one request.

        Raises:
            RefusedError: It cannot be served.
        """
        if (handler.command, handler.route) == ("GET", STREAM):
            self._listen(handler)
        elif (handler.command, handler.route) == ("POST", _POSTS):
            self._post(handler)
        elif handler.route in {STREAM, _POSTS}:
            handler.close_connection = True
            allowed = "GET" if handler.route == STREAM else "POST"
            handler.reply(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": allowed})
        else:
            raise refused(HTTPStatus.NOT_FOUND, f"Nothing here: the stream is at {STREAM}")

    def _listen(self, handler: Handler) -> None:
        check_accept(handler.headers, EVENT_STREAM)
        session = self._sessions.new()
        self._sessions.add(session)
        opening = f"event: endpoint\ndata: {_POSTS}?session_id={session.id}\n\n"
        try:
            handler.stream(session.general.attach(), opening=opening.encode())
        finally:
            self._sessions.remove(session.id)

    def _post(self, handler: Handler) -> None:
        body = handler.body()
        session = self._sessions.get(query_of(handler).get("session_id", ""))
        if session is None:
            raise refused(HTTPStatus.NOT_FOUND, "The session is unknown or has ended")
        handler.reply(HTTPStatus.ACCEPTED, b"Accepted", "text/plain")
        session.server.receive(body)
