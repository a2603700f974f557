"""What a session needs of any way to reach a server."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.sessions.doctor import HttpNote

FIRST_BYTES: Final = 512
"""How many of a server's first bytes are kept, to be shown."""


class Loss(NamedTuple):
    """Why one request of ours gets no reply, though the connection goes on.

    `outcome` is "lost", when the server may have carried it out, or "failed", when it refused.
    `may_be_older` says that a server of an earlier revision would have refused it just so.
    """

    outcome: str
    problem: Problem
    may_be_older: bool = False


@dataclasses.dataclass(slots=True)
class ProcessNotes:
    """What is known of a server's process beside how it ended and what it was understood to say.

    `first_bytes` are the first of its output as they came, whether or not they end a line.
    `secrets` are values that references of its definition stood for: not to be handed on. With
    `was_ended` it had to be ended by a signal of ours.
    """

    first_bytes: bytes = b""
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    was_ended: bool = False


class Line(Protocol):
    """What a transport may ask and tell of the requests that were sent over it, by their frame."""

    @property
    def is_flowing(self) -> bool:
        """Whether the last messages were plain progress, of which many more can come at once."""

    def is_due(self, request: int) -> bool:
        """Whether a request waits for its reply and was not cancelled."""

    def lost(self, request: int, loss: Loss) -> None:
        """Tell that no reply to a request will come; its `call_ended` is published already."""

    def tool_schema(self, name: str) -> JsonObject | None:
        """The input schema of a tool that the server has listed."""

    async def list_tools(self) -> None:
        """Have the server list its tools anew: their schemas may have changed."""


class Transport(Protocol):
    """One connection's way to its server. Used once: opened, read to its end, closed.

    Nothing here publishes: frames are returned, or handed to the `on_stderr` of `watch`.
    """

    @property
    def is_http(self) -> bool:
        """Whether each request has a response of its own, that ends when it is given up."""

    @property
    def has_handshake(self) -> bool:
        """Whether only servers of the handshake era are reached in this way."""

    @property
    def failure(self) -> Problem | None:
        """Why the connection ended by itself; None if it did not, or its process tells."""

    @property
    def notes(self) -> Sequence[HttpNote]:
        """The last requests over HTTP, oldest first, and what came."""

    @property
    def last_byte_at(self) -> float | None:
        """When the last byte of what may become messages came, on the clock of its frames."""

    @property
    def unread_bytes(self) -> int:
        """Bytes that came from the server and were returned in no frame yet."""

    @property
    def process(self) -> ProcessNotes | None:
        """What is known of the server's process, None where there is none."""

    def attach(self, line: Line) -> None:
        """Know the requests that will be sent; called once, before `open`."""

    def agreed(self, revision: str) -> None:
        """Speak this revision from now on."""

    @property
    def pid(self) -> int | None:
        """The server process, None where there is none."""

    @property
    def exit_code(self) -> int | None:
        """How the server's process ended, None while it runs or where there is none."""

    async def open(self) -> JsonObject:
        """Reach the server; returns what the event "opened" tells. `ProblemError` if it cannot."""

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        """Attend to all but messages; runs beside `receive` from `open` until after `close`."""

    async def receive(self) -> Sequence[Frame]:
        """The next frames, at least one and few enough to handle at once, in wire order.

        Those of one list have one channel, and were published before the next list is asked for.
        `anyio.EndOfStream` when there will be no more. May return without yielding to the loop.
        """

    async def send(self, raw: bytes, frame: int) -> None:
        """Write one message, whose frame has this number; waits while the server is slow to read.

        `anyio.BrokenResourceError` or `anyio.ClosedResourceError` when it can no longer be.
        """

    async def abandon(self, frame: int) -> None:
        """Read no more of the response to a request; where it has none of its own, nothing."""

    def reconnect_stream(self, frame: int) -> bool:
        """Take up the broken stream of a request again at once; whether there is one."""

    async def close(self) -> None:
        """End the connection, politely first; `receive` must go on being called meanwhile.

        Takes less than five seconds and cannot be cancelled.
        """

    async def release(self) -> None:
        """Free what is left, once nobody reads any more."""


class Piped:
    """What all transports have in common that know nothing of single requests."""

    is_http = False
    has_handshake = False
    failure: Problem | None = None
    notes: Sequence[HttpNote] = ()
    last_byte_at: float | None = None
    process: ProcessNotes | None = None
    _line: Line | None = None

    @property
    def unread_bytes(self) -> int:
        """See `Transport`; nothing, unless the transport cuts messages in slices."""
        return 0

    def attach(self, line: Line) -> None:
        """Ask it later how much can be handled at once."""
        self._line = line

    def agreed(self, revision: str) -> None:
        """Speak all revisions alike."""

    async def abandon(self, frame: int) -> None:
        """Leave it to the notification."""

    def reconnect_stream(self, frame: int) -> bool:
        """Have no streams but one."""
        return False
