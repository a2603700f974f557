"""What a task of 2026-07-28 asks of the user: each question once, the answers by `tasks/update`.

Source: the tasks extension, "Task Update Requests". Questions that are shown together are answered
together, since a server need not take a part of them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import anyio

from app.protocol import task_requests
from app.sessions.rounds import InputError
from app.sessions.task_wire import member

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from app.protocol.facts import JsonObject
    from app.sessions.exchange import Exchange
    from app.sessions.task_wire import TaskWire

Asker: TypeAlias = "Callable[[JsonObject, int], Awaitable[JsonObject]]"
"""Asks what the message in a frame requires, by key; `InputError` when that cannot be given."""

_PAUSES_S: Final = (0.5, 2.0)
"""Before the answers are sent once more that a server did not take."""


class Refuse(Protocol):
    """Ends the job with words: what its task waits for is not given."""

    async def __call__(self, words: str, *, is_wanted: bool) -> None:
        """`is_wanted`: the user does not want to."""


class TaskInput:
    """The questions of one task."""

    def __init__(self, wire: TaskWire, ask: Asker, refuse: Refuse) -> None:
        """Ask by `ask`, answer over `wire`."""
        self._wire = wire
        self._ask = ask
        self._refuse = refuse
        self._shown: set[str] = set()
        self._asking: list[tuple[frozenset[str], anyio.CancelScope]] = []

    async def take(self, exchange: Exchange, tasks: TaskGroup) -> None:
        """Ask what a look at the task shows and was not shown before.

        A question that is shown no more is withdrawn; shown again after that, it is a new one.
        """
        requests = await member(exchange, "inputRequests") or {}
        new = {key: request for key, request in requests.items() if key not in self._shown}
        self._shown = set(requests)
        self._withdraw_all_but(self._shown)
        if new and exchange.request is not None and exchange.reply is not None:
            tasks.start_soon(self._answer, new, exchange.reply.number)

    def withdraw(self) -> None:
        """The task waits for nothing any more."""
        self._shown = set()
        self._withdraw_all_but(self._shown)

    def _withdraw_all_but(self, keys: set[str]) -> None:
        for asked, scope in list(self._asking):
            if not asked & keys:
                scope.cancel()

    async def _answer(self, requests: JsonObject, frame: int) -> None:
        """Ask, then send what was answered."""
        answers: JsonObject | None = None
        asking = (frozenset(requests), anyio.CancelScope())
        self._asking.append(asking)
        try:
            with asking[1]:
                answers = await self._ask(requests, frame)
        except InputError as error:
            await self._refuse(error.words, is_wanted=error.is_wanted)
        finally:
            self._asking.remove(asking)
        if answers is not None:
            with contextlib.suppress(anyio.ClosedResourceError):  # which the run tells of
                await self._send(answers)

    async def _send(self, answers: JsonObject) -> None:
        """Send answers, again if the server does not take them; then its questions are new ones."""
        for pause_s in (*_PAUSES_S, None):
            exchange = await self._wire.ask(task_requests.UPDATE, inputResponses=answers)
            if exchange.reply is not None and exchange.reply.result is not None:
                return
            if pause_s is not None:
                await anyio.sleep(pause_s)
        self._shown -= set(answers)
