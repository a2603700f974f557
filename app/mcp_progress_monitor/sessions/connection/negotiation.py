"""An opening of a connection: carried out, and remembered by server.

`ConnectionOpening` says what to ask; here the requests are sent, and time is kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor import formatting, private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import Agreement, Era
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import DISCOVER, INITIALIZED
from mcp_progress_monitor.protocol.opening import Ask, Await, ConnectionOpening, Reopen
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.snapshots.doctor import OpeningQuestion

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.facts import RequestAnswered
    from mcp_progress_monitor.protocol.opening import Step
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest
    from mcp_progress_monitor.sessions.transport.base import Loss
    from mcp_progress_monitor.snapshots.definitions import Era as EraChoice
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_log = logging.getLogger(__name__)

FILE_NAME: Final = "server-eras.json"
KEPT_S: Final = 7 * 86_400.0
"""How long a server is not probed: newer revisions should be noticed eventually."""
_MOST_KEPT: Final = 500
_MOST_BYTES: Final = 1_000_000


class ProvenEra(NamedTuple):
    """Era that an opening proved, and a digest of the server's description of itself.

    `was_asked` is whether the server had the choice; otherwise nothing new was learnt.
    """

    era: Era
    said: str
    was_asked: bool


class _Kept(NamedTuple):
    era: Era
    said: str
    when: float


def digest_of(agreement: Agreement) -> str:
    """A digest of the server's description of itself."""
    said = (agreement.revision, agreement.server_info, agreement.capabilities)
    return hashlib.sha256(canonical([*said, agreement.instructions])).hexdigest()[:32]


class EraMemory:
    """Eras on disk; without a path they last until the program exits.

    The file is read for each query, since other instances write it too. If it cannot be read or
    written, the only cost is a probe.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._held: dict[str, _Kept] = {}

    def of(self, definition: ServerDefinition) -> Era | None:
        """The era that a server spoke when last probed; None to probe it."""
        kept = self._read().get(_key(definition))
        return None if kept is None else kept.era

    def learn(self, definition: ServerDefinition, proven: ProvenEra) -> None:
        key = _key(definition)
        held = self._read()
        kept = held.get(key)
        if not proven.was_asked and kept is not None and kept.said == proven.said:
            return
        if proven.was_asked:
            held.pop(key, None)
            held[key] = _Kept(proven.era, proven.said, self._clock.wall())
        elif held.pop(key, None) is None:
            return
        self._write(held)

    def forget(self, definition: ServerDefinition) -> None:
        """Probe a server the next time: it could not be opened as remembered."""
        held = self._read()
        if held.pop(_key(definition), None) is not None:
            self._write(held)

    def _read(self) -> dict[str, _Kept]:
        if self._path is not None:
            self._held = _entries(self._path)
        now = self._clock.wall()
        return {key: kept for key, kept in self._held.items() if 0 <= now - kept.when <= KEPT_S}

    def _write(self, held: dict[str, _Kept]) -> None:
        self._held = dict(list(held.items())[-_MOST_KEPT:])
        if self._path is None:
            return
        # Rounded down: a time in the future would not count.
        entries = {
            key: {"era": kept.era.value, "said": kept.said, "when": kept.when}
            for key, kept in self._held.items()
        }
        try:
            private_file.make_folder(self._path.parent)
            content = json.dumps({"eras": entries}, indent=1).encode()
            private_file.put(self._path, content, waits_for_disk=False)
        except OSError as error:
            _log.info("which era servers speak cannot be kept: %s", error)


def _key(definition: ServerDefinition) -> str:
    return definition.approval_key


def _entries(path: Path) -> dict[str, _Kept]:
    """The content of the file; empty if it cannot be read."""
    try:
        if path_kind(path) is not PathKind.FILE or path.stat().st_size > _MOST_BYTES:
            return {}
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        _log.info("which era servers speak cannot be read: %s", error)
        return {}
    found = document.get("eras") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        return {}
    entries = {key: _entry(value) for key, value in found.items()}
    return {key: kept for key, kept in entries.items() if kept is not None}


def _entry(value: Any) -> _Kept | None:
    try:
        return _Kept(Era(value["era"]), str(value["said"]), float(value["when"]))
    except (KeyError, TypeError, ValueError):
        return None


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
        """True if `server/discover` has succeeded by now, even after its limit.

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
    """Say why an opening failed; whether its request was processed does not matter."""
    if loss.outcome == "lost" and loss.may_be_older:
        hint = "Check the URL, and that an MCP server is running there; then connect again."
        return loss.details._replace(hint=hint)
    return loss.details
