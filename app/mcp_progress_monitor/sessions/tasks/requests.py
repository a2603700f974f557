"""Requests about tasks over one connection: state, result, cancel, list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import TaskView, read_task
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
)
from mcp_progress_monitor.protocol.messages import LIST_TASKS, LISTEN, TASK_ID, TASK_IDS
from mcp_progress_monitor.protocol.offers import read_list_result
from mcp_progress_monitor.protocol.tasks import TaskWay
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.protocol.tasks import TaskOffer
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
_LIMIT_S: Final = 60.0  # how long a server may take to answer about a task
_TEXT_LIMIT: Final = 300


class TaskRequests:
    """Sends requests about one task.

    They raise `ClosedResourceError` once the connection is ending.
    """

    def __init__(self, connection: Connection, identity: str) -> None:
        self._outbox = connection.outbox
        self._now = connection.now
        self._identity = identity

    def post(self, method: str, **members: object) -> PendingRequest:
        """Queue a request that names the task; the caller waits for its end, or drops it."""
        return self._outbox.ask(method, {TASK_ID: self._identity, **members})

    def drop(self, exchange: PendingRequest, reason: str) -> None:
        if exchange.end is None:
            self._outbox.send_cancel(exchange, reason)
            self._outbox.give_up(exchange, ExchangeEnd.CANCELLED)

    async def ask(self, method: str, **members: object) -> PendingRequest:
        """Send a request and wait for its reply; None after a timeout."""
        exchange = self.post(method, **members)
        await self.wait(exchange)
        return exchange

    async def wait(self, exchange: PendingRequest) -> None:
        """Wait for the reply to a queued request; cancel it after a timeout."""
        exchange.clock.touch(self._now())  # it may rightly have been open for long
        try:
            end = await exchange.wait(Limits(idle_s=_LIMIT_S), self._now)
        except anyio.get_cancelled_exc_class():
            self._outbox.give_up(exchange, ExchangeEnd.CANCELLED)
            raise
        if end is ExchangeEnd.LOST:
            raise anyio.ClosedResourceError
        if exchange.reply is None:
            self._outbox.send_cancel(exchange, "Timed out")
            self._outbox.give_up(exchange, end)

    async def listen(self) -> None:
        """Subscribe to the task's states until cancelled (2026-07-28, `subscriptions/listen`).

        If the server refuses, polling continues.
        """
        wanted = {"notifications": {TASK_IDS: [self._identity]}}
        try:
            exchange = self._outbox.ask(LISTEN, wanted)
        except anyio.ClosedResourceError:
            return
        try:
            await exchange.over()
        finally:
            self.drop(exchange, "The task is no longer being followed")


def stated(reply: RequestAnswered | None, identity: str) -> TaskView | None:
    view = None if reply is None or reply.result is None else read_task(reply.result, flat=True)
    return view if view is not None and view.id == identity else None


def code_of(reply: RequestAnswered | None) -> object:
    return None if reply is None else as_object(reply.error).get("code")


def why_not(reply: RequestAnswered | None) -> str:
    if reply is None:
        return "it did not answer in time"
    if reply.error is None:
        return "its reply contains no task"
    return formatting.one_line(
        str(reply.error.get("message") or "an error without a message"), _TEXT_LIMIT
    )


async def member(exchange: PendingRequest, name: str) -> JsonObject | None:
    """An object member of the result, complete whatever its size; None if there is none."""
    result = {} if exchange.reply is None else exchange.reply.result or {}
    value = result.get(name)
    if isinstance(value, Elided):
        try:
            whole = await anyio.to_thread.run_sync(read_value, exchange.raw)
        except (NotJsonError, TooDeepError):
            return None
        value = as_object(as_object(whole.value).get("result")).get(name)
    return value if isinstance(value, dict) else None


_LIST_LIMIT_S: Final = 60.0
_MOST_PAGES: Final = 1000


async def list_tasks(connection: Connection, offer: TaskOffer) -> Sequence[TaskView]:
    """All tasks that the server knows, in its order; invalid entries are left out.

    A list whose pages repeat is read once.

    Raises:
        UserError: the server cannot list tasks, or refuses.
        anyio.ClosedResourceError: the connection ended first.
    """
    if not offer.has_list:
        raise UserError(_not_offered(connection, offer))
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


def _not_offered(connection: Connection, offer: TaskOffer) -> ErrorDetails:
    if offer.way is TaskWay.EXTENSION:
        what, hint = (
            "Tasks of 2026-07-28 cannot be listed",
            "A task is known only to the call that created it.",
        )
    else:
        what = "The server does not support listing its tasks"
        hint = 'It does not declare "tasks.list" in its capabilities.'
    return ErrorDetails(what, connection.id, hint)


async def _page(connection: Connection, cursor: object) -> JsonObject:
    params = {} if cursor is None else {"cursor": cursor}
    exchange = connection.outbox.ask(LIST_TASKS, params)
    await _wait(connection, exchange)
    reply = exchange.reply
    if reply is None or reply.result is None:
        what = f"Listing the server's tasks failed: {why_not(reply)}"
        raise UserError(ErrorDetails(what, connection.id))
    if reply.size <= OVERSIZED and not isinstance(reply.result.get("tasks"), Elided):
        return reply.result
    try:
        return await anyio.to_thread.run_sync(read_list_result, exchange.raw, "tasks")
    except NotJsonError as error:
        what = "The server's list of tasks cannot be read"
        raise UserError(ErrorDetails(what, connection.id, detail=str(error))) from error


async def _wait(connection: Connection, exchange: PendingRequest) -> None:
    try:
        end = await exchange.wait(Limits(idle_s=_LIST_LIMIT_S), connection.now)
    except anyio.get_cancelled_exc_class():
        connection.outbox.send_cancel(exchange, "The list is no longer needed")
        connection.outbox.give_up(exchange, ExchangeEnd.CANCELLED)
        raise
    if end is ExchangeEnd.LOST:
        raise anyio.ClosedResourceError
    if exchange.reply is None:
        connection.outbox.send_cancel(exchange, "Timed out")
        connection.outbox.give_up(exchange, end)
