"""Which requests and progress tokens are open or recently ended, and the order of replies."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import RequestStanding
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.frames import Frame

Key: TypeAlias = Hashable
"""An id or token with its JSON type: `7`, `"7"`, `7.0` and `true` have four different keys."""

MOST_REMEMBERED = 4096
"""Ended requests, and ended tokens, that are remembered to identify late messages."""

MOST_TASKS = 1024
"""Most known tasks, whose tokens stay active; beyond that, the oldest is dropped."""


def key_of(value: Any) -> Key:
    kind = type(value)
    if kind is str or kind is int:
        key: Key = value
        return key
    return kind.__name__, canonical(value)


class OpenRequest(NamedTuple):
    """A pending request.

    `token` is the key of its progress token, None if none. `number` is its identity. `task` is the
    task id that a `tasks/…` request names; `revision` the protocol revision an opening request
    offers, `part` the key of the token for its partial results.
    """

    number: int
    method: str
    token: Key | None = None
    task: str | None = None
    revision: str | None = None
    part: Key | None = None


class ReferredRequest(NamedTuple):
    """The request of a reply or a cancel; `request` is None unless it was open."""

    number: int | None
    standing: RequestStanding
    request: OpenRequest | None = None


_UNKNOWN = ReferredRequest(None, RequestStanding.UNKNOWN)


class _Recent:
    """The newest `MOST_REMEMBERED` ended keys, each with its request's number and standing."""

    def __init__(self) -> None:
        self._ended: dict[Key, ReferredRequest] = {}

    def __len__(self) -> int:
        return len(self._ended)

    def put(self, key: Key, number: int, standing: RequestStanding) -> None:
        self._ended.pop(key, None)
        self._ended[key] = ReferredRequest(number, standing)
        if len(self._ended) > MOST_REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def get(self, key: Key) -> ReferredRequest:
        return self._ended.get(key, _UNKNOWN)

    def clear(self) -> None:
        self._ended.clear()


