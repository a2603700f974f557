"""Whether a server that is silent while calls wait is slow or hung: it is asked for a sign of life.

Sources: revisions up to 2025-11-25, "Ping"; 2026-07-28 has no ping, so `server/discover` is asked,
which every server answers and which changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Era
from mcp_progress_monitor.sessions.exchange import End
from mcp_progress_monitor.sessions.snapshot import Health

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange

PING: Final = "ping"
_PATIENCE_S: Final = 10.0
"""How long a server may take to answer; less where it is asked more often than that."""
_STOOD_STILL_S: Final = 1.0
"""Who waits longer than was meant by this much stood still, and has not read what came."""


class Pulse:
    """Asks one connected server, and keeps what came of it.

    A server that waits for its user's answer to a question is not asked: it is silent because we
    are. What is asked is a request like any other, on record, but no job, and it moves no call's
    clock.

    Nor is one that may handle one request at a time, as Python SDK 1.2 does: our request would
    stand in its input before the answer to its next question, and it would wait for that forever.
    """

    def __init__(
        self,
        connection: Connection,
        era: Era,
        interval_s: float,
        on_change: Callable[[], None],
        spawn: Callable[[Callable[[], Coroutine[object, object, None]], str], None],
        *,
        may_be_sequential: bool = False,
    ) -> None:
        """Ask once calls have waited in silence for `interval_s`; 0 never asks.

        A server that `may_be_sequential` is asked only once it has answered requests out of order.
        `on_change` when `health` has changed; what waits for the answer is a task of `spawn`.
        """
        self.health: Health | None = None
        """None while there is nothing to tell."""
        self._connection = connection
        self._method = PING if era is Era.HANDSHAKE else eras.DISCOVER
        self._interval_s = interval_s
        self._may_be_sequential = may_be_sequential
        self._on_change = on_change
        self._spawn = spawn
        self._silent_since: float | None = None
        self._sign_at: float | None = None
        self._is_asking = False

    def look(self, now: float) -> None:
        """Ask if it is time to; called once a second or so."""
        if self._is_asking or not self._connection.is_open:
            return
        if not self._connection.mail.is_awaited:
            self._silent_since = None
            self._put(None)
            return
        received_at = self._connection.last_received_at
        if received_at != self._sign_at:
            self._sign_at = received_at
            self._silent_since = now if received_at is None else received_at
            self._put(None)
        elif self._silent_since is None:
            self._silent_since = now
        is_due = self._interval_s and now - self._silent_since >= self._interval_s
        if is_due and self._may_be_asked():
            self._is_asking = True
            self._spawn(self._ask, "asking for a sign of life")

    def _may_be_asked(self) -> bool:
        return not self._may_be_sequential or self._connection.mail.is_concurrent

    async def _ask(self) -> None:
        mail, now = self._connection.mail, self._connection.now
        try:
            asked_at = now()
            exchange = mail.ask(self._method, {} if self._method == eras.DISCOVER else None)
            await self._wait(exchange, asked_at)
        except anyio.ClosedResourceError:
            return  # everyone is told by the connection's end
        finally:
            self._is_asking = False
            self._silent_since = now()

    async def _wait(self, exchange: Exchange, asked_at: float) -> None:
        before = self._connection.last_received_at
        end = await self._end_of(exchange)
        if end is End.ANSWERED:
            self._sign_at = self._connection.last_received_at  # that was the answer itself
            answered_at = asked_at if exchange.reply is None else exchange.reply.at
            self._put(Health(asked_at, max(answered_at - asked_at, 0.0)))
        elif end is None:
            # Not cancelled: a server that does not answer reads no cancel either.
            self._connection.mail.give_up(exchange, End.IDLE_TIMEOUT)
            came = self._connection.last_received_at != before
            self._sign_at = self._connection.last_received_at
            self._put(None if came else Health(asked_at, None, is_hung=True))

    async def _end_of(self, exchange: Exchange) -> End | None:
        """Wait patiently; anew when the whole program, or its computer, was stopped meanwhile."""
        patience_s, now = min(_PATIENCE_S, self._interval_s), self._connection.now
        while True:
            began = now()
            end = await exchange.over(patience_s)
            if end is not None or now() - began < patience_s + _STOOD_STILL_S:
                return end

    def _put(self, health: Health | None) -> None:
        if health != self.health:
            self.health = health
            self._on_change()
