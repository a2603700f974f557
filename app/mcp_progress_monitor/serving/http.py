"""Serves a recording over Streamable HTTP on this machine, to any number of clients.

A request is answered with an event stream that ends with its reply. What the server sent after a
reply goes to the client's `GET` stream, if it has one. Clients of 2026-07-28 have no sessions: all
of them together get the recorded answers to equal requests in turn.
"""

from __future__ import annotations

import contextlib
import functools
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import h11
from anyio.abc import SocketAttribute

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.messages import INITIALIZE
from mcp_progress_monitor.serving.lines import messages_in
from mcp_progress_monitor.serving.session import ServedClient, index, passed_on
from mcp_progress_monitor.sessions.transport.http.endpoint import EVENTS, JSON, SESSION
from mcp_progress_monitor.tap_http.addresses import refusal_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import SocketStream, TaskGroup
    from anyio.streams.stapled import MultiListener

    from mcp_progress_monitor.serving.exchanges import RecordedServer
    from mcp_progress_monitor.serving.faults import ServedFaults
    from mcp_progress_monitor.serving.lines import RecordedMessage
    from mcp_progress_monitor.serving.session import Playing, Report, ServeOptions

PATH: Final = "/mcp"
_CHUNK: Final = 64 * 1024
_OPENS_S: Final = 5.0
"""How long messages wait for the `GET` stream of a client that has not opened one yet."""
_LARGEST_HEAD: Final = 256 * 1024
_LARGEST_BODY: Final = 128 * 1024 * 1024
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)