class Ledger:
    """The requests that one side of a connection sent.

    Ids and tokens that a peer uses twice at once are kept as stacks: they belong to the newest
    request and, once it has ended, to the one before.
    """

    def __init__(self) -> None:
        self.token_owners: dict[Key, int] = {}
        """The number of the request that owns each active token; read-only."""
        self.tokens: dict[int, Key] = {}
        """The reverse: the token of each request with an active one; read-only."""
        self._open: dict[Key, OpenRequest] = {}
        self._open_below: dict[Key, list[OpenRequest]] = {}
        self._owners_below: dict[Key, list[int]] = {}
        self._recent = _Recent()
        self._recent_tokens = _Recent()
        self._tasks: dict[str, OpenRequest] = {}
        self._known_tasks: dict[str, int | None] = {}
        self._askers: dict[str, int] = {}

    @property
    def open_count(self) -> int:
        """The number of requests that await a reply."""
        return len(self._open) + sum(map(len, self._open_below.values()))

    @property
    def token_count(self) -> int:
        """The number of active tokens."""
        return len(self.token_owners) + sum(map(len, self._owners_below.values()))

    @property
    def remembered_count(self) -> int:
        """The number of remembered ended requests, ended tokens and tasks."""
        tasks = len(self._tasks) + len(self._known_tasks)
        return len(self._recent) + len(self._recent_tokens) + tasks + len(self._askers)

    def open_number(self, identity: Any) -> int | None:
        request = self._open.get(key_of(identity))
        return request.number if request else None

    def open_method(self, identity: Any) -> str | None:
        request = self._open.get(key_of(identity))
        return request.method if request else None

    def owner_of_part(self, token: Any) -> int | None:
        """The number of the open request whose partial results have this token."""
        key = key_of(token)
        return next((each.number for each in self._open.values() if each.part == key), None)

    def begin(self, identity: Any, request: OpenRequest) -> None:
        key = key_of(identity)
        if key in self._open:
            self._open_below.setdefault(key, []).append(self._open[key])
        self._open[key] = request
        token = request.token
        if token is not None:
            if token in self.token_owners:
                self._owners_below.setdefault(token, []).append(self.token_owners[token])
            self.token_owners[token] = request.number
            self.tokens[request.number] = token

    def answer(self, identity: Any, live_task: str | None = None) -> ReferredRequest:
        """Remove the request of a reply.

        `live_task` is the id of the task that the reply promises: the token then stays active until
        `end_task` (2025-11-25, "Task progress").
        """
        ended = self._end(key_of(identity), RequestStanding.ANSWERED)
        request = ended.request
        if request is not None and request.token is not None:
            if live_task is None:
                self._release(request, RequestStanding.ANSWERED)
            else:
                self._hold(live_task, request)
        return ended

    def cancel(self, identity: Any) -> ReferredRequest:
        ended = self._end(key_of(identity), RequestStanding.CANCELLED)
        if ended.request is not None:
            self._release(ended.request, RequestStanding.CANCELLED)
        return ended

    def give_up(self, number: int, standing: RequestStanding) -> tuple[Any, ReferredRequest]:
        """Remove a request by its number; its id, and its former state: unknown if not open.

        If its id is in use twice, only the newest request with it can be given up.
        """
        key = next((key for key, each in self._open.items() if each.number == number), None)
        if key is None:
            return None, _UNKNOWN
        ended = self._end(key, standing)
        if ended.request is not None:
            self._release(ended.request, standing)
        return (key if isinstance(key, str | int) else None), ended

    def end_task(self, task: str) -> None:
        """A task has reached a terminal status: its token is no longer active."""
        request = self._tasks.pop(task, None)
        if request is not None:
            self._release(request, RequestStanding.ANSWERED)

    def begin_task(self, task: str, request: int | None) -> None:
        """Add a task, and the request that began it, None if it was not on this connection."""
        self._known_tasks.pop(task, None)
        self._known_tasks[task] = request
        if len(self._known_tasks) > MOST_TASKS:
            del self._known_tasks[next(iter(self._known_tasks))]

    def ask_for_task(self, task: str, request: int) -> None:
        """Add a task begun elsewhere: `request` was the first to ask for it."""
        self._askers.setdefault(task, request)
        if len(self._askers) > MOST_TASKS:
            del self._askers[next(iter(self._askers))]

    def asker_of(self, task: str | None) -> int | None:
        """The first request about a task begun elsewhere; None if there was none."""
        return None if task is None else self._askers.get(task)

    def is_known_task(self, task: str) -> bool:
        """Return whether a request on this connection began that task, or was about it."""
        return task in self._known_tasks

    def beginner_of(self, task: str | None) -> int | None:
        """The number of the request that began a task; None if unknown."""
        return None if task is None else self._known_tasks.get(task)

    def began_task(self, request: int) -> bool:
        return request in self._known_tasks.values()

    def find_token(self, token: Any) -> ReferredRequest:
        """The request that a token belongs to, and whether it is still open."""
        key = key_of(token)
        owner = self.token_owners.get(key)
        if owner is not None:
            return ReferredRequest(owner, RequestStanding.ACTIVE)
        return self._recent_tokens.get(key)

    def clear(self) -> None:
        for table in (
            self.token_owners,
            self.tokens,
            self._open,
            self._open_below,
            self._owners_below,
            self._recent,
            self._recent_tokens,
            self._tasks,
            self._known_tasks,
            self._askers,
        ):
            table.clear()

    def _end(self, key: Key, standing: RequestStanding) -> ReferredRequest:
        request = self._open.pop(key, None)
        if request is None:
            return self._end_again(key, standing)
        below = self._open_below.get(key)
        if below:
            self._open[key] = below.pop()
            if not below:
                del self._open_below[key]
        self._recent.put(key, request.number, standing)
        return ReferredRequest(request.number, RequestStanding.ACTIVE, request)

    def _end_again(self, key: Key, standing: RequestStanding) -> ReferredRequest:
        """Identify the ended request; a cancelled one that was then answered counts as answered."""
        ended = self._recent.get(key)
        if ended.number is not None and standing is RequestStanding.ANSWERED:
            self._recent.put(key, ended.number, standing)
        return ended

    def _hold(self, task: str, request: OpenRequest) -> None:
        self.end_task(task)
        self._tasks[task] = request
        if len(self._tasks) > MOST_TASKS:
            self.end_task(next(iter(self._tasks)))

    def _release(self, request: OpenRequest, standing: RequestStanding) -> None:
        token = request.token
        if token is None:
            return
        self.tokens.pop(request.number, None)
        below = self._owners_below.get(token, [])
        if self.token_owners.get(token) != request.number:
            below.remove(request.number)
        elif below:
            self.token_owners[token] = below.pop()
        else:
            del self.token_owners[token]
        if not below:
            self._owners_below.pop(token, None)
        self._recent_tokens.put(token, request.number, standing)


