"""The interface of all transports, what they need from the program, and the limit of open files."""

from __future__ import annotations

import dataclasses
import errno
import functools
import signal
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.servers import SignIn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.snapshots.doctor import HttpNote

_ENOUGH: Final = 4096  # enough for a thousand servers; every system allows a user that many


@functools.cache
def make_room() -> None:
    """Raise our own limit as far as needed and allowed. Servers that we start inherit it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(_ENOUGH, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return  # the limit stays; `error` reports it once it is reached


def open_files_error(error: OSError, where: str) -> ErrorDetails | None:
    """The error if `error` means that no more files can be opened; None for other errors."""
    if error.errno not in {errno.EMFILE, errno.ENFILE}:
        return None
    return ErrorDetails(
        "Too many open files",
        where,
        "Disconnect servers that you do not need, or raise the limit (ulimit -n) and restart.",
        error.strerror or "",
    )


FIRST_BYTES: Final = 512  # how many of a server's first bytes are kept for display

CLOSED_INPUT: Final = "The server closed its input and was stopped"
"""Why a connection ended whose server no longer reads."""
CLOSED_OUTPUT: Final = "The server closed its output and was stopped"
"""Why a connection ended whose server closed its output, but did not exit."""
DEFECT_HINT: Final = "Connect again. This program's log has the details."


def ending(exit_code: int | None) -> str:
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
    """Reason why a request of ours gets no reply although the connection continues.

    `outcome` is "lost" if the server may have processed it, or "failed" if it refused.
    `may_be_older` says that a server of an earlier revision would have refused it in the same way.
    """

    outcome: str
    details: ErrorDetails
    may_be_older: bool = False


@dataclasses.dataclass(eq=False, repr=False)
class ProcessNotes:
    """A server's process, beside its exit and its messages.

    `first_bytes` are the first of its output as received, whether or not they end a line. `secrets`
    are the resolved references in its definition: never shown. With `was_ended` we ended it with a
    signal; with `left_children` it exited while processes that it had started were running.
    """

    first_bytes: bytes = b""
    secrets: tuple[str, ...] = ()
    was_ended: bool = False
    left_children: bool = False


class WireLine(Protocol):
    """Interface for transports: asks and reports about sent requests, by their frame."""

    def is_due(self, request: int) -> bool:
        """Return whether a request is pending and was not cancelled."""

    def lost(self, request: int, loss: Loss) -> None:
        """Report that a request gets no reply; its `call_ended` was already published."""

    def tool_schema(self, name: str) -> JsonObject | None:
        """The input schema of a listed tool."""

    async def list_tools(self) -> None:
        """Read the server's list of tools again: their schemas may have changed."""


class Transport:
    """One connection's transport.

    Used once: opened, read to its end, closed. Nothing here publishes: frames are returned, or
    passed to the `on_stderr` of `watch`.
    """

    is_http = False  # whether each request has its own response, which is closed to cancel it
    has_handshake = False  # whether this transport exists only in the handshake era
    process: ProcessNotes | None = None

    @property
    def failure(self) -> ErrorDetails | None:
        """Why the connection ended unexpectedly; None if it did not, or the exit code says why."""
        return None

    @property
    def notes(self) -> Sequence[HttpNote]:
        """The last HTTP requests and their responses, oldest first."""
        return ()

    @property
    def last_byte_at(self) -> float | None:
        """When the last byte of a message arrived, on the clock of its frames."""
        return None

    @property
    def unread_bytes(self) -> int:
        """Bytes from the server that are not yet in a returned frame."""
        return 0

    def attach(self, line: WireLine) -> None:
        """Set the requests that will be sent; called once, before `open`."""

    def agreed(self, revision: str) -> None:
        """Use this revision from now on."""

    @property
    def pid(self) -> int | None:
        """The process id; None without a process."""
        return None

    @property
    def exit_code(self) -> int | None:
        """The process's exit code; None while it runs or without a process."""
        return None

    async def open(self) -> JsonObject:
        """Open the transport; returns the fields of the event "opened". `UserError` if it fails."""
        raise NotImplementedError

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        """Handle everything but messages; runs beside `receive` from `open` until after `close`."""

    async def receive(self) -> Sequence[Frame]:
        """The next frames, at least one and few enough to handle at once, in wire order.

        Those of one list have one channel, and must be published before the next call.
        `anyio.EndOfStream` at the end. May return without yielding to the loop.
        """
        raise NotImplementedError

    async def send(self, raw: bytes, frame: int) -> None:
        """Write one message, whose frame has this number; waits while the server is slow to read.

        Of a process, these may be several lines, the first of which has this number.

        `anyio.BrokenResourceError` or `anyio.ClosedResourceError` if it can no longer be written.
        """

    async def abandon(self, frame: int) -> None:
        """Close the response to a request, if it has one of its own."""

    def reconnect_stream(self, frame: int) -> bool:
        """Resume the broken stream of a request immediately; whether there is one."""
        return False

    async def close(self) -> None:
        """End the connection, gracefully first; `receive` must be called meanwhile.

        Takes less than five seconds and cannot be cancelled.
        """

    async def release(self) -> None:
        """Free what is left, once nobody reads any more."""


class SignIns:
    """The open sign-in of each server. Time limits are held meanwhile."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        """Call `on_change` with the names of servers whose sign-in begins or ends."""
        self.kept: dict[str, dict[str, Any]] = {}
        """Tokens that last until the program exits, if there is no folder for them."""
        self._on_change = on_change
        self._open: dict[str, SignIn] = {}
        self._turns: dict[str, anyio.Lock] = {}

    def of(self, server: str) -> SignIn | None:
        return self._open.get(server)

    def begin(self, server: str, url: str) -> None:
        self._open[server] = SignIn(server, url)
        self._on_change(server)

    def end(self, server: str) -> None:
        if self._open.pop(server, None) is not None:
            self._on_change(server)

    def turn(self, key: str) -> anyio.Lock:
        """Serialises getting tokens: connections that share them ask the user once."""
        return self._turns.setdefault(key, anyio.Lock())


@dataclasses.dataclass(frozen=True)
class TransportResources:
    """Resources of the program for transports: secrets, sign-ins, and the token folder.

    Without `folder`, tokens last until the program exits. `older` are fingerprints of definitions
    whose servers speak HTTP+SSE of 2024-11-05. `asked` are the secrets that the user entered.
    """

    keyring: Keyring
    sign_ins: SignIns
    folder: Path | None = None
    older: set[str] = dataclasses.field(default_factory=set)
    asked: Mapping[str, str] = dataclasses.field(default_factory=dict)