class _Request(NamedTuple):
    """One request; `messages` are those of the body of a `POST`, as `messages_in` reads them."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    messages: list[RecordedMessage | None]

    @property
    def is_answered(self) -> bool:
        """True if it has a message to reply to: a request, or something invalid."""
        return any(each is None or each.is_request for each in self.messages)

    @property
    def begins_session(self) -> bool:
        return any(each is not None and each.method == INITIALIZE for each in self.messages)


class _HttpSession:
    """One client, and its `GET` stream if it has one."""

    def __init__(self, client: ServedClient, *, may_listen: bool = True) -> None:
        self.client = client
        self._may_listen = may_listen
        self._listen: Callable[[bytes], Awaitable[None]] | None = None
        self._opened = anyio.Event()

    async def tell(self, raw: bytes) -> None:
        """Send on the `GET` stream; clients open it after the handshake, so it may come later."""
        if not self._opened.is_set() and self._may_listen:
            with anyio.move_on_after(_OPENS_S):
                await self._opened.wait()
            self._may_listen = self._opened.is_set()
        if self._listen is not None:
            with contextlib.suppress(*_GONE):
                await self._listen(raw)

    def begin(self, listen: Callable[[bytes], Awaitable[None]]) -> None:
        self._listen = listen
        self._opened.set()

    def end(self, listen: Callable[[bytes], Awaitable[None]]) -> None:
        if self._listen == listen:
            self._listen = None


class _Stream:
    """Sends the messages of one `POST`: on its own event stream until all replies were sent."""

    def __init__(
        self,
        session: _HttpSession,
        send: Callable[[bytes], Awaitable[None]],
        faults: ServedFaults | None,
    ) -> None:
        self._session = session
        self._send = send
        self._faults = faults
        self.playing: list[Playing] = []
        """The requests of the `POST`."""

    @property
    def is_over(self) -> bool:
        return bool(self.playing) and all(each.replied.is_set() for each in self.playing)

    async def send(self, raw: bytes) -> None:
        for each in await passed_on(self._faults, "server", raw):
            if not self.is_over:
                await self._send(each)
            else:
                await self._session.tell(each)

    def stderr(self, raw: bytes) -> None:
        """Drop the line: over HTTP, a client sees no standard error."""


class HttpServing:
    """A recording that listens on a port of this machine."""

    def __init__(
        self,
        server: RecordedServer,
        options: ServeOptions,
        report: Report,
        faults: ServedFaults | None = None,
    ) -> None:
        self._server = server
        self._options = options
        self._report = report
        self._faults = faults
        self._listener: MultiListener[SocketStream] | None = None
        self._sessions: dict[str, _HttpSession] = {}
        self._tasks: TaskGroup | None = None
        self._without: _HttpSession | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    async def open(self, port: int) -> None:
        """Listen on a port, 0 for any; `UserError` if it is not available."""
        try:
            self._listener = await anyio.create_tcp_listener(
                local_host="127.0.0.1", local_port=port, reuse_port=False
            )
        except OSError as error:
            what, hint = f"Cannot listen on port {port}", "Choose another port, or 0 for any."
            raise UserError(ErrorDetails(what, "", hint, error.strerror or "")) from error
        self.port = self._listener.extra(SocketAttribute.local_port)  # noqa: S610  # of anyio

    async def run(self, stop: anyio.Event) -> None:
        """Answer clients until `stop` is set, or a script kills the server."""
        assert self._listener is not None  # noqa: S101  # opened before
        async with self._listener, anyio.create_task_group() as tasks:
            self._tasks = tasks
            self._without = self._new_session(may_listen=False)
            tasks.start_soon(index, self._server, self._report)
            tasks.start_soon(self._listener.serve, self._serve)
            if self._faults is not None:
                tasks.start_soon(self._faults.run)
                tasks.start_soon(_set_after, self._faults.killed, stop)
            await stop.wait()
            tasks.cancel_scope.cancel()

    def _new_session(self, *, may_listen: bool = True) -> _HttpSession:
        assert self._tasks is not None  # noqa: S101  # it runs
        client = ServedClient(self._server, self._options, self._tasks, self._report)
        return _HttpSession(client, may_listen=may_listen)

    async def _serve(self, stream: SocketStream) -> None:
        """Answer one connection; an internal error ends only that one."""
        try:
            async with stream:
                await _Connection(self, stream).run()
        except _GONE:
            pass
        except Exception as error:  # noqa: BLE001  # the others must go on
            text = formatting.one_line(f"{type(error).__name__}: {error}")
            self._report(
                f"A connection was closed because of an internal error: {text}", is_odd=True
            )

    # What a request asks for

    def refusal(self, request: _Request) -> tuple[int, str] | None:
        """Say why a request is not answered, with its status; None if it is."""
        why = refusal_of(request.headers, self.port, self.url, "recording")
        if why:
            return 403, why
        if request.path not in {PATH, "/"}:
            return 404, f"The recording is served at {self.url}"
        if request.method not in {"POST", "GET", "DELETE"}:
            return 405, "Use POST, GET or DELETE"
        return None

    def session_of(self, request: _Request) -> tuple[str, _HttpSession | None]:
        """The session of a request, made if it begins one; None for one that is not known."""
        name = request.headers.get(SESSION.lower(), "")
        if name:
            return name, self._sessions.get(name)
        if request.begins_session:
            name = uuid.uuid4().hex
            self._sessions[name] = self._new_session()
            return name, self._sessions[name]
        return "", self._without

    def end(self, name: str) -> None:
        session = self._sessions.pop(name, None)
        if session is not None:
            session.client.cancel_all()

    async def take(
        self, request: _Request, session: _HttpSession, send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Hand the messages of a request to its client; returns when all replies were sent.

        Cancelled when the client is gone: what was not replied by then can reach nobody.
        """
        stream = _Stream(session, send, self._faults)
        if self._faults is None:
            stream.playing = await session.client.take(request.messages, stream)
        else:
            for each in await self._faults.changed("client", request.body):
                stream.playing += await session.client.take(messages_in(each), stream)
        try:
            for playing in stream.playing:
                await playing.replied.wait()
        except anyio.get_cancelled_exc_class():
            for playing in stream.playing:
                if not playing.replied.is_set():
                    playing.cancel()
            raise


