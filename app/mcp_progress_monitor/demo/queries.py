"""Questions to the client: a form, a URL to visit, sampling, roots.

Source of the shapes: "Elicitation", "Sampling" and "Roots" of revisions 2025-11-25 and 2026-07-28;
revision 2025-06-18 has no modes.

How they are asked depends on the revision. In the handshake era the server sends requests. In
2026-07-28 the call is answered with `input_required` and made again. A task waits in the state
`input_required`: the core feature sends the requests while `tasks/result` is open, the extension
lists them in `tasks/get`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp_progress_monitor.demo.call import Call, RefusedError
from mcp_progress_monitor.demo.eras import Dialect, missing_capability
from mcp_progress_monitor.demo.questions import InputRequiredError, Question
from mcp_progress_monitor.demo.tasks import Task
from mcp_progress_monitor.demo.wire import JsonObject, text_result

FORM: Final = ("elicitation", "form")
URL: Final = ("elicitation", "url")
SAMPLING: Final = ("sampling",)
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
        if self.needs == FORM and dialect.client.get("elicitation") == {}:
            return True  # an empty object means forms only
        if self.needs == FORM and not dialect.has_rich_questions:
            return dialect.declares("elicitation")
        return not self.needs or dialect.declares(*self.needs)


NAME: Final[JsonObject] = {
    "type": "string",
    "title": "Your name",
    "description": "2 to 40 characters",
    "minLength": 2,
    "maxLength": 40,
}

_FIELDS: Final[dict[str, JsonObject]] = {
    "name": NAME,
    "email": {"type": "string", "title": "Email address", "format": "email"},
    "birthday": {"type": "string", "title": "Birthday", "format": "date"},
    "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150},
    "newsletter": {"type": "boolean", "title": "Newsletter", "default": False},
    "size": {"type": "string", "title": "Size", "enum": ["S", "M", "L"], "default": "M"},
}


def form(
    dialect: Dialect,
    key: str = "form",
    message: str = "Who are you?",
    fields: Mapping[str, JsonObject] = _FIELDS,
    required: Sequence[str] = ("name", "age"),
) -> Query:
    """Return a form; those of `required` that are no fields are left out."""
    schema: JsonObject = {"type": "object", "properties": dict(fields)}
    if needed := [name for name in required if name in fields]:
        schema["required"] = needed
    params: JsonObject = {"message": message, "requestedSchema": schema}
    if dialect.has_rich_questions:
        params["mode"] = "form"
    return Query(key, "elicitation/create", params, FORM)


def url(dialect: Dialect, address: str, message: str, elicitation_id: str) -> Query:
    params = {"mode": "url", "message": message, "url": address}
    if not dialect.is_per_request:
        params["elicitationId"] = elicitation_id
    return Query("url", "elicitation/create", params, URL)


def sampling(messages: list[JsonObject], key: str = "sampling", max_tokens: int = 200) -> Query:
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
    return Query(key, "sampling/createMessage", params, SAMPLING)


def roots() -> Query:
    return Query("roots", "roots/list", {}, ROOTS)


def said(text: str) -> list[JsonObject]:
    """Return the messages of a user who said this."""
    return [{"role": "user", "content": {"type": "text", "text": text}}]


POLL_S: Final = 0.01


@dataclass(slots=True)
class Asked:
    """A question and its outcome."""

    query: Query
    reply: JsonObject | None = None
    """The client's reply, with its `result` or `error`; None if there was none."""

    @property
    def result(self) -> JsonObject:
        result = (self.reply or {}).get("result")
        return result if isinstance(result, dict) else {}

    def as_json(self) -> JsonObject:
        return {"key": self.query.key, "method": self.query.method, "reply": self.reply}


class Asker:
    """Asks questions of one call at the same time, in the way of its revision."""

    def __init__(self, call: Call, queries: Sequence[Query]) -> None:
        self._call = call
        self._queries = queries

    def ask(self) -> list[Asked]:
        """Return the outcomes.

        Raises:
            RefusedError: The client did not declare the capability (handshake era).
            RpcError: The same in revision 2026-07-28.
            InputRequiredError: The call must be made again with the answers.
            CancelledCallError: The client cancelled the call.
        """
        self._require()
        call = self._call
        if not (given := call.replay.next()):
            if call.task is None and not call.dialect.is_per_request:
                return self._ask_by_requests()
            given = {} if call.task is None else self._ask_in_task(call.task)
        missing = {each.key: each.request for each in self._queries if each.key not in given}
        if missing and call.dialect.is_per_request:
            raise self._input_required(missing, given)
        return [Asked(query, _reply(given.get(query.key))) for query in self._queries]

    def _require(self) -> None:
        dialect = self._call.dialect
        for query in self._queries:
            if not query.exists_in(dialect):
                raise RefusedError(f"Revision {dialect.version} does not support {query.method}.")
            if not query.may_be_asked(dialect):
                if dialect.is_per_request:
                    raise missing_capability(_nested(query.needs))
                needed = ".".join(query.needs)
                raise RefusedError(f"The client did not declare {needed}, so it was not asked.")

    def _input_required(self, missing: JsonObject, given: JsonObject) -> InputRequiredError:
        return InputRequiredError(missing, given)

    def _ask_in_task(self, task: Task) -> JsonObject:
        task.ask({query.key: query.request for query in self._queries})
        if task.terms.is_core:
            while not task.is_awaited:
                self._call.sleep(POLL_S)
            task.answered({each.query.key: each.reply for each in self._ask_by_requests()})
        while (given := task.given) is None:
            self._call.sleep(POLL_S)
        return given

    def _ask_by_requests(self) -> list[Asked]:
        questions = self._call.questions
        pending: list[Question] = []
        try:
            pending.extend(questions.ask(q.method, self._related(q.params)) for q in self._queries)
            self._wait(pending)
            return [self._asked(*pair) for pair in zip(self._queries, pending, strict=True)]
        finally:
            for question in pending:
                questions.cancel(question, "The call has ended, or no answer came in time")
                questions.forget(question)

    def _related(self, params: Any) -> Any:
        if self._call.task is None or not isinstance(params, dict):
            return params
        return {**params, "_meta": {**params.get("_meta", {}), **self._call.task.related}}

    def _wait(self, pending: Sequence[Question]) -> None:
        while any(question.reply is None for question in pending):
            self._call.sleep(POLL_S)

    def _asked(self, query: Query, question: Question) -> Asked:
        return Asked(query, question.reply)


def answer(message: str, *asked: Asked) -> JsonObject:
    return text_result(message, json.dumps([each.as_json() for each in asked], ensure_ascii=False))


def _nested(path: tuple[str, ...]) -> JsonObject:
    return {path[0]: _nested(path[1:])} if path else {}


def _reply(given: object) -> JsonObject | None:
    return given if isinstance(given, dict) else None
