"""Our side of a connection, without its I/O: chooses ids and progress tokens, writes messages."""

from __future__ import annotations

import enum
import itertools
import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.ledger import Key, key_of
from mcp_progress_monitor.protocol.messages import CANCELLED, META, PROGRESS_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered, RequestId

__all__ = ["AUTO", "AutoToken", "Outgoing", "Peer", "TokenChoice", "TokenSource", "is_generated"]


class AutoToken(enum.Enum):
    """The type of `AUTO`."""

    AUTO = "auto"


AUTO = AutoToken.AUTO
"""Requests a token from the `TokenSource`."""

TokenChoice: TypeAlias = AutoToken | str | int | None
"""A string or an integer (0 included) to use unchanged, `AUTO`, or None for no token at all."""


_GENERATED: Final = re.compile(r"prog-\d+-\d+")


def is_generated(token: object) -> bool:
    """True if `token` looks like one of a `TokenSource`: nobody chose it."""
    return isinstance(token, str) and _GENERATED.fullmatch(token) is not None


class TokenSource:
    """Makes tokens `prog-<milliseconds>-<counter>`, unique for the life of the program.

    Created once and shared. The counter alone makes a token unique, whatever the clock does, and
    counting is atomic across threads.
    """

    def __init__(self, now_ms: int) -> None:
        self._started_ms = now_ms
        self._counter = itertools.count(1)

    def next(self, now_ms: int | None = None) -> str:
        """Make a token; `now_ms` is the wall time, by default that of the source's creation."""
        milliseconds = self._started_ms if now_ms is None else now_ms
        return f"prog-{milliseconds}-{next(self._counter)}"


class Outgoing(NamedTuple):
    """A request to write: its id, its progress token (None without), its exact bytes."""

    id: int
    token: str | int | None
    raw: bytes