class _Connection:
    """One connection of a client."""

    def __init__(self, serving: HttpServing, stream: SocketStream) -> None:
        self._serving = serving
        self._stream = stream
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
        self._writing = anyio.Lock()

    async def run(self) -> None:
        """Answer requests until one side ends the connection."""
        while True:
            try:
                request = await self._request()
            except h11.RemoteProtocolError as error:
                await self._answer(error.error_status_hint, f"Not valid HTTP: {error}")
                return
            if request is None:
                return
            await self._respond(request)
            is_idle = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
            if not is_idle:
                return
            self._http.start_next_cycle()

    async def _request(self) -> _Request | None:
        head = await self._event()
        if not isinstance(head, h11.Request):
            return None
        if self._http.they_are_waiting_for_100_continue:
            await self._write(h11.InformationalResponse(status_code=100, headers=[]))
        pieces: list[bytes] = []
        size = 0
        while isinstance(piece := await self._event(), h11.Data):
            size += len(piece.data)
            if size > _LARGEST_BODY:
                raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
            pieces.append(bytes(piece.data))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        path = head.target.decode("latin-1").partition("?")[0]
        method, body = head.method.decode("ascii"), b"".join(pieces).strip()
        return _Request(method, path, headers, body, messages_in(body) if method == "POST" else [])

    async def _respond(self, request: _Request) -> None:
        refusal = self._serving.refusal(request)
        if refusal is not None:
            await self._answer(*refusal)
            return
        name, session = self._serving.session_of(request)
        if session is None:
            await self._answer(404, "The session is not known. Initialize a new one")
        elif request.method == "DELETE":
            self._serving.end(name)
            await self._answer(200, "")
        elif request.method == "GET":
            await self._listen(name, session)
        elif not request.is_answered:
            await self._serving.take(request, session, self._send_event)
            await self._answer(202, "")
        else:
            await self._play(request, name, session)

    async def _play(self, request: _Request, name: str, session: _HttpSession) -> None:
        """Answer with an event stream, or with one message if the client takes no streams."""
        headers = [(SESSION, name)] if name else []
        accepted = request.headers.get("accept", EVENTS)
        if EVENTS not in accepted and "*/*" not in accepted:
            messages: list[bytes] = []

            async def keep(raw: bytes) -> None:
                messages.append(raw)

            await self._until_gone(functools.partial(self._serving.take, request, session, keep))
            await self._answer(200, messages[-1] if messages else "", JSON, headers)
            return
        await self._begin_stream(headers)
        take = functools.partial(self._serving.take, request, session, self._send_event)
        await self._until_gone(take)
        await self._write(h11.EndOfMessage())

    async def _listen(self, name: str, session: _HttpSession) -> None:
        if not name:
            await self._answer(405, "A stream needs a session. Initialize one first")
            return
        await self._begin_stream([(SESSION, name)])
        session.begin(self._send_event)
        try:
            await self._until_gone(anyio.sleep_forever)
        finally:
            session.end(self._send_event)

    async def _until_gone(self, work: Callable[[], Awaitable[Any]]) -> None:
        """Do something unless the client closes the connection meanwhile."""
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                try:
                    self._http.receive_data(await self._stream.receive(_CHUNK))
                except _GONE:
                    tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await work()
            tasks.cancel_scope.cancel()

    # HTTP

    async def _begin_stream(self, headers: list[tuple[str, str]]) -> None:
        fields = [
            ("Content-Type", EVENTS),
            ("Cache-Control", "no-cache"),
            ("Transfer-Encoding", "chunked"),
            *headers,
        ]
        await self._write(h11.Response(status_code=200, headers=fields, reason="OK"))

    async def _send_event(self, raw: bytes) -> None:
        data = b"".join(b"data: " + line + b"\n" for line in raw.splitlines() or [b""])
        await self._write(h11.Data(data=b"event: message\n" + data + b"\n"))

    async def _answer(
        self,
        status: int,
        body: str | bytes,
        kind: str = "text/plain; charset=utf-8",
        headers: list[tuple[str, str]] | None = None,
    ) -> None:
        if self._http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        data = body if isinstance(body, bytes) else f"{body}\n".encode() if body else b""
        fields = [("Content-Length", str(len(data))), *(headers or [])]
        if data:
            fields.insert(0, ("Content-Type", kind))
        reason = HTTPStatus(status).phrase
        await self._write(h11.Response(status_code=status, headers=fields, reason=reason))
        await self._write(h11.Data(data=data))
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        async with self._writing:
            data = self._http.send(event)
            if data:
                await self._stream.send(data)

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            try:
                data = await self._stream.receive(_CHUNK)
            except anyio.EndOfStream:
                data = b""
            self._http.receive_data(data)
        return event


async def _set_after(first: anyio.Event, then: anyio.Event) -> None:
    await first.wait()
    then.set()
