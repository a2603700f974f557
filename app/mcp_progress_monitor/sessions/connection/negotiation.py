"""Carries out an opening: sends the requests that `ConnectionOpening` requires, and keeps time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Agreement, Era
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import DISCOVER, INITIALIZED
from mcp_progress_monitor.protocol.opening import Ask, Await, ConnectionOpening, Reopen
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.snapshots.doctor import OpeningQuestion

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.facts import RequestAnswered
    from mcp_progress_monitor.protocol.opening import Step
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.sessions.transport.base import Loss
    from mcp_progress_monitor.snapshots.definitions import Era as EraChoice

_TEXT_LIMIT = 120


class ReopenError(Exception):
    """Nothing was agreed over this connection, but another one may work."""

    def __init__(self, step: Reopen) -> None:
        super().__init__(step.why)
        self.why = step.why  # what happened and what is done next, for display


def opening_of(
    connection: Connection, client: ClientIdentity, era: EraChoice, remembered: Era | None = None
) -> ConnectionOpening:
    choice = "handshake" if connection.has_handshake else era
    only = None if choice == "auto" else Era(choice)
    return ConnectionOpening(client, only, remembered, can_reopen=not connection.is_http)


class Negotiation:
    """The part of an opening that uses one connection.

    Waits without a limit: the caller sets one.
    """

    def __init__(
        self, connection: Connection, client: ClientIdentity, opening: ConnectionOpening
    ) -> None:
        self._connection = connection
        self._client = client
        self._opening = opening
        self._discover: PendingRequest | None = None
        self._asked: list[tuple[Ask, PendingRequest]] = []

    async def run(self) -> Agreement:
        """Agree on a revision and prepare the connection for it.

        `UserError` if there is no common revision, `anyio.ClosedResourceError` if the connection
        ended, `ReopenError` if another connection may work.
        """
        step: Step = self._opening.first()
        while isinstance(step, Ask | Await):
            step = await (self._after(step) if isinstance(step, Ask) else self._after_wait(step))
        if isinstance(step, Reopen):
            raise ReopenError(step)
        if isinstance(step, ErrorDetails):
            raise UserError(step)
        self._begin(step)
        return step

    @property
    def asked(self) -> tuple[str, ...]:
        """The opening requests that were sent, for error messages."""
        return tuple(dict.fromkeys(ask.method for ask, _ in self._asked))

    @property
    def questions(self) -> tuple[OpeningQuestion, ...]:
        return tuple(_question(ask, exchange) for ask, exchange in self._asked)

    @property
    def is_newer_after_all(self) -> bool:
        """Whether `server/discover` has succeeded by now, even after its limit.

        A slow server that speaks both eras is opened in the handshake era.
        """
        reply = self._discovered
        return reply is not None and bool(reply.result) and _is_newer(reply)

    @property
    def _discovered(self) -> RequestAnswered | None:
        """The outcome of `server/discover`, even if late."""
        return None if self._discover is None else self._discover.reply

    async def _after(self, ask: Ask) -> Step:
        exchange = self._connection.outbox.ask(ask.method, ask.params)
        self._asked.append((ask, exchange))
        if ask.method == DISCOVER:
            self._discover = exchange
            end = await exchange.over(ask.limit_s)
        else:
            end = await self._over_or_answered_otherwise(exchange)
        if exchange.loss is not None:
            return self._after_loss(ask, exchange.loss)
        if end is ExchangeEnd.LOST:
            return self._after_end()
        late = None if ask.method == DISCOVER else self._discovered
        return self._opening.after(exchange.reply, late)

    async def _after_wait(self, step: Await) -> Step:
        if self._discover is None:
            return self._opening.after_wait(None)
        end = await self._discover.over(step.limit_s)
        if end is ExchangeEnd.LOST and self._discover.loss is None:
            return self._after_end()
        return self._opening.after_wait(self._discover.reply)

    async def _over_or_answered_otherwise(self, exchange: PendingRequest) -> ExchangeEnd | None:
        """Wait for the end of `initialize`.

        Not for long once `server/discover` was answered: a server that was opened by it may leave
        `initialize` unanswered.
        """
        discover = self._discover
        if discover is None or discover.end is not None:
            return await exchange.over()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_once_discovered, discover, tasks.cancel_scope)
            await exchange.over()
            tasks.cancel_scope.cancel()
        return exchange.end

    async def _stop_once_discovered(
        self, discover: PendingRequest, scope: anyio.CancelScope
    ) -> None:
        await discover.over()
        if discover.reply is not None and _is_newer(discover.reply):
            await anyio.sleep(eras.DISCOVER_LIMIT_S)
            scope.cancel()

    def _after_end(self) -> Step:
        """The connection ended; unless its process explains why, another one may still work."""
        step = None if self._connection.failure is not None else self._opening.after_end()
        if step is None:
            raise anyio.ClosedResourceError
        return step

    def _after_loss(self, ask: Ask, loss: Loss) -> Step:
        """Continue only if the refusal may mean that `server/discover` is unknown."""
        is_fixed = not self._opening.is_open_question
        if not loss.may_be_older or is_fixed or ask.method != DISCOVER:
            raise UserError(_of_opening(loss))
        return self._opening.after_refusal(formatting.one_line(loss.details.what, _TEXT_LIMIT))

    def _begin(self, agreement: Agreement) -> None:
        self._connection.agreed(agreement.revision)
        peer = self._connection.outbox.peer
        peer.stamps = eras.stamps(agreement.revision, self._client)
        if agreement.era is Era.HANDSHAKE:
            self._connection.outbox.post(peer.notify(INITIALIZED))


def _is_newer(reply: RequestAnswered) -> bool:
    return reply.result is not None and eras.read_discover(reply.result) is not None


def _question(ask: Ask, exchange: PendingRequest) -> OpeningQuestion:
    asked = OpeningQuestion(ask.method, ask.revision, ask.why, exchange.made_at)
    reply = exchange.reply
    if reply is not None:
        return asked._replace(answer=_answer(ask, reply), answered_at=reply.at)
    if exchange.loss is not None:
        return asked._replace(answer=formatting.one_line(exchange.loss.details.what, _TEXT_LIMIT))
    return asked._replace(answer="the server exited") if exchange.end is ExchangeEnd.LOST else asked


def _answer(ask: Ask, reply: RequestAnswered) -> str:
    """A reply in short."""
    if reply.error is not None:
        code = shown(reply.error.get("code"))
        text = reply.error.get("message")
        said = f": {text}" if isinstance(text, str) and text else ""
        return formatting.one_line(f"error {code}{said}", _TEXT_LIMIT)
    agreed = eras.read_opening(ask.method, reply.result or {}, ask.revision)
    return "invalid result" if agreed is None else f"speaks {agreed.revision}"


def _of_opening(loss: Loss) -> ErrorDetails:
    """Why an opening failed; whether its request was processed does not matter."""
    if loss.outcome == "lost" and loss.may_be_older:
        hint = "Check the URL, and that an MCP server is running there; then connect again."
        return loss.details._replace(hint=hint)
    return loss.details
