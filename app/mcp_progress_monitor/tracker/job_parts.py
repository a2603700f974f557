"""Parts of a job: its HTTP stream, the questions about it, and its task."""

from __future__ import annotations

import collections
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.formatting import elide
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import StreamBroken
from mcp_progress_monitor.protocol.lenient_json import Elided
from mcp_progress_monitor.protocol.messages import (
    CONTENT,
    EVENT,
    PARTIAL_RESULT,
    STREAM_HEARTBEAT,
    TaskStatus,
    is_terminal,
)
from mcp_progress_monitor.tracker.estimate import as_float
from mcp_progress_monitor.tracker.requests import question_text
from mcp_progress_monitor.tracker.snapshot import (
    ServerRequestSnapshot,
    StreamSnapshot,
    StreamStep,
    TaskSnapshot,
    TaskStep,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        PartReceived,
        RequestAnswered,
        StreamResumed,
        TaskStated,
        TaskView,
    )
    from mcp_progress_monitor.tracker.snapshot import JobId

STREAM_STEPS_KEPT: Final = 200
"""Newest stream events that one job shows; older ones are only counted."""
PARTS_KEPT: Final = 100  # newest parts of its outcome that one job keeps
BLOCKS_SHOWN: Final = 12  # of the content of one part
_TEXT_KEPT: Final = 400
_OF_BLOCK: Final = ("type", "uri", "name", "text", "data", "blob", "resource")
LEFT_AFTER_S: Final = 30.0
_POLLS_MISSED: Final = 5
"""After so long, and so many missed polls, another client has left its task."""
_REASON: Final = 400


class JobParts:
    """Parts of a job's outcome received before the reply: events, partial results."""

    __slots__ = ("count", "newest")

    def __init__(self) -> None:
        self.newest: collections.deque[PartReceived] = collections.deque(maxlen=PARTS_KEPT)
        self.count = 0

    def take(self, fact: PartReceived) -> None:
        """Keep a part; of those that only say how the stream is doing, the count is not asked."""
        self.count += fact.method in {EVENT, PARTIAL_RESULT}
        if fact.method != STREAM_HEARTBEAT:
            self.newest.append(fact._replace(params=_with_brief_content(fact.params)))


def _with_brief_content(params: JsonObject) -> JsonObject:
    """The parameters of a part, with only as much of its content as can be shown."""
    content = params.get(CONTENT)
    if content is None:
        return params
    blocks = content if isinstance(content, list) else [content]
    return {**params, CONTENT: [_brief(block) for block in blocks[: BLOCKS_SHOWN + 1]]}


def _brief(block: Any) -> Any:
    if isinstance(block, str):
        return block[:_TEXT_KEPT]
    whole = as_object(block)
    return {key: _member(key, whole[key]) for key in _OF_BLOCK if key in whole}


def _member(key: str, value: Any) -> Any:
    if key == "resource":
        return _brief(value)
    if key in {"data", "blob"}:
        return Elided(len(value)) if isinstance(value, str) else None
    return value[:_TEXT_KEPT] if isinstance(value, str) else None


class JobStream:
    """The stream of a job that broke at least once: other jobs have none.

    `broken` is the current break, `broken_at` when it began: a stream that breaks again before it
    was resumed is still the same break.
    """

    __slots__ = ("broken", "broken_at", "broken_count", "resumed_count", "steps")

    def __init__(self) -> None:
        self.steps: collections.deque[StreamStep] = collections.deque(maxlen=STREAM_STEPS_KEPT)
        self.broken: StreamBroken | None = None
        self.broken_at = 0.0
        self.broken_count = 0
        self.resumed_count = 0

    def take(self, fact: StreamBroken | StreamResumed, *, is_current: bool) -> None:
        """Handle a stream event; for a request that has ended it is only listed."""
        is_broken = isinstance(fact, StreamBroken)
        away_s = None
        if isinstance(fact, StreamBroken):
            if self.broken is None:
                self.broken_count += 1
                self.broken_at = fact.at
            self.broken = fact if is_current else None
        else:
            away_s = None if self.broken is None else max(fact.at - self.broken_at, 0.0)
            self.resumed_count += 1
            self.broken = None
        self.steps.append(
            StreamStep(
                is_broken,
                fact.at,
                fact.number,
                elide(fact.reason, _REASON) if isinstance(fact, StreamBroken) else "",
                fact.last_event_id,
                fact.attempt,
                fact.retry_s if isinstance(fact, StreamBroken) else None,
                away_s,
            )
        )

    def settle(self) -> None:
        """The request has ended, or another was sent: nothing is expected on this stream."""
        self.broken = None

    def snapshot(self, now: float) -> StreamSnapshot:
        newest = self.steps[-1]
        retry_at = None if newest.retry_s is None else newest.at + newest.retry_s
        is_broken = self.broken is not None
        return StreamSnapshot(
            is_broken,
            max(now - (self.broken_at if is_broken else newest.at), 0.0),
            self.broken_count,
            self.resumed_count,
            newest,
            max(retry_at - now, 0.0) if is_broken and retry_at is not None else None,
        )


