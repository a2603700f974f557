"""The passive reader of a connection: frames in, facts out, for both directions and both eras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.exchanges import Exchanges, strayed
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    ConnectionOpened,
    Fact,
    OutputChecked,
    Side,
    Standing,
    StderrReceived,
    StreamBroken,
    StreamResumed,
)
from mcp_progress_monitor.protocol.frame import Channel, Frame
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode, decode_in_slices
from mcp_progress_monitor.protocol.ledger import key_of
from mcp_progress_monitor.protocol.progress import decode_plain, plain_progress, plain_run
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.protocol.runs import FrameRun

_WIRE = (Channel.SENT, Channel.RECEIVED)
_NUMBERS = (int, float)
_LONGEST_GRACE_S = 86_400.0
# What HTTP did around the messages: nothing is stated of it, and there may be much of it.
_OF_HTTP = b'{"event":"http_'
_MOST_ATTEMPTS = 1_000_000
_LONGEST_ID = 200


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

    def read_run(self, run: FrameRun) -> Sequence[Fact]:
        """State what `read` states of a run; of progress alone as a run of facts, much faster."""
        ticks, here = plain_run(run, self._exchanges.of[Side.CLIENT]), self._exchanges.here
        if ticks is None or (here is not None and set(ticks.requests) != {here}):
            return self.read(run)
        return ticks

    def read(self, frames: Sequence[Frame]) -> list[Fact]:
        """State the facts of `frames`, in their order.

        An oversized frame takes a millisecond for every 100 kB or so: see `read_in_slices`.
        """
        facts: list[Fact] = []
        add, plain, decoded = facts.append, plain_progress, decode_plain
        received = Channel.RECEIVED
        owners, here = self._exchanges.of[Side.CLIENT].token_owners, self._exchanges.here
        for frame in frames:
            _, _, channel, _, _, raw, _, is_complete = frame
            fact = None
            if channel is received and is_complete and len(raw) <= OVERSIZED:
                try:
                    fact = plain(frame, decoded(raw).params, owners)
                except ValueError:
                    fact = None
            if fact is not None:
                add(fact if here is None or fact.request == here else strayed(fact, here))
            else:
                facts.extend(self._facts(frame))
                here = self._exchanges.here
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
        if self._exchanges.places.begin(frame.raw) or frame.raw.startswith(_OF_HTTP):
            return []
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
                outlook = str(fields.get("outlook") or "")
                origin = (number, connection, at, when)
                return [ConnectionClosed(*origin, reason, code, wanted, outlook)]
            case "stream_closed" | "call_ended" as name:
                return self._ended(name, frame, fields)
            case "stream_broken" | "stream_resumed" as name:
                return _of_stream(name, frame, fields)
            case "cancel_requested" | "timed_out" | "output_checked" as name:
                return _of_request(name, frame, fields)
            case _:
                return []

    def _ended(self, name: str, frame: Frame, fields: dict[str, Any]) -> list[Fact]:
        """State that this side ended a request, whose token is free from then on."""
        request: Any = fields.get("request")
        if type(request) is not int:
            return []
        if name == "stream_closed":
            closed = self._exchanges.close(frame, request, _text(fields, "reason"))
            return [] if closed.standing is Standing.UNKNOWN else [closed]
        self._exchanges.of[Side.CLIENT].give_up(request, Standing.GIVEN_UP)
        return _of_request(name, frame, fields)


def _of_stream(name: str, frame: Frame, fields: dict[str, Any]) -> list[Fact]:
    """What became of the stream of one of this side's requests."""
    request, attempt = fields.get("request"), fields.get("attempt")
    if type(request) is not int:
        return []
    tries = attempt if type(attempt) is int and 0 <= attempt <= _MOST_ATTEMPTS else None
    number, connection, at, when = frame.number, frame.connection, frame.at, frame.when
    last = _text(fields, "last_event_id")
    last = None if last is None else last[:_LONGEST_ID]
    if name == "stream_resumed":
        return [StreamResumed(number, connection, at, when, request, last, tries)]
    reason, retry_s = _text(fields, "reason") or "", _span(fields.get("retry_s"))
    return [StreamBroken(number, connection, at, when, request, reason, last, tries, retry_s)]


def _of_request(name: str, frame: Frame, fields: dict[str, Any]) -> list[Fact]:
    """What this side has to say of one of its requests; nothing if it does not say which."""
    request: Any = fields.get("request")
    if type(request) is not int:
        return []
    number, connection, at, when = frame.number, frame.connection, frame.at, frame.when
    text = str(fields.get("text") or "")
    if name == "timed_out":
        return [CallTimedOut(number, connection, at, when, request, text)]
    if name == "output_checked":
        problems, unchecked = _texts(fields, "problems"), _texts(fields, "unchecked")
        return [OutputChecked(number, connection, at, when, request, problems, unchecked)]
    if name == "call_ended":
        outcome = str(fields.get("outcome") or "")
        return [CallEnded(number, connection, at, when, request, outcome, text)]
    words, grace_s = _text(fields, "reason"), _span(fields.get("grace_s"))
    return [CancelRequested(number, connection, at, when, request, words, grace_s)]


def _text(fields: dict[str, Any], name: str) -> str | None:
    """A member that should be a string; None where it is not."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _texts(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    """The strings in a member that should be a list of them."""
    value = fields.get(name)
    listed = value if isinstance(value, list) else []
    return tuple(each for each in listed if isinstance(each, str))


def _span(seconds: Any) -> float | None:
    """Seconds that are a sound time to wait; None for anything else."""
    is_sound = type(seconds) in _NUMBERS and 0 <= seconds <= _LONGEST_GRACE_S
    return float(seconds) if is_sound else None
