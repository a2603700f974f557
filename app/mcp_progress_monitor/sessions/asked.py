"""Reading what a server asks: what kind of question it is, and what is wrong with it.

As much as possible is let through with a note: a person can answer a question whose form is
faulty. What cannot be understood at all is refused with JSON-RPC's error for wrong parameters.
"""

from __future__ import annotations

import base64
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.reading import shown
from mcp_progress_monitor.sessions.answers import RpcError
from mcp_progress_monitor.sessions.schema_errors import schema_problem

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.sessions.questions import Kind

SAMPLING: Final = "sampling/createMessage"
ELICITATION: Final = "elicitation/create"
ROOTS: Final = "roots/list"
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

_CAPABILITIES: Final = {SAMPLING: "sampling", ELICITATION: "elicitation", ROOTS: "roots"}
_BLOCKS: Final = frozenset({"text", "image", "audio", "tool_use", "tool_result"})
_SIMPLE: Final = frozenset({"string", "number", "integer", "boolean", "array"})
_MOST_NOTES: Final = 5
_WEB: Final = frozenset({"http", "https"})


class Asked(NamedTuple):
    """What a question says. `problems` are about the question itself; see `Question`."""

    method: str
    kind: Kind
    message: str
    schema: JsonObject | None
    url: str | None
    params: JsonObject
    problems: tuple[str, ...]


def check_method(method: str, declared: JsonObject) -> None:
    """Raise `RpcError` unless a server that was told of the capabilities `declared` may ask it."""
    if _CAPABILITIES.get(method) not in declared:
        raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method}")


def read_asked(method: str, params: Any, declared: JsonObject) -> Asked:
    """Read a request of a server that was told of the capabilities `declared`.

    Raises:
        RpcError: it asks for what was not declared, or its parameters cannot be understood.
    """
    check_method(method, declared)
    if method == ROOTS:
        return Asked(method, "roots", "", None, None, as_object(params), ())
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, f"{method} needs params, an object")
    if method == SAMPLING:
        return _sampling(params)
    return _elicitation(params, as_object(declared.get("elicitation")))


def _elicitation(params: JsonObject, declared: JsonObject) -> Asked:
    mode = params.get("mode", "form")
    # Those who declare nothing in particular declare forms (2025-11-25 "Elicitation").
    if not isinstance(mode, str) or mode not in (declared or {"form": {}}):
        raise RpcError(INVALID_PARAMS, f"The elicitation mode {shown(mode)} was not declared")
    notes: list[str] = []
    message = _text(params, "message", notes)
    if mode == "url":
        return Asked(ELICITATION, "url", message, None, _url(params, notes), params, tuple(notes))
    schema = _schema(params, notes)
    return Asked(ELICITATION, "form", message, schema, None, params, tuple(notes))


def _text(params: JsonObject, name: str, notes: list[str]) -> str:
    value = params.get(name)
    if isinstance(value, str):
        return value
    notes.append(_wrong(params, name, "a string"))
    return ""


def _wrong(params: JsonObject, name: str, due: str) -> str:
    seen = f"{shown(params[name])}, not {due}" if name in params else "missing"
    return f'"{name}" is {seen}'


def _url(params: JsonObject, notes: list[str]) -> str:
    url = params.get("url")
    if not isinstance(url, str) or not url:
        raise RpcError(INVALID_PARAMS, _wrong(params, "url", "a string"))
    if not isinstance(params.get("elicitationId"), str | None):
        notes.append(_wrong(params, "elicitationId", "a string"))
    if not _is_web_address(url):
        notes.append('"url" is no address of a web page: do not open it')
    return url


def _is_web_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme.lower() in _WEB and bool(parts.hostname)
    except ValueError:
        return False


def _schema(params: JsonObject, notes: list[str]) -> JsonObject | None:
    """The schema of a form; None when there is none that could be one."""
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        notes.append(f"{_wrong(params, 'requestedSchema', 'an object')}: answer with JSON")
        return None
    fault = schema_problem(schema)
    if fault:
        notes.append(f"requestedSchema is no JSON schema, and nothing is checked by it: {fault}")
    elif schema.get("type", "object") != "object":
        notes.append("requestedSchema does not describe an object: answer with JSON")
        return None
    elif not isinstance(schema.get("properties"), dict):
        notes.append("requestedSchema has no properties: answer with JSON")
    else:
        notes += _deep_fields(schema["properties"])
    return schema


def _deep_fields(properties: JsonObject) -> list[str]:
    """What is no field of a flat form (2025-11-25 "Elicitation", "Requested Schema")."""
    deep = [
        name
        for name, field in properties.items()
        if _type_of(field) not in _SIMPLE and "enum" not in as_object(field)
    ]
    notes = [
        f"the field {shown(name)} of requestedSchema is not of a simple type"
        for name in deep[:_MOST_NOTES]
    ]
    more = len(deep) - len(notes)
    return [*notes, f"and {more:,} more fields are not of a simple type"] if more else notes


def _type_of(field: object) -> str:
    named = as_object(field).get("type")
    return named if isinstance(named, str) else ""


def _sampling(params: JsonObject) -> Asked:
    messages = params.get("messages")
    if not isinstance(messages, list):
        raise RpcError(INVALID_PARAMS, _wrong(params, "messages", "a list"))
    notes = [] if messages else ['"messages" is empty']
    for number, message in enumerate(messages, 1):
        notes += _message_problems(number, as_object(message))
    if type(params.get("maxTokens")) is not int:
        notes.append(_wrong(params, "maxTokens", "an integer"))
    words = _last_words(messages)
    return Asked(SAMPLING, "sampling", words, None, None, params, tuple(notes))


def _last_words(messages: list[Any]) -> str:
    """The text of the newest message: what the model is asked."""
    content = as_object(messages[-1]).get("content") if messages else None
    blocks = content if isinstance(content, list) else [content]
    texts = [as_object(block).get("text") for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def _message_problems(number: int, message: JsonObject) -> list[str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    found = [problem for block in blocks if (problem := _block_problem(as_object(block)))]
    if message.get("role") not in {"user", "assistant"}:
        found.append(_wrong(message, "role", '"user" or "assistant"'))
    return [f"message {number}: {problem}" for problem in found]


def _block_problem(block: JsonObject) -> str:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return f"content of the type {shown(kind)} is not known"
    if kind in {"image", "audio"}:
        return _data_problem(block)
    if kind == "text" and not isinstance(block.get("text"), str):
        return _wrong(block, "text", "a string")
    return ""


def _data_problem(block: JsonObject) -> str:
    data = block.get("data")
    if not isinstance(data, str):
        return _wrong(block, "data", "a string")
    try:
        base64.b64decode(data, validate=True)
    except ValueError as error:
        return f'"data" is not in base64: {error}'
    return ""
