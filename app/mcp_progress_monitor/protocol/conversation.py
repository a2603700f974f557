"""Reads a connection passively: frames in, facts out, for both directions and both eras."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import (
    CallEnded,
    CallTimedOut,
    CancelRequested,
    ConnectionClosed,
    ConnectionNegotiated,
    ConnectionOpened,
    Fact,
    JsonObject,
    NotificationReceived,
    OutputChecked,
    PartReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    Side,
    StderrReceived,
    StreamBroken,
    StreamResumed,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, FactRun, Frame, rows_of
from mcp_progress_monitor.protocol.jsonrpc import (
    OVERSIZED,
    Envelope,
    Kind,
    decode,
    decode_in_slices,
)
from mcp_progress_monitor.protocol.ledger import (
    Ledger,
    OpenRequest,
    ReferredRequest,
    ReplyPlaces,
    key_of,
)
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value, shown
from mcp_progress_monitor.protocol.messages import (
    CANCELLED,
    CONTENT,
    DISCOVER,
    INITIALIZE,
    LISTEN,
    META,
    NEXT_RESUME_TOKEN,
    PARTIAL_TOKEN,
    PARTS,
    PROGRESS,
    PROGRESS_TOKEN,
    RESUME_TOKEN,
    SUBSCRIPTION_KEY,
)
from mcp_progress_monitor.protocol.progress import (
    LIGHT_WEIGHT,
    PartSize,
    any_progress,
    take_plain,
    weight_of,
)
from mcp_progress_monitor.protocol.tasks import (
    live_task,
    related_task,
    task_named_by,
    tasks_of_notification,
    tasks_of_reply,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.protocol.frames import PlainTick
    from mcp_progress_monitor.protocol.outline import Slices


class Exchanges:
    """Both sides' open requests and tokens, and the interpretation of messages against them."""

    def __init__(self) -> None:
        self.of = {Side.CLIENT: Ledger(), Side.SERVER: Ledger()}
        self.places = ReplyPlaces()
        """The positions of replies, to order later messages against them."""
        self.part_size = PartSize()
        self._agreed: str | None = None
        self._is_described = False  # the server's capabilities are known
        self._is_per_request = False

    @property
    def here(self) -> int | None:
        """The only request that progress may belong to at this position; None for any."""
        return self.places.request if self._is_per_request else None

    def clear(self) -> None:
        """The connection is closed: nothing is open any more."""
        self.places.clear()
        for ledger in self.of.values():
            ledger.clear()

    def close(self, frame: Frame, request: int, reason: str | None) -> RequestCancelled:
        """State that we closed a request's stream, which cancels it."""
        identity, ended = self.of[Side.CLIENT].give_up(request, RequestStanding.CANCELLED)
        standing = ended.standing if ended.number is not None else RequestStanding.UNKNOWN
        return RequestCancelled(
            *_origin(frame, Side.CLIENT), identity, ended.number, standing, reason, ()
        )

    def state(self, frame: Frame, message: Envelope) -> list[Fact]:
        """State the facts of one message; a whole batch has none, its elements have."""
        sender = Side.CLIENT if frame.channel is Channel.SENT else Side.SERVER
        match message.kind:
            case Kind.REQUEST:
                return [self._request(frame, sender, message)]
            case Kind.NOTIFICATION:
                return self._notification(frame, sender, message)
            case Kind.RESULT | Kind.ERROR:
                return self._reply(frame, sender, message)
            case Kind.BATCH if frame.part is None:
                return []
            case _:
                return [_unreadable(frame, sender, message)]

    def _request(self, frame: Frame, sender: Side, message: Envelope) -> RequestMade:
        params = eras.as_object(message.params)
        method = message.method or ""
        ledger = self.of[sender]
        findings = [*message.findings]
        token, resume_token = _read_request_meta(params, findings)
        if (other := ledger.open_number(message.id)) is not None:
            findings.append(Finding(rules.ID_IN_USE, (shown(message.id), other)))
        if sender is Side.SERVER and self._is_per_request:
            findings.append(Finding(rules.SERVER_REQUEST, (shown(method),)))
        token_key = None if token is None else key_of(token)
        if token_key is not None and (other := ledger.token_owners.get(token_key)) is not None:
            findings.append(Finding(rules.TOKEN_IN_USE, (shown(token), other)))
        elif (alike := _active_alike(ledger, token)) is not None:
            findings.append(Finding(rules.TOKEN_ALIKE, (shown(token), alike.number)))
        request = OpenRequest(
            frame.number,
            method,
            token_key,
            task_named_by(method, params),
            eras.offered_revision(method, params),
            _part_token(params),
        )
        ledger.begin(message.id, request)
        return RequestMade(
            *_origin(frame, sender),
            message.id,
            method,
            params,
            token,
            resume_token,
            tuple(findings),
        )

    def _reply(self, frame: Frame, sender: Side, message: Envelope) -> list[Fact]:
        ledger = self.of[_other(sender)]
        result = eras.as_object(message.result)
        findings = [*message.findings]
        is_error = message.kind is Kind.ERROR
        if is_error:
            next_resume_token = _token_of_error(eras.as_object(message.error))
        else:
            next_resume_token = _read_result_meta(result, findings)
        ended = ledger.answer(message.id, live_task(result))
        self.places.note(ended.number, frame)
        if ended.standing is RequestStanding.UNKNOWN and message.id is not None:
            findings.append(_no_such_request(ledger, message.id))
        answered = RequestAnswered(
            *_origin(frame, sender),
            message.id,
            ended.number,
            ended.standing,
            None if is_error else result,
            eras.as_object(message.error) if is_error else None,
            next_resume_token,
            len(frame.raw),
            tuple(findings),
        )
        is_open = self._agreed is not None
        negotiated = None
        if not is_error:
            negotiated = _negotiated(frame, sender, ended.request, result, is_open=is_open)
        facts: list[Fact] = [answered, *tasks_of_reply(answered, ended.request, ledger)]
        # `server/discover` is also sent as a ping. After a request that named the revision, it is
        # the first message with the server's capabilities.
        is_news = negotiated is not None and negotiated.revision != self._agreed
        if negotiated is not None and (is_news or not self._is_described):
            self._agreed = negotiated.revision
            self._is_described = ended.request is not None and ended.request.method in _OPENINGS
            self._is_per_request = eras.era_of(self._agreed) is eras.Era.PER_REQUEST
            facts.insert(1, negotiated)
        return facts

    def _notification(self, frame: Frame, sender: Side, message: Envelope) -> list[Fact]:
        params = eras.as_object(message.params)
        if message.method == PROGRESS:
            tick = self._progress(frame, sender, params, message.findings)
            if params.get(CONTENT) is None:
                return [tick]
            return [tick, PartReceived(*tick[:5], PROGRESS, params, tick.request)]
        if message.method == CANCELLED:
            return [self._cancelled(frame, sender, params, message.findings)]
        received = NotificationReceived(
            *_origin(frame, sender), message.method or "", params, message.findings
        )
        ledger = self.of[_other(sender)]
        if received.method in PARTS:
            return [PartReceived(*received[:7], _owner_of_part(ledger, params)), received]
        return [received, *tasks_of_notification(received, ledger, len(frame.raw))]

    def _progress(
        self, frame: Frame, sender: Side, params: JsonObject, findings: tuple[Finding, ...]
    ) -> ProgressReceived:
        ledger = self.of[_other(sender)]
        owner = ledger.find_token(params.get(PROGRESS_TOKEN))
        if owner.standing is RequestStanding.UNKNOWN:
            related = related_task(params)
            beginner, asker = ledger.beginner_of(related), ledger.asker_of(related)
            if beginner is not None:
                owner = owner._replace(number=beginner)
                findings = (*findings, Finding(rules.OTHER_TOKEN))
            elif asker is not None:  # its token was assigned on another connection
                owner = ReferredRequest(asker, RequestStanding.ACTIVE)
            elif (alike := _active_alike(ledger, params.get(PROGRESS_TOKEN))) is not None:
                what = (shown(alike.token), shown(params.get(PROGRESS_TOKEN)))
                findings = (*findings, Finding(rules.TOKEN_TYPE_CHANGED, what))
        elif owner.standing is RequestStanding.ANSWERED:
            owner = owner._replace(standing=self.places.standing(owner.number, frame))
        if sender is Side.CLIENT and self._is_per_request:
            findings = (*findings, Finding(rules.CLIENT_TICK))
        return strayed(any_progress(frame, sender, params, owner, findings), self.here)

    def _cancelled(
        self, frame: Frame, sender: Side, params: JsonObject, findings: tuple[Finding, ...]
    ) -> RequestCancelled:
        identity, reason = params.get("requestId"), params.get("reason")
        notes = [*findings]
        if not _is_id(identity):
            seen = shown(identity) if "requestId" in params else "missing"
            notes.append(Finding(rules.CANCEL_ID_TYPE, (seen,)))
        if reason is not None and not isinstance(reason, str):
            notes.append(Finding(rules.CANCEL_REASON_TYPE, (shown(reason),)))
        ended = self._end_cancelled(sender, identity)
        notes += self._wrong_cancel(sender, identity, ended)
        return RequestCancelled(
            *_origin(frame, sender),
            identity if _is_id(identity) else None,
            ended.number,
            ended.standing,
            reason if isinstance(reason, str) else None,
            tuple(notes),
        )

    def _wrong_cancel(self, sender: Side, identity: Any, ended: ReferredRequest) -> list[Finding]:
        cancelled = ended.request
        if sender is Side.SERVER and self._is_per_request:
            is_listen = cancelled is not None and cancelled.method == LISTEN
            method = self.of[Side.CLIENT].open_method(identity)
            what = "an unknown request" if method is None else shown(method)
            return [] if is_listen else [Finding(rules.CANCEL_BY_SERVER, (what,))]
        if cancelled is not None and cancelled.method == INITIALIZE:
            return [Finding(rules.CANCEL_OF_INITIALIZE)]
        is_task = ended.number is not None and self.of[sender].began_task(ended.number)
        return [Finding(rules.CANCEL_OF_TASK)] if is_task else []

    def _end_cancelled(self, sender: Side, identity: Any) -> ReferredRequest:
        """Remove the sender's own request; a server may also end a client's `listen`.

        The latter is 2026-07-28, "Cancellation": on stdio it is how a subscription ends.
        """
        own = self.of[sender].cancel(identity)
        if own.standing is RequestStanding.UNKNOWN and sender is Side.SERVER:
            listening = self.of[Side.CLIENT]
            if listening.open_method(identity) == LISTEN:
                return listening.cancel(identity)
        return own


