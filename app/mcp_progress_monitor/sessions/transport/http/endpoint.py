"""The state shared by one HTTP connection's tasks: URL, session, open requests, MCP headers."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.protocol.eras import PER_REQUEST, as_object
from mcp_progress_monitor.protocol.header_parameters import marked_arguments
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    GET_PROMPT,
    INITIALIZE,
    META,
    READ_RESOURCE,
    VERSION_KEY,
)
from mcp_progress_monitor.sessions.connection.clocks import URL_S
from mcp_progress_monitor.sessions.transport.http.client import HttpClient
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import ExchangeRecorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.transport.base import Loss, WireLine
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition

_NAMES: Final = {CALL_TOOL: "name", GET_PROMPT: "name", READ_RESOURCE: "uri"}
"""The parameter in `Mcp-Name`, by method (2026-07-28 "Standard Request Headers")."""
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_CODED: Final = re.compile(r"=\?base64\?.*\?=", re.DOTALL)


class HttpMessage(NamedTuple):
    """One of our messages: its exact bytes and the number of its frame."""

    raw: bytes
    frame: int
    method: str | None
    is_request: bool
    params: JsonObject

    @property
    def revision(self) -> str | None:
        found = as_object(self.params.get(META)).get(VERSION_KEY)
        return found if isinstance(found, str) else None

    @property
    def tool(self) -> str | None:
        name = self.params.get("name") if self.method == CALL_TOOL else None
        return name if isinstance(name, str) else None


def read_http_message(raw: bytes, frame: int) -> HttpMessage:
    message = as_object(json.loads(raw))
    method = message.get("method")
    params = as_object(message.get("params"))
    return HttpMessage(raw, frame, method, method is not None and "id" in message, params)


def mirrored(message: HttpMessage, agreed: str | None, schema: JsonObject | None) -> dict[str, str]:
    """The headers that repeat parts of a message, if its revision has them.

    `schema` is that of the called tool, None if unknown.
    """
    revision = message.revision or agreed
    if revision is None or message.method == INITIALIZE:
        return {}
    headers = {"MCP-Protocol-Version": revision}
    if revision != PER_REQUEST or message.method is None:
        return headers
    headers["Mcp-Method"] = encoded(message.method)
    name = message.params.get(_NAMES.get(message.method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = encoded(name)
    if schema is not None:
        headers |= parameter_headers(schema, as_object(message.params.get("arguments")))
    return headers


def parameter_headers(schema: JsonObject, arguments: JsonObject) -> dict[str, str]:
    """The `Mcp-Param-…` headers of a call: arguments that the tool's schema marks.

    Empty if the schema's marks break the rules: each header would be a guess.
    """
    found = ((name, _text(value)) for name, value in marked_arguments(schema, arguments).items())
    return {f"Mcp-Param-{name}": encoded(text) for name, text in found if text is not None}


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # thousands of digits: unparsable as a JSON number
        return None


def encoded(value: str) -> str:
    """A header's value, in base64 if it would not arrive unchanged."""
    if not value or (_PLAIN.fullmatch(value) and not _CODED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


SESSION: Final = "mcp-session-id"
EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
_FORGOTTEN: Final = "The server no longer knows the session"


class HttpEndpoint:
    """The state of one server, as its connection sees it."""

    def __init__(
        self,
        definition: HttpDefinition,
        framer: Framer,
        clock: Clock,
        secret_names: list[str],
        line: WireLine,
        switch_to_legacy: Callable[[str], Awaitable[bool]],
    ) -> None:
        """Begin unconnected.

        Values of headers in `secret_names` are never recorded. `switch_to_legacy` switches to
        HTTP+SSE because of an answer to `initialize`, and returns whether it did.
        """
        self.definition = definition
        self.address = definition.address
        self.url = definition.url
        self.is_legacy_sse = definition.transport == "sse"
        """Whether replies arrive on a separate stream, as in 2024-11-05."""
        self.line = line
        self.inbound = ReceiveQueue(framer, clock)
        self.record = ExchangeRecorder(self.inbound, secret_names)
        self.wire = HttpClient(self.record, definition.connect_timeout_s or URL_S)
        self.session: str | None = None
        """The id that a server of the handshake era assigned to the session."""
        self.revision: str | None = None  # the agreed revision; None before
        self.failure: ErrorDetails | None = None  # why the connection ended unexpectedly
        self.is_listening = False
        """Whether messages may arrive on the general stream, even if it is only being opened."""
        self.elsewhere: dict[int, Loss] = {}
        """Pending requests with replies due on that stream, with their loss if it never opens."""
        self.switch_to_legacy = switch_to_legacy
        self.resume_now: dict[int, Callable[[], None]] = {}
        """Resume a broken stream immediately, by the frame of its request."""
        self.probing = anyio.Lock()
        """Held by a probe of the server."""
        self._open: set[int] = set()

    def headers(self, accept: str, message: HttpMessage | None = None) -> dict[str, str]:
        headers = {"Accept": accept}
        if message is not None:
            headers["Content-Type"] = JSON
            schema = self.line.tool_schema(message.tool) if message.tool else None
            headers |= mirrored(message, self.revision, schema)
        elif self.revision is not None:
            headers["MCP-Protocol-Version"] = self.revision
        if self.session is not None and not (message and message.method == INITIALIZE):
            headers["Mcp-Session-Id"] = self.session
        return headers

    def is_per_request(self, message: HttpMessage) -> bool:
        """Return whether a message is one of 2026-07-28, which has no sessions."""
        return (message.revision or self.revision) == PER_REQUEST

    # Requests

    def begin(self, request: int) -> None:
        """A request may be answered from now on, on a stream that is open or will be."""
        self._open.add(request)

    def end(self, request: int) -> None:
        self._open.discard(request)

    def others(self, request: int | None = None) -> bool:
        """Return whether replies to other requests may still arrive."""
        return any(
            each != request and self.line.is_due(each) for each in (*self._open, *self.elsewhere)
        )

    def expect_on_stream(self, request: int, loss: Loss) -> None:
        """The reply to a request will arrive on the general stream.

        If that never opens, the request gets `loss`.
        """
        due = {each: lost for each, lost in self.elsewhere.items() if self.line.is_due(each)}
        self.elsewhere = {**due, request: loss}

    def lose(self, request: int, loss: Loss) -> None:
        """Report, after all earlier events, that a request gets no reply."""
        self.inbound.put(self._lost(request, loss, self.inbound.stamp()))

    def _lost(
        self, request: int, loss: Loss, stamp: tuple[float, float]
    ) -> Iterator[Sequence[Frame]]:
        if self.line.is_due(request):
            fields = {"request": request, "outcome": loss.outcome, "text": loss.details.as_text()}
            yield [self.inbound.event("call_ended", stamp, **fields)]
            self.line.lost(request, loss)

    # The connection

    def fail(self, error: ErrorDetails) -> None:
        """End the connection, after all earlier events are published."""
        if self.failure is None:
            self.failure = error
            self.inbound.put(None)

    def forget(self) -> None:
        """End the connection: the server has ended its session."""
        hint = "Reconnect: the server was restarted, or ended the session."
        self.session = None
        self.fail(ErrorDetails(_FORGOTTEN, self.address, hint))

    def unreachable(self, error: ErrorDetails) -> None:
        """End the connection: the server is unreachable, and sends nothing more."""
        if self.session is not None:
            self.session = None  # there is no server on which to end it
        self.fail(error)
