"""The tasks that a server of 2025-11-25 knows, page by page: not only those of our calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.protocol import task_requests
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.listing import read_list_result
from mcp_progress_monitor.protocol.reading import Elided, NotJsonError
from mcp_progress_monitor.protocol.task_requests import TaskWay
from mcp_progress_monitor.protocol.task_state import read_task
from mcp_progress_monitor.sessions.exchange import End, Limits
from mcp_progress_monitor.sessions.task_wire import why_not

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.task_requests import TaskOffer
    from mcp_progress_monitor.protocol.task_state import TaskView
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange

_LIMIT_S: Final = 60.0
_MOST_PAGES: Final = 1000


async def list_tasks(connection: Connection, offer: TaskOffer) -> Sequence[TaskView]:
    """All tasks that the server knows, in its order; what is no task is left out.

    A list that goes on in circles is left after one round.

    Raises:
        ProblemError: the server offers no list, or refuses it.
        anyio.ClosedResourceError: the connection ended first.
    """
    if not offer.has_list:
        raise ProblemError(_not_offered(connection, offer))
    tasks: dict[str, TaskView] = {}
    cursors: set[object] = set()
    cursor: object = None
    while cursor not in cursors and len(cursors) < _MOST_PAGES:
        cursors.add(cursor)
        page = await _page(connection, cursor)
        items: Any = page.get("tasks")
        for item in items if isinstance(items, list) else ():
            view = read_task(item, flat=True)
            if view is not None:
                tasks[view.id] = view
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            break
    return tuple(tasks.values())


def _not_offered(connection: Connection, offer: TaskOffer) -> Problem:
    if offer.way is TaskWay.EXTENSION:
        what, hint = "Tasks of 2026-07-28 cannot be listed", "Each is known by its call alone."
    else:
        what = "The server does not offer a list of its tasks"
        hint = 'It declares no "tasks.list" in its capabilities.'
    return Problem(what, connection.id, hint)


async def _page(connection: Connection, cursor: object) -> JsonObject:
    params = {} if cursor is None else {"cursor": cursor}
    exchange = connection.mail.ask(task_requests.LIST, params)
    await _wait(connection, exchange)
    reply = exchange.reply
    if reply is None or reply.result is None:
        what = f"The server did not list its tasks: {why_not(reply)}"
        raise ProblemError(Problem(what, connection.id))
    if reply.size <= OVERSIZED and not isinstance(reply.result.get("tasks"), Elided):
        return reply.result
    try:
        return await anyio.to_thread.run_sync(read_list_result, exchange.raw, "tasks")
    except NotJsonError as error:
        what = "The server's list of tasks cannot be read"
        raise ProblemError(Problem(what, connection.id, detail=str(error))) from error


async def _wait(connection: Connection, exchange: Exchange) -> None:
    try:
        end = await exchange.wait(Limits(idle_s=_LIMIT_S), connection.now)
    except anyio.get_cancelled_exc_class():
        connection.mail.cancel(exchange, "The list is not wanted any more")
        connection.mail.give_up(exchange, End.CANCELLED)
        raise
    if end is End.LOST:
        raise anyio.ClosedResourceError
    if exchange.reply is None:
        connection.mail.cancel(exchange, "It took too long")
        connection.mail.give_up(exchange, end)
