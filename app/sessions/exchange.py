"""One request of ours and what becomes of it, awaited by whoever asked."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.protocol.facts import RequestAnswered
    from app.protocol.peer import Outgoing

_LONGEST_WAIT_S: Final = 86_400.0
"""Longest single wait: Qt's timers count milliseconds in 32 bits. The time is taken anew after."""


class End(enum.Enum):
    """How an exchange ended."""

    ANSWERED = enum.auto()
    CANCELLED = enum.auto()
    LOST = enum.auto()
    """The connection ended first."""
    IDLE_TIMEOUT = enum.auto()
    TOTAL_TIMEOUT = enum.auto()


class Limits(NamedTuple):
    """How long to wait, in seconds; None is without end.

    `idle_s` counts from the last sign of life of this very request (sent, progress), `total_s`
    from the moment it was asked for.
    """

    idle_s: float | None = None
    total_s: float | None = None


class Exchange:
    """A request and its reply. `request` is its frame's number, None until it is written."""

    __slots__ = (
        "_over",
        "end",
        "made_at",
        "method",
        "outgoing",
        "raw",
        "reply",
        "request",
        "touched_at",
    )

    def __init__(self, outgoing: Outgoing, method: str, now: float) -> None:
        """Begin to wait for the reply to `outgoing`."""
        self.outgoing = outgoing
        self.method = method
        self.made_at = now
        self.touched_at = now
        self.request: int | None = None
        self.end: End | None = None
        self.reply: RequestAnswered | None = None
        self.raw = b""
        self._over = anyio.Event()

    def answer(self, reply: RequestAnswered, raw: bytes) -> None:
        """End with the server's reply and its exact bytes, unless it is over already."""
        if self.end is None:
            self.reply, self.raw = reply, raw
            self.stop(End.ANSWERED)

    def stop(self, end: End) -> None:
        """End, unless it is over already."""
        if self.end is None:
            self.end = end
            self._over.set()

    async def over(self, within_s: float | None = None) -> End | None:
        """Wait for the end, at most so many seconds; unlike `wait` this ends nothing itself."""
        with anyio.move_on_after(within_s):
            await self._over.wait()
        return self.end

    async def wait(self, limits: Limits, now: Callable[[], float]) -> End:
        """Wait for the end, or until a limit is reached: then the exchange is over as well."""
        while self.end is None:
            left, reason = self._left(limits, now())
            if left is not None and left <= 0:
                self.stop(reason)
                break
            with anyio.move_on_after(None if left is None else min(left, _LONGEST_WAIT_S)):
                await self._over.wait()
        assert self.end is not None  # noqa: S101  # the loop's condition
        return self.end

    def _left(self, limits: Limits, now: float) -> tuple[float | None, End]:
        """Seconds until the first limit, and which it is."""
        idle = None if limits.idle_s is None else self.touched_at + limits.idle_s - now
        total = None if limits.total_s is None else self.made_at + limits.total_s - now
        if total is not None and (idle is None or total <= idle):
            return total, End.TOTAL_TIMEOUT
        return idle, End.IDLE_TIMEOUT
