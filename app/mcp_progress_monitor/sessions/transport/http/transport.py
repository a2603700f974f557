"""The HTTP transport: each message a POST; received data becomes frames in wire order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import checkpoint

from mcp_progress_monitor import __version__
from mcp_progress_monitor.protocol.messages import INITIALIZED
from mcp_progress_monitor.secrets.references import names_in, resolved
from mcp_progress_monitor.sessions.transport.base import Transport
from mcp_progress_monitor.sessions.transport.http.client import HttpRequest
from mcp_progress_monitor.sessions.transport.http.endpoint import HttpEndpoint, read_http_message
from mcp_progress_monitor.sessions.transport.http.errors import (
    BrokenError,
    HttpRefusedError,
    UnreachableError,
)
from mcp_progress_monitor.sessions.transport.http.posts import Post
from mcp_progress_monitor.sessions.transport.http.streams import LegacySseStream, Listening

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.transport.base import TransportResources, WireLine
    from mcp_progress_monitor.sessions.transport.http.endpoint import HttpMessage
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_OURSELVES: Final = f"mcp-progress-monitor/{__version__}"
_IN_TURN_S: Final = 5.0
"""How long a notification or a reply of ours may take before later messages are sent."""
_NO_REQUEST_S: Final = 30.0
"""How long it may take in total: nothing waits for the server's response."""
_LINGER_S: Final = 30.0
"""How long a stream is read after its request was settled: late messages are shown, too."""
_LOOK_S: Final = 5.0
_TRIAL_S: Final = 5.0  # how long a server may take to prove that it is one of 2024-11-05
_FAREWELL_S: Final = 1.5


