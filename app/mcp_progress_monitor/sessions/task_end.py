"""How following a task ended: with its end, or without."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject


class TaskFate(enum.Enum):
    """Why a task is followed no longer."""

    ENDED = enum.auto()
    """It reached a status that is final, and what became of it is known."""
    NO_RESULT = enum.auto()
    """It reached such a status, but the server does not give its result."""
    UNKNOWN = enum.auto()
    """The server does not know it (any more)."""
    DISCONNECTED = enum.auto()
    """The connection ended first: the task may go on."""
    GIVEN_UP = enum.auto()
    """We wait for it no longer."""

    @property
    def is_open(self) -> bool:
        """Whether the task may be followed again, over another connection."""
        return self is TaskFate.DISCONNECTED


class TaskEnd(NamedTuple):
    """The end of following a task.

    `status` is the last one that was stated. `result` and `error` are what became of the work, and
    `raw` is the exact reply that holds it, empty when there is none; `at` is when it came. `words`
    say what is wrong, empty when nothing is.
    """

    fate: TaskFate
    status: str
    at: float
    result: JsonObject | None = None
    error: JsonObject | None = None
    raw: bytes = b""
    words: str = ""