class Peer:
    """Encodes our requests, notifications and replies on one connection.

    Ids count up from 1 and are never reused. Messages must be written in the order in which they
    were made. `stamps`, once set, go into the `_meta` of every request (2026-07-28).
    """

    def __init__(
        self, tokens: TokenSource, is_token_active: Callable[[str | int], bool] | None = None
    ) -> None:
        """Make the peer of a new connection.

        `is_token_active` knows tokens that outlive their request, such as a task's (see
        `Conversation.is_token_active`).
        """
        self.stamps: JsonObject = {}
        self._tokens = tokens
        self._is_token_active = is_token_active
        self._last_id = 0
        self._pending: dict[int, Key | None] = {}
        self._held: Counter[Key | None] = Counter()

    @property
    def pending_count(self) -> int:
        """The number of requests that are neither answered nor cancelled."""
        return len(self._pending)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        token: TokenChoice = AUTO,
        *,
        allow_duplicate: bool = False,
        now_ms: int | None = None,
        verbatim: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Outgoing:
        """Encode a request.

        `verbatim` are further members of its parameters, JSON that is written unchanged. The
        `_meta` in `params` overrides the stamps. A progress token in there counts as chosen.
        `now_ms` is the wall time for a generated token.

        Raises:
            UserError: the token is of a wrong type, contradicts that in `params`, or is in
                use (unless `allow_duplicate`); or `params` cannot be written as JSON.
        """
        body = dict(params or {})
        meta = _merged_meta(body, self.stamps)
        chosen = self._choose(meta, token, now_ms)
        key = None if chosen is None else key_of(chosen)
        if chosen is not None:
            meta[PROGRESS_TOKEN] = chosen
            if not allow_duplicate:
                self._refuse_token_in_use(chosen)
        if meta or META in body:
            body[META] = meta
        has_params = params is not None or bool(body) or bool(verbatim)
        identity = self._last_id + 1
        raw = _written(
            {"jsonrpc": "2.0", "id": identity, "method": method}
            | ({"params": body} if has_params else {}),
            f"the request {method}",
        )
        if verbatim:
            raw = _with_members(raw, verbatim, is_first=not body)
        self._last_id = identity
        self._pending[identity] = key
        self._held[key] += 1
        return Outgoing(identity, chosen, raw)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> bytes:
        """Encode a notification.

        Raises:
            UserError: `params` cannot be written as JSON.
        """
        body = {} if params is None else {"params": params}
        return _written({"jsonrpc": "2.0", "method": method} | body, f"the notification {method}")

    def respond(self, identity: RequestId, result: Mapping[str, Any]) -> bytes:
        """Encode the result of a server's request; its id is echoed as received.

        Raises:
            UserError: `result` cannot be written as JSON.
        """
        return _written({"jsonrpc": "2.0", "id": identity, "result": result}, "the reply")

    def refuse(self, identity: RequestId, code: int, message: str, data: object = None) -> bytes:
        """Encode an error as the reply to a server's request.

        Raises:
            UserError: `data` cannot be written as JSON.
        """
        error: JsonObject = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        return _written({"jsonrpc": "2.0", "id": identity, "error": error}, "the error reply")

    def cancel(self, identity: int, reason: str | None = None) -> bytes:
        """Encode a cancel of one of our requests; its token may be used again."""
        self.forget(identity)
        params: JsonObject = {"requestId": identity}
        if reason is not None:
            params["reason"] = reason
        return self.notify(CANCELLED, params)

    def is_pending(self, identity: int) -> bool:
        return identity in self._pending

    def forget(self, identity: int) -> None:
        """A request will get no reply: its token may be used again."""
        if identity not in self._pending:
            return
        key = self._pending.pop(identity)
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]

    def answered(self, reply: RequestAnswered) -> None:
        """The server has replied to a request: its token may be used again."""
        if type(reply.id) is int:
            self.forget(reply.id)

    def closed(self) -> None:
        """The connection is closed, and with it every request."""
        self._pending.clear()
        self._held.clear()

    def is_token_in_use(self, token: str | int) -> bool:
        """Return whether a request with `token` would be refused while another one is pending."""
        is_held = self._is_token_active is not None and self._is_token_active(token)
        return is_held or key_of(token) in self._held

    def _choose(self, meta: JsonObject, token: TokenChoice, now_ms: int | None) -> str | int | None:
        """The token to send, from the caller's choice and the caller's `_meta`."""
        chosen = meta.get(PROGRESS_TOKEN) if PROGRESS_TOKEN in meta else token
        if not isinstance(chosen, str | int | AutoToken | None) or isinstance(chosen, bool):
            raise UserError(
                ErrorDetails(
                    f"The progress token {chosen!r} is neither a string nor an integer.",
                    hint="Use a string, an integer or no token.",
                )
            )
        if chosen != token and token is not AUTO and token is not None:
            raise UserError(
                ErrorDetails(
                    f"The progress token is given twice: {token!r}, and {chosen!r} in _meta.",
                    hint="Remove one of them.",
                )
            )
        return self._tokens.next(now_ms) if chosen is AUTO else chosen

    def _refuse_token_in_use(self, token: str | int) -> None:
        if not self.is_token_in_use(token):
            return
        key = key_of(token)
        owner = next((i for i, other in self._pending.items() if other == key), None)
        whose = "a task that is still running" if owner is None else f"the pending request {owner}"
        raise UserError(
            ErrorDetails(
                f"The progress token {token!r} is in use by {whose}.",
                hint="A token must be unique among pending requests: choose another, or wait until "
                "that request has finished.",
            )
        )


def check_json(value: JsonObject, what: str = "the answer") -> None:
    """Check that `value` can be sent; `UserError` when it cannot be written as JSON."""
    _written(value, what)


def _merged_meta(body: JsonObject, stamps: JsonObject) -> JsonObject:
    own = body.get(META, {})
    if not isinstance(own, dict):
        raise UserError(
            ErrorDetails(f"_meta is {own!r}, not an object.", hint="Pass an object, or omit it.")
        )
    return {**stamps, **own}


def _with_members(raw: bytes, verbatim: Mapping[str, bytes], *, is_first: bool) -> bytes:
    """A request with further parameters: these are its last member, and end with the message."""
    members = b",".join(b'"%b":%b' % (name.encode(), value) for name, value in verbatim.items())
    separator = b"" if is_first else b","
    return raw.removesuffix(b"}}") + separator + members + b"}}"


def _written(message: JsonObject, what: str) -> bytes:
    try:
        return encode(message)
    except ValueError as error:
        raise UserError(
            ErrorDetails(
                f"The values of {what} cannot be represented as JSON.",
                hint="NaN and infinite numbers are the usual cause.",
                detail=str(error),
            )
        ) from error