ROUND_TRIPS_KEPT: Final = 1000  # earlier requests by which a job can be found
CHILDREN_KEPT: Final = 1000  # newest children that one job shows


class JobQuestions:
    """The part of a job that only jobs with questions have.

    `open` has the numbers of the frames with open questions, with the text of those that are
    requests; `history` has that of others. `reply` is the one that requires input
    and awaits another request, else None. `round_trips` counts such replies. `requests` are the
    numbers of the requests that were answered in this way. `children` are the jobs of the other
    side's requests. `history` has the newest questions of replies, with their answers.
    """

    __slots__ = ("children", "history", "open", "reply", "requests", "round_trips")

    def __init__(self) -> None:
        self.open: dict[int, str] = {}
        self.reply: RequestAnswered | None = None
        self.round_trips = 0
        self.requests: collections.deque[int] = collections.deque()
        self.children: dict[JobId, None] = {}
        self.history: collections.deque[ServerRequestSnapshot] = collections.deque(
            maxlen=CHILDREN_KEPT
        )

    @property
    def keys(self) -> set[str]:
        return set(self._requests())

    @property
    def state(self) -> Any:
        """The `requestState` of `reply`, to be returned unchanged; None if it has none."""
        return None if self.reply is None else (self.reply.result or {}).get("requestState")

    def _requests(self) -> dict[str, Any]:
        result = None if self.reply is None else self.reply.result
        return as_object((result or {}).get("inputRequests"))

    def require(self, reply: RequestAnswered) -> None:
        """Begin a round: a reply requires input, though perhaps not from the user."""
        self.reply = reply
        self.round_trips += 1
        self.note(reply.number, self._requests(), reply.at, reply.when)
        if self.keys:
            self.open[reply.number] = ""

    def text(self, number: int) -> str:
        """The text of the question in a frame, of several the first; empty without one."""
        of_round = (each.params for each in self.history if each.number == number)
        return self.open.get(number) or question_text(next(of_round, {}))

    def note(self, number: int, requests: JsonObject, at: float, when: float) -> None:
        for key, value in requests.items():
            asks = as_object(value)
            method, params = str(asks.get("method")), as_object(asks.get("params"))
            self.history.append(ServerRequestSnapshot(number, key, method, params, at, when))

    def note_of_task(self, fact: TaskStated, reused: Collection[str] = ()) -> None:
        """Keep a task's questions, once for each key: they are repeated until answered.

        Keys that are `reused` stand for other questions than before.
        """
        known = {each.key for each in self.history}.difference(reused)
        fresh = {k: v for k, v in (fact.input_requests or {}).items() if k not in known}
        self.note(fact.number, fresh, fact.at, fact.when)

    def note_answers(self, answers: JsonObject, at: float) -> None:
        for place, each in enumerate(self.history):
            if each.answered_at is None and each.key in answers:
                self.history[place] = each._replace(answer=answers[each.key], answered_at=at)

    def answer(self, request: int) -> int | None:
        """End the round: its request is answered by `request`, the newest one.

        Returns the number of a request to forget for it, None if there is room.
        """
        if self.reply is not None:
            self.open.pop(self.reply.number, None)
        self.reply = None
        self.requests.append(request)
        return self.requests.popleft() if len(self.requests) > ROUND_TRIPS_KEPT else None

    def adopt(self, job: JobId) -> None:
        """Add a job that was requested on behalf of this one."""
        self.children[job] = None
        if len(self.children) > CHILDREN_KEPT:
            del self.children[next(iter(self.children))]


def digests(requests: JsonObject) -> dict[str, bytes]:
    """The question of each key, in a few bytes: different questions have different ones."""
    return {key: digest(request) for key, request in requests.items()}


def digest(request: Any) -> bytes:
    """A digest of one question; the order of its members does not matter.

    Those that cannot be encoded, nested too deeply or with infinite numbers, count as equal.
    """
    try:
        text = json.dumps(request, sort_keys=True)
    except (RecursionError, ValueError):
        text = ""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


TASK_STEPS_KEPT: Final = 500  # newest changes of a task that are kept
_ANSWERED_KEPT: Final = 1000
"""Answered keys that are remembered: a server may repeat them until it has read the answer."""


