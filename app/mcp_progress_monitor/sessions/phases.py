"""Progress that we send while a server's question is answered: which phases, and how often.

Source: the progress specification, FR-7, FR-8 and NFR-2; 2025-11-25 "Progress": a value increases
with each notification, and none comes after the reply.
"""

from __future__ import annotations

import collections
import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

PROGRESS: Final = "notifications/progress"
_MOST_A_SECOND: Final = 10
_WINDOW_S: Final = 1.0


class Phase(enum.Enum):
    """How far the answering of a question has come."""

    SHOWING = enum.auto()
    WAITING = enum.auto()
    CHECKING = enum.auto()
    DONE = enum.auto()


_SAMPLING: Final = {
    Phase.WAITING: "Awaiting approval",
    Phase.CHECKING: "Processing",
    Phase.DONE: "Done",
}
_ELICITATION: Final = {
    Phase.SHOWING: "Displaying form",
    Phase.WAITING: "Awaiting input",
    Phase.CHECKING: "Validating",
    Phase.DONE: "Done",
}
_WORDS: Final = {"sampling": _SAMPLING, "form": _ELICITATION, "url": _ELICITATION}


class Phases:
    """The phases of one question, as notifications that are due. Time is passed in.

    Values increase whatever the order: an answer that does not fit leads back to waiting, each
    step of which goes half of the way that is left. At most ten a second, of which one is kept
    for the end; those beyond are left out, for a later one says more.
    """

    def __init__(self, token: object, kind: str) -> None:
        """Tell of a question of `kind` under `token`; nothing if that is none, or of no kind."""
        is_token = isinstance(token, str | int) and not isinstance(token, bool)
        self._token = token
        self._words = _WORDS.get(kind, {}) if is_token else {}
        self._order = list(self._words)
        self._last = 0.0
        self._sent: collections.deque[float] = collections.deque(maxlen=_MOST_A_SECOND)
        self._is_over = False

    def enter(self, phase: Phase, at: float) -> JsonObject | None:
        """The parameters of the notification that `phase` is reached; None when none is due."""
        words = self._words.get(phase)
        if words is None or self._is_over or not self._has_room(phase, at):
            return None
        value = self._value(phase)
        if not self._last < value:
            return None
        self._last = value
        self._is_over = phase is Phase.DONE
        self._sent.append(at)
        return {
            "progressToken": self._token,
            "progress": int(value) if value.is_integer() else value,
            "total": len(self._order),
            "message": words,
        }

    def end(self) -> None:
        """Tell of nothing any more: the reply is out, or none is due."""
        self._is_over = True

    def _value(self, phase: Phase) -> float:
        nominal = float(self._order.index(phase) + 1)
        total = float(len(self._order))
        return nominal if nominal > self._last else self._last + (total - self._last) / 2

    def _has_room(self, phase: Phase, at: float) -> bool:
        recent = sum(1 for sent in self._sent if at - sent < _WINDOW_S)
        return recent < _MOST_A_SECOND - (phase is not Phase.DONE)