def strayed(fact: ProgressReceived, here: int | None) -> ProgressReceived:
    """The fact, with a finding if its request is pending, but not `here`."""
    if here is None or fact.request in {None, here} or fact.standing is not RequestStanding.ACTIVE:
        return fact
    if fact.sender is not Side.SERVER:
        return fact
    return fact._replace(findings=(*fact.findings, Finding(rules.OTHER_STREAM)))


def _origin(frame: Frame, sender: Side) -> tuple[int, str, float, float, Side]:
    """The common fields of facts: where and when it was seen, and who sent it."""
    return frame.number, frame.connection, frame.at, frame.when, sender


def _other(side: Side) -> Side:
    return Side.SERVER if side is Side.CLIENT else Side.CLIENT


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _part_token(params: JsonObject) -> Any:
    token = eras.as_object(params.get(META)).get(PARTIAL_TOKEN)
    return None if token is None else key_of(token)


def _owner_of_part(ledger: Ledger, params: JsonObject) -> int | None:
    """The open request that a notification with a part of its outcome belongs to.

    Some servers name a request by its id as a string, and some partial results carry the token of
    its progress.
    """
    identity = eras.as_object(params.get(META)).get(SUBSCRIPTION_KEY)
    if identity is not None and _is_id(identity):
        named = (identity, *(each.value for each in _alike(identity)))
        return next(filter(None, map(ledger.open_number, named)), None)
    if PARTIAL_TOKEN in params:
        return ledger.owner_of_part(params[PARTIAL_TOKEN])
    return ledger.find_token(params.get(PROGRESS_TOKEN)).number


