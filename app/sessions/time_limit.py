"""What is told of a call that ran out of time: what was outstanding, and how long since what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import text
from app.sessions.connect_failure import evidence, in_line
from app.sessions.exchange import End

if TYPE_CHECKING:
    from app.sessions.connection import Connection
    from app.sessions.exchange import Exchange, Limits


def words(
    exchange: Exchange, limits: Limits, connection: Connection, last_tick_at: float | None
) -> str:
    """The story of `exchange`, which ended at one of its `limits`; several lines."""
    now = connection.now()
    waited = text.duration(now - exchange.made_at)
    outstanding = f"{exchange.method} (id {exchange.outgoing.id}) has no reply after {waited}"
    if exchange.request is None:
        outstanding += "; it was never written"
    last_byte, last_tick = _since(connection.last_received_at, now), _since(last_tick_at, now)
    unread = in_line(connection.mail)
    parts = [
        f"{_limit(exchange, limits)}: {outstanding}.",
        f"{unread}." if unread else "",
        f"Last byte from the server: {last_byte}. Last tick: {last_tick}.",
        evidence(connection),
    ]
    return "\n".join(filter(None, parts))


def _limit(exchange: Exchange, limits: Limits) -> str:
    if exchange.end is End.TOTAL_TIMEOUT and limits.total_s is not None:
        return f"The limit of {text.duration(limits.total_s)} in all was reached"
    return f"The limit of {text.duration(limits.idle_s or 0.0)} without progress was reached"


def _since(at: float | None, now: float) -> str:
    return "none" if at is None else text.ago(now - at)
