"""Messages of the server besides replies: questions to the client, notifications of no call.

Source of multi-round-trip requests: 2026-07-28, basic, patterns, multi round-trip requests: a
result `input_required` has `inputRequests`, `requestState` or both; the client sends the same
request again with `inputResponses` and the same `requestState`.

In the handshake era a client gets all notifications (of resources, those it subscribed to). In
revision 2026-07-28 it sends `subscriptions/listen` with the notifications it wants; the request is
acknowledged, and every notification has its id (spec 2026-07-28, basic, patterns, subscriptions).
"""

import itertools
import json
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_progress_monitor.demo.wire import (
    INVALID_PARAMS,
    JsonObject,
    RequestId,
    RpcError,
    Wire,
    notification,
    request,
)


@dataclass(slots=True)
class Question:
    """One of our requests, and what was received for it so far."""

    id: str
    method: str
    reply: JsonObject | None = None  # the client's complete reply


class Questions:
    """Numbers our requests (`demo-1`, `demo-2`, …) and keeps each reply for its caller.

    A reply to a request that is unknown or no longer pending is dropped: the server does not judge
    its client.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._numbers = itertools.count(1)
        self._open: dict[str, Question] = {}
        self._lock = threading.Lock()

    def ask(self, method: str, params: object) -> Question:
        """Send a request; `params` may be of any type, for tools that violate the protocol."""
        question = Question(self._new_id(), method)
        self._send(question, params)
        return question

    def _new_id(self) -> str:
        return f"demo-{next(self._numbers)}"

    def _send(self, question: Question, params: object) -> None:
        with self._lock:
            self._open[question.id] = question
        self._wire.send(request(question.id, question.method, params))

    def answered(self, reply: JsonObject) -> None:
        """Store a reply of the client, unless it has replied before."""
        question_id = reply.get("id")
        with self._lock:
            if isinstance(question_id, str) and question_id in self._open:
                question = self._open[question_id]
                question.reply = question.reply or reply

    def cancel(self, question: Question, reason: str) -> None:
        """Cancel a request that has no reply yet."""
        if question.reply is None:
            params = {"requestId": question.id, "reason": reason}
            self._wire.send(notification("notifications/cancelled", params))

    def forget(self, question: Question) -> None:
        with self._lock:
            self._open.pop(question.id, None)


_ROUND_KEYS: Final = frozenset({"_meta", "inputResponses", "requestState"})


class InputRequiredError(Exception):
    """Ends a request with questions in place of a result."""

    def __init__(
        self, requests: Mapping[str, Any], given: JsonObject | None = None, state: str | None = None
    ) -> None:
        """Ask `requests`, by key; without any, only the state is sent.

        `given` are the answers in this round so far; the state is random by default.
        """
        super().__init__("input is required")
        self.requests = dict(requests)
        self.given = given or {}
        self.state = secrets.token_urlsafe(12) if state is None else state


@dataclass(frozen=True, slots=True)
class _Round:
    requests: JsonObject
    earlier_answers: tuple[JsonObject, ...]  # of each round before this one, as replies by key
    partial_answers: JsonObject  # to this round so far


class Rounds:
    """Remembers the questions asked under each state, for every unfinished call."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[str, str], _Round] = {}
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        params: JsonObject,
        answers: tuple[JsonObject, ...],
        asked: InputRequiredError,
    ) -> JsonObject:
        with self._lock:
            known = _Round(asked.requests, answers, asked.given)
            self._rounds[_identity(method, params), asked.state] = known
        result: JsonObject = {"resultType": "input_required", "requestState": asked.state}
        if asked.requests:
            result["inputRequests"] = asked.requests
        return result

    def answers(self, method: str, params: JsonObject) -> tuple[JsonObject, ...]:
        """Return the answers of each round so far; none for a call's first request.

        The last round may be incomplete if the client left out some answers.

        Raises:
            RpcError: The state was not issued for this call.
        """
        if "requestState" not in params and "inputResponses" not in params:
            return ()
        state = params.get("requestState")
        if not isinstance(state, str):
            raise RpcError(INVALID_PARAMS, "requestState is missing or not a string")
        with self._lock:
            known = self._rounds.get((_identity(method, params), state))
            if known is None:
                raise RpcError(INVALID_PARAMS, self._why_unknown(state))
        given = checked_responses(known.requests, params.get("inputResponses", {}))
        return (*known.earlier_answers, {**known.partial_answers, **given})

    def _why_unknown(self, state: str) -> str:
        if any(state == known for _, known in self._rounds):
            return "The parameters differ from those of the first request"
        return "requestState differs from the one sent"


