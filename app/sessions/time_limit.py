"""What is told of a call that ran out of time: what was outstanding, and how long since what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import text
from app.sessions.connect_failure import evidence, in_line
from app.sessions.exchange import End

if TYPE_CHECKING:
    from app.sessions.connection import Connection
    from app.sessions.exchange import Exchange


def words(exchange: Exchange, connection: Connection, last_tick_at: float | None) -> str:
    """The story of `exchange`, which ended at a limit of its clock; several lines."""
    now = connection.now()
    waited = text.duration(now - exchange.made_at)
    outstanding = f"{exchange.method} (id {exchange.outgoing.id}) has no reply after {waited}"
    if exchange.request is None:
        outstanding += "; it was never written"
    last_byte, last_tick = _since(connection.last_received_at, now), _since(last_tick_at, now)
    unread = in_line(connection.mail)
    parts = [
        f"{_limit(exchange)}: {outstanding}.",
        f"{unread}." if unread else "",
        f"Last byte from the server: {last_byte}. Last tick: {last_tick}. {_wire(connection)}.",
        evidence(connection),
    ]
    return "\n".join(filter(None, parts))


def _limit(exchange: Exchange) -> str:
    limits = exchange.clock.limits
    if exchange.end is End.TOTAL_TIMEOUT:
        return f"The limit of {_chosen(limits.total_s)} in all was reached"
    return f"The limit of {_chosen(limits.idle_s)} without a sign of life was reached"


def _chosen(seconds: float | None) -> str:
    """A limit as it was chosen: without a fraction where it has none."""
    whole = int(seconds or 0)
    return text.duration(whole if whole == seconds else seconds or 0.0)


def _wire(connection: Connection) -> str:
    """Whether the server is there, and whether it is only this call that waits."""
    code, others = connection.exit_code, connection.mail.waiting_count - 1
    process = f"process {connection.pid}"
    state = f"{process} is running" if code is None else f"{process} has ended ({code})"
    if others > 0:
        verb = "waits" if others == 1 else "wait"
        return f"The server's {state}; {text.count(others, 'other request')} {verb} as well"
    return f"The server's {state}; nothing else waits for it"


def _since(at: float | None, now: float) -> str:
    return "none" if at is None else text.ago(now - at)
