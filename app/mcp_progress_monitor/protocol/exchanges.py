"""What single messages mean, given the requests and tokens that are open on the connection."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp_progress_monitor.protocol import eras
from mcp_progress_monitor.protocol.facts import (
    ConnectionNegotiated,
    Fact,
    JsonObject,
    NotificationReceived,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    Side,
    Standing,
    UnreadableReceived,
)
from mcp_progress_monitor.protocol.frame import Channel, Frame
from mcp_progress_monitor.protocol.jsonrpc import Envelope, Kind
from mcp_progress_monitor.protocol.ledger import Ended, Ledger, OpenRequest, key_of
from mcp_progress_monitor.protocol.progress import PROGRESS, any_progress
from mcp_progress_monitor.protocol.reading import shown
from mcp_progress_monitor.protocol.reply_places import OTHER_STREAM, ReplyPlaces
from mcp_progress_monitor.protocol.tasks import (
    OTHER_TOKEN,
    live_task,
    related_task,
    task_named_by,
    tasks_of_notification,
    tasks_of_reply,
)

CANCELLED = "notifications/cancelled"
LISTEN = "subscriptions/listen"


class Exchanges:
    """Both sides' open requests and tokens, and the reading of messages against them."""

    def __init__(self) -> None:
        self.of = {Side.CLIENT: Ledger(), Side.SERVER: Ledger()}
        self.places = ReplyPlaces()
        """Where replies stood, for what comes after them."""
        self._agreed: str | None = None

    @property
    def here(self) -> int | None:
        """The one request that progress may be about where messages stand now; None for any."""
        request = self.places.request
        if request is None or self._agreed is None:
            return None
        return request if eras.era_of(self._agreed) is eras.Era.PER_REQUEST else None

    def clear(self) -> None:
        """The connection is gone: nothing is open any more."""
        self.places.clear()
        for ledger in self.of.values():
            ledger.clear()

    def close(self, frame: Frame, request: int, reason: str | None) -> RequestCancelled:
        """State that we closed a request's stream, by which it is cancelled."""
        identity, ended = self.of[Side.CLIENT].give_up(request, Standing.CANCELLED)
        standing = ended.standing if ended.number is not None else Standing.UNKNOWN
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
        problems = [*message.problems]
        token, resume_token = _read_request_meta(params, problems)
        if (other := ledger.open_number(message.id)) is not None:
            problems.append(f"the id {shown(message.id)} is in use by the request of frame {other}")
        token_key = None if token is None else key_of(token)
        if token_key is not None and (other := ledger.token_owners.get(token_key)) is not None:
            problems.append(
                f"the progress token {shown(token)} is in use by the request of frame {other}"
            )
        request = OpenRequest(
            frame.number,
            method,
            token_key,
            task_named_by(method, params),
            eras.offered_revision(method, params),
        )
        ledger.begin(message.id, request)
        return RequestMade(
            *_origin(frame, sender),
            message.id,
            method,
            params,
            token,
            resume_token,
            tuple(problems),
        )

    def _reply(self, frame: Frame, sender: Side, message: Envelope) -> list[Fact]:
        ledger = self.of[_other(sender)]
        result = eras.as_object(message.result)
        problems = [*message.problems]
        is_error = message.kind is Kind.ERROR
        if is_error:
            next_resume_token = _token_of_error(eras.as_object(message.error))
        else:
            next_resume_token = _read_result_meta(result, problems)
        ended = ledger.answer(message.id, live_task(result))
        self.places.note(ended.number, frame)
        if ended.standing is Standing.UNKNOWN and message.id is not None:
            problems.append(_no_such_request(ledger, message.id))
        answered = RequestAnswered(
            *_origin(frame, sender),
            message.id,
            ended.number,
            ended.standing,
            None if is_error else result,
            eras.as_object(message.error) if is_error else None,
            next_resume_token,
            len(frame.raw),
            tuple(problems),
        )
        negotiated = None if is_error else _negotiated(frame, sender, ended.request, result)
        if negotiated is not None:
            # `server/discover` is asked again as a sign of life, which opens nothing.
            is_new, self._agreed = negotiated.revision != self._agreed, negotiated.revision
            return [answered, negotiated] if is_new else [answered]
        return [answered, *tasks_of_reply(answered, ended.request, ledger)]

    def _notification(self, frame: Frame, sender: Side, message: Envelope) -> list[Fact]:
        params = eras.as_object(message.params)
        if message.method == PROGRESS:
            return [self._progress(frame, sender, params, message.problems)]
        if message.method == CANCELLED:
            return [self._cancelled(frame, sender, params, message.problems)]
        received = NotificationReceived(
            *_origin(frame, sender), message.method or "", params, message.problems
        )
        ledger = self.of[_other(sender)]
        return [received, *tasks_of_notification(received, ledger, len(frame.raw))]

    def _progress(
        self, frame: Frame, sender: Side, params: JsonObject, problems: tuple[str, ...]
    ) -> ProgressReceived:
        ledger = self.of[_other(sender)]
        owner = ledger.find_token(params.get("progressToken"))
        if owner.standing is Standing.UNKNOWN:
            related = related_task(params)
            beginner, asker = ledger.beginner_of(related), ledger.asker_of(related)
            if beginner is not None:
                owner, problems = owner._replace(number=beginner), (*problems, OTHER_TOKEN)
            elif asker is not None:  # its token was given on another connection
                owner = Ended(asker, Standing.ACTIVE)
        elif owner.standing is Standing.ANSWERED:
            owner = owner._replace(standing=self.places.standing(owner.number, frame))
        return strayed(any_progress(frame, sender, params, owner, problems), self.here)

    def _cancelled(
        self, frame: Frame, sender: Side, params: JsonObject, problems: tuple[str, ...]
    ) -> RequestCancelled:
        identity, reason = params.get("requestId"), params.get("reason")
        notes = [*problems]
        if not _is_id(identity):
            seen = shown(identity) if "requestId" in params else "missing"
            notes.append(f'"requestId" is {seen}, not a string or an integer')
        if reason is not None and not isinstance(reason, str):
            notes.append(f'"reason" is {shown(reason)}, not a string')
        ended = self._end_cancelled(sender, identity)
        return RequestCancelled(
            *_origin(frame, sender),
            identity if _is_id(identity) else None,
            ended.number,
            ended.standing,
            reason if isinstance(reason, str) else None,
            tuple(notes),
        )

    def _end_cancelled(self, sender: Side, identity: Any) -> Ended:
        """Strike out the sender's own request; a server may also end a client's `listen`.

        The latter is 2026-07-28, "Cancellation": on stdio it is how a subscription ends.
        """
        own = self.of[sender].cancel(identity)
        if own.standing is Standing.UNKNOWN and sender is Side.SERVER:
            listening = self.of[Side.CLIENT]
            if listening.open_method(identity) == LISTEN:
                return listening.cancel(identity)
        return own