PLACES_KEPT: Final = 4096
"""Replies whose positions are remembered: as many as there are ended requests."""

_LONGEST: Final = 18
# Only its beginning is parsed: an event describes every event of a chunk, a hundred thousand a
# second.
_HTTP_EVENTS: Final = re.compile(
    rb'\s*\{\s*"event"\s*:\s*"http_events"\s*,\s*"exchange"\s*:\s*(\d{1,%d})\s*[,}]' % _LONGEST
)


_HTTP_REQUEST: Final = b'{"event":"http_request",'


class _Place(NamedTuple):
    """The number of the batch's frame, and the HTTP exchange; None if there is none."""

    batch: int | None
    exchange: int | None


class ReplyPlaces:
    """Remembers the positions of replies. Without batches and HTTP nothing is stored."""

    def __init__(self) -> None:
        self._exchange: int | None = None
        self._of: dict[int, _Place] = {}
        self._carried: dict[int, int] = {}

    def clear(self) -> None:
        self._exchange = None
        self._of.clear()
        self._carried.clear()

    @property
    def request(self) -> int | None:
        return None if self._exchange is None else self._carried.get(self._exchange)

    def begin(self, raw: bytes) -> bool:
        """Read from an event which exchange carries the next messages; whether it says so."""
        found = _HTTP_EVENTS.match(raw)
        if found is not None:
            self._exchange = int(found[1])
        elif raw.startswith(_HTTP_REQUEST):
            self._note_request(raw)
        return found is not None

    def _note_request(self, raw: bytes) -> None:
        """Remember which message an exchange carries to the server, if any."""
        try:
            fields = as_object(read_value(raw).value)
        except (NotJsonError, TooDeepError):
            return
        exchange, message = fields.get("exchange"), fields.get("message")
        if type(exchange) is int and type(message) is int:
            self._carried[exchange] = message
            if len(self._carried) > PLACES_KEPT:
                del self._carried[next(iter(self._carried))]

    def note(self, request: int | None, frame: Frame) -> None:
        if request is None or (frame.part is None and self._exchange is None):
            return
        self._of[request] = _Place(_batch_of(frame), self._exchange)
        if len(self._of) > PLACES_KEPT:
            del self._of[next(iter(self._of))]

    def standing(self, request: int | None, frame: Frame) -> RequestStanding:
        """The standing of an answered request, by the positions of its reply and of the message."""
        place = self._of.get(request or 0)
        if place is None:
            return RequestStanding.ANSWERED
        if place.batch is not None and place.batch == _batch_of(frame):
            return RequestStanding.IN_BATCH
        return (
            RequestStanding.ANSWERED
            if place.exchange == self._exchange
            else RequestStanding.ELSEWHERE
        )


def _batch_of(frame: Frame) -> int | None:
    """The number of the batch's own frame: its elements have the numbers after it."""
    return None if frame.part is None else frame.number - frame.part.index
