"""Answers to a server's question: validation, and their form on the wire."""

from __future__ import annotations

import datetime
import re
import urllib.parse
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.peer import check_json
from mcp_progress_monitor.sessions.arguments import Checked, check_value
from mcp_progress_monitor.snapshots.questions import (
    Accept,
    Answer,
    Decline,
    Dismiss,
    Refused,
    Sampled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.snapshots.questions import Question

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def format_violations(schema: JsonObject, content: JsonObject) -> list[str]:
    """The names of the fields of `content` that lack the format required by `schema`."""
    found = []
    for name, field in as_object(schema.get("properties")).items():
        value, wanted = content.get(name), as_object(field).get("format")
        fits, title = _FORMATS.get(wanted if isinstance(wanted, str) else "", _ANY)
        if isinstance(value, str) and not fits(value):
            found.append(f"{name}: {value!r} is not a valid {title}")
    return found


def _fits(_value: str) -> bool:
    return True


def _is_email(value: str) -> bool:
    return _EMAIL.fullmatch(value) is not None


def _is_uri(value: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) and bool(parts.netloc or parts.path) and " " not in value


def _is_date(value: str) -> bool:
    return _DATE.fullmatch(value) is not None and _is_iso(datetime.date.fromisoformat, value)


def _is_time(value: str) -> bool:
    """Return whether it is a time as in RFC 3339, which requires a time zone."""
    if _TIME.fullmatch(value) is None:
        return False
    return _is_iso(datetime.datetime.fromisoformat, value[:19])


def _is_iso(read: Callable[[str], object], value: str) -> bool:
    try:
        read(value)
    except ValueError:
        return False
    return True


_ANY: Final = (_fits, "")
_FORMATS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "email": (_is_email, "email address"),
    "uri": (_is_uri, "URI (such as https://example.com)"),
    "date": (_is_date, "date (such as 2026-07-28)"),
    "date-time": (_is_time, "time with a time zone (such as 2026-07-28T12:00:00Z)"),
}


USER_REJECTED: Final = -1
"""The error code for a refusal by the user (2025-11-25 "Sampling", "Error Handling")."""


class RpcError(Exception):
    """An answer that is a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
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
_TEXTS: Final = {
    "sampling": "A sampling request must be answered with a message or refused",
    "form": "A form must be accepted with content, declined or dismissed",
    "url": "A URL request must be accepted, declined or dismissed",
    "roots": "A roots request must be answered with roots or refused",
}


def no_answer(question: Question) -> Answer:
    """The answer that gives none, because the call that asked was given up."""
    return Dismiss() if Dismiss in _FITTING[question.kind] else Refused()


def check_answer(question: Question, answer: Answer) -> Checked:
    """Say how `answer` does not fit `question`, and what could not be checked.

    An invalid schema proves nothing against the content of a form.
    """
    if not isinstance(answer, _FITTING[question.kind]):
        return Checked([_TEXTS[question.kind]])
    value: Any = answer.result if isinstance(answer, Sampled) else {}
    value = answer.content if isinstance(answer, Accept) else value
    if not isinstance(value, dict):
        return Checked(["The answer is not a JSON object"])
    try:
        check_json(value)
    except UserError as error:
        return Checked([error.details.as_text()])
    schema = _schema(question, answer)
    violations, unchecked = check_value(schema, value)
    return Checked(violations + format_violations(schema, value), unchecked)


def violations_of(question: Question, answer: Answer) -> list[str]:
    """The violations in `answer`, each with the path of its field; empty if it fits.

    What could not be checked is not listed.
    """
    return check_answer(question, answer).violations


def _schema(question: Question, answer: Answer) -> JsonObject:
    if isinstance(answer, Sampled):
        return _SAMPLED
    if not isinstance(answer, Accept) or question.kind == "url":
        return {}
    return _ROOTS if question.kind == "roots" else question.schema or {}


def result_of(question: Question, answer: Answer) -> JsonObject:
    """The result that carries `answer` on the wire.

    Raises:
        RpcError: `answer` must be sent as an error.
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
    """An acceptance: with the content of a form, empty for a URL, or with the roots."""
    if question.kind == "roots":
        return content
    if question.kind == "url":
        return {"action": "accept"}
    return {"action": "accept", "content": content}
