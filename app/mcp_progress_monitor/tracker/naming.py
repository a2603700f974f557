"""Which requests are jobs, and what a job is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor import text
from mcp_progress_monitor.protocol.facts import Side

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject, RequestMade

METHODS: Final = frozenset(
    {
        "tools/call",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "sampling/createMessage",
        "elicitation/create",
    }
)
"""What is a job even without a progress token; with one, every request is."""

QUESTIONS: Final = frozenset({"sampling/createMessage", "elicitation/create"})
"""Requests of a server that ask something of the user."""

NAME_LIMIT: Final = 200
_SUBJECTS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
}
_LEFT_OUT: Final = frozenset({"_meta", "arguments"})


class Request(Protocol):
    """What a name is made of, on the wire (`RequestMade`) and on disk (the origin of a chain)."""

    @property
    def method(self) -> str:
        """What is asked for."""

    @property
    def params(self) -> JsonObject:
        """The parameters, `_meta` included."""


def is_job(request: RequestMade) -> bool:
    """Whether a request is an operation that the user sees as a job."""
    return request.token is not None or request.method in METHODS


def is_question(request: RequestMade) -> bool:
    """Whether a request asks something of the user."""
    return request.sender is Side.SERVER and request.method in QUESTIONS


def name(request: Request) -> str:
    """The tool, prompt, resource or task that is asked for, else the method; visible, bounded."""
    subject = request.params.get(_SUBJECTS.get(request.method, ""))
    if isinstance(subject, str) and subject:
        return text.one_line(subject, NAME_LIMIT)
    return text.one_line(request.method, NAME_LIMIT)


def summary(request: Request) -> str:
    """The arguments on one line; for a method that has none, its other parameters."""
    arguments = request.params.get("arguments")
    if isinstance(arguments, dict):
        return text.summary(arguments)
    subject = _SUBJECTS.get(request.method)
    params = request.params.items()
    return text.summary({k: v for k, v in params if k != subject and k not in _LEFT_OUT})
