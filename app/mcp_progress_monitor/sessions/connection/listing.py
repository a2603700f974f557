"""Reads a list of a server page by page, within limits for the whole list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import count
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import Elided, NotJsonError, shown
from mcp_progress_monitor.protocol.messages import NEXT_CURSOR
from mcp_progress_monitor.protocol.offers import read_list_result
from mcp_progress_monitor.protocol.refusal import refused
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.snapshots.limits import Limits

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.connection.connection import Connection

LIMIT_S: Final = 60.0  # how long a server may take for all pages of a list
MOST_PAGES: Final = 1000
MOST_ITEMS: Final = 100_000


class Listed(NamedTuple):
    """A list that was read on request, and its error, if any."""

    items: tuple[Any, ...]
    error: ErrorDetails | None = None


class Pages(NamedTuple):
    """The results that a list consists of; `endless` says why reading stopped, if it had to."""

    results: tuple[JsonObject, ...]
    endless: str = ""


async def read_pages(
    connection: Connection, method: str, member: str, *, in_quiet: bool = False
) -> Pages:
    """Request all pages of a list, whose items are the `member` of each result.

    A list that does not end within the limits is left with what was read. With `in_quiet`, wait
    before each page until no call is pending; this time does not count.

    Raises:
        UserError: the server refuses the list, or does not answer.
        anyio.ClosedResourceError: the connection ended first.
    """
    results: list[JsonObject] = []
    cursors: set[str] = set()
    cursor: str | None = None
    items, left_s = 0, LIMIT_S
    while left_s > 0:
        if in_quiet:
            await connection.outbox.quiet()
        began = connection.now()
        result = await _page(connection, method, member, cursor, left_s)
        left_s -= connection.now() - began
        if result is None:
            break
        results.append(result)
        found, cursor = result.get(member), result.get(NEXT_CURSOR)
        items += len(found) if isinstance(found, list) else 0
        if not isinstance(cursor, str):
            return Pages(tuple(results))
        if cursor in cursors:
            return Pages(tuple(results), f"the cursor {shown(cursor)} was returned twice")
        if len(results) >= MOST_PAGES or items >= MOST_ITEMS:
            read = f"{count(len(results), 'page')} with {count(items, 'item')}"
            return Pages(tuple(results), f"more follows after {read}")
        cursors.add(cursor)
    if not results:
        what = f"The server did not answer {method} within {LIMIT_S:g} s"
        raise UserError(ErrorDetails(what, connection.id))
    read = count(len(results), "page")
    return Pages(tuple(results), f"only {read} came within {LIMIT_S:g} s, and more follows")


async def _page(
    connection: Connection, method: str, member: str, cursor: str | None, limit_s: float
) -> JsonObject | None:
    """The result of one request; None after the time limit."""
    exchange = connection.outbox.ask(method, None if cursor is None else {"cursor": cursor})
    try:
        await connection.outbox.settle(exchange, Limits(total_s=limit_s))
    except anyio.get_cancelled_exc_class():
        connection.outbox.send_cancel(exchange, "The list is no longer needed")
        connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
        raise
    reply = exchange.reply
    if reply is None:
        return None
    if reply.result is None:
        raise UserError(refused(method, reply.error, connection.id))
    if reply.size <= OVERSIZED and not isinstance(reply.result.get(member), Elided):
        return reply.result
    try:
        return await anyio.to_thread.run_sync(read_list_result, exchange.raw, member)
    except NotJsonError as error:
        what = f"The reply to {method} cannot be read"
        raise UserError(ErrorDetails(what, connection.id, detail=str(error))) from error
