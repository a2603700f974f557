"""Decides which requests are jobs, and keeps the open requests that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    COMPLETE,
    CREATE_MESSAGE,
    ELICIT,
    GET_PROMPT,
    READ_RESOURCE,
    STREAM_EVENTS,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestMade

METHODS: Final = frozenset(
    {CALL_TOOL, READ_RESOURCE, GET_PROMPT, COMPLETE, CREATE_MESSAGE, ELICIT, STREAM_EVENTS}
)
"""The methods that are jobs even without a progress token; with one, every request is."""

QUESTIONS: Final = frozenset({CREATE_MESSAGE, ELICIT})
"""Requests of a server that ask the user something."""
_TEXT: Final = 1000  # characters of a question that a row needs at most


def is_job(request: RequestMade) -> bool:
    return request.token is not None or request.method in METHODS


def is_question(request: RequestMade) -> bool:
    return request.sender is Side.SERVER and request.method in QUESTIONS


def question_text(params: JsonObject) -> str:
    """The message of a question, or the newest text of a conversation; empty without any."""
    message, messages = params.get("message"), params.get("messages")
    if not message and isinstance(messages, list) and messages:
        content = as_object(messages[-1]).get("content")
        blocks = content if isinstance(content, list) else [content]
        texts = (as_object(block).get("text") for block in blocks)
        message = next((text for text in texts if isinstance(text, str)), "")
    return message[:_TEXT] if isinstance(message, str) else ""


PLAIN_KEPT: Final = 1000  # open requests that are remembered; beyond that, the oldest is dropped


class PlainRequests:
    """Requests by the number of their frame, until they are answered or given up."""

    def __init__(self) -> None:
        self._open: dict[int, RequestMade] = {}
        self.answered: RequestMade | None = None
        """The request that the newest reply answers, if it is remembered here."""

    def __len__(self) -> int:
        return len(self._open)

    def add(self, request: RequestMade) -> None:
        self._open[request.number] = request
        if len(self._open) > PLAIN_KEPT:
            del self._open[next(iter(self._open))]

    def answer(self, request: int | None) -> RequestMade | None:
        """Remove the request that a reply answers; None if it is not remembered."""
        self.answered = self._open.pop(request or 0, None)
        return self.answered

    def drop(self, request: int | None) -> None:
        self._open.pop(request or 0, None)

    def drop_connection(self, connection: str) -> None:
        for number in [n for n, r in self._open.items() if r.connection == connection]:
            del self._open[number]
