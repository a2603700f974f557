"""Carries out an opening: asks what `Opening` wants asked, keeps time, reports what was agreed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from app.problem import Problem, ProblemError
from app.protocol import eras
from app.protocol.eras import Agreement, Era
from app.protocol.opening import Ask, Opening
from app.sessions.exchange import End

if TYPE_CHECKING:
    from app.protocol.eras import ClientIdentity
    from app.protocol.opening import Step
    from app.sessions.connection import Connection
    from app.sessions.definitions import Era as EraChoice
    from app.sessions.exchange import Exchange
    from app.sessions.transport import Loss


class EndedAtDiscoverError(Exception):
    """The server ended rather than answer `server/discover`.

    Some servers of the handshake era end at any message before `initialize`: it is worth
    starting such a server again without that question.
    """


class Negotiation:
    """The opening of one connection. Waits without limit: whoever runs it sets one."""

    def __init__(self, connection: Connection, client: ClientIdentity, era: EraChoice) -> None:
        """Negotiate over a connection that is open, telling the server who `client` is."""
        self.asked: list[str] = []
        """The opening requests that were sent, for words about their failure."""
        self._connection = connection
        self._client = client
        fixed = Era.HANDSHAKE if connection.has_handshake else _fixed(era)
        self._is_open_question = fixed is None
        self._opening = Opening(client, fixed)
        self._discover: Exchange | None = None

    async def run(self) -> Agreement:
        """Agree with the server and get ready to speak as agreed.

        `ProblemError` when there is no common revision, `anyio.ClosedResourceError` when the
        connection ended, `EndedAtDiscoverError` when it did so over a question of ours that the
        server may not know.
        """
        step: Step = self._opening.first()
        while isinstance(step, Ask):
            step = self._opening.after((await self._answered(step)).reply)
        if isinstance(step, Problem):
            raise ProblemError(step)
        self._begin(step)
        return step

    @property
    def is_newer_after_all(self) -> bool:
        """Whether `server/discover` was answered well by now, be it after its limit.

        A server that takes long to start is opened in the handshake era when it speaks both.
        """
        reply = None if self._discover is None else self._discover.reply
        if reply is None or reply.result is None:
            return False
        return eras.PER_REQUEST in eras.supported_revisions(reply.result)

    async def _answered(self, ask: Ask) -> Exchange:
        """The exchange of one opening request, over or silent for as long as it may be."""
        self.asked.append(ask.method)
        exchange = self._connection.mail.ask(ask.method, ask.params)
        if ask.method == eras.DISCOVER:
            self._discover = exchange
        end = await exchange.over(ask.limit_s)
        if exchange.loss is not None:
            self._check(ask, exchange.loss)
        elif end is End.LOST:
            has_process = self._connection.failure is None
            if ask.method == eras.DISCOVER and self._is_open_question and has_process:
                raise EndedAtDiscoverError
            raise anyio.ClosedResourceError
        return exchange

    def _check(self, ask: Ask, loss: Loss) -> None:
        """Go on only where a refusal may come of `server/discover` being unknown."""
        may_be_older = loss.may_be_older and self._is_open_question
        if not (may_be_older and ask.method == eras.DISCOVER):
            raise ProblemError(_of_opening(loss))

    def _begin(self, agreement: Agreement) -> None:
        self._connection.agreed(agreement.revision)
        peer = self._connection.mail.peer
        peer.stamps = eras.stamps(agreement.revision, self._client)
        if agreement.era is Era.HANDSHAKE:
            self._connection.mail.post(peer.notify(eras.INITIALIZED))


def _of_opening(loss: Loss) -> Problem:
    """Why an opening failed; that its request may have been carried out is of no concern."""
    if loss.outcome == "lost" and loss.may_be_older:
        hint = "Check the URL, and that an MCP server answers there; then connect it again."
        return loss.problem._replace(hint=hint)
    return loss.problem


def _fixed(era: EraChoice) -> Era | None:
    return None if era == "auto" else Era(era)
