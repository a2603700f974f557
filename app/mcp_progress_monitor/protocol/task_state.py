"""What a message says of a task, in both shapes that the protocol has had.

2025-11-25 "Tasks" nests the task in the result that begins it and counts in `ttl` and
`pollInterval`; the tasks extension of 2026-07-28 has it flat, with `ttlMs` and `pollIntervalMs`.
"""

from __future__ import annotations

import datetime
import enum
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.reading import shown

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

MESSAGE_LIMIT: Final = 4096
"""Longest status message that is kept, in characters; the frame keeps the whole."""
_SHOWN: Final = 60


class TaskStatus(enum.StrEnum):
    """The statuses of a task, as they stand on the wire."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether a task with this status never changes any more."""
        return self in _TERMINAL


_TERMINAL: Final = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})
_KNOWN: Final = frozenset(TaskStatus)


class TaskView(NamedTuple):
    """A task as one message states it. What is absent or of a wrong type is None.

    `status` is as received, empty when the message states none. `created` and `updated` are the
    server's words. `ttl_ms` is None also for "unlimited". `problems` says what is wrong, and is
    empty for a well-formed task. `is_flat` tells the extension's shape from that of 2025-11-25.
    """

    id: str
    status: str
    message: str | None = None
    created: str | None = None
    updated: str | None = None
    ttl_ms: int | float | None = None
    poll_ms: int | float | None = None
    problems: tuple[str, ...] = ()
    is_flat: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether the status is one after which a task never changes."""
        return is_terminal(self.status)


def is_terminal(status: object) -> bool:
    """Whether a status as received is one after which a task never changes."""
    return isinstance(status, str) and status in _TERMINAL


def read_task(value: Any, *, flat: bool) -> TaskView | None:
    """The task that a result or a notification's parameters state; None if they state none.

    With `flat` the task is `value` itself, else its member `task`. An id that is a string is all
    it takes; everything else that is missing or wrong is among the problems.
    """
    task = value if flat or not isinstance(value, dict) else value.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
        return None
    is_extension = flat and ("ttlMs" in task or "pollIntervalMs" in task or "resultType" in task)
    ttl, poll = ("ttlMs", "pollIntervalMs") if is_extension else ("ttl", "pollInterval")
    notes: list[str] = []
    if not task["taskId"]:
        notes.append('"taskId" is empty')
    return TaskView(
        task["taskId"],
        _status(task, notes),
        _words(task, "statusMessage", notes),
        _moment(task, "createdAt", notes),
        _moment(task, "lastUpdatedAt", notes),
        _milliseconds(task, ttl, notes, is_due=True),
        _milliseconds(task, poll, notes),
        tuple(notes),
        is_extension,
    )


def parsed_moment(words: str | None) -> float | None:
    """The wall time that an ISO 8601 time stamp states, seconds; None where that cannot be read."""
    if words is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(words)
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _status(task: JsonObject, notes: list[str]) -> str:
    status = task.get("status")
    if not isinstance(status, str) or status not in _KNOWN:
        notes.append(_wrong(task, "status", "a status of a task"))
    return status[:_SHOWN] if isinstance(status, str) else ""


def _words(task: JsonObject, name: str, notes: list[str]) -> str | None:
    words = task.get(name)
    if words is not None and not isinstance(words, str):
        notes.append(_wrong(task, name, "a string"))
    return words[:MESSAGE_LIMIT] if isinstance(words, str) else None


def _moment(task: JsonObject, name: str, notes: list[str]) -> str | None:
    words = task.get(name)
    if not isinstance(words, str) or parsed_moment(words) is None:
        notes.append(_wrong(task, name, "a time in ISO 8601"))
    return words[:_SHOWN] if isinstance(words, str) else None


def _milliseconds(
    task: JsonObject, name: str, notes: list[str], *, is_due: bool = False
) -> int | float | None:
    """A span of time; null stands for "unlimited" where one is due."""
    span: Any = task.get(name)
    is_number = type(span) is int or (type(span) is float and math.isfinite(span))
    if is_number and span >= 0:
        return span  # type: ignore[no-any-return]
    is_allowed = span is None and (name in task if is_due else name not in task)
    if not is_allowed:
        notes.append(_wrong(task, name, "a number of milliseconds"))
    return None


def _wrong(task: JsonObject, name: str, due: str) -> str:
    return f'"{name}" is {shown(task[name])}, not {due}' if name in task else f'"{name}" is missing'
