"""Questions of the test server: every kind of form field, progress tokens, odd states, limits."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.queries import NAME, Asked, Asker, Query
from mcp_progress_monitor.demo.questions import InputRequiredError, Question, Questions
from mcp_progress_monitor.demo.tool import number
from mcp_progress_monitor.demo.wire import JsonObject

_LONG: Final = 50_000

STATES: Final[dict[str, Callable[[], str]]] = {
    "awkward": lambda: f' é≠é "{secrets.token_hex(4)}" \\ / \u2028 😀\t\u0001 ',
    "plain": lambda: secrets.token_urlsafe(12),
    "long": lambda: secrets.token_hex(_LONG // 2),
    "empty": lambda: "",
}
"""Kinds of request state: name and factory."""

_TEXT: Final[dict[str, JsonObject]] = {
    "name": NAME,
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

_REQUIRED: Final = ("name", "age", "colour", "toppings")
FIELDS: Final = ("all", "text", "numbers", "choices", "name", "nothing")  # sets of form fields


def form(
    dialect: Dialect, key: str = "form", fields: str = "name", message: str = "Who are you?"
) -> Query:
    return queries.form(dialect, key, message, _properties(dialect, fields), _REQUIRED)


def _properties(dialect: Dialect, fields: str) -> dict[str, JsonObject]:
    choices = _RICH_CHOICES if dialect.has_rich_questions else _OLD_CHOICES
    parts: dict[str, dict[str, JsonObject]] = {
        "text": _TEXT,
        "numbers": _NUMBERS,
        "choices": {**_PLAIN_CHOICES, **choices},
        "name": {"name": NAME},
        "nothing": {},
    }
    if fields == "all":
        return {**parts["text"], **parts["numbers"], **parts["choices"]}
    return parts[fields]


def sampling_with_tools(messages: list[JsonObject], key: str, tool_choice: str) -> Query:
    """Return a sampling request that offers two tools."""
    plain = queries.sampling(messages, key)
    offered = {"tools": SAMPLING_TOOL_LIST, "toolChoice": {"mode": tool_choice}}
    return Query(key, plain.method, {**plain.params, **offered}, ("sampling", "tools"))


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


@dataclass(frozen=True, slots=True)
class Manner:
    """Options for asking."""

    timeout_s: float = 600
    listen_after_s: float = 0
    even_if_undeclared: bool = False
    state_is: str = "awkward"


MANNER: Final[dict[str, JsonObject]] = {
    "timeout_s": number("Seconds to wait for an answer (handshake era only)", 600, 0, 86_400),
    "listen_after_s": number("Seconds to wait for late progress", 0, 0, 600),
}
"""The arguments of every tool that asks."""


@dataclass(slots=True)
class TokenQuestion(Question):
    """A request with a progress token, and the progress that was received for it."""

    phases: list[JsonObject] = field(default_factory=list)
    late_phases: list[JsonObject] = field(default_factory=list)
    """Progress after the reply, which violates the protocol."""

    @property
    def token(self) -> str:
        return f"phases-of-{self.id}"


class TokenQuestions(Questions):
    """Sends a progress token with each request that has parameters."""

    def ask(self, method: str, params: object) -> TokenQuestion:
        question = TokenQuestion(self._new_id(), method)
        if isinstance(params, dict):
            meta = {**params.get("_meta", {}), "progressToken": question.token}
            params = {**params, "_meta": meta}
        self._send(question, params)
        return question

    def progressed(self, params: JsonObject) -> None:
        """Keep a progress notification of the client with its question."""
        token = params.get("progressToken")
        with self._lock:
            for question in self._open.values():
                if isinstance(question, TokenQuestion) and question.token == token:
                    kept = question.late_phases if question.reply else question.phases
                    kept.append(params)


@dataclass(slots=True)
class AskedWithToken(Asked):
    """A question and its outcome, with the client's progress."""

    phases: list[JsonObject] = field(default_factory=list)
    late_phases: list[JsonObject] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        progress = {"phases": self.phases, "late_phases": self.late_phases}
        return {**Asked.as_json(self), **progress}


class ManneredAsker(Asker):
    """Asks with the options of `Manner`."""

    def __init__(self, call: Call, queries: Sequence[Query], manner: Manner) -> None:
        super().__init__(call, queries)
        self._manner = manner

    def _require(self) -> None:
        if not self._manner.even_if_undeclared:
            super()._require()

    def _input_required(self, missing: JsonObject, given: JsonObject) -> InputRequiredError:
        return InputRequiredError(missing, given, STATES[self._manner.state_is]())

    def _wait(self, pending: Sequence[Question]) -> None:
        deadline = time.monotonic() + self._manner.timeout_s
        while any(question.reply is None for question in pending):
            if time.monotonic() >= deadline:
                return
            self._call.sleep(queries.POLL_S)
        self._call.sleep(self._manner.listen_after_s)

    def _asked(self, query: Query, question: Question) -> Asked:
        if not isinstance(question, TokenQuestion):
            return super()._asked(query, question)
        return AskedWithToken(query, question.reply, question.phases, question.late_phases)


def ask(call: Call, queries: Sequence[Query], manner: Manner) -> list[Asked]:
    return ManneredAsker(call, queries, manner).ask()
