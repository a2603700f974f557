"""One request of ours and its outcome, awaited by the caller."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.snapshots.limits import Limit, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import RequestAnswered
    from mcp_progress_monitor.protocol.peer import Outgoing
    from mcp_progress_monitor.sessions.transport.base import Loss

__all__ = ["ExchangeEnd", "Limits", "PendingRequest"]


class ExchangeEnd(enum.Enum):
    """How an exchange ended."""

    ANSWERED = enum.auto()
    CANCELLED = enum.auto()
    LOST = enum.auto()  # the connection ended first, or the stream that should carry the reply
    GIVEN_UP = enum.auto()  # this client gave up; `PendingRequest.words` say why
    IDLE_TIMEOUT = enum.auto()
    TOTAL_TIMEOUT = enum.auto()


_ENDS: Final = {Limit.IDLE: ExchangeEnd.IDLE_TIMEOUT, Limit.TOTAL: ExchangeEnd.TOTAL_TIMEOUT}


class PendingRequest:
    """A request and its reply.

    `request` is its frame's number, None until it is written. Its `clock` may be shared with the
    other requests of one call. A reply that requires input does not end it: `is_asking` until the
    input is available, then the next request is `outgoing`; `first` remains the first one. `loss`
    says why this request alone was lost, if it was.
    """

    __slots__ = (
        "_over",
        "clock",
        "end",
        "first",
        "is_asking",
        "loss",
        "made_at",
        "method",
        "outgoing",
        "raw",
        "reply",
        "request",
        "rounds",
        "words",
    )

    def __init__(
        self, outgoing: Outgoing, method: str, now: float, clock: CallClock | None = None
    ) -> None:
        self.outgoing = self.first = outgoing
        self.method = method
        self.made_at = now
        self.clock = CallClock(now) if clock is None else clock
        self.request: int | None = None
        self.end: ExchangeEnd | None = None
        self.reply: RequestAnswered | None = None
        self.raw = b""
        self.is_asking = False
        self.rounds = 0
        self.words = ""
        self.loss: Loss | None = None
        self._over = anyio.Event()

    def answer(self, reply: RequestAnswered, raw: bytes) -> None:
        """End with the server's reply and its exact bytes, unless it has already ended."""
        if self.end is None:
            self.reply, self.raw = reply, raw
            self.stop(ExchangeEnd.ANSWERED)

    def renew(self, outgoing: Outgoing) -> None:
        """Continue with another request, which carries the required input."""
        self.outgoing = outgoing
        self.is_asking = False

    def stop(self, end: ExchangeEnd) -> None:
        if self.end is None:
            self.end = end
            self._over.set()
            self.clock.wake()

    async def over(self, within_s: float | None = None) -> ExchangeEnd | None:
        """Wait for the end, at most `within_s`; unlike `wait`, this never ends the exchange."""
        with anyio.move_on_after(within_s):
            await self._over.wait()
        return self.end

    async def wait(self, limits: Limits | None, now: Callable[[], float]) -> ExchangeEnd:
        """Wait for the end, or for a limit, which ends the exchange.

        `limits` replace those of the clock unless None. Limits may change and the clock be held
        meanwhile.
        """
        if limits is not None:
            self.clock.set_limits(limits)
        reached = await self.clock.until(self._is_over, now)
        if reached is not None:
            self.stop(_ENDS[reached])
        assert self.end is not None  # noqa: S101  # what was waited for
        return self.end

    def _is_over(self) -> bool:
        return self.end is not None
