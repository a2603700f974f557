"""Decides which requests are jobs, and their titles; keeps the open requests that are not jobs."""

from __future__ import annotations

from typing import Final, Protocol

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.facts import JsonObject, RequestMade, Side
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    COMPLETE,
    CREATE_MESSAGE,
    ELICIT,
    GET_PROMPT,
    GET_TASK,
    META,
    READ_RESOURCE,
    STREAM_EVENTS,
    TASK_ID,
)

METHODS: Final = frozenset(
    {CALL_TOOL, READ_RESOURCE, GET_PROMPT, COMPLETE, CREATE_MESSAGE, ELICIT, STREAM_EVENTS}
)
"""The methods that are jobs even without a progress token; with one, every request is."""

QUESTIONS: Final = frozenset({CREATE_MESSAGE, ELICIT})
"""Requests of a server that ask the user something."""

NAME_LIMIT: Final = 200
_SUBJECTS: Final = {
    CALL_TOOL: "name",
    GET_PROMPT: "name",
    READ_RESOURCE: "uri",
    GET_TASK: TASK_ID,
    STREAM_EVENTS: "name",
}
_LEFT_OUT: Final = frozenset({META, "arguments"})


class JobRequest(Protocol):
    """The source of a title, on the wire (`RequestMade`) or on disk (the origin of a chain)."""

    @property
    def method(self) -> str:
        """The method, such as `tools/call`."""

    @property
    def params(self) -> JsonObject:
        """The parameters, including `_meta`."""


def is_job(request: RequestMade) -> bool:
    return request.token is not None or request.method in METHODS


def is_question(request: RequestMade) -> bool:
    return request.sender is Side.SERVER and request.method in QUESTIONS


def name(request: JobRequest) -> str:
    """The tool, prompt, resource or task of a request, else its method; visible, bounded."""
    subject = request.params.get(_SUBJECTS.get(request.method, ""))
    if isinstance(subject, str) and subject:
        return formatting.one_line(subject, NAME_LIMIT)
    return formatting.one_line(request.method, NAME_LIMIT)


def summary(request: JobRequest) -> str:
    """The arguments on one line; for a method without any, its other parameters."""
    arguments = request.params.get("arguments")
    if isinstance(arguments, dict):
        return formatting.summary(arguments)
    subject = _SUBJECTS.get(request.method)
    params = request.params.items()
    return formatting.summary({k: v for k, v in params if k != subject and k not in _LEFT_OUT})


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
