"""Requests that the server sends to the client, and the answers that came back."""

import itertools
import threading

from app.demo.messages import JsonObject, request
from app.demo.wire import Wire


class Questions:
    """Numbers our requests (`demo-1`, `demo-2`, …) and keeps each answer for who asked.

    An answer to a question nobody asked, or no longer waits for, is dropped: the client is what
    is being watched here, not the server.
    """

    def __init__(self, wire: Wire) -> None:
        """Ask through `wire`."""
        self._wire = wire
        self._numbers = itertools.count(1)
        self._replies: dict[object, JsonObject | None] = {}
        self._lock = threading.Lock()

    def ask(self, method: str, params: JsonObject) -> str:
        """Send a request and return the id under which its reply will be found."""
        question_id = f"demo-{next(self._numbers)}"
        with self._lock:
            self._replies[question_id] = None
        self._wire.send(request(question_id, method, params))
        return question_id

    def answered(self, reply: JsonObject) -> None:
        """Take a reply of the client's."""
        question_id = reply.get("id")
        with self._lock:
            if isinstance(question_id, str) and question_id in self._replies:
                self._replies[question_id] = reply

    def reply_to(self, question_id: str) -> JsonObject | None:
        """Return the reply, whole, or None while there is none."""
        with self._lock:
            return self._replies[question_id]

    def forget(self, question_id: str) -> None:
        """Stop waiting for a reply."""
        with self._lock:
            del self._replies[question_id]
