"""The one request for a task's result: open while the task waits for input, or made at its end.

Source: 2025-11-25 "Tasks", "Result Retrieval" and "Input Required Status": the request waits at the
server until the task has ended, and the server's questions come while it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.protocol import task_requests
from mcp_progress_monitor.sessions.exchange import End

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import RequestAnswered
    from mcp_progress_monitor.sessions.exchange import Exchange
    from mcp_progress_monitor.sessions.task_wire import TaskWire

_REFUSALS: Final = 3
"""How often a server may refuse to keep the request open, before it is left alone till the end."""


class ResultRequest:
    """At most one request at a time; a result that was had is never asked for again."""

    def __init__(self, wire: TaskWire, on_reply: Callable[[], None]) -> None:
        """Ask over `wire`; `on_reply` is called when a reply has come."""
        self._wire = wire
        self._on_reply = on_reply
        self._exchange: Exchange | None = None
        self._refusals = 0

    @property
    def reply(self) -> RequestAnswered | None:
        """What was replied so far."""
        return None if self._exchange is None else self._exchange.reply

    @property
    def raw(self) -> bytes:
        """The exact bytes of that reply."""
        return b"" if self._exchange is None else self._exchange.raw

    def open(self, tasks: TaskGroup) -> None:
        """Ask while the task has not ended; nothing if that was done, or was refused too often."""
        if self._exchange is None and self._refusals < _REFUSALS:
            self._begin(tasks)

    def note_going_on(self) -> None:
        """The task has not ended: an error that came is a refusal, and not what became of it."""
        if self.reply is not None and self.reply.error is not None:
            self._refusals += 1
            self._exchange = None

    async def had(self, tasks: TaskGroup) -> Exchange:
        """The exchange once it is over; the request is made now if it was not before."""
        exchange = self._exchange or self._begin(tasks)
        if exchange.end is None:
            await self._wire.wait(exchange)
        if exchange.end is End.LOST:
            raise anyio.ClosedResourceError
        return exchange

    def forget(self) -> None:
        """Ask anew next time: what came was no result."""
        self._exchange = None

    def drop(self) -> None:
        """Nobody wants the result any more."""
        if self._exchange is not None:
            self._wire.drop(self._exchange, "The task is followed no longer")

    def _begin(self, tasks: TaskGroup) -> Exchange:
        self._exchange = self._wire.post(task_requests.RESULT)
        tasks.start_soon(self._await, self._exchange)
        return self._exchange

    async def _await(self, exchange: Exchange) -> None:
        await exchange.over()
        self._on_reply()
