"""What can be answered to a server's question, whether it fits, and how it stands on the wire.

Source: 2025-11-25 "Elicitation", "Sampling", "Roots"; 2026-07-28 has the same results.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.protocol.peer import check_json
from mcp_progress_monitor.sessions.arguments import Checked, check_value
from mcp_progress_monitor.sessions.formats import format_problems

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Question

USER_REJECTED: Final = -1
"""The error code for what the user does not want (2025-11-25 "Sampling", "Error Handling")."""
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


class RpcError(Exception):
    """An answer that is a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        """The error's two members."""
        super().__init__(message)
        self.code = code
        self.message = message


_BLOCK: Final[JsonObject] = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"enum": ["text", "image", "audio", "tool_use", "tool_result"]}},
    "allOf": [
        {
            "if": {"required": ["type"], "properties": {"type": {"const": name}}},
            "then": {"required": [*members], "properties": members},
        }
        for name, members in {
            "text": {"text": {"type": "string"}},
            "image": {"data": {"type": "string"}, "mimeType": {"type": "string"}},
            "audio": {"data": {"type": "string"}, "mimeType": {"type": "string"}},
            "tool_use": {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "input": {"type": "object"},
            },
            "tool_result": {"toolUseId": {"type": "string"}, "content": {"type": "array"}},
        }.items()
    ],
}
_SAMPLED: Final[JsonObject] = {
    "type": "object",
    "required": ["role", "content", "model"],
    "properties": {
        "role": {"enum": ["assistant", "user"]},
        "model": {"type": "string"},
        "stopReason": {"type": "string"},
        "content": {
            "type": ["object", "array"],
            "if": {"type": "array"},
            "then": {"items": _BLOCK},
            "else": _BLOCK,
        },
    },
}
_ROOTS: Final[JsonObject] = {
    "type": "object",
    "required": ["roots"],
    "properties": {
        "roots": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["uri"],
                "properties": {"uri": {"type": "string"}, "name": {"type": "string"}},
            },
        }
    },
}
_FITTING: Final[dict[str, tuple[type, ...]]] = {
    "sampling": (Sampled, Refused),
    "form": (Accept, Decline, Dismiss),
    "url": (Accept, Decline, Dismiss),
    "roots": (Accept, Refused),
}
_WORDS: Final = {
    "sampling": "A request for a model's message is answered with a message, or refused",
    "form": "A form is accepted with its content, declined or dismissed",
    "url": "A page to visit is accepted, declined or dismissed",
    "roots": "A request for the roots is answered with them, or refused",
}


def check_answer(question: Question, answer: Answer) -> Checked:
    """What of `answer` does not fit `question`, and what of it could not be checked.

    A schema that is wrong itself proves nothing against the content of a form.
    """
    if not isinstance(answer, _FITTING[question.kind]):
        return Checked([f"{_WORDS[question.kind]}; not so"])
    value: Any = answer.result if isinstance(answer, Sampled) else {}
    value = answer.content if isinstance(answer, Accept) else value
    if not isinstance(value, dict):
        return Checked(["The answer is no JSON object"])
    try:
        check_json(value)
    except ProblemError as error:
        return Checked([error.problem.as_text()])
    schema = _schema(question, answer)
    problems, unchecked = check_value(schema, value)
    return Checked(problems + format_problems(schema, value), unchecked)


def problems_of(question: Question, answer: Answer) -> list[str]:
    """What of `answer` does not fit `question`, each with the path of its field; empty if all fits.

    What could not be checked is no problem.
    """
    return check_answer(question, answer).problems


def _schema(question: Question, answer: Answer) -> JsonObject:
    """What the value of an answer has to fit."""
    if isinstance(answer, Sampled):
        return _SAMPLED
    if not isinstance(answer, Accept) or question.kind == "url":
        return {}
    return _ROOTS if question.kind == "roots" else question.schema or {}


def result_of(question: Question, answer: Answer) -> JsonObject:
    """The result that says `answer` on the wire.

    Raises:
        RpcError: `answer` is said by an error.
    """
    match answer:
        case Sampled(result):
            return result
        case Refused(message):
            raise RpcError(USER_REJECTED, message)
        case Decline():
            return {"action": "decline"}
        case Dismiss():
            return {"action": "cancel"}
        case Accept(content):
            return _accepted(question, content)


def _accepted(question: Question, content: JsonObject) -> JsonObject:
    """A yes: the content of a form goes with it, a page has none, roots are the result."""
    if question.kind == "roots":
        return content
    if question.kind == "url":
        return {"action": "accept"}
    return {"action": "accept", "content": content}