def _meta_of(payload: JsonObject, findings: list[Finding]) -> JsonObject:
    meta = payload.get(META)
    if META in payload and not isinstance(meta, dict):
        findings.append(Finding(rules.META_TYPE, (shown(meta),)))
    return eras.as_object(meta)


def _read_request_meta(params: JsonObject, findings: list[Finding]) -> tuple[Any, Any]:
    meta = _meta_of(params, findings)
    token = meta.get(PROGRESS_TOKEN)
    if PROGRESS_TOKEN in meta and (not isinstance(token, str | int) or isinstance(token, bool)):
        is_integral = isinstance(token, float) and token.is_integer()
        rule = rules.TOKEN_INTEGRAL if is_integral else rules.TOKEN_TYPE
        findings.append(Finding(rule, (shown(token),)))
    return token, _read_outside_meta(RESUME_TOKEN, params, meta, findings)


def _read_result_meta(result: JsonObject, findings: list[Finding]) -> Any:
    """The token to resume a request with, None when there is none."""
    token = _read_outside_meta(NEXT_RESUME_TOKEN, result, _meta_of(result, findings), findings)
    if token is not None and (not isinstance(token, str) or not token):
        findings.append(Finding(rules.NEXT_TOKEN_TYPE))
    return token


def _token_of_error(error: JsonObject) -> Any:
    """A resume token in a JSON-RPC error, wherever a server may have put it."""
    data = eras.as_object(error.get("data"))
    places = (eras.as_object(error.get(META)), eras.as_object(data.get(META)), data, error)
    return next((found for p in places if (found := p.get(NEXT_RESUME_TOKEN)) is not None), None)


