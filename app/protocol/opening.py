"""How to open a connection with a server of unknown era: what to ask, and what answers mean.

Source: 2026-07-28 "Versioning" on falling back to the handshake, 2025-11-25 "Lifecycle".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from app.problem import Problem
from app.protocol import eras
from app.protocol.eras import Agreement, ClientIdentity, Era
from app.protocol.reading import shown

if TYPE_CHECKING:
    from app.protocol.facts import JsonObject, RequestAnswered

_METHOD_NOT_FOUND = -32601


class Ask(NamedTuple):
    """A request to send next.

    No answer within `limit_s` seconds is an answer too, None; `limit_s` is None for the limit
    of the whole connection.
    """

    method: str
    params: JsonObject
    revision: str
    limit_s: float | None


Step: TypeAlias = Ask | Agreement | Problem


class Opening:
    """Decides step by step how one connection opens; the session sends and keeps time.

    `server/discover` first, `initialize` when that fails, unless the era is fixed. Nothing is
    asked twice in the same way but a `server/discover` that was first met with silence: a
    server may take longer to start than its limit.
    """

    def __init__(self, client: ClientIdentity, only: Era | None = None) -> None:
        self._client = client
        self._only = only
        self._asked: list[Ask] = []
        self._was_silent = False

    def first(self) -> Ask:
        """What to ask at the start."""
        if self._only is Era.HANDSHAKE:
            return self._initialize(eras.LATEST_HANDSHAKE)
        return self._discover(None if self._only else eras.DISCOVER_LIMIT_S)

    def after(self, reply: RequestAnswered | None) -> Step:
        """What to do after the last question was answered, or was not within its limit."""
        last = self._asked[-1]
        if reply is not None and reply.result is not None:
            return self._after_result(last, reply.result)
        if last.method == eras.DISCOVER:
            return self._after_failed_discover(last, reply)
        return self._after_failed_initialize(reply)

    def _after_result(self, last: Ask, result: JsonObject) -> Step:
        agreed = eras.read_opening(last.method, result, last.revision)
        if agreed is not None:
            return agreed
        if last.method == eras.DISCOVER:
            return self._try_common(eras.supported_revisions(result))
        seen = shown(result.get("protocolVersion"))
        return _no_common(f"the protocol revision {seen}")

    def _after_failed_discover(self, last: Ask, reply: RequestAnswered | None) -> Step:
        error = {} if reply is None else reply.error or {}
        self._was_silent = reply is None
        if error.get("code") == eras.UNSUPPORTED_VERSION:
            return self._try_common(eras.supported_revisions(error))
        if self._only is Era.PER_REQUEST:
            return _refused(last.method, reply, "Let the era of this server be found out.")
        return self._initialize(eras.LATEST_HANDSHAKE)

    def _after_failed_initialize(self, reply: RequestAnswered | None) -> Step:
        error = {} if reply is None else reply.error or {}
        supported = eras.supported_revisions(error)
        if supported:
            return self._try_common(supported)
        if self._was_silent and error.get("code") in {
            _METHOD_NOT_FOUND,
            eras.UNSUPPORTED_VERSION,
        }:
            self._was_silent = False
            return self._discover(None)
        return _refused(eras.INITIALIZE, reply, "Is this an MCP server, and does it start well?")

    def _try_common(self, supported: tuple[str, ...]) -> Step:
        """Ask for the newest revision that both speak, unless that has been tried."""
        allowed = tuple(r for r in supported if self._only in {None, _era(r)})
        revision = eras.newest_common(allowed)
        if revision is None and self._only and eras.newest_common(supported):
            return Problem(
                f"The server speaks only {', '.join(supported)}, which the fixed era has not.",
                hint="Let the era of this server be found out.",
            )
        if revision is None:
            return _no_common(f"only {', '.join(supported) or 'revisions it does not name'}")
        tried = {(ask.method, ask.revision) for ask in self._asked}
        if eras.era_of(revision) is Era.HANDSHAKE:
            if (eras.INITIALIZE, revision) not in tried:
                return self._initialize(revision)
        elif self._was_silent or (eras.DISCOVER, revision) not in tried:
            self._was_silent = False
            return self._discover(None)
        return Problem(
            f"The server refuses {revision}, which it says it speaks.",
            hint="This is a fault of the server: the raw log shows both messages.",
        )

    def _initialize(self, revision: str) -> Ask:
        params = eras.initialize_params(self._client, revision)
        return self._ask(Ask(eras.INITIALIZE, params, revision, None))

    def _discover(self, limit_s: float | None) -> Ask:
        params = eras.discover_params(self._client)
        return self._ask(Ask(eras.DISCOVER, params, eras.PER_REQUEST, limit_s))

    def _ask(self, ask: Ask) -> Ask:
        self._asked.append(ask)
        return ask


def _era(revision: str) -> Era | None:
    return eras.era_of(revision) if revision in eras.REVISIONS else None


def _no_common(theirs: str) -> Problem:
    return Problem(
        f"The server speaks {theirs}, which this program does not.",
        hint=f"Known here: {', '.join(eras.REVISIONS)}.",
    )


def _refused(method: str, reply: RequestAnswered | None, hint: str) -> Problem:
    if reply is None:
        return Problem(f"The server did not answer {method}.", hint=hint)
    error = reply.error or {}
    words = error.get("message")
    said = words if isinstance(words, str) and words else "; ".join(reply.problems)
    code = f" ({shown(error['code'])})" if "code" in error else ""
    return Problem(f"The server refused {method}{code}: {said or 'no reason given'}", hint=hint)
