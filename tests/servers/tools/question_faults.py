"""Tools whose questions violate rules, each in the way that its name says."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from mcp_progress_monitor.demo import queries
from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect
from mcp_progress_monitor.demo.queries import POLL_S, Query, answer
from mcp_progress_monitor.demo.questions import InputRequiredError
from mcp_progress_monitor.demo.tool import Tool, choice, number, record
from mcp_progress_monitor.demo.wire import JsonObject, text_result
from tests.servers.asking import MANNER, Manner, ask, form

_UNKNOWN_METHOD: Final = "demo/no_such_method"
_KINDS: Final = ("first_undeclared", "sampling", "form", "url", "roots", "unknown_method")


def question_cancelled(call: Call, after_s: float, kind: str) -> JsonObject:
    """Ask, and cancel the question after a while."""
    _require_requests(call)
    query = _of_kind(call.dialect, kind if call.dialect.has_elicitation else "sampling")
    question = call.questions.ask(query.method, query.params)
    try:
        deadline = time.monotonic() + after_s
        while question.reply is None and time.monotonic() < deadline:
            call.sleep(POLL_S)
        was_answered = question.reply is not None
        call.questions.cancel(question, "The server found the answer by itself")
        call.sleep(after_s)  # long enough to see a reply that should not come
    finally:
        call.questions.forget(question)
    seen = {"reply": question.reply}
    text = "was answered before" if was_answered else "was cancelled"
    return text_result(f"The question {text}.", json.dumps(seen, ensure_ascii=False))


def ask_undeclared(call: Call, kind: str) -> JsonObject:
    """Ask a question even if the client did not declare the capability."""
    query = _first_undeclared(call) if kind == "first_undeclared" else _of_kind(call.dialect, kind)
    asked = ask(call, [query], Manner(even_if_undeclared=True))
    return answer(f"Asked {query.key} all the same.", *asked)


def wrong_question(call: Call, fault: str, timeout_s: float) -> JsonObject:
    """Ask an invalid question."""
    query = WRONG_QUESTIONS[fault](call.dialect)
    manner = Manner(timeout_s=timeout_s, even_if_undeclared=True)
    return answer(f"Asked with this fault: {fault}.", *ask(call, [query], manner))


def question_after_end(call: Call, delay_s: float) -> None:
    """Ask on behalf of a call that has ended."""
    _require_requests(call)
    call.reply(text_result("Done. One more thing, though:"))
    call.sleep(delay_s)
    query = form(call.dialect, message="Asked when the call had ended: who are you?")
    question = call.questions.ask(query.method, query.params)
    try:
        while question.reply is None:
            call.sleep(POLL_S)
    finally:
        call.questions.cancel(question, "Never mind")
        call.questions.forget(question)


def token_in_input_requests(call: Call) -> JsonObject:
    """Send a progress token for which no progress can be sent."""
    _require_rounds(call)
    query = form(call.dialect)
    params = {**query.params, "_meta": {"progressToken": "cannot-be-served"}}
    asked = ask(call, [Query("form", query.method, params, query.needs)], Manner())
    return answer("Asked with a progress token inside.", *asked)


def wrong_input_required(call: Call, fault: str) -> JsonObject:
    """Require input in an invalid way."""
    _require_rounds(call)
    if call.replay.next() is not None:
        return text_result("It was called again.")
    member = WRONG_RESULTS[fault]
    if fault == "unknown_method":
        raise InputRequiredError({"odd": {"method": _UNKNOWN_METHOD, "params": {}}})
    return {"resultType": "input_required", **member}


def _require_requests(call: Call) -> None:
    if call.dialect.is_per_request:
        raise RefusedError(f"Servers send no requests in revision {call.dialect.version}.")


def _require_rounds(call: Call) -> None:
    if not call.dialect.is_per_request:
        raise RefusedError("Only revision 2026-07-28 has calls that are retried.")


def _of_kind(dialect: Dialect, kind: str) -> Query:
    hello = queries.said("Say hello in one sentence.")
    address = "https://example.com/sign-in"
    made: dict[str, Query] = {
        "sampling": queries.sampling(hello),
        "form": form(dialect),
        "url": queries.url(dialect, address, "Please sign in.", "undeclared"),
        "roots": queries.roots(),
        "unknown_method": Query("unknown_method", _UNKNOWN_METHOD, {}),
    }
    return made[kind]


def _first_undeclared(call: Call) -> Query:
    for kind in _KINDS[1:-1]:
        query = _of_kind(call.dialect, kind)
        if not query.may_be_asked(call.dialect):
            return query
    return _of_kind(call.dialect, "unknown_method")


def _form_with(**changed: Any) -> Callable[[Dialect], Query]:
    """Return what makes a form with some parameters changed; None leaves one out."""

    def make(dialect: Dialect) -> Query:
        params = {**form(dialect).params, **changed}
        params = {name: value for name, value in params.items() if value is not None}
        return Query("form", "elicitation/create", params, queries.FORM)

    return make


def _field(**schema: Any) -> Callable[[Dialect], Query]:
    """Return what makes a form with one field, `odd`."""
    properties = {"odd": schema}
    return _form_with(requestedSchema={"type": "object", "properties": properties})


def _url_with(**changed: Any) -> Callable[[Dialect], Query]:
    def make(dialect: Dialect) -> Query:
        good = queries.url(dialect, "https://example.com/", "Please sign in.", "wrong").params
        params = {name: value for name, value in {**good, **changed}.items() if value is not None}
        return Query("url", "elicitation/create", params, queries.URL)

    return make


def _sampling_with(**changed: Any) -> Callable[[Dialect], Query]:
    def make(_dialect: Dialect) -> Query:
        good = queries.sampling(queries.said("Hello")).params
        params = {name: value for name, value in {**good, **changed}.items() if value is not None}
        return Query("sampling", "sampling/createMessage", params, queries.SAMPLING)

    return make


def _says(content: object) -> list[JsonObject]:
    return [{"role": "user", "content": content}]


WRONG_QUESTIONS: Final[dict[str, Callable[[Dialect], Query]]] = {
    "schema_is_text": _form_with(requestedSchema="name, age"),
    "schema_missing": _form_with(requestedSchema=None),
    "schema_no_object": _form_with(requestedSchema={"type": "array", "items": {"type": "string"}}),
    "properties_missing": _form_with(requestedSchema={"type": "object"}),
    "nested_object": _field(type="object", properties={"street": {"type": "string"}}),
    "unknown_type": _field(type="colour"),
    "unknown_format": _field(type="string", format="telephone"),
    "bad_pattern": _field(type="string", pattern="(["),
    "impossible_limits": _field(type="integer", minimum=10, maximum=1),
    "default_does_not_fit": _field(type="integer", maximum=5, default=6),
    "empty_enum": _field(type="string", enum=[]),
    "required_unknown": _form_with(
        requestedSchema={"type": "object", "properties": {}, "required": ["nowhere"]}
    ),
    "message_missing": _form_with(message=None),
    "message_number": _form_with(message=42),
    "mode_unknown": _form_with(mode="dance"),
    "url_missing": _url_with(url=None),
    "url_javascript": _url_with(url="javascript:alert(1)"),
    "url_no_url": _url_with(url="come in and find out"),
    "url_file": _url_with(url="file:///etc/passwd"),
    "url_misleading": _url_with(url="https://example.com@phishing.invalid/sign-in"),
    "elicitation_id_missing": _url_with(elicitationId=None),
    "messages_missing": _sampling_with(messages=None),
    "messages_empty": _sampling_with(messages=[]),
    "max_tokens_missing": _sampling_with(maxTokens=None),
    "content_unknown": _sampling_with(messages=_says({"type": "smell", "data": "roses"})),
    "image_no_base64": _sampling_with(
        messages=_says({"type": "image", "mimeType": "image/png", "data": "*** no base64 ***"})
    ),
    "params_missing": lambda _dialect: Query("form", "elicitation/create", None),
    "params_list": lambda _dialect: Query("form", "elicitation/create", ["form"]),
}
"""The faults of `wrong_question`, with functions that create the question."""

WRONG_RESULTS: Final[dict[str, JsonObject]] = {
    "neither": {},
    "empty_requests": {"inputRequests": {}},
    "requests_list": {"inputRequests": [{"method": "roots/list"}], "requestState": "state"},
    "request_text": {"inputRequests": {"form": "Who are you?"}, "requestState": "state"},
    "unknown_method": {},
    "state_number": {"inputRequests": {}, "requestState": 42},
    "state_null": {"inputRequests": {"roots": {"method": "roots/list"}}, "requestState": None},
}
"""The faults of `wrong_input_required`, with the members of the result."""

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        question_cancelled,
        "Cancelled question",
        "Asks, cancels its question by notifications/cancelled, and waits as long again.",
        record(
            after_s=number("Seconds until it cancels", 2, 0, 3_600),
            kind=choice("What it asks", "form", "sampling"),
        ),
    ),
    Tool(
        ask_undeclared,
        "Undeclared question",
        "Violates a rule: asks what you did not declare, and returns the error.",
        record(kind=choice("What it asks", *_KINDS)),
    ),
    Tool(
        wrong_question,
        "Wrong question",
        "Violates a rule: asks an invalid question.",
        record(
            fault=choice("What is wrong with it", *WRONG_QUESTIONS), timeout_s=MANNER["timeout_s"]
        ),
    ),
    Tool(
        question_after_end,
        "Question after the end",
        "Asks after its call has ended.",
        record(delay_s=number("Seconds between the answer and the question", 0.5, 0, 3_600)),
    ),
    Tool(
        token_in_input_requests,
        "Token in inputRequests",
        "Violates a rule: sends a progress token that cannot be used (2026-07-28).",
        record(),
    ),
    Tool(
        wrong_input_required,
        "Wrong input_required",
        "Violates a rule: requires input in an invalid way (2026-07-28).",
        record(fault=choice("What is wrong with it", *WRONG_RESULTS)),
    ),
)
