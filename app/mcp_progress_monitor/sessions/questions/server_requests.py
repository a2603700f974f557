"""Requests of one server over one connection, until each is replied to."""

from __future__ import annotations

import base64
import contextlib
import functools
import math
import urllib.parse
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.json_schema import schema_error
from mcp_progress_monitor.protocol.eras import Era, as_object
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value, shown
from mcp_progress_monitor.protocol.messages import (
    CREATE_MESSAGE,
    ELICIT,
    ELICITATION_COMPLETE,
    LIST_ROOTS,
    PROGRESS,
)
from mcp_progress_monitor.protocol.offers import ALL_LISTS
from mcp_progress_monitor.sessions.questions.answers import RpcError, result_of, violations_of
from mcp_progress_monitor.sessions.questions.questions import AnswerPhase, AnswerProgress, Pending
from mcp_progress_monitor.snapshots.questions import BY_RULE, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        NotificationReceived,
        RequestCancelled,
        RequestMade,
    )
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.questions.questions import Questions
    from mcp_progress_monitor.snapshots.questions import Answer, Kind
    from mcp_progress_monitor.snapshots.settings import ServerSettings
    from mcp_progress_monitor.tracker.snapshot import JobId

METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

_CAPABILITIES: Final = {CREATE_MESSAGE: "sampling", ELICIT: "elicitation", LIST_ROOTS: "roots"}
_BLOCKS: Final = frozenset({"text", "image", "audio", "tool_use", "tool_result"})
_SIMPLE: Final = frozenset({"string", "number", "integer", "boolean", "array"})
_MOST_NOTES: Final = 5
_WEB: Final = frozenset({"http", "https"})


class ServerRequest(NamedTuple):
    """The content of a question. `errors` are those of the question itself; see `Question`."""

    method: str
    kind: Kind
    message: str
    schema: JsonObject | None
    url: str | None
    params: JsonObject
    errors: tuple[str, ...]


def check_method(method: str, declared: JsonObject) -> None:
    """Raise `RpcError` unless the capabilities `declared` allow the server to ask this."""
    if _CAPABILITIES.get(method) not in declared:
        raise RpcError(METHOD_NOT_FOUND, f"This client does not support {method}")


def read_asked(method: str, params: Any, declared: JsonObject) -> ServerRequest:
    """Read a request of a server to which `declared` was declared.

    Raises:
        RpcError: it asks for what was not declared, or its parameters cannot be understood.
    """
    check_method(method, declared)
    if method == LIST_ROOTS:
        return ServerRequest(method, "roots", "", None, None, as_object(params), ())
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, f"{method} needs params, an object")
    if method == CREATE_MESSAGE:
        return _sampling(params)
    return _elicitation(params, as_object(declared.get("elicitation")))


def _elicitation(params: JsonObject, declared: JsonObject) -> ServerRequest:
    mode = params.get("mode", "form")
    # A client that declares no mode supports forms (2025-11-25 "Elicitation").
    if not isinstance(mode, str) or mode not in (declared or {"form": {}}):
        raise RpcError(INVALID_PARAMS, f"The elicitation mode {shown(mode)} was not declared")
    notes: list[str] = []
    message = _text(params, "message", notes)
    if mode == "url":
        return ServerRequest(
            ELICIT, "url", message, None, _url(params, notes), params, tuple(notes)
        )
    schema = _schema(params, notes)
    return ServerRequest(ELICIT, "form", message, schema, None, params, tuple(notes))


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
        notes.append('"url" is not a web address: do not open it')
    return url


def _is_web_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme.lower() in _WEB and bool(parts.hostname)
    except ValueError:
        return False


def _schema(params: JsonObject, notes: list[str]) -> JsonObject | None:
    """The schema of a form; None without a valid one."""
    schema = params.get("requestedSchema")
    if not isinstance(schema, dict):
        notes.append(f"{_wrong(params, 'requestedSchema', 'an object')}: answer with JSON")
        return None
    fault = schema_error(schema)
    if fault:
        notes.append(
            f"requestedSchema is not a valid JSON Schema, so answers are not checked: {fault}"
        )
    elif schema.get("type", "object") != "object":
        notes.append("requestedSchema does not describe an object: answer with JSON")
        return None
    elif not isinstance(schema.get("properties"), dict):
        notes.append("requestedSchema has no properties: answer with JSON")
    else:
        notes += _deep_fields(schema["properties"])
    return schema


