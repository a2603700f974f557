"""Requests about one task over one connection, and what of their replies is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor import text
from mcp_progress_monitor.protocol import task_requests
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.reading import Elided, NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.protocol.task_state import TaskView, read_task
from mcp_progress_monitor.sessions.exchange import End, Limits

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.exchange import Exchange

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
_LIMIT_S: Final = 60.0
"""How long a server may be silent about a task."""
_WORDS: Final = 300


class TaskWire:
    """Asks about one task. Whatever is asked raises `ClosedResourceError` once the end is near."""

    def __init__(self, connection: Connection, identity: str) -> None:
        """Ask about the task with the id `identity`."""
        self._mail = connection.mail
        self._now = connection.now
        self._identity = identity

    def post(self, method: str, **members: object) -> Exchange:
        """Post a request that names the task; whoever asks waits for its end, or drops it."""
        return self._mail.ask(method, {"taskId": self._identity, **members})

    def drop(self, exchange: Exchange, reason: str) -> None:
        """Let go of a request whose reply is of no use any more, and tell the server."""
        if exchange.end is None:
            self._mail.cancel(exchange, reason)
            self._mail.give_up(exchange, End.CANCELLED)

    async def ask(self, method: str, **members: object) -> Exchange:
        """Make a request and wait for its reply, which is None after a time of silence."""
        exchange = self.post(method, **members)
        await self.wait(exchange)
        return exchange

    async def wait(self, exchange: Exchange) -> None:
        """Wait for the reply to a request that was posted, or give it up after a time."""
        exchange.clock.touch(self._now())  # it may have been open for long, and rightly so
        try:
            end = await exchange.wait(Limits(idle_s=_LIMIT_S), self._now)
        except anyio.get_cancelled_exc_class():
            self._mail.give_up(exchange, End.CANCELLED)
            raise
        if end is End.LOST:
            raise anyio.ClosedResourceError
        if exchange.reply is None:
            self._mail.cancel(exchange, "It took too long")
            self._mail.give_up(exchange, end)

    async def listen(self) -> None:
        """Be told of the task's states until cancelled (2026-07-28, `subscriptions/listen`).

        A server that refuses is none the worse for it: looking at the task goes on.
        """
        wanted = {"notifications": {"taskIds": [self._identity]}}
        try:
            exchange = self._mail.ask(task_requests.LISTEN, wanted)
        except anyio.ClosedResourceError:
            return
        try:
            await exchange.over()
        finally:
            self.drop(exchange, "The task is followed no longer")


def stated(reply: RequestAnswered | None, identity: str) -> TaskView | None:
    """The task as a reply states it; None if it states none, or another one."""
    view = None if reply is None or reply.result is None else read_task(reply.result, flat=True)
    return view if view is not None and view.id == identity else None


def code_of(reply: RequestAnswered | None) -> object:
    """The code of a reply that is an error; None for any other."""
    return None if reply is None else as_object(reply.error).get("code")


def why_not(reply: RequestAnswered | None) -> str:
    """Why a reply does not tell what was asked, in words."""
    if reply is None:
        return "it did not answer in time"
    if reply.error is None:
        return "its answer states no task"
    return text.one_line(str(reply.error.get("message") or "an error without words"), _WORDS)


async def member(exchange: Exchange, name: str) -> JsonObject | None:
    """A member of the result, an object, whole whatever its size; None if there is none."""
    result = {} if exchange.reply is None else exchange.reply.result or {}
    value = result.get(name)
    if isinstance(value, Elided):
        try:
            whole = await anyio.to_thread.run_sync(read_value, exchange.raw)
        except (NotJsonError, TooDeepError):
            return None
        value = as_object(as_object(whole.value).get("result")).get(name)
    return value if isinstance(value, dict) else None