def _read_outside_meta(
    name: str, payload: JsonObject, meta: JsonObject, findings: list[Finding]
) -> Any:
    """A resume token, which an early draft had beside `_meta` instead of in it."""
    if name in meta:
        if meta[name] is None:
            findings.append(Finding(_IS_NULL[name]))
        return meta[name]
    if payload.get(name) is not None:
        findings.append(Finding(_IS_OUTSIDE[name]))
    return payload.get(name)


_IS_NULL: Final = {RESUME_TOKEN: rules.TOKEN_NULL, NEXT_RESUME_TOKEN: rules.NEXT_TOKEN_NULL}
_IS_OUTSIDE: Final = {
    RESUME_TOKEN: rules.TOKEN_OUTSIDE,
    NEXT_RESUME_TOKEN: rules.NEXT_TOKEN_OUTSIDE,
}


class _ActiveToken(NamedTuple):
    token: Any
    number: int


def _active_alike(ledger: Ledger, token: Any) -> _ActiveToken | None:
    """The active token that differs from `token` in its JSON type alone, and its request."""
    if isinstance(token, bool) or not isinstance(token, str | int):
        return None
    for alike in _alike(token):
        number = ledger.token_owners.get(key_of(alike.value))
        if number is not None:
            return _ActiveToken(alike.value, number)
    return None


class _Likeness(NamedTuple):
    value: Any
    json_type: str


def _no_such_request(ledger: Ledger, identity: str | int | float) -> Finding:
    """State that a reply's id is unknown, and whether it is known with another JSON type."""
    for candidate in _alike(identity):
        if ledger.open_number(candidate.value) is not None:
            arguments = (shown(identity), shown(candidate.value), candidate.json_type)
            return Finding(rules.REPLY_TO_ALIKE, arguments)
    return Finding(rules.REPLY_TO_NOTHING, (shown(identity),))


def _alike(identity: str | int | float) -> list[_Likeness]:
    if isinstance(identity, str):
        is_number = identity.isascii() and identity.isdigit() and len(identity) < 20
        return [_Likeness(int(identity), "a number")] if is_number else []
    alike = [_Likeness(str(identity), "a string")]
    if isinstance(identity, float) and identity.is_integer():
        alike += [_Likeness(int(identity), "an integer"), _Likeness(str(int(identity)), "a string")]
    return alike


def _negotiated(
    frame: Frame, sender: Side, request: OpenRequest | None, result: JsonObject, *, is_open: bool
) -> ConnectionNegotiated | None:
    if request is None or request.revision is None or sender is not Side.SERVER:
        return None
    if is_open and request.method not in _OPENINGS:
        return None
    agreed = eras.read_opening(request.method, result, request.revision)
    if agreed is None:
        return None
    return ConnectionNegotiated(
        frame.number,
        frame.connection,
        frame.at,
        frame.when,
        agreed.revision,
        agreed.server_info,
        agreed.capabilities,
        agreed.instructions,
    )


def _unreadable(frame: Frame, sender: Side, message: Envelope) -> UnreadableReceived:
    findings = message.findings or (Finding(rules.BATCH_IN_BATCH),)
    return UnreadableReceived(*_origin(frame, sender), message.kind.value, findings)


_OPENINGS: Final = frozenset({INITIALIZE, DISCOVER})
_WIRE = (Channel.SENT, Channel.RECEIVED)
_NUMBERS = (int, float)
_LONGEST_GRACE_S = 86_400.0
# HTTP events around the messages: no facts, and there may be many of them.
_OF_HTTP = b'{"event":"http_'
_MOST_ATTEMPTS = 1_000_000
_LONGEST_ID = 200