class _Open:
    """A request with an open response; `settled_at` is when it was first seen settled."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.settled_at: float | None = None


class HttpTransport(Transport):
    """Speaks to a server by URL: Streamable HTTP of any revision, or HTTP+SSE of 2024-11-05."""

    is_http = True

    def __init__(
        self, definition: HttpDefinition, framer: Framer, clock: Clock, means: TransportResources
    ) -> None:
        """References in the values of headers are resolved when it is opened."""
        is_legacy_sse = definition.fingerprint in means.older
        self.has_handshake = definition.transport == "sse" or is_legacy_sse
        self._definition = definition
        self._framer = framer
        self._clock = clock
        self._means = means
        self._site: HttpEndpoint | None = None
        self._legacy_sse: LegacySseStream | None = None
        self._slices: Iterator[Sequence[Frame]] = iter(())
        self._ready = anyio.Event()
        self._is_closed = False
        self._tasks: TaskGroup | None = None
        self._idle = anyio.Event()
        self._posts: dict[int, _Open] = {}

    @property
    def failure(self) -> ErrorDetails | None:
        return None if self._site is None else self._site.failure

    @property
    def notes(self) -> Sequence[HttpNote]:
        return () if self._site is None else self._site.record.notes

    @property
    def last_byte_at(self) -> float | None:
        """When the last byte of a body arrived."""
        return None if self._site is None else self._site.record.last_byte_at

    def attach(self, line: WireLine) -> None:
        definition = self._definition
        secret = [name for name, value in definition.headers.items() if names_in(value)]
        self._site = HttpEndpoint(
            definition, self._framer, self._clock, secret, line, self._switch_to_legacy
        )
        self._site.is_legacy_sse = self.has_handshake
        if self._site.is_legacy_sse:
            self._legacy_sse = LegacySseStream(self._site)

    def agreed(self, revision: str) -> None:
        self._server.revision = revision

    @property
    def _server(self) -> HttpEndpoint:
        if self._site is None:
            raise anyio.ClosedResourceError
        return self._site

    async def open(self) -> JsonObject:
        """Create the client; the server is contacted with the first message."""
        definition = self._definition
        where = f"the headers of {definition.name}"
        headers = await resolved(definition.headers, self._means.keyring, where)
        auth = None
        if definition.auth == "oauth":
            from mcp_progress_monitor.sessions.transport.http.oauth import (
                auth_for,  # only to sign in
            )

            auth = await auth_for(definition, self._means, definition.name)
        self._server.record.redactor.learn(definition.headers, headers, definition.url)
        given = {name.lower() for name in headers}
        ours = {} if "user-agent" in given else {"User-Agent": _OURSELVES}
        self._server.wire.open({**ours, **headers}, auth, definition.address)
        return {
            "url": definition.address,
            "transport": definition.transport,
            "headers": sorted(definition.headers),
            "auth": definition.auth,
        }

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        """Read responses until the connection is closed."""
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._ready.set()
                if self._legacy_sse is not None:
                    tasks.start_soon(self._read_legacy_sse, self._legacy_sse)
                await self._tidy()
        finally:
            self._tasks = None
            self._idle.set()

    async def _read_legacy_sse(self, older: LegacySseStream) -> None:
        await older.run()
        if not older.is_found:  # it may have been replaced by another server
            self._means.older.discard(self._definition.fingerprint)

    async def _switch_to_legacy(self, reason: str) -> bool:
        """Test whether the server is one of 2024-11-05, and continue in that way if it is."""
        site, older = self._server, LegacySseStream(self._server, is_trial=True)
        if self._tasks is None or self._is_closed:
            return False
        self._tasks.start_soon(older.run)
        with anyio.move_on_after(_TRIAL_S):
            await older.reached()
        if not older.is_found:
            older.stop()
            return False
        self._legacy_sse, site.is_legacy_sse = older, True
        self._means.older.add(self._definition.fingerprint)
        text = f"The server answered {reason}; trying HTTP+SSE of 2024-11-05 instead"
        site.inbound.record_event("transport_changed", transport="sse", reason=text)
        return True

    async def receive(self) -> Sequence[Frame]:
        while True:
            for frames in self._slices:
                if frames:
                    return frames
                await checkpoint()  # inside a message of many megabytes
            try:
                self._slices = await self._server.inbound.next()
            except anyio.EndOfStream:
                if not await self._has_more():
                    raise

    async def _has_more(self) -> bool:
        """At the end of a failed connection: let its requests end, and report it."""
        if self._is_closed or self._tasks is None:
            return False
        self._tasks.cancel_scope.cancel()
        with anyio.move_on_after(_FAREWELL_S, shield=True):
            await self._idle.wait()
        self._server.inbound.put_end_last()
        return True

    async def send(self, raw: bytes, frame: int) -> None:
        """Post one message. Requests are posted in parallel, everything else is awaited."""
        await self._ready.wait()
        site = self._server
        message = read_http_message(raw, frame)
        if self._legacy_sse is not None:
            await self._legacy_sse.reached()
        if site.failure is not None or self._is_closed or self._tasks is None:
            raise anyio.ClosedResourceError
        if message.is_request:
            self._posts[frame] = _Open()
            self._tasks.start_soon(self._request, message, self._posts[frame])
            return
        over = anyio.Event()
        self._tasks.start_soon(self._post, message, over)
        with anyio.move_on_after(_IN_TURN_S):
            await over.wait()

    async def _post(self, message: HttpMessage, over: anyio.Event) -> None:
        """Post anything but a request; a server that does not respond delays others for a while."""
        site, is_taken = self._server, False
        with anyio.move_on_after(_NO_REQUEST_S):
            is_taken = await Post(site, message).run()
        over.set()
        if is_taken and message.method == INITIALIZED and not site.is_legacy_sse:
            await Listening(site).run()

    async def _request(self, message: HttpMessage, opened: _Open) -> None:
        try:
            with opened.scope:
                await Post(self._server, message).run()
        finally:
            self._posts.pop(message.frame, None)

    async def abandon(self, frame: int) -> None:
        if frame in self._posts:
            self._posts[frame].scope.cancel()

    def reconnect_stream(self, frame: int) -> bool:
        """Resume the stream of a request immediately; whether it is being resumed."""
        again = None if self._site is None else self._site.resume_now.get(frame)
        if again is not None:
            again()
        return again is not None

    async def _tidy(self) -> None:
        """Close responses that stay open long after their request was settled."""
        while True:
            await anyio.sleep(_LOOK_S)
            now = self._clock.monotonic()
            for frame, opened in list(self._posts.items()):
                if self._server.line.is_due(frame):
                    continue
                opened.settled_at = now if opened.settled_at is None else opened.settled_at
                if now - opened.settled_at >= _LINGER_S:
                    opened.scope.cancel()

    async def close(self) -> None:
        """Close all streams, and end the session if there is one."""
        site = self._site
        if site is None or self._is_closed:
            return
        self._is_closed = True
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
            with anyio.move_on_after(_FAREWELL_S, shield=True):
                await self._idle.wait()
        with anyio.move_on_after(_FAREWELL_S, shield=True):
            await self._end_session(site)
        await site.wire.close()
        site.inbound.put(None)

    async def _end_session(self, site: HttpEndpoint) -> None:
        if site.session is None:
            return
        headers = site.headers("*/*")
        site.session = None
        try:
            async with site.wire.exchange(HttpRequest("DELETE", site.url, headers, "end")):
                return
        except (UnreachableError, BrokenError, HttpRefusedError):
            return  # it is recorded; the server ends the session in its own time
