"""Questions to the client: forms with every kind of field, URLs to visit, sampling, roots.

Source of the shapes: "Elicitation", "Sampling" and "Roots" of revisions 2025-11-25 and 2026-07-28;
revision 2025-06-18 has no modes, no multiple choices, and only `enumNames` as titles of choices.

How they are asked depends on the revision. In the handshake era the server sends requests. In
2026-07-28 the call is answered with `input_required` and made again. A task waits in the state
`input_required`: the core feature sends the requests while `tasks/result` is open, the extension
lists them in `tasks/get`.
"""

import base64
import json
import struct
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect, missing_capability
from mcp_progress_monitor.demo.questions import InputRequiredError, Question
from mcp_progress_monitor.demo.tasks import Task
from mcp_progress_monitor.demo.tool import flag, number
from mcp_progress_monitor.demo.wire import JsonObject, text_result

FORM: Final = ("elicitation", "form")
URL: Final = ("elicitation", "url")
SAMPLING: Final = ("sampling",)
SAMPLING_TOOLS: Final = ("sampling", "tools")
ROOTS: Final = ("roots",)


@dataclass(frozen=True, slots=True)
class Query:
    """One question before it is asked."""

    key: str  # unique within its call
    method: str
    params: Any
    needs: tuple[str, ...] = ()
    """The path of the client capability that it needs; empty for none."""

    @property
    def request(self) -> JsonObject:
        request: JsonObject = {"method": self.method}
        return request if self.params is None else {**request, "params": self.params}

    def exists_in(self, dialect: Dialect) -> bool:
        return self.needs[:1] != ("elicitation",) or dialect.has_elicitation

    def may_be_asked(self, dialect: Dialect) -> bool:
        if not self.exists_in(dialect):
            return False
        if self.needs == ("elicitation", "form") and dialect.client.get("elicitation") == {}:
            return True  # an empty object means forms only
        if self.needs == ("elicitation", "form") and not dialect.has_rich_questions:
            return dialect.declares("elicitation")
        return not self.needs or dialect.declares(*self.needs)


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
    }
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
FIELDS: Final = ("all", "text", "numbers", "choices", "name", "nothing")  # sets of form fields


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
    """Return a sampling request; with `tool_choice` it offers two tools."""
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
    """Return a message; several contents require a revision that allows them."""
    return {"role": role, "content": content[0] if len(content) == 1 else list(content)}


def text(value: str) -> JsonObject:
    return {"type": "text", "text": value}


def picture() -> JsonObject:
    """Return a small picture as content: a bar that is half full, PNG."""
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(_png()).decode()}


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
    {"name": "get_weather", "description": "Gets the weather in a city", "inputSchema": _city()},
    {
        "name": "get_time",
        "description": "Gets the time in a city",
        "inputSchema": _city(is_exact={"type": "boolean"}),
    },
]
"""The tools a language model may use in sampling."""


POLL_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Manner:
    """Options for asking."""

    has_token: bool = True
    timeout_s: float = 600
    even_if_undeclared: bool = False
    listen_after_s: float = 0
    state_is: str = "awkward"
    at_once: bool = True  # whether a task asks before `tasks/result` is pending


MANNER: Final[dict[str, JsonObject]] = {
    "has_token": flag("Send a progress token with questions (handshake era only)", default=True),
    "timeout_s": number("Seconds to wait for an answer (handshake era only)", 600, 0, 86_400),
    "even_if_undeclared": flag("Ask even if the client did not declare the capability"),
    "listen_after_s": number("Seconds to wait for late progress", 0, 0, 600),
}
"""The arguments of every tool that asks."""


@dataclass(slots=True)
class Asked:
    """A question and its outcome."""

    query: Query
    reply: JsonObject | None = None
    """The client's reply, with its `result` or `error`; None if there was none in time."""
    phases: list[JsonObject] = field(default_factory=list)
    late_phases: list[JsonObject] = field(default_factory=list)

    @property
    def result(self) -> JsonObject:
        result = (self.reply or {}).get("result")
        return result if isinstance(result, dict) else {}

    def as_json(self) -> JsonObject:
        return {
            "key": self.query.key,
            "method": self.query.method,
            "reply": self.reply,
            "phases": self.phases,
            "late_phases": self.late_phases,
        }


