"""What one server asks of us over one connection, each question until its reply is written.

Requests of the handshake era are answered one by one; what a result of 2026-07-28 requires is
answered as a whole (see `sessions.rounds`). Several questions are open side by side.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.protocol.eras import Era, as_object
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.protocol.messages import ALL_LISTS
from mcp_progress_monitor.protocol.reading import NotJsonError, TooDeepError, read_value
from mcp_progress_monitor.sessions.answers import RpcError, problems_of, result_of
from mcp_progress_monitor.sessions.asked import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    check_method,
    read_asked,
)
from mcp_progress_monitor.sessions.phases import PROGRESS, Phase, Phases
from mcp_progress_monitor.sessions.questions import BY_RULE, Pending, Question

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.protocol.eras import ClientIdentity
    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        NotificationReceived,
        RequestCancelled,
        RequestMade,
    )
    from mcp_progress_monitor.sessions.answers import Answer
    from mcp_progress_monitor.sessions.asked import Asked
    from mcp_progress_monitor.sessions.clock import Clock
    from mcp_progress_monitor.sessions.connection import Connection
    from mcp_progress_monitor.sessions.questions import Questions
    from mcp_progress_monitor.sessions.server_settings import ServerSettings
    from mcp_progress_monitor.tracker.snapshot import JobId

COMPLETE: Final = "notifications/elicitation/complete"
TOO_MANY: Final = -32000
_MOST_OPEN: Final = 100
"""Most questions of one connection that are open at once: a person answers them."""
_ENDED: Final = "the connection ended"
_OVER: Final = "what it was asked for is over"


class Where(NamedTuple):
    """Where a question was asked: the frame that asks, its key in that, and the job it is of."""

    request: int
    key: str | None
    job: JobId | None


class _Request:
    """A request of the server that has no reply yet; `question` once it is one for the user."""

    def __init__(self) -> None:
        self.question: int | None = None
        self.cancelled = ""


class _Work(NamedTuple):
    """A request to be answered, which nobody has read yet."""

    fact: RequestMade
    raw: bytes
    request: _Request


class Context(NamedTuple):
    """What all connections with one server share.

    `settings` gives those of the moment; `job_of` names the job of a request by its frame. `lists`
    are those to read as soon as the server is connected, and again whenever they change if
    `follows_lists`.
    """

    server: str
    questions: Questions
    settings: Callable[[], ServerSettings]
    job_of: Callable[[int], JobId | None]
    clock: Clock
    lists: frozenset[str] = ALL_LISTS
    follows_lists: bool = True


class Incoming:
    """Answers what a server asks. `run` is its one task, from the connection's start to its end."""

    def __init__(self, connection: Connection, context: Context, client: ClientIdentity) -> None:
        """Take all requests on `connection`, whose server is told what `client` can do."""
        self.era: Era | None = None
        """How the connection was opened, None before that."""
        self._connection = connection
        self._context = context
        self._client = client
        self._declared = client.capabilities
        self._open: dict[int, _Request] = {}
        self._questions: set[int] = set()
        self._work, self._inbox = anyio.create_memory_object_stream[_Work](math.inf)
        mail = connection.mail
        mail.on_request = self._take
        mail.on_withdrawn = self._withdraw
        mail.watchers.append(self._watch)

    def begin(self, era: Era) -> None:
        """The connection was opened so: what was declared depends on it."""
        self.era = era
        if era is Era.PER_REQUEST:
            self._declared = self._client.per_request

    def has_declared(self, capability: str) -> bool:
        """Whether the server was told of a capability."""
        return capability in self._declared

    def declare(self, client: ClientIdentity) -> None:
        """What `client` can do has changed: in 2026-07-28 the next request says so already."""
        if self.era is Era.PER_REQUEST:
            self._client = client
            self._declared = client.per_request

    async def run(self) -> None:
        """Answer until the connection ends; what is open then needs no answer any more."""
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
        """Refuse a request at once, or take it in to be read in its own turn of the loop.

        To check one schema takes a millisecond, and a hundred may have come in the same moment.
        """
        try:
            self._check_room(fact)
            check_method(fact.method, self._declared)
        except RpcError as error:
            self._refuse(fact, error)
            return
        request = self._open[fact.number] = _Request()
        # Servers go on asking while they are being ended; nobody answers that any more.
        with contextlib.suppress(anyio.ClosedResourceError):
            self._work.send_nowait(_Work(fact, raw, request))

    def _check_room(self, fact: RequestMade) -> None:
        if self.era is Era.PER_REQUEST:
            words = f"A server of 2026-07-28 sends no requests, and {fact.method} is one"
            raise RpcError(METHOD_NOT_FOUND, words)
        if len(self._open) >= _MOST_OPEN:
            raise RpcError(TOO_MANY, f"{_MOST_OPEN} questions are open: answer these first")

    def _read(self, method: str, params: Any) -> Asked:
        return read_asked(method, params, self._declared)

    async def _answer(self, work: _Work) -> None:
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

    async def _answer_asked(self, fact: RequestMade, asked: Asked, request: _Request) -> None:
        phases = Phases(fact.token, asked.kind)
        where = Where(fact.number, None, self._context.job_of(fact.number))
        question = self._question(asked, where)
        request.question = question.id
        if request.cancelled:
            return
        try:
            answer = await self.put(question, phases)
            if answer is not None:
                self._reply(fact, result_of(question, answer), phases)
        finally:
            phases.end()

    def _reply(self, fact: RequestMade, result: JsonObject, phases: Phases) -> None:
        mail = self._connection.mail
        raw = mail.peer.respond(fact.id, result)
        self._tell(phases, Phase.DONE)
        phases.end()
        mail.post(raw)

    def _refuse(self, fact: RequestMade, error: RpcError) -> None:
        mail = self._connection.mail
        mail.post(mail.peer.refuse(fact.id, error.code, error.message))

    def _withdraw(self, fact: RequestCancelled) -> None:
        """The server needs no answer any more, and gets none."""
        request = self._open.get(fact.request or 0)
        if request is None:
            return
        reason = f": {fact.reason}" if fact.reason else ""
        request.cancelled = f"the server cancelled it{reason}"
        if request.question is not None:
            self._context.questions.withdraw(request.question, request.cancelled)

    def _watch(self, fact: NotificationReceived) -> None:
        identity = fact.params.get("elicitationId")
        if fact.method == COMPLETE and isinstance(identity, str):
            self._context.questions.complete(self._connection.id, identity)

    # What both eras share

    def job_of(self, request: int | None) -> JobId | None:
        """The job of a request, by the number of its frame."""
        return None if request is None else self._context.job_of(request)

    def read(self, method: Any, params: Any) -> Asked:
        """Read a question that came in a result; `RpcError` as for a request."""
        return self._read(str(method), params)

    async def ask(self, asked: Asked, where: Where) -> tuple[Question, Answer | None]:
        """Have a question of a result answered; None when it needs no answer any more."""
        question = self._question(asked, where)
        return question, await self.put(question, Phases(None, asked.kind))

    def _question(self, asked: Asked, where: Where) -> Question:
        context, clock = self._context, self._context.clock
        return Question(
            id=context.questions.next_id(),
            server=context.server,
            connection=self._connection.id,
            request=where.request,
            key=where.key,
            method=asked.method,
            kind=asked.kind,
            message=asked.message,
            schema=asked.schema,
            url=asked.url,
            params=asked.params,
            job=where.job,
            asked_at=clock.monotonic(),
            asked_when=clock.wall(),
            problem="\n".join(asked.problems),
        )

    async def put(self, question: Question, phases: Phases) -> Answer | None:
        """Have a question answered by its rule or by the user; None when that is not needed."""
        settings = self._context.settings()
        rule = settings.rules.of(question.kind)
        automatic = settings.rules.automatic(question.kind, settings.roots)
        if automatic is not None and (misfits := problems_of(question, automatic)):
            words = ["The answer of the rule does not fit:", *misfits]
            problem = "\n".join(filter(None, [question.problem, *words]))
            question, automatic = dataclasses.replace(question, problem=problem), None
        self._tell(phases, Phase.SHOWING)
        if automatic is not None and not rule.delay_s:
            self._tell(phases, Phase.WAITING)
            self._tell(phases, Phase.CHECKING)
            self._context.questions.note_ruled(question)
            return automatic
        return await self._put_open(question, phases, automatic, rule.delay_s)

    async def _put_open(
        self, question: Question, phases: Phases, automatic: Answer | None, delay_s: float
    ) -> Answer | None:
        """Wait for the user, or so many seconds for the user."""
        questions = self._context.questions
        pending = Pending(question, functools.partial(self._tell, phases))
        questions.ask(pending)
        self._questions.add(question.id)
        try:
            self._tell(phases, Phase.WAITING)
            with anyio.move_on_after(None if automatic is None else delay_s):
                return await pending.answered()
            if automatic is not None and pending.is_open:
                questions.answer(question.id, automatic, BY_RULE)
            return pending.answer
        finally:
            self._questions.discard(question.id)
            questions.withdraw(question.id, _OVER if self._connection.is_open else _ENDED)

    def _tell(self, phases: Phases, phase: Phase) -> None:
        params = phases.enter(phase, self._connection.now())
        if params is not None:
            mail = self._connection.mail
            mail.post(mail.peer.notify(PROGRESS, params))


def read_params(raw: bytes) -> Any:
    """The parameters of a request, whole, whatever its size; None when it has none.

    Raises:
        RpcError: they are nested too deep to be read.
    """
    try:
        return as_object(read_value(raw).value).get("params")
    except (TooDeepError, NotJsonError) as error:
        raise RpcError(INVALID_PARAMS, f"The parameters cannot be read: {error}") from error
