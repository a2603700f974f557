"""What servers ask the user, and what can be answered.

Servers of the handshake era ask by requests of their own, those of 2026-07-28 by results that
require input. Both are a `Question` here. What they ask is untrusted plain text.
Source: 2025-11-25 "Elicitation", "Sampling", "Roots"; 2026-07-28 has the same results.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tracker.snapshot import JobId

Kind: TypeAlias = Literal["sampling", "form", "url", "roots"]
"""What is asked for: a model's answer, a form filled in, a page visited, the list of roots."""

BY_RULE: Final = "answered by its rule"
"""Why a question is over that a rule has answered, at once or after waiting for the user."""
REJECTED: Final = "User rejected sampling request"


@dataclasses.dataclass(frozen=True, slots=True)
class Accept:
    """Yes. `content` is what was filled into a form; for roots `{"roots": […]}`; else empty."""

    content: JsonObject = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Decline:
    """No: the user said so."""


@dataclasses.dataclass(frozen=True, slots=True)
class Dismiss:
    """Neither yes nor no: the user turned away from the question."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sampled:
    """A model's message: `result` has `role`, `content`, `model` and perhaps `stopReason`."""

    result: JsonObject


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """No answer, but an error with code -1."""

    message: str = REJECTED


Answer: TypeAlias = Accept | Decline | Dismiss | Sampled | Refused


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """One thing that a server asks.

    `request` is the number of the frame that asks: the server's request, or in 2026-07-28 the reply
    that requires input, or states a task that does; then `key` names the question in it. `job` is
    the job that this frame belongs to: a job of the server's own, or the call that goes on.
    `params` are as received. `schema` is what the content of a form has to fit, None where the
    server gave none that could be one. `problem` says what is wrong with the question itself, empty
    when nothing is: it may be answered all the same, with any JSON object for a form.

    `is_complete`: the server says that the user has done on the page what was to be done there.
    `ended` says why the question is not open any more, empty while it is.
    """

    id: int
    server: str
    connection: str
    request: int
    key: str | None
    method: str
    kind: Kind
    message: str
    schema: JsonObject | None
    url: str | None
    params: JsonObject
    job: JobId | None
    asked_at: float
    asked_when: float
    problem: str = ""
    is_complete: bool = False
    ended: str = ""


def refusal(kind: Kind, words: str = "") -> Answer:
    """The refusal for questions of this kind; `words` give the reason where the kind allows it."""
    if kind in {"form", "url"}:
        return Decline()
    return Refused(words) if words else Refused()
