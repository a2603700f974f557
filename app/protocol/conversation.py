"""The passive reader of a connection: frames in, facts out, for both directions and both eras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.protocol.eras import as_object
from app.protocol.exchanges import Exchanges
from app.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    ConnectionOpened,
    Fact,
    Side,
    StderrReceived,
)
from app.protocol.frame import Channel, Frame
from app.protocol.jsonrpc import OVERSIZED, decode, decode_in_slices
from app.protocol.ledger import key_of
from app.protocol.progress import decode_plain, plain_progress
from app.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIRE = (Channel.SENT, Channel.RECEIVED)
_NUMBERS = (int, float)
_LONGEST_GRACE_S = 86_400.0


class Conversation:
    """Reads the frames of one connection, in order, and states what they mean.

    It keeps the tables of open requests and active tokens of both sides, so that every fact
    names the request it is about. Each frame of the wire gives one fact, but for a batch line
    (its elements are frames of their own); a reply that opens the session gives a second one, and
    so does a message about a task.
    """

    def __init__(self, connection: str) -> None:
        self.connection = connection
        self._exchanges = Exchanges()

    @property
    def open_requests(self) -> int:
        """How many requests of both sides await a reply."""
        return sum(ledger.open_count for ledger in self._exchanges.of.values())

    @property
    def open_tokens(self) -> int:
        """How many progress tokens of both sides are active."""
        return sum(ledger.token_count for ledger in self._exchanges.of.values())

    @property
    def remembered(self) -> int:
        """How many ended requests and tokens, and running tasks, are remembered; bounded."""
        return sum(ledger.remembered_count for ledger in self._exchanges.of.values())

    def is_token_active(self, token: Any, side: Side = Side.CLIENT) -> bool:
        """Whether a request of `side` that is going on has `token`."""
        return key_of(token) in self._exchanges.of[side].token_owners

    def read(self, frames: Sequence[Frame]) -> list[Fact]:
        """State the facts of `frames`, in their order.

        An oversized frame takes a millisecond for every 100 kB or so: see `read_in_slices`.
        """
        facts: list[Fact] = []
        add, plain, decoded = facts.append, plain_progress, decode_plain
        received = Channel.RECEIVED
        owners = self._exchanges.of[Side.CLIENT].token_owners
        for frame in frames:
            _, _, channel, _, _, raw, _, is_complete = frame
            fact = None
            if channel is received and is_complete and len(raw) <= OVERSIZED:
                try:
                    fact = plain(frame, decoded(raw).params, owners)
                except ValueError:
                    fact = None
            if fact is not None:
                add(fact)
            else:
                facts.extend(self._facts(frame))
        return facts

    def read_in_slices(self, frames: Sequence[Frame]) -> Iterator[list[Fact]]:
        """Do the work of `read` in slices of a few milliseconds, for oversized frames.

        The lists, some of them empty, make up the whole result, in order.
        """
        ordinary: list[Frame] = []
        for frame in frames:
            if len(frame.raw) <= OVERSIZED or frame.channel not in _WIRE:
                ordinary.append(frame)
                continue
            yield self.read(ordinary)
            ordinary = []
            yield from self._oversized(frame)
        yield self.read(ordinary)

    def _oversized(self, frame: Frame) -> Iterator[list[Fact]]:
        slices = decode_in_slices(frame.raw, is_complete=frame.is_complete)
        while True:
            try:
                next(slices)
            except StopIteration as stop:
                yield self._exchanges.state(frame, stop.value)
                return
            yield []

    def _facts(self, frame: Frame) -> list[Fact]:
        """State the facts of a frame of any kind."""
        if frame.channel is Channel.STDERR:
            line = frame.raw.decode(errors="replace").rstrip("\r\n")
            return [StderrReceived(frame.number, frame.connection, frame.at, frame.when, line)]
        if frame.channel is Channel.EVENT:
            return self._event(frame)
        return self._exchanges.state(frame, decode(frame.raw, is_complete=frame.is_complete))

    def _event(self, frame: Frame) -> list[Fact]:
        try:
            fields = as_object(read_value(frame.raw).value)
        except (NotJsonError, TooDeepError):
            return []
        number, connection, at, when = frame.number, frame.connection, frame.at, frame.when
        match fields.pop("event", None):
            case "opened":
                return [ConnectionOpened(number, connection, at, when, fields)]
            case "closed" | "failed":
                self._exchanges.clear()
                reason = str(fields.get("reason") or fields.get("what") or "")
                exit_code = fields.get("exit_code")
                code = exit_code if isinstance(exit_code, int) else None
                wanted = fields.get("wanted") is True
                return [ConnectionClosed(number, connection, at, when, reason, code, wanted)]
            case "cancel_requested" | "timed_out" | "call_ended" as name:
                return _of_request(name, frame, fields)
            case _:
                return []


def _of_request(name: str, frame: Frame, fields: dict[str, Any]) -> list[Fact]:
    """What this side has to say of one of its requests; nothing if it does not say which."""
    request: Any = fields.get("request")
    if type(request) is not int:
        return []
    number, connection, at, when = frame.number, frame.connection, frame.at, frame.when
    text = str(fields.get("text") or "")
    if name == "timed_out":
        return [CallTimedOut(number, connection, at, when, request, text)]
    if name == "call_ended":
        outcome = str(fields.get("outcome") or "")
        return [CallEnded(number, connection, at, when, request, outcome, text)]
    reason = fields.get("reason")
    words = reason if isinstance(reason, str) else None
    grace_s: Any = fields.get("grace_s")
    is_sound = type(grace_s) in _NUMBERS and 0 <= grace_s <= _LONGEST_GRACE_S
    grace = float(grace_s) if is_sound else None
    return [CancelRequested(number, connection, at, when, request, words, grace)]
