"""What a conversation needs to know of 2025-11-25 tasks: while one runs, its token is active.

Source: 2025-11-25 "Tasks", "Task Progress Notifications". In the tasks extension of 2026-07-28
progress notifications are not for tasks, so its flat results hold no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.protocol.facts import JsonObject

TERMINAL = frozenset({"completed", "failed", "cancelled"})
"""Statuses after which a task never changes."""

STATUS = "notifications/tasks/status"


def live_task(result: JsonObject | None) -> str | None:
    """The id of the task that a reply promises and that has not ended with it."""
    task = (result or {}).get("task")
    if not isinstance(task, dict) or task.get("status") in TERMINAL:
        return None
    identity = task.get("taskId")
    return identity if isinstance(identity, str) else None


def finished_task(task: JsonObject | None) -> str | None:
    """The id of a task shown as it is, in a reply or a notification, if its status is terminal."""
    identity = (task or {}).get("taskId")
    is_over = isinstance(identity, str) and (task or {}).get("status") in TERMINAL
    return identity if is_over else None


def task_named_by(method: str, params: JsonObject) -> str | None:
    """The id of the task whose end the reply to this request shows: only for `tasks/result`."""
    identity = params.get("taskId")
    return identity if method == "tasks/result" and isinstance(identity, str) else None