def checked_responses(requests: JsonObject, given: object) -> JsonObject:
    """Return the replies to those of `requests` that were answered, and drop all others.

    Raises:
        RpcError: They have a wrong type.
    """
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, "inputResponses must be an object")
    for key, answer in given.items():
        if not isinstance(answer, dict):
            raise RpcError(INVALID_PARAMS, f"inputResponses[{key!r}] must be an object")
    return {key: {"result": given[key]} for key in requests if key in given}


def _identity(method: str, params: JsonObject) -> str:
    same = {name: value for name, value in params.items() if name not in _ROUND_KEYS}
    return json.dumps([method, same], sort_keys=True)


class Replay:
    """Supplies the answers of earlier rounds to a tool that runs again from the start."""

    def __init__(self, answers: Sequence[JsonObject]) -> None:
        """`answers` are the replies of each round, by key."""
        self._answers = tuple(answers)
        self._used = 0

    def next(self) -> JsonObject | None:
        self._used += 1
        return self._answers[self._used - 1] if self._used <= len(self._answers) else None

    @property
    def before(self) -> tuple[JsonObject, ...]:
        """The answers of the rounds before the current one."""
        return self._answers[: max(0, self._used - 1)]


SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"

LISTS: Final = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
"""Each list that may change, and its member in `subscriptions/listen`."""

_KINDS: Final = {
    **dict.fromkeys(LISTS.values(), bool),
    "resourceSubscriptions": list,
    "taskIds": list,
}


@dataclass(frozen=True, slots=True, eq=False)
class Listener:
    """A `subscriptions/listen` that is being served."""

    id: RequestId
    wanted: JsonObject
    send: Callable[[object], None]

    def wants(self, kind: str, value: object) -> bool:
        """Return whether it asked for this kind and, if that is a list, for this value."""
        wanted = self.wanted.get(kind, False)
        return value in wanted if isinstance(wanted, list) else bool(wanted)


class Subscriptions:
    """The subscriptions of one client."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._subscribed: set[str] = set()
        self._lock = threading.Lock()

    def subscribe(self, uri: object) -> None:
        self._subscribed.add(_uri(uri))

    def unsubscribe(self, uri: object) -> None:
        self._subscribed.discard(_uri(uri))

    def listen(
        self,
        listener_id: RequestId,
        wanted: object,
        task_ids: Iterable[str],
        send: Callable[[object], None],
    ) -> Listener:
        """Acknowledge a `subscriptions/listen` and start to serve it; of tasks, only `task_ids`.

        Raises:
            RpcError: Its parameters are invalid.
        """
        honoured = _checked(wanted)
        if "taskIds" in honoured:
            known = set(task_ids)
            honoured["taskIds"] = [task for task in honoured["taskIds"] if task in known]
        listener = Listener(listener_id, honoured, send)
        with self._lock:
            self._acknowledge(listener)
            self._listeners.append(listener)
        return listener

    def _acknowledge(self, listener: Listener) -> None:
        params = _marked(listener, notifications=listener.wanted)
        method = "notifications/subscriptions/acknowledged"
        listener.send(notification(method, params))

    def stop(self, listener: Listener) -> None:
        with self._lock:
            self._listeners.remove(listener)

    def notify(self, kind: str, value: object, method: str, make: Callable[[], JsonObject]) -> int:
        """Send a notification to each listener that wants it, and return their number."""
        with self._lock:
            listeners = [each for each in self._listeners if each.wants(kind, value)]
            for listener in listeners:
                listener.send(notification(method, _marked(listener, **make())))
        return len(listeners)

    def has_subscribed(self, uri: str) -> bool:
        """Return whether a client of the handshake era has subscribed to this resource."""
        return uri in self._subscribed


def _marked(listener: Listener, **params: Any) -> JsonObject:
    return {**params, "_meta": {SUBSCRIPTION_ID: listener.id}}


def _checked(wanted: object) -> JsonObject:
    if not isinstance(wanted, dict):
        raise RpcError(INVALID_PARAMS, "subscriptions/listen needs an object notifications")
    known = {name: value for name, value in wanted.items() if name in _KINDS}
    for name, value in known.items():
        if not isinstance(value, _KINDS[name]):
            raise RpcError(INVALID_PARAMS, f"notifications.{name} has the wrong type")
    return known


def _uri(uri: object) -> str:
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "A subscription needs a string uri")
    return uri
