"""What a session needs of any way to reach a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from app.protocol.facts import JsonObject
    from app.protocol.frame import Frame


class Transport(Protocol):
    """One connection's way to its server. Used once: opened, read to its end, closed.

    Nothing here publishes: frames are returned, or handed to the `on_stderr` of `watch`.
    """

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

    async def receive(self) -> list[Frame]:
        """The next frames, at least one and few enough to handle at once, in wire order.

        `anyio.EndOfStream` when there will be no more. May return without yielding to the loop.
        """

    async def send(self, raw: bytes) -> None:
        """Write one message; waits while the server is slow to read.

        `anyio.BrokenResourceError` or `anyio.ClosedResourceError` when it can no longer be.
        """

    async def close(self) -> None:
        """End the connection, politely first; `receive` must go on being called meanwhile.

        Takes less than five seconds and cannot be cancelled.
        """

    async def release(self) -> None:
        """Free what is left, once nobody reads any more."""
