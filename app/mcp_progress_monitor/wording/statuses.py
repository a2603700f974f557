"""Statuses of tasks as text."""

from __future__ import annotations

from typing import Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.protocol.messages import GET_TASK, LIST_TASKS, TaskStatus

_STATUSES: Final = {
    TaskStatus.WORKING: "Working",
    TaskStatus.INPUT_REQUIRED: "Input required",
    TaskStatus.COMPLETED: "Completed",
    TaskStatus.FAILED: "Failed",
    TaskStatus.CANCELLED: "Cancelled",
}
_SOURCES: Final = {
    "created": "the reply that created it",
    "status": "a notification",
    "get": GET_TASK,
    "list": LIST_TASKS,
    "cancel": "the reply to tasks/cancel",
    "update": "the reply to tasks/update",
    "result": "the reply to tasks/result",
    "saved": "saved by an earlier run",
}


def status_text(status: str) -> str:
    """A status; as received if the protocol does not define it."""
    known = _STATUSES.get(status)  # type: ignore[call-overload]  # a StrEnum is a string
    return known if known is not None else formatting.one_line(status) or "no status"


def status_source(how: str) -> str:
    return _SOURCES.get(how) or formatting.one_line(how)
