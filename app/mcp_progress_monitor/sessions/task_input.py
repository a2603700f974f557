"""What a task of 2026-07-28 asks of the user: each question once, the answers by `tasks/update`.

Source: the tasks extension, "Task Update Requests". Questions that are shown together are answered
together, since a server need not take a part of them. Another question under a key that was used
before breaks the protocol, and is asked like any other.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import anyio

from mcp_progress_monitor.protocol import task_requests
from mcp_progress_monitor.protocol.task_questions import digests
from mcp_progress_monitor.sessions.rounds import InputError
from mcp_progress_monitor.sessions.task_wire import member

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.exchange import Exchange
    from mcp_progress_monitor.sessions.task_wire import TaskWire

Asker: TypeAlias = "Callable[[JsonObject, int], Awaitable[JsonObject]]"
"""Asks what the message in a frame requires, by key; `InputError` when that cannot be given."""

_PAUSES_S: Final = (0.5, 2.0)
"""Before the answers are sent once more that a server did not take."""


class Refuse(Protocol):
    """Ends the job with words: what its task waits for is not given."""

    async def __call__(self, words: str, *, is_wanted: bool) -> None:
        """`is_wanted`: the user does not want to."""


class _Asking(NamedTuple):
    """Questions that are open together: what each key asks, and what ends it."""

    asked: Mapping[str, bytes]
    scope: anyio.CancelScope


class TaskInput:
    """The questions of one task."""

    def __init__(self, wire: TaskWire, ask: Asker, refuse: Refuse) -> None:
        """Ask by `ask`, answer over `wire`."""
        self._wire = wire
        self._ask = ask
        self._refuse = refuse
        self._shown: dict[str, bytes] = {}
        self._asking: list[_Asking] = []

    async def take(self, exchange: Exchange, tasks: TaskGroup) -> None:
        """Ask what a look at the task shows and was not shown before.

        A question that is shown no more is withdrawn; shown again after that, it is a new one.
        """
        requests = await member(exchange, "inputRequests") or {}
        before, self._shown = self._shown, digests(requests)
        new = {key: each for key, each in requests.items() if before.get(key) != self._shown[key]}
        self._withdraw_the_rest()
        if new and exchange.request is not None and exchange.reply is not None:
            tasks.start_soon(self._answer, new, exchange.reply.number)

    def withdraw(self) -> None:
        """The task waits for nothing any more."""
        self._shown = {}
        self._withdraw_the_rest()

    def _withdraw_the_rest(self) -> None:
        """Ask no more what is not shown any more."""
        for asking in list(self._asking):
            if not asking.asked.items() & self._shown.items():
                asking.scope.cancel()

    async def _answer(self, requests: JsonObject, frame: int) -> None:
        """Ask, then send what was answered."""
        answers: JsonObject | None = None
        asking = _Asking(digests(requests), anyio.CancelScope())
        self._asking.append(asking)
        try:
            with asking.scope:
                answers = await self._ask(requests, frame)
        except InputError as error:
            await self._refuse(error.words, is_wanted=error.is_wanted)
        finally:
            self._asking.remove(asking)
        if answers is not None:
            with contextlib.suppress(anyio.ClosedResourceError):  # which the run tells of
                await self._send(self._still_meant(answers, asking.asked))

    def _still_meant(self, answers: JsonObject, asked: Mapping[str, bytes]) -> JsonObject:
        """The answers without those whose keys stand for another question by now."""
        now = self._shown
        return {
            key: given for key, given in answers.items() if now.get(key, asked[key]) == asked[key]
        }

    async def _send(self, answers: JsonObject) -> None:
        """Send answers, again if the server does not take them; then its questions are new ones."""
        for pause_s in (*_PAUSES_S, None):
            exchange = await self._wire.ask(task_requests.UPDATE, inputResponses=answers)
            if exchange.reply is not None and exchange.reply.result is not None:
                return
            if pause_s is not None:
                await anyio.sleep(pause_s)
        self._shown = {key: asked for key, asked in self._shown.items() if key not in answers}
