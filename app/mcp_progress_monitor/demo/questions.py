"""Requests that the server sends to the client, and what came back: progress and a reply."""

import itertools
import threading
from dataclasses import dataclass, field

from mcp_progress_monitor.demo.messages import JsonObject, notification, request
from mcp_progress_monitor.demo.wire import Wire


@dataclass(slots=True)
class Question:
    """One request of ours, as far as it has come."""

    id: str
    method: str
    token: str | None = None
    """The progress token that the client may report its phases under."""
    reply: JsonObject | None = None
    """The client's reply, whole."""
    phases: list[JsonObject] = field(default_factory=list)
    """The parameters of its progress notifications before the reply."""
    late_phases: list[JsonObject] = field(default_factory=list)
    """The same after the reply, of which there should be none."""


class Questions:
    """Numbers our requests (`demo-1`, `demo-2`, …) and keeps each answer for who asked.

    An answer to a question nobody asked, or no longer waits for, is dropped: the client is what
    is being watched here, not the server.
    """

    def __init__(self, wire: Wire) -> None:
        """Ask through `wire`."""
        self._wire = wire
        self._numbers = itertools.count(1)
        self._open: dict[str, Question] = {}
        self._lock = threading.Lock()

    def ask(self, method: str, params: object, *, has_token: bool = False) -> Question:
        """Send a request, with a progress token of its own if wanted, and return what it is now.

        `params` may be of any type, for the tools that break the rules; only an object can carry
        a token.
        """
        question_id = f"demo-{next(self._numbers)}"
        question = Question(question_id, method)
        if has_token and isinstance(params, dict):
            question.token = f"phases-of-{question_id}"
            meta = {**params.get("_meta", {}), "progressToken": question.token}
            params = {**params, "_meta": meta}
        with self._lock:
            self._open[question_id] = question
        self._wire.send(request(question_id, method, params))
        return question

    def answered(self, reply: JsonObject) -> None:
        """Take a reply of the client's; a second one changes nothing."""
        question_id = reply.get("id")
        with self._lock:
            if isinstance(question_id, str) and question_id in self._open:
                question = self._open[question_id]
                question.reply = question.reply or reply

    def progressed(self, params: JsonObject) -> None:
        """Take a progress notification of the client's."""
        token = params.get("progressToken")
        with self._lock:
            for question in self._open.values():
                if question.token is not None and question.token == token:
                    kept = question.late_phases if question.reply else question.phases
                    kept.append(params)

    def cancel(self, question: Question, reason: str) -> None:
        """Tell the client that a question without a reply needs none any more."""
        if question.reply is None:
            params = {"requestId": question.id, "reason": reason}
            self._wire.send(notification("notifications/cancelled", params))

    def forget(self, question: Question) -> None:
        """Stop waiting for a reply."""
        with self._lock:
            self._open.pop(question.id, None)
