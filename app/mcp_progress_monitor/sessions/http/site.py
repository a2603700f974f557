"""What all tasks of one HTTP connection share: where its server is, and what is open there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.protocol.eras import PER_REQUEST
from mcp_progress_monitor.sessions.connect_limit import URL_S
from mcp_progress_monitor.sessions.http.intake import End, Ended, Intake
from mcp_progress_monitor.sessions.http.letter import mirrored
from mcp_progress_monitor.sessions.http.record import Record
from mcp_progress_monitor.sessions.http.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.definitions import HttpDefinition
    from mcp_progress_monitor.sessions.http.letter import Letter
    from mcp_progress_monitor.sessions.http.streams import Resumption
    from mcp_progress_monitor.sessions.transport import Line, Loss

SESSION: Final = "mcp-session-id"
EVENTS: Final = "text/event-stream"
JSON: Final = "application/json"
_FORGOTTEN: Final = "The server no longer knows the session"


async def _stays(_reason: str) -> bool:
    """Try no other transport."""
    return False


class Site:
    """One server as its connection knows it."""

    def __init__(
        self,
        definition: HttpDefinition,
        framer: Framer,
        clock: Clock,
        secret_names: list[str],
        line: Line,
    ) -> None:
        """Not connected yet. Values of headers called `secret_names` are never recorded."""
        self.definition = definition
        self.address = definition.address
        self.url = definition.url
        self.is_older = definition.transport == "sse"
        """Whether replies come on a stream of their own, as in 2024-11-05."""
        self.line = line
        self.intake = Intake(framer, clock)
        self.record = Record(self.intake, secret_names)
        self.wire = Wire(self.record, definition.connect_timeout_s or URL_S)
        self.session: str | None = None
        """The id that a server of the handshake era gave the session."""
        self.revision: str | None = None
        """What was agreed; None before."""
        self.failure: Problem | None = None
        """Why the connection ended by itself."""
        self.is_listening = False
        """Whether messages may come on a stream of their own, be it that it opens only now."""
        self.elsewhere: dict[int, Loss] = {}
        """Requests whose replies are to come on that stream, as far as they are not settled; with
        what they are told if it never opens."""
        self.turn_older: Callable[[str], Awaitable[bool]] = _stays
        """Tries HTTP+SSE instead, because of an answer to `initialize`; whether it is that now."""
        self.resumptions: dict[int, Resumption] = {}
        """Those under way, by the frame of their request."""
        self.probing = anyio.Lock()
        """Held by who looks whether the server is there."""
        self._open: set[int] = set()

    def headers(self, accept: str, letter: Letter | None = None) -> dict[str, str]:
        """Those of a request, beside the ones that the user chose."""
        headers = {"Accept": accept}
        if letter is not None:
            headers["Content-Type"] = JSON
            schema = self.line.tool_schema(letter.tool) if letter.tool else None
            headers |= mirrored(letter, self.revision, schema)
        elif self.revision is not None:
            headers["MCP-Protocol-Version"] = self.revision
        if self.session is not None and not (letter and letter.method == "initialize"):
            headers["Mcp-Session-Id"] = self.session
        return headers

    def is_per_request(self, letter: Letter) -> bool:
        """Whether a message is one of 2026-07-28, which knows no sessions."""
        return (letter.revision or self.revision) == PER_REQUEST

    # Requests

    def begin(self, request: int) -> None:
        """Note that a request may be answered, on a stream that is open or will be."""
        self._open.add(request)

    def end(self, request: int) -> None:
        """Note that nothing of it is open any more."""
        self._open.discard(request)

    def others(self, request: int | None = None) -> bool:
        """Whether replies to other requests may still come."""
        return any(
            each != request and self.line.is_due(each) for each in (*self._open, *self.elsewhere)
        )

    def expect_elsewhere(self, request: int, loss: Loss) -> None:
        """Note that the reply to a request will come on the stream that is listened to.

        If that never opens, the request gets `loss`.
        """
        due = {each: told for each, told in self.elsewhere.items() if self.line.is_due(each)}
        self.elsewhere = {**due, request: loss}

    def lose(self, request: int, loss: Loss) -> None:
        """Tell, after all that came before, that a request gets no reply."""
        self.intake.put(Ended(self.line, request, loss, *self.intake.stamp()))

    # The connection

    def fail(self, problem: Problem) -> None:
        """End the connection, after all that came before is told."""
        if self.failure is None:
            self.failure = problem
            self.intake.put(End())

    def forget(self) -> None:
        """End the connection: its session is over at the server's side."""
        hint = "Connect it again: the server was restarted, or ended the session."
        self.session = None
        self.fail(Problem(_FORGOTTEN, self.address, hint))

    def unreachable(self, problem: Problem) -> None:
        """End the connection, for nothing gets to the server and nothing more comes of it."""
        if self.session is not None:
            self.session = None  # there is nobody to end it for
        self.fail(problem)
