"""Questions of servers to the user, and their answers.

Servers of the handshake era ask by requests of their own, those of 2026-07-28 by results that
require input. Both are a `Question` here. Their content is untrusted plain text. Source: 2025-11-25
"Elicitation", "Sampling", "Roots"; 2026-07-28 has the same results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tracker.snapshot import JobId

Kind: TypeAlias = Literal["sampling", "form", "url", "roots"]
"""What is asked for: a model's answer, a form, a visit to a URL, or the list of roots."""

BY_RULE: Final = "answered by its rule"
"""The end of a question that a rule has answered, at once or after waiting for the user."""
REJECTED: Final = "User rejected sampling request"


class Accept(msgspec.Struct, frozen=True):
    """Yes. `content` is what was entered in a form; for roots `{"roots": […]}`; else empty."""

    content: JsonObject = msgspec.field(default_factory=dict)


class Decline(msgspec.Struct, frozen=True):
    """No: the user declined."""


class Dismiss(msgspec.Struct, frozen=True):
    """Neither yes nor no: the user dismissed the question."""


class Sampled(msgspec.Struct, frozen=True):
    """A model's message: `result` has `role`, `content`, `model` and perhaps `stopReason`."""

    result: JsonObject


class Refused(msgspec.Struct, frozen=True):
    """No answer, but an error with code -1."""

    message: str = REJECTED


Answer: TypeAlias = Accept | Decline | Dismiss | Sampled | Refused


class Question(NamedTuple):
    """One question of a server.

    `request` is the number of the frame that asks: the server's request, or in 2026-07-28 the reply
    that requires input, or states a task that does; then `key` names the question in it. `job` is
    the job that this frame belongs to: a job of the server's own, or the call that continues.
    `params` are as received. `schema` is the schema for the content of a form, None without a valid
    one. `error` describes an error in the question itself, empty if there is none: it may be
    answered nevertheless, with any JSON object for a form.

    `is_complete`: the server reports that the user has completed the action at the URL. `ended`
    says why the question is closed, empty while it is open.
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
    error: str = ""
    is_complete: bool = False
    ended: str = ""


def refusal(kind: Kind, text: str = "") -> Answer:
    """The refusal for questions of this kind; `text` gives the reason if the kind allows it."""
    if kind in {"form", "url"}:
        return Decline()
    return Refused(text) if text else Refused()