def _deep_fields(properties: JsonObject) -> list[str]:
    """Members that are not fields of a flat form (2025-11-25 "Requested Schema")."""
    deep = [
        name
        for name, field in properties.items()
        if _type_of(field) not in _SIMPLE and "enum" not in as_object(field)
    ]
    notes = [
        f"the field {shown(name)} of requestedSchema does not have a primitive type"
        for name in deep[:_MOST_NOTES]
    ]
    more = len(deep) - len(notes)
    return [*notes, f"and {more:,} more fields do not have a primitive type"] if more else notes


def _type_of(field: object) -> str:
    named = as_object(field).get("type")
    return named if isinstance(named, str) else ""


def _sampling(params: JsonObject) -> ServerRequest:
    messages = params.get("messages")
    if not isinstance(messages, list):
        raise RpcError(INVALID_PARAMS, _wrong(params, "messages", "a list"))
    notes = [] if messages else ['"messages" is empty']
    for number, message in enumerate(messages, 1):
        notes += _message_errors(number, as_object(message))
    if type(params.get("maxTokens")) is not int:
        notes.append(_wrong(params, "maxTokens", "an integer"))
    text = _last_output(messages)
    return ServerRequest(CREATE_MESSAGE, "sampling", text, None, None, params, tuple(notes))


def _last_output(messages: list[Any]) -> str:
    """The text of the newest message: the prompt for the model."""
    content = as_object(messages[-1]).get("content") if messages else None
    blocks = content if isinstance(content, list) else [content]
    texts = [as_object(block).get("text") for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))