class JobTask:
    """A task of a job.

    `status` is the last valid one: a terminal one is final. `key` is its server's identity. While
    it `is_saving` it is not shown yet. `reused` are the keys that stand for other questions in the
    newest statement than before. `awaited_by` is the open request for its result, `heard_at` the
    time of the last message about it.
    """

    __slots__ = (
        "_answered",
        "_asked",
        "_asks",
        "_is_met",
        "awaited_by",
        "began_at",
        "created",
        "heard_at",
        "id",
        "is_flat",
        "is_followed",
        "is_saving",
        "key",
        "message",
        "poll_count",
        "poll_ms",
        "polled_at",
        "reused",
        "status",
        "steps",
        "ttl_ms",
        "updated",
    )

    def __init__(self, view: TaskView, began_at: float | None) -> None:
        """A task that began at `began_at`, monotonic seconds; None if unknown."""
        self.id = view.id
        self.is_flat = view.is_flat
        self.began_at = began_at
        self.is_followed = True
        self.is_saving = False
        self.key = ""
        self.awaited_by: int | None = None
        self.heard_at: float | None = None
        self.poll_count = 0
        self.polled_at: float | None = None
        self.status = ""
        self.message: str | None = None
        self.created: str | None = view.created
        self.updated: str | None = None
        self.ttl_ms: int | float | None = None
        self.poll_ms: int | float | None = None
        self.steps: collections.deque[TaskStep] = collections.deque(maxlen=TASK_STEPS_KEPT)
        self._asks: dict[str, int] = {}
        self._answered: dict[str, bytes] = {}
        self._asked: dict[str, bytes] = {}
        self.reused: tuple[str, ...] = ()
        self._is_met = False

    @property
    def is_over(self) -> bool:
        return is_terminal(self.status)

    @property
    def expires_at(self) -> float | None:
        """When the server may discard the task; None if never, or unknown."""
        if self.ttl_ms is None or self.began_at is None:
            return None
        return self.began_at + as_float(self.ttl_ms) / 1000

    @property
    def needs_user(self) -> bool:
        if self.status != TaskStatus.INPUT_REQUIRED:
            return False
        return bool(self._asks) or not self._is_met

    @property
    def questions(self) -> set[int]:
        """The numbers of the frames with open questions."""
        return set(self._asks.values())

    def take(self, fact: TaskStated) -> bool:
        """Update the task; whether anything changed. A final status stays."""
        view = fact.task
        self.is_followed = True
        self.heard_at = fact.at
        if fact.how == "get":
            self.poll_count += 1
            self.polled_at = fact.at
        if not view.status:
            return False
        is_step = self._step(fact)
        has_changed = is_step or view.updated != self.updated
        self.updated = view.updated
        self.created = view.created or self.created
        if not self.is_over:
            self.status, self.message = view.status, view.message
            self.ttl_ms, self.poll_ms = view.ttl_ms, view.poll_ms
        return self._ask(fact) or has_changed

    def _step(self, fact: TaskStated) -> bool:
        """Record a change of status or message; whether there was one."""
        view, last = fact.task, self.steps[-1] if self.steps else None
        if last is not None and (last.status, last.message) == (view.status, view.message):
            return False
        self.steps.append(TaskStep(view.status, view.message, fact.at, fact.how, fact.number))
        return True

    def _ask(self, fact: TaskStated) -> bool:
        """Record which questions are open; whether that changed."""
        before = set(self._asks)
        self._take_asks(fact)
        return self._asks.keys() != before

    def _take_asks(self, fact: TaskStated) -> None:
        self.reused = ()
        if self.status != TaskStatus.INPUT_REQUIRED:
            self._asks.clear()
            self._is_met = False
        elif fact.input_requests:
            known = {key: self._asked[key] for key in self._asks if key in self._asked}
            self._asked = digests(fact.input_requests)
            self._note_reused({**known, **self._answered})
            keys = [key for key in fact.input_requests if key not in self._answered]
            self._asks = {key: self._asks.get(key, fact.number) for key in keys}
            self._is_met = not keys

    def _note_reused(self, known: Mapping[str, bytes]) -> None:
        """Treat keys that stand for another question than before as open."""
        asked = self._asked.items()
        self.reused = tuple(key for key, now in asked if known.get(key, now) not in {b"", now})
        for key in self.reused:
            self._answered.pop(key, None)
            self._asks.pop(key, None)

    def answer(self, keys: Iterable[str]) -> None:
        """Count questions as answered; with all of them the task has its input."""
        for key in keys:
            self._asks.pop(key, None)
            self._answered[key] = self._asked.get(key, b"")
            if len(self._answered) > _ANSWERED_KEPT:
                del self._answered[next(iter(self._answered))]
        self.meet()

    def meet(self) -> None:
        """Count the task's input as given, unless it has open questions of its own."""
        self._is_met = not self._asks

    def is_left(self, now: float) -> bool:
        """Return whether another client seems to have stopped following it.

        A client that uses HTTP does not announce that it is gone.
        """
        if not self.is_followed or self.awaited_by is not None or self.heard_at is None:
            return not self.is_followed
        due_s = _POLLS_MISSED * as_float(self.poll_ms or 0) / 1000
        return now - self.heard_at > max(LEFT_AFTER_S, due_s)

    def snapshot(self, now: float, *, is_ours: bool, is_watched: bool = False) -> TaskSnapshot:
        """The task at `now`; `is_ours` says that `tasks/cancel` would reach it."""
        expires_at = self.expires_at
        is_followed = not self.is_left(now) if is_watched else self.is_followed
        return TaskSnapshot(
            self.id,
            self.status,
            self.message,
            self.poll_ms,
            None if expires_at is None else max(expires_at - now, 0.0),
            expires_at,
            self.poll_count,
            is_ours and self.is_followed and not self.is_over,
            is_followed,
            self.created,
            None if self.polled_at is None else max(now - self.polled_at, 0.0),
        )
