"""The questions themselves: forms with every kind of field, addresses to visit, sampling, roots.

Source of the shapes: "Elicitation", "Sampling" and "Roots" of revisions 2025-11-25 and 2026-07-28;
revision 2025-06-18 knows neither modes, nor titles of choices but `enumNames`, nor several choices.
"""

import base64
import struct
import zlib
from typing import Any, Final

from mcp_progress_monitor.demo.asking import Query
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.wire import JsonObject

FORM: Final = ("elicitation", "form")
URL: Final = ("elicitation", "url")
SAMPLING: Final = ("sampling",)
SAMPLING_TOOLS: Final = ("sampling", "tools")
ROOTS: Final = ("roots",)

_TEXT: Final[dict[str, JsonObject]] = {
    "name": {
        "type": "string",
        "title": "Your name",
        "description": "2 to 40 characters",
        "minLength": 2,
        "maxLength": 40,
    },
    "email": {"type": "string", "title": "Email address", "format": "email"},
    "website": {
        "type": "string",
        "title": "Website",
        "format": "uri",
        "default": "https://example.com/",
    },
    "birthday": {"type": "string", "title": "Birthday", "format": "date"},
    "meeting": {"type": "string", "title": "Meeting", "format": "date-time"},
}

_NUMBERS: Final[dict[str, JsonObject]] = {
    "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150},
    "rating": {
        "type": "number",
        "title": "Rating",
        "description": "From 0 to 5",
        "minimum": 0,
        "maximum": 5,
        "default": 2.5,
    },
    "copies": {"type": "integer", "title": "Copies", "minimum": 1, "default": 1},
}

_PLAIN_CHOICES: Final[dict[str, JsonObject]] = {
    "newsletter": {"type": "boolean", "title": "Newsletter", "default": False},
    "size": {"type": "string", "title": "Size", "enum": ["S", "M", "L"], "default": "M"},
}

_OLD_CHOICES: Final[dict[str, JsonObject]] = {
    "colour": {
        "type": "string",
        "title": "Colour",
        "enum": ["#c00", "#0a0", "#00c"],
        "enumNames": ["Red", "Green", "Blue"],
    },
}

_RICH_CHOICES: Final[dict[str, JsonObject]] = {
    "colour": {
        "type": "string",
        "title": "Colour",
        "oneOf": [
            {"const": "#c00", "title": "Red"},
            {"const": "#0a0", "title": "Green"},
            {"const": "#00c", "title": "Blue"},
        ],
        "default": "#0a0",
    },
    "toppings": {
        "type": "array",
        "title": "Toppings",
        "description": "One or two of them",
        "minItems": 1,
        "maxItems": 2,
        "items": {"type": "string", "enum": ["cheese", "olives", "onions"]},
        "default": ["cheese"],
    },
    "days": {
        "type": "array",
        "title": "Days",
        "items": {
            "anyOf": [
                {"const": "mon", "title": "Monday"},
                {"const": "tue", "title": "Tuesday"},
                {"const": "wed", "title": "Wednesday"},
            ]
        },
    },
}

_REQUIRED: Final = frozenset({"name", "age", "colour", "toppings"})
FIELDS: Final = ("all", "text", "numbers", "choices", "name", "nothing")  # what a form can ask for


def form(
    dialect: Dialect, key: str = "form", fields: str = "name", message: str = "Who are you?"
) -> Query:
    properties = _properties(dialect, fields)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required := [name for name in properties if name in _REQUIRED]:
        schema["required"] = required
    params: JsonObject = {"message": message, "requestedSchema": schema}
    if dialect.has_rich_questions:
        params["mode"] = "form"
    return Query(key, "elicitation/create", params, FORM)


def url(dialect: Dialect, address: str, message: str, elicitation_id: str) -> Query:
    params = {"mode": "url", "message": message, "url": address}
    if not dialect.is_per_request:
        params["elicitationId"] = elicitation_id
    return Query("url", "elicitation/create", params, URL)


def sampling(
    messages: list[JsonObject],
    key: str = "sampling",
    max_tokens: int = 200,
    tool_choice: str | None = None,
) -> Query:
    """Return a question for a language model; with `tool_choice` it is offered two tools."""
    params: JsonObject = {
        "messages": messages,
        "maxTokens": max_tokens,
        "systemPrompt": "You are a friendly assistant. Answer in one sentence.",
        "temperature": 0.2,
        "stopSequences": ["END"],
        "modelPreferences": {
            "hints": [{"name": "small-model"}],
            "speedPriority": 0.8,
            "costPriority": 0.3,
            "intelligencePriority": 0.5,
        },
    }
    if tool_choice is None:
        return Query(key, "sampling/createMessage", params, SAMPLING)
    params.update(tools=SAMPLING_TOOL_LIST, toolChoice={"mode": tool_choice})
    return Query(key, "sampling/createMessage", params, SAMPLING_TOOLS)


def roots() -> Query:
    return Query("roots", "roots/list", {}, ROOTS)


def said(role: str, *content: JsonObject) -> JsonObject:
    """Return a message; several contents in one only where the revision knows that."""
    return {"role": role, "content": content[0] if len(content) == 1 else list(content)}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def picture() -> JsonObject:
    """Return a small picture as content: a bar that is half full, PNG."""
    return {
        "type": "image",
        "mimeType": "image/png",
        "data": base64.b64encode(_png()).decode(),
    }


def _properties(dialect: Dialect, fields: str) -> dict[str, JsonObject]:
    choices = _RICH_CHOICES if dialect.has_rich_questions else _OLD_CHOICES
    parts: dict[str, dict[str, JsonObject]] = {
        "text": _TEXT,
        "numbers": _NUMBERS,
        "choices": {**_PLAIN_CHOICES, **choices},
        "name": {"name": _TEXT["name"]},
        "nothing": {},
    }
    if fields == "all":
        return {**parts["text"], **parts["numbers"], **parts["choices"]}
    return parts[fields]


def _png() -> bytes:
    width, height = 64, 12
    half = width // 2
    row = b"\x00" + b"\x33\x77\xcc" * half + b"\xcc\xcc\xcc" * (width - half)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * height)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)


def _city(**more: Any) -> JsonObject:
    properties = {"city": {"type": "string", "description": "The city"}, **more}
    return {"type": "object", "properties": properties, "required": ["city"]}


SAMPLING_TOOL_LIST: Final[list[JsonObject]] = [
    {
        "name": "get_weather",
        "description": "Gets the weather in a city",
        "inputSchema": _city(),
    },
    {
        "name": "get_time",
        "description": "Gets the time in a city",
        "inputSchema": _city(is_exact={"type": "boolean"}),
    },
]
"""The tools a language model may use in sampling."""
