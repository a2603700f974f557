"""A played server with one task, in either form of tasks, and a run that follows it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import anyio

from mcp_progress_monitor.protocol.facts import JsonObject, TaskView, read_task
from mcp_progress_monitor.protocol.messages import TASKS_EXTENSION
from mcp_progress_monitor.protocol.tasks import TaskOffer, TaskWay
from mcp_progress_monitor.sessions.connection.clocks import CallClock
from mcp_progress_monitor.sessions.tasks import FollowedTask, InputAsker, TaskEnd, TaskRun
from tests.unit.sessions.playbook import Log, Message, PlayedServer, connection_to, error, result

CORE = TaskOffer(TaskWay.CORE, {"tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}})
EXTENDED = TaskOffer(TaskWay.EXTENSION, {"extensions": {TASKS_EXTENSION: {}}})
ANSWER = {"content": [{"type": "text", "text": "done"}]}
WHEN = "2026-01-01T00:00:00Z"
FAST_MS = 1


def task_of(offer: TaskOffer, status: str = "working", **members: Any) -> Message:
    """The task as a server of that offer states it."""
    unit = "" if offer.way is TaskWay.CORE else "Ms"
    times = {"createdAt": WHEN, "lastUpdatedAt": WHEN}
    spans = {f"ttl{unit}": 60_000, f"pollInterval{unit}": FAST_MS}
    return {"taskId": "T", "status": status, **times, **spans, **members}


class TaskServer(PlayedServer):
    """Answers requests about a task: each look tells the next of `states`, the last for ever.

    A state is a status, a whole task, an error code, or None for silence. `answers` are those to
    the other methods, by their last word, in the same manner; one that is missing is silence.
    """

    def __init__(self, offer: TaskOffer, states: Iterable[Any] = (), **answers: Any) -> None:
        super().__init__(self._play)
        self.states = list(states)
        self.answers = answers
        self.offer = offer

    def task(self, status: str = "working", **members: Any) -> Message:
        """A task as this server states it."""
        return task_of(self.offer, status, **members)

    def view(self, **members: Any) -> TaskView:
        """The task as it began."""
        view = read_task(self.task(**members), flat=True)
        assert view is not None
        return view

    def tell(self, status: str, **members: Any) -> None:
        """Notify of the task's status."""
        is_core = self.offer.way is TaskWay.CORE
        method = "notifications/tasks/status" if is_core else "notifications/tasks"
        self.say({"jsonrpc": "2.0", "method": method, "params": self.task(status, **members)})

    def count(self, method: str) -> int:
        """How many requests of that method were sent."""
        return self.methods.count(method)

    def _play(self, message: Message) -> list[Message]:
        kind = message.get("method", "").rpartition("/")[2]
        if kind == "get":
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        else:
            state = self.answers.get(kind)
        if callable(state):
            state = state(message)
        return [] if state is None else [self._reply(message, state)]

    def _reply(self, message: Message, state: Any) -> Message:
        if isinstance(state, int):
            return error(message, state, "no such thing")
        return result(message, self.task(state) if isinstance(state, str) else state)


def of_extension(status: str, **members: Any) -> Any:
    """A state of the extension, as the reply to a look."""
    return task_of(EXTENDED, status, **members)


class Followed1:
    """A run that goes on, with everything that was seen of it."""

    def __init__(self, run: TaskRun, server: TaskServer, log: Log) -> None:
        self.run, self.server, self.log = run, server, log

    async def end(self) -> TaskEnd:
        """How the run ended, once it has."""
        with anyio.fail_after(10):
            await self.run.over()
        assert self.run.end is not None
        return self.run.end


@contextlib.asynccontextmanager
async def followed(
    server: TaskServer,
    ask: InputAsker | None = None,
    *,
    is_known: bool = True,
    began_s_ago: float = 0.0,
    view: JsonObject | None = None,
) -> AsyncIterator[Followed1]:
    """Follow the task of a server, over a connection that is open."""
    log = Log()
    connection = connection_to(server, log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.run)
        await connection.opened()
        began_at = connection.now() - began_s_ago
        began = FollowedTask(server.view(**(view or {})), lambda: 1, began_at, is_known=is_known)
        run = TaskRun(connection, server.offer, began, CallClock(connection.now()), ask)
        tasks.start_soon(run.run)
        yield Followed1(run, server, log)
        connection.end("The test is over")
        await run.over()
        tasks.cancel_scope.cancel()


async def end_of(server: TaskServer, ask: InputAsker | None = None, **options: Any) -> TaskEnd:
    """How following the task of a server ends; `options` are those of `followed`."""
    async with followed(server, ask, **options) as play:
        return await play.end()