def _message_errors(number: int, message: JsonObject) -> list[str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else [content]
    found = [error for block in blocks if (error := _block_error(as_object(block)))]
    if message.get("role") not in {"user", "assistant"}:
        found.append(_wrong(message, "role", '"user" or "assistant"'))
    return [f"message {number}: {error}" for error in found]


def _block_error(block: JsonObject) -> str:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return f"unknown content type {shown(kind)}"
    if kind in {"image", "audio"}:
        return _data_error(block)
    if kind == "text" and not isinstance(block.get("text"), str):
        return _wrong(block, "text", "a string")
    return ""


def _data_error(block: JsonObject) -> str:
    data = block.get("data")
    if not isinstance(data, str):
        return _wrong(block, "data", "a string")
    try:
        base64.b64decode(data, validate=True)
    except ValueError as error:
        return f'"data" is not valid Base64: {error}'
    return ""


TOO_MANY: Final = -32000
_MOST_OPEN: Final = 100  # most open questions of one connection: a person has to answer them
_ENDED: Final = "the connection ended"
_OVER: Final = "the request that asked it has ended"


class QuestionOrigin(NamedTuple):
    """Where a question was asked: the asking frame, its key in that, and its job."""

    request: int
    key: str | None
    job: JobId | None


class _OpenServerRequest:
    """A request of the server without a reply yet; `question` once it is one for the user."""

    def __init__(self) -> None:
        self.question: int | None = None
        self.cancelled = ""


class _AnswerWork(NamedTuple):
    """A request that was not read yet."""

    fact: RequestMade
    raw: bytes
    request: _OpenServerRequest


class ServerContext(NamedTuple):
    """Objects that all connections to one server share.

    `settings` returns the current ones; `job_of` finds the job of a request by its frame. `lists`
    are read as soon as the server is connected, and again whenever they change if `follows_lists`.
    """

    server: str
    questions: Questions
    settings: Callable[[], ServerSettings]
    job_of: Callable[[int], JobId | None]
    clock: Clock
    lists: frozenset[str] = ALL_LISTS
    follows_lists: bool = True


class ServerRequests:
    """Answers a server's requests.

    `run` is its one task, from the connection's start to its end.
    """

    def __init__(
        self, connection: Connection, context: ServerContext, client: ClientIdentity
    ) -> None:
        self.era: Era | None = None  # the era of the connection, None before it is known
        self._connection = connection
        self._context = context
        self._client = client
        self._declared = client.capabilities
        self._open: dict[int, _OpenServerRequest] = {}
        self._questions: set[int] = set()
        self._work, self._inbox = anyio.create_memory_object_stream[_AnswerWork](math.inf)
        outbox = connection.outbox
        outbox.on_request = self._take
        outbox.withdrawal_watchers.append(self._withdraw)
        outbox.watch([ELICITATION_COMPLETE], self._watch)

    def begin(self, era: Era) -> None:
        """The connection was opened in this era; it decides what was declared."""
        self.era = era
        if era is Era.PER_REQUEST:
            self._declared = self._client.per_request

    def has_declared(self, capability: str) -> bool:
        return capability in self._declared

    def declare(self, client: ClientIdentity) -> None:
        """The capabilities in `client` changed: in 2026-07-28 the next request declares them."""
        if self.era is Era.PER_REQUEST:
            self._client = client
            self._declared = client.per_request

    async def run(self) -> None:
        """Answer until the connection ends; open questions then need no answer any more."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_with_connection, tasks.cancel_scope)
                async for work in self._inbox:
                    tasks.start_soon(self._answer, work)
        finally:
            self._work.close()
            self._inbox.close()
            for question in list(self._questions):
                self._context.questions.withdraw(question, _ENDED)

    async def _end_with_connection(self, scope: anyio.CancelScope) -> None:
        await self._connection.ended()
        scope.cancel()

    # Requests of the handshake era

    def _take(self, fact: RequestMade, raw: bytes) -> None:
        """Refuse a request immediately, or queue it to be read in its own turn of the loop.

        Checking one schema takes a millisecond, and a hundred may arrive at once.
        """
        try:
            self._check_room(fact)
            check_method(fact.method, self._declared)
        except RpcError as error:
            self._refuse(fact, error)
            return
        request = self._open[fact.number] = _OpenServerRequest()
        # Servers may send requests while they are ending; these are not answered.
        with contextlib.suppress(anyio.ClosedResourceError):
            self._work.send_nowait(_AnswerWork(fact, raw, request))

    def _check_room(self, fact: RequestMade) -> None:
        if self.era is Era.PER_REQUEST:
            text = f"Servers of 2026-07-28 must not send requests, such as {fact.method}"
            raise RpcError(METHOD_NOT_FOUND, text)
        if len(self._open) >= _MOST_OPEN:
            raise RpcError(TOO_MANY, f"{_MOST_OPEN} questions are open: answer them first")

    def _read(self, method: str, params: Any) -> ServerRequest:
        return read_asked(method, params, self._declared)

    async def _answer(self, work: _AnswerWork) -> None:
        fact, raw = work.fact, work.raw
        try:
            if len(raw) > OVERSIZED:
                params = await anyio.to_thread.run_sync(read_params, raw)
            else:
                params = read_params(raw)
            await self._answer_asked(fact, self._read(fact.method, params), work.request)
        except RpcError as error:
            self._refuse(fact, error)
        finally:
            del self._open[fact.number]

    async def _answer_asked(
        self, fact: RequestMade, server_request: ServerRequest, request: _OpenServerRequest
    ) -> None:
        phases = AnswerProgress(fact.token, server_request.kind)
        where = QuestionOrigin(fact.number, None, self._context.job_of(fact.number))
        question = self._question(server_request, where)
        request.question = question.id
        if request.cancelled:
            return
        try:
            answer = await self.put(question, phases)
            if answer is not None:
                self._reply(fact, result_of(question, answer), phases)
        finally:
            phases.end()

    def _reply(self, fact: RequestMade, result: JsonObject, phases: AnswerProgress) -> None:
        outbox = self._connection.outbox
        raw = outbox.peer.respond(fact.id, result)
        self._show_phase(phases, AnswerPhase.DONE)
        phases.end()
        outbox.post(raw)

    def _refuse(self, fact: RequestMade, error: RpcError) -> None:
        outbox = self._connection.outbox
        outbox.post(outbox.peer.refuse(fact.id, error.code, error.message))

    def _withdraw(self, fact: RequestCancelled) -> None:
        """The server no longer needs an answer, and gets none."""
        request = self._open.get(fact.request or 0)
        if request is None:
            return
        reason = f": {fact.reason}" if fact.reason else ""
        request.cancelled = f"the server cancelled it{reason}"
        if request.question is not None:
            self._context.questions.withdraw(request.question, request.cancelled)

    def _watch(self, fact: NotificationReceived) -> None:
        identity = fact.params.get("elicitationId")
        if isinstance(identity, str):
            self._context.questions.complete(self._connection.id, identity)

    # Shared by both eras

    def job_of(self, request: int | None) -> JobId | None:
        return None if request is None else self._context.job_of(request)

    def read(self, method: Any, params: Any) -> ServerRequest:
        """Read a question in a result; `RpcError` as for a request."""
        return self._read(str(method), params)

    async def ask(
        self, server_request: ServerRequest, where: QuestionOrigin
    ) -> tuple[Question, Answer | None]:
        """Ask a question of a result; None if it no longer needs an answer."""
        question = self._question(server_request, where)
        return question, await self.put(question, AnswerProgress(None, server_request.kind))

    def _question(self, server_request: ServerRequest, where: QuestionOrigin) -> Question:
        context, clock = self._context, self._context.clock
        return Question(
            id=context.questions.next_id(),
            server=context.server,
            connection=self._connection.id,
            request=where.request,
            key=where.key,
            method=server_request.method,
            kind=server_request.kind,
            message=server_request.message,
            schema=server_request.schema,
            url=server_request.url,
            params=server_request.params,
            job=where.job,
            asked_at=clock.monotonic(),
            asked_when=clock.wall(),
            error="\n".join(server_request.errors),
        )

    async def put(self, question: Question, phases: AnswerProgress) -> Answer | None:
        """Answer a question by its rule or by the user; None if no answer is needed."""
        settings = self._context.settings()
        rule = settings.rules.of(question.kind)
        automatic = settings.rules.automatic(question.kind, settings.roots)
        if automatic is not None and (misfits := violations_of(question, automatic)):
            lines = ["The rule's answer is not valid:", *misfits]
            error = "\n".join(filter(None, [question.error, *lines]))
            question, automatic = question._replace(error=error), None
        self._show_phase(phases, AnswerPhase.SHOWING)
        if automatic is not None and not rule.delay_s:
            self._show_phase(phases, AnswerPhase.WAITING)
            self._show_phase(phases, AnswerPhase.CHECKING)
            self._context.questions.note_ruled(question)
            return automatic
        return await self._put_open(question, phases, automatic, rule.delay_s)

    async def _put_open(
        self, question: Question, phases: AnswerProgress, automatic: Answer | None, delay_s: float
    ) -> Answer | None:
        """Wait for the user, or for so many seconds."""
        questions = self._context.questions
        pending = Pending(question, functools.partial(self._show_phase, phases))
        questions.ask(pending)
        self._questions.add(question.id)
        try:
            self._show_phase(phases, AnswerPhase.WAITING)
            with anyio.move_on_after(None if automatic is None else delay_s):
                return await pending.answered()
            if automatic is not None and pending.is_open:
                questions.answer(question.id, automatic, BY_RULE)
            return pending.answer
        finally:
            self._questions.discard(question.id)
            questions.withdraw(question.id, _OVER if self._connection.is_open else _ENDED)

    def _show_phase(self, phases: AnswerProgress, phase: AnswerPhase) -> None:
        params = phases.enter(phase, self._connection.now())
        if params is not None:
            outbox = self._connection.outbox
            outbox.post(outbox.peer.notify(PROGRESS, params))


def read_params(raw: bytes) -> Any:
    """The complete parameters of a request, whatever their size; None if it has none.

    Raises:
        RpcError: they are nested too deeply.
    """
    try:
        return as_object(read_value(raw).value).get("params")
    except (TooDeepError, NotJsonError) as error:
        raise RpcError(INVALID_PARAMS, f"The parameters cannot be read: {error}") from error
