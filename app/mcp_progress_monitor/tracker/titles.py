"""Titles of requests: what they are for, and their arguments, on the wire and on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.messages import (
    CALL_TOOL,
    GET_PROMPT,
    GET_TASK,
    META,
    READ_RESOURCE,
    STREAM_EVENTS,
    TASK_ID,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

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
