"""What is told of a call that ran out of time: what was outstanding, and how long since what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor import text
from mcp_progress_monitor.sessions.connect_failure import evidence, in_line
from mcp_progress_monitor.sessions.exchange import End
from mcp_progress_monitor.sessions.limits import Limit

if TYPE_CHECKING:
    from mcp_progress_monitor.sessions.call_clock import CallClock
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange
    from mcp_progress_monitor.sessions.limits import Limits
    from mcp_progress_monitor.sessions.task_run import TaskRun

_SHOWN: Final = 60


def words(exchange: Exchange, connection: Connection, last_tick_at: float | None) -> str:
    """The story of `exchange`, which ended at a limit of its clock; several lines."""
    waited = text.duration(connection.now() - exchange.made_at)
    outstanding = f"{exchange.method} (id {exchange.outgoing.id}) has no reply after {waited}"
    if exchange.request is None:
        outstanding += "; it was never written"
    limit = Limit.TOTAL if exchange.end is End.TOTAL_TIMEOUT else Limit.IDLE
    others = connection.mail.due_count - 1
    return _story(limit, exchange.clock, outstanding, connection, last_tick_at, others)


def words_of_task(run: TaskRun, limit: Limit, made_at: float, last_tick_at: float | None) -> str:
    """The story of a task that was waited for until `limit`; several lines."""
    connection, view = run.connection, run.view
    waited = text.duration(connection.now() - made_at)
    name, status = text.one_line(view.id, _SHOWN), text.one_line(view.status, _SHOWN)
    outstanding = f"the task {name} has not ended after {waited}, its status is {status!r}"
    others = connection.mail.due_count
    return _story(limit, run.clock, outstanding, connection, last_tick_at, others)


def _story(
    limit: Limit,
    clock: CallClock,
    outstanding: str,
    connection: Connection,
    last_tick_at: float | None,
    others: int,
) -> str:
    """`others` is how many more requests wait for the server."""
    now = connection.now()
    last_byte, last_tick = _since(connection.last_received_at, now), _since(last_tick_at, now)
    last = f"Last byte from the server: {last_byte}. Last tick: {last_tick}"
    unread = in_line(connection.mail)
    parts = [
        f"{_limit(limit, clock.limits)}: {outstanding}.",
        f"{unread}." if unread else "",
        f"{last}. {_wire(connection, others)}.",
        evidence(connection),
    ]
    return "\n".join(filter(None, parts))


def _limit(limit: Limit, limits: Limits) -> str:
    if limit is Limit.TOTAL:
        return f"The limit of {_chosen(limits.total_s)} in all was reached"
    return f"The limit of {_chosen(limits.idle_s)} without a sign of life was reached"


def _chosen(seconds: float | None) -> str:
    """A limit as it was chosen: without a fraction where it has none."""
    whole = int(seconds or 0)
    return text.duration(whole if whole == seconds else seconds or 0.0)


def _wire(connection: Connection, others: int) -> str:
    """Whether the server is there, and whether it is only this call that waits."""
    state = _state(connection)
    if others > 0:
        verb = "waits" if others == 1 else "wait"
        return f"{state}; {text.count(others, 'other request')} {verb} as well"
    return f"{state}; nothing else waits for it"


def _state(connection: Connection) -> str:
    if connection.is_http:
        if connection.failure is not None:
            return f"The connection has ended: {connection.failure.what}"
        return "The server is reached by its URL, and did not end the connection"
    code = connection.exit_code
    process = f"The server's process {connection.pid}"
    return f"{process} is running" if code is None else f"{process} has ended ({code})"


def _since(at: float | None, now: float) -> str:
    return "none" if at is None else text.ago(now - at)