def strayed(fact: ProgressReceived, here: int | None) -> ProgressReceived:
    """The fact, with what is wrong with its place: its request is going on, and not `here`."""
    if here is None or fact.request in {None, here} or fact.standing is not Standing.ACTIVE:
        return fact
    if fact.sender is not Side.SERVER:
        return fact
    return fact._replace(problems=(*fact.problems, OTHER_STREAM))


def _origin(frame: Frame, sender: Side) -> tuple[int, str, float, float, Side]:
    """What every fact begins with: where and when it was seen, and who sent it."""
    return frame.number, frame.connection, frame.at, frame.when, sender


def _other(side: Side) -> Side:
    return Side.SERVER if side is Side.CLIENT else Side.CLIENT


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _meta_of(payload: JsonObject, problems: list[str]) -> JsonObject:
    meta = payload.get("_meta")
    if "_meta" in payload and not isinstance(meta, dict):
        problems.append(f'"_meta" is {shown(meta)}, not an object')
    return eras.as_object(meta)


def _read_request_meta(params: JsonObject, problems: list[str]) -> tuple[Any, Any]:
    """The progress token and the resume token of a request."""
    meta = _meta_of(params, problems)
    token = meta.get("progressToken")
    if "progressToken" in meta and (not isinstance(token, str | int) or isinstance(token, bool)):
        problems.append(f"the progress token {shown(token)} is neither a string nor an integer")
    return token, _read_outside_meta("resumeToken", params, meta, problems)


def _read_result_meta(result: JsonObject, problems: list[str]) -> Any:
    """The token to resume a request with, None when there is none."""
    token = _read_outside_meta("nextResumeToken", result, _meta_of(result, problems), problems)
    if token is not None and (not isinstance(token, str) or not token):
        problems.append('"nextResumeToken" is not a string with content')
    return token


def _token_of_error(error: JsonObject) -> Any:
    """A resume token that came with a JSON-RPC error, wherever a server may have put it."""
    data = eras.as_object(error.get("data"))
    places = (eras.as_object(error.get("_meta")), eras.as_object(data.get("_meta")), data, error)
    return next((found for p in places if (found := p.get("nextResumeToken")) is not None), None)


def _read_outside_meta(
    name: str, payload: JsonObject, meta: JsonObject, problems: list[str]
) -> Any:
    """A resume token, which an early form of the draft had beside `_meta` instead of in it."""
    if name in meta:
        if meta[name] is None:
            problems.append(f'"{name}" is null')
        return meta[name]
    if payload.get(name) is not None:
        problems.append(f'"{name}" is beside "_meta" instead of in it')
    return payload.get(name)


class _Likeness(NamedTuple):
    value: Any
    words: str


def _no_such_request(ledger: Ledger, identity: str | int | float) -> str:
    """Say that a reply's id is unknown, and if it is known with another JSON type, that."""
    problem = f"no open request has the id {shown(identity)}"
    for candidate in _alike(identity):
        if ledger.open_number(candidate.value) is not None:
            return f"{problem}; {shown(candidate.value)}, {candidate.words}, is open"
    return problem


def _alike(identity: str | int | float) -> list[_Likeness]:
    if isinstance(identity, str):
        is_number = identity.isascii() and identity.isdigit() and len(identity) < 20
        return [_Likeness(int(identity), "a number")] if is_number else []
    alike = [_Likeness(str(identity), "a string")]
    if isinstance(identity, float) and identity.is_integer():
        alike += [
            _Likeness(int(identity), "an integer"),
            _Likeness(str(int(identity)), "a string"),
        ]
    return alike


def _negotiated(
    frame: Frame, sender: Side, request: OpenRequest | None, result: JsonObject
) -> ConnectionNegotiated | None:
    """The fact that a reply opens the session, if it does."""
    if request is None or request.revision is None or sender is not Side.SERVER:
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
    problem = "; ".join(message.problems) or "a batch within a batch"
    return UnreadableReceived(*_origin(frame, sender), message.kind.value, problem)