def ask(call: Call, queries: Sequence[Query], manner: Manner) -> list[Asked]:
    """Ask all of `queries` at the same time and return their outcomes.

    Raises:
        RefusedError: The client did not declare the capability (handshake era).
        RpcError: The same in revision 2026-07-28.
        InputRequiredError: The call must be made again with the answers.
        CancelledCallError: The client cancelled the call.
    """
    if not manner.even_if_undeclared:
        _require(call.dialect, queries)
    given = call.replay.next() or _asked_now(call, queries, manner)
    if isinstance(given, list):
        return given
    missing = {query.key: query.request for query in queries if query.key not in given}
    if missing and call.dialect.is_per_request:
        raise InputRequiredError(missing, manner.state_is, given)
    return [Asked(query, _reply(given.get(query.key))) for query in queries]


def answer(message: str, *asked: Asked) -> JsonObject:
    return text_result(message, json.dumps([each.as_json() for each in asked], ensure_ascii=False))


def _asked_now(call: Call, queries: Sequence[Query], manner: Manner) -> list[Asked] | JsonObject:
    if call.task is not None:
        return _asked_in_task(call, call.task, queries, manner)
    if call.dialect.is_per_request:
        raise InputRequiredError({query.key: query.request for query in queries}, manner.state_is)
    return _asked_by_requests(call, queries, manner)


def _require(dialect: Dialect, queries: Sequence[Query]) -> None:
    for query in queries:
        if not query.exists_in(dialect):
            raise RefusedError(f"Revision {dialect.version} does not support {query.method}.")
        if not query.may_be_asked(dialect):
            if dialect.is_per_request:
                raise missing_capability(_nested(query.needs))
            needed = ".".join(query.needs)
            raise RefusedError(f"The client did not declare {needed}, so it was not asked.")


def _nested(path: tuple[str, ...]) -> JsonObject:
    return {path[0]: _nested(path[1:])} if path else {}


def _reply(given: object) -> JsonObject | None:
    return given if isinstance(given, dict) else None


def _asked_in_task(
    call: Call, task: Task, queries: Sequence[Query], manner: Manner
) -> list[Asked] | JsonObject:
    task.ask({query.key: query.request for query in queries})
    if not task.terms.is_core:
        while (given := task.given) is None:
            call.sleep(POLL_S)
        return given
    while not (manner.at_once or task.is_awaited):
        call.sleep(POLL_S)
    asked = _asked_by_requests(call, queries, manner)
    task.answered({each.query.key: each.reply for each in asked})
    return asked


def _asked_by_requests(call: Call, queries: Sequence[Query], manner: Manner) -> list[Asked]:
    open_questions: list[Question] = []
    try:
        for query in queries:
            params = _related(call, query.params)
            question = call.questions.ask(query.method, params, has_token=manner.has_token)
            open_questions.append(question)
        _wait(call, open_questions, manner)
        return [
            Asked(query, each.reply, each.phases, each.late_phases)
            for query, each in zip(queries, open_questions, strict=True)
        ]
    finally:
        for question in open_questions:
            call.questions.cancel(question, "The call has ended, or no answer came in time")
            call.questions.forget(question)


def _related(call: Call, params: Any) -> Any:
    if call.task is None or not isinstance(params, dict):
        return params
    return {**params, "_meta": {**params.get("_meta", {}), **call.task.related}}


def _wait(call: Call, questions: Sequence[Question], manner: Manner) -> None:
    deadline = time.monotonic() + manner.timeout_s
    while any(question.reply is None for question in questions):
        if time.monotonic() >= deadline:
            return
        call.sleep(POLL_S)
    call.sleep(manner.listen_after_s)
