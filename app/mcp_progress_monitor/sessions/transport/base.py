"""What a session needs of any transport, and the limit of open files for all of them."""

from __future__ import annotations

import dataclasses
import errno
import functools
import signal
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from mcp_progress_monitor.errors import ErrorDetails

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_ENOUGH: Final = 4096
"""A thousand servers; below what any system refuses to a user."""


@functools.cache
def make_room() -> None:
    """Raise our own limit as far as we need and may. Servers that we start have it as well."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # then it stays as it is, and `problem` tells of it if it is met


def open_files_error(error: OSError, where: str) -> ErrorDetails | None:
    """What to say when `error` is that no more can be opened; None when it is another."""
    if error.errno not in {errno.EMFILE, errno.ENFILE}:
        return None
    return ErrorDetails(
        "Too many open files",
        where,
        "Disconnect servers that you do not need, or raise the limit (ulimit -n) and restart.",
        error.strerror or "",
    )


FIRST_BYTES: Final = 512
"""How many of a server's first bytes are kept, to be shown."""

CLOSED_INPUT: Final = "The server closed its input and was stopped"
"""Why a connection ended whose server no longer reads."""
CLOSED_OUTPUT: Final = "The server closed its output and was stopped"
"""Why one ended whose server writes no more, but did not end by itself."""
DEFECT_HINT: Final = "Connect again. This program's log has the details."


def ending(exit_code: int | None) -> str:
    """How a server came to its end by itself."""
    if exit_code is None:
        return "The server closed its output"
    if exit_code >= 0:
        return "The server exited"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    return f"The server was killed by {name}"


class Loss(NamedTuple):
    """Why one request of ours gets no reply, though the connection goes on.

    `outcome` is "lost", when the server may have carried it out, or "failed", when it refused.
    `may_be_older` says that a server of an earlier revision would have refused it just so.
    """

    outcome: str
    problem: ErrorDetails
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


class WireLine(Protocol):
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
    def failure(self) -> ErrorDetails | None:
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

    def attach(self, line: WireLine) -> None:
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
        """Reach the server; returns what the event "opened" tells. `UserError` if it cannot."""

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
    failure: ErrorDetails | None = None
    notes: Sequence[HttpNote] = ()
    last_byte_at: float | None = None
    process: ProcessNotes | None = None
    _line: WireLine | None = None

    @property
    def unread_bytes(self) -> int:
        """See `Transport`; nothing, unless the transport cuts messages in slices."""
        return 0

    def attach(self, line: WireLine) -> None:
        """Ask it later how much can be handled at once."""
        self._line = line

    def agreed(self, revision: str) -> None:
        """Speak all revisions alike."""

    async def abandon(self, frame: int) -> None:
        """Leave it to the notification."""

    def reconnect_stream(self, frame: int) -> bool:
        """Have no streams but one."""
        return False