class Conversation:
    """Reads the frames of one connection, in order, and states what they mean.

    It keeps the tables of open requests and active tokens of both sides, so that every fact names
    its request. Each frame of the wire gives one fact, except a batch line (its elements are frames
    of their own); a reply that opens the session gives a second one, and so does a message about a
    task.
    """

    def __init__(self, connection: str) -> None:
        self.connection = connection
        self._exchanges = Exchanges()

    @property
    def part_size(self) -> PartSize:
        """How much `read_parts` yields at once; to be told how long it took."""
        return self._exchanges.part_size

    @property
    def open_requests(self) -> int:
        return sum(ledger.open_count for ledger in self._exchanges.of.values())

    @property
    def open_tokens(self) -> int:
        return sum(ledger.token_count for ledger in self._exchanges.of.values())

    @property
    def remembered(self) -> int:
        """How many ended requests and tokens, and running tasks, are remembered; bounded."""
        return sum(ledger.remembered_count for ledger in self._exchanges.of.values())

    def is_token_active(self, token: Any, side: Side = Side.CLIENT) -> bool:
        return key_of(token) in self._exchanges.of[side].token_owners

    def read(self, frames: Sequence[Frame]) -> FactRun:
        """State the facts of `frames`, in their order.

        An oversized frame takes a millisecond for every 100 kB or so: see `read_in_slices`.
        """
        return next((facts for _, facts in self._parts(frames, lambda: math.inf)), NO_FACTS)

    def read_parts(self, frames: Sequence[Frame]) -> Iterator[tuple[Sequence[Frame], FactRun]]:
        """Like `read`, some of the frames at a time: as many as can be handled at once."""
        return self._parts(frames, lambda: self.part_size.weight)

    def _parts(
        self, frames: Sequence[Frame], enough: Callable[[], float]
    ) -> Iterator[tuple[Sequence[Frame], FactRun]]:
        """Read parts of the weight `enough` each, which the next one may have changed."""
        ledger, exchanges = self._exchanges.of[Side.CLIENT], self._exchanges
        rows, done, begin = rows_of(frames), 0, 0
        while begin < len(frames):
            ticks: list[PlainTick] = []
            others: list[Fact] = []
            places: list[int] = []
            weight, most = 0, enough()
            while done < len(frames) and weight < most:
                ticks_before, others_before = len(ticks), len(others)
                # As many as fit if none is a tick, which are lighter: then it goes round again.
                few = min((most - weight) / LIGHT_WEIGHT, len(frames))
                some = itertools.islice(rows, max(int(few), 1))
                has_odd = take_plain(some, ledger, exchanges.here, ticks, others, places)
                tick_count, note_count = len(ticks) - ticks_before, len(others) - others_before
                done += tick_count + note_count
                weight += tick_count + LIGHT_WEIGHT * note_count
                if has_odd:
                    facts = self._facts(frames[done])
                    others += facts
                    places += [len(ticks)] * len(facts)
                    done += 1
                    weight += weight_of(facts)
            yield frames[begin:done], FactRun(ticks, others, places)
            begin = done

    def read_in_slices(self, frames: Sequence[Frame]) -> Slices[FactRun]:
        """Like `read` in slices of a few milliseconds, for oversized frames."""
        found: list[FactRun] = []
        for frame in frames:
            if len(frame.raw) <= OVERSIZED or frame.channel not in _WIRE:
                found.append(self.read([frame]))
                continue
            message = yield from decode_in_slices(frame.raw, is_complete=frame.is_complete)
            found.append(FactRun.of(self._exchanges.state(frame, message)))
            yield
        return FactRun.joined(found)

    def _facts(self, frame: Frame) -> list[Fact]:
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
        """State that this side ended a request; its token is free from then on."""
        request: Any = fields.get("request")
        if type(request) is not int:
            return []
        if name == "stream_closed":
            closed = self._exchanges.close(frame, request, _text(fields, "reason"))
            return [] if closed.standing is RequestStanding.UNKNOWN else [closed]
        self._exchanges.of[Side.CLIENT].give_up(request, RequestStanding.GIVEN_UP)
        return _of_request(name, frame, fields)


def _of_stream(name: str, frame: Frame, fields: dict[str, Any]) -> list[Fact]:
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
    """State an event of this side about one of its requests; nothing if it names none."""
    request: Any = fields.get("request")
    if type(request) is not int:
        return []
    number, connection, at, when = frame.number, frame.connection, frame.at, frame.when
    text = str(fields.get("text") or "")
    if name == "timed_out":
        return [CallTimedOut(number, connection, at, when, request, text)]
    if name == "output_checked":
        violations, unchecked = _texts(fields, "problems"), _texts(fields, "unchecked")
        return [OutputChecked(number, connection, at, when, request, violations, unchecked)]
    if name == "call_ended":
        outcome = str(fields.get("outcome") or "")
        return [CallEnded(number, connection, at, when, request, outcome, text)]
    reason, grace_s = _text(fields, "reason"), _span(fields.get("grace_s"))
    return [CancelRequested(number, connection, at, when, request, reason, grace_s)]


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _texts(fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    listed = value if isinstance(value, list) else []
    return tuple(each for each in listed if isinstance(each, str))


def _span(seconds: Any) -> float | None:
    """Seconds that are a valid time to wait; None for anything else."""
    is_sound = type(seconds) in _NUMBERS and 0 <= seconds <= _LONGEST_GRACE_S
    return float(seconds) if is_sound else None
