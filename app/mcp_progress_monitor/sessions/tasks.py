"""A server's tasks: requests about them, and following one to its end."""

from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import anyio
import anyio.to_thread

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol import tasks
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.protocol.facts import TaskView, read_task
from mcp_progress_monitor.protocol.lenient_json import (
    Elided,
    NotJsonError,
    TooDeepError,
    read_value,
)
from mcp_progress_monitor.protocol.messages import (
    CANCEL_TASK,
    GET_TASK,
    LIST_TASKS,
    LISTEN,
    STATUS_METHODS,
    TASK_ID,
    TASK_IDS,
    TASK_RESULT,
    UPDATE_TASK,
    TaskStatus,
)
from mcp_progress_monitor.protocol.tasks import TaskWay
from mcp_progress_monitor.sessions.connection.listing import Listed, read_pages
from mcp_progress_monitor.sessions.connection.outbox import ExchangeEnd
from mcp_progress_monitor.sessions.questions.multi_round_trip import InputRequiredError
from mcp_progress_monitor.snapshots.limits import Limits
from mcp_progress_monitor.tracker.job_parts import digests

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.protocol.facts import (
        JsonObject,
        NotificationReceived,
        RequestAnswered,
    )
    from mcp_progress_monitor.protocol.tasks import TaskOffer
    from mcp_progress_monitor.sessions.connection.clocks import CallClock
    from mcp_progress_monitor.sessions.connection.connection import Connection
    from mcp_progress_monitor.sessions.connection.outbox import PendingRequest

INVALID_PARAMS: Final = -32602
METHOD_NOT_FOUND: Final = -32601
_LIMIT_S: Final = 60.0  # how long a server may take to answer about a task
_TEXT_LIMIT: Final = 300


class TaskRequests:
    """Sends requests about one task.

    They raise `ClosedResourceError` once the connection is ending.
    """

    def __init__(self, connection: Connection, identity: str) -> None:
        self._outbox = connection.outbox
        self._now = connection.now
        self._identity = identity

    def post(self, method: str, **members: object) -> PendingRequest:
        """Queue a request that names the task; the caller waits for its end, or drops it."""
        return self._outbox.ask(method, {TASK_ID: self._identity, **members})

    def drop(self, exchange: PendingRequest, reason: str) -> None:
        if exchange.end is None:
            self._outbox.send_cancel(exchange, reason)
            self._outbox.give_up(exchange, ExchangeEnd.CANCELLED)

    async def ask(self, method: str, **members: object) -> PendingRequest:
        """Send a request and wait for its reply; None after a timeout."""
        exchange = self.post(method, **members)
        await self.wait(exchange)
        return exchange

    async def wait(self, exchange: PendingRequest) -> None:
        """Wait for the reply to a queued request; cancel it after a timeout."""
        exchange.clock.touch(self._now())  # it may rightly have been open for long
        try:
            await self._outbox.settle(exchange, Limits(idle_s=_LIMIT_S))
        except anyio.get_cancelled_exc_class():
            self._outbox.give_up(exchange, ExchangeEnd.CANCELLED)
            raise

    async def listen(self) -> None:
        """Subscribe to the task's states until cancelled (2026-07-28, `subscriptions/listen`).

        If the server refuses, polling continues.
        """
        wanted = {"notifications": {TASK_IDS: [self._identity]}}
        try:
            exchange = self._outbox.ask(LISTEN, wanted)
        except anyio.ClosedResourceError:
            return
        try:
            await exchange.over()
        finally:
            self.drop(exchange, "The task is no longer being followed")


def stated(reply: RequestAnswered | None, identity: str) -> TaskView | None:
    view = None if reply is None or reply.result is None else read_task(reply.result, flat=True)
    return view if view is not None and view.id == identity else None


def code_of(reply: RequestAnswered | None) -> object:
    return None if reply is None else as_object(reply.error).get("code")


def why_not(reply: RequestAnswered | None) -> str:
    if reply is None:
        return "it did not answer in time"
    if reply.error is None:
        return "its reply contains no task"
    return formatting.one_line(
        str(reply.error.get("message") or "an error without a message"), _TEXT_LIMIT
    )


async def member(exchange: PendingRequest, name: str) -> JsonObject | None:
    """An object member of the result, complete whatever its size; None if there is none."""
    result = {} if exchange.reply is None else exchange.reply.result or {}
    value = result.get(name)
    if isinstance(value, Elided):
        try:
            whole = await anyio.to_thread.run_sync(read_value, exchange.raw)
        except (NotJsonError, TooDeepError):
            return None
        value = as_object(as_object(whole.value).get("result")).get(name)
    return value if isinstance(value, dict) else None


async def list_tasks(connection: Connection, offer: TaskOffer) -> Listed:
    """All tasks that the server knows, in its order; invalid entries are left out.

    Raises:
        UserError: the server cannot list tasks, or refuses.
        anyio.ClosedResourceError: the connection ended first.
    """
    if not offer.has_list:
        raise UserError(_not_offered(connection, offer))
    pages = await read_pages(connection, LIST_TASKS, "tasks")
    tasks: dict[str, TaskView] = {}
    for page in pages.results:
        items: Any = page.get("tasks")
        for item in items if isinstance(items, list) else ():
            view = read_task(item, flat=True)
            if view is not None:
                tasks[view.id] = view
    error = None
    if pages.endless:
        what = "The server's list of tasks does not end"
        error = ErrorDetails(what, connection.id, detail=pages.endless)
    return Listed(tuple(tasks.values()), error)


def _not_offered(connection: Connection, offer: TaskOffer) -> ErrorDetails:
    if offer.way is TaskWay.EXTENSION:
        what, hint = (
            "Tasks of 2026-07-28 cannot be listed",
            "A task is known only to the call that created it.",
        )
    else:
        what = "The server does not support listing its tasks"
        hint = 'It does not declare "tasks.list" in its capabilities.'
    return ErrorDetails(what, connection.id, hint)


class TaskFate(enum.Enum):
    """The reason that following a task ended."""

    ENDED = enum.auto()  # it reached a final status, and its outcome is known
    NO_RESULT = enum.auto()  # it reached a final status, but the server does not return its result
    UNKNOWN = enum.auto()  # the server does not know it, or no longer knows it
    DISCONNECTED = enum.auto()  # the connection ended first: the task may continue
    GIVEN_UP = enum.auto()  # we stopped waiting for it

    @property
    def is_open(self) -> bool:
        return self is TaskFate.DISCONNECTED


class TaskEnd(NamedTuple):
    """The end of following a task.

    `status` is the last reported one. `result` and `error` are the outcome of the work, `raw` the
    exact reply that holds it, empty if there is none; `at` is when it arrived. `text` describes the
    error, if any.
    """

    fate: TaskFate
    status: str
    at: float
    result: JsonObject | None = None
    error: JsonObject | None = None
    raw: bytes = b""
    text: str = ""


SHORTEST_S: Final = 0.1
"""Shortest time between two polls, whatever a server or its notifications say."""
LONGEST_S: Final = 300.0
USUAL_S: Final = 1.0  # the interval if the server suggests none
_MOST_DOUBLINGS: Final = 6


class PollPace:
    """The time between two polls of one task (2025-11-25 "Tasks", "Polling")."""

    def __init__(self) -> None:
        self._interval_s = USUAL_S
        self._failures = 0

    def note(self, poll_ms: float | None) -> None:
        """A poll succeeded; `poll_ms` is the interval that the server suggests, if any."""
        self._failures = 0
        wanted_ms = USUAL_S * 1000 if poll_ms is None else poll_ms
        # Check the bounds first: a server may send a number that does not fit into a float.
        self._interval_s = min(max(wanted_ms, SHORTEST_S * 1000), LONGEST_S * 1000) / 1000

    def note_failure(self) -> None:
        """A poll failed: wait longer, twice as long each time."""
        self._failures += 1

    @property
    def pause_s(self) -> float:
        doubled_s: float = self._interval_s * 2 ** min(self._failures, _MOST_DOUBLINGS)
        return min(doubled_s, LONGEST_S)


_REFUSALS: Final = 3
"""How often a server may refuse the blocking request before it is only sent at the end."""


class ResultRequest:
    """The request for a task's result.

    At most one at a time; a received result is never requested again.
    """

    def __init__(self, wire: TaskRequests, on_reply: Callable[[], None]) -> None:
        """Send requests over `wire`; `on_reply` is called when a reply arrives."""
        self._wire = wire
        self._on_reply = on_reply
        self._exchange: PendingRequest | None = None
        self._refusals = 0

    @property
    def reply(self) -> RequestAnswered | None:
        return None if self._exchange is None else self._exchange.reply

    @property
    def raw(self) -> bytes:
        return b"" if self._exchange is None else self._exchange.raw

    def open(self, tasks: TaskGroup) -> None:
        """Send a request while the task runs, unless one is open or was refused too often."""
        if self._exchange is None and self._refusals < _REFUSALS:
            self._begin(tasks)

    def note_resuming(self) -> None:
        """The task has not ended: an error is a refusal, not its outcome."""
        if self.reply is not None and self.reply.error is not None:
            self._refusals += 1
            self._exchange = None

    async def had(self, tasks: TaskGroup) -> PendingRequest:
        """The exchange once it has ended; sends the request first if necessary."""
        exchange = self._exchange or self._begin(tasks)
        if exchange.end is None:
            await self._wire.wait(exchange)
        if exchange.end is ExchangeEnd.LOST:
            raise anyio.ClosedResourceError
        return exchange

    def forget(self) -> None:
        """Send a new request next time: the reply was not a result."""
        self._exchange = None

    def drop(self) -> None:
        """The result is no longer needed."""
        if self._exchange is not None:
            self._wire.drop(self._exchange, "The task is no longer being followed")

    def _begin(self, tasks: TaskGroup) -> PendingRequest:
        self._exchange = self._wire.post(TASK_RESULT)
        tasks.start_soon(self._await, self._exchange)
        return self._exchange

    async def _await(self, exchange: PendingRequest) -> None:
        await exchange.over()
        self._on_reply()


InputAsker: TypeAlias = "Callable[[JsonObject, int], Awaitable[JsonObject]]"
"""Asks the questions of the message in a frame, by key; `InputError` if they cannot be asked."""

_PAUSES_S: Final = (0.5, 2.0)  # seconds before answers that a server did not accept are sent again


class Refuse(Protocol):
    """Ends the job with a message: the input that its task requires is not given."""

    async def __call__(self, text: str, *, is_wanted: bool) -> None:
        """`is_wanted`: the user refused."""


class _Asking(NamedTuple):
    """Questions that are open together: the request of each key, and the scope that ends them."""

    digests: Mapping[str, bytes]
    scope: anyio.CancelScope


class TaskInput:
    """The questions of one task."""

    def __init__(self, wire: TaskRequests, ask: InputAsker, refuse: Refuse) -> None:
        self._wire = wire
        self._ask = ask
        self._refuse = refuse
        self._shown: dict[str, bytes] = {}
        self._asking: list[_Asking] = []

    async def take(self, exchange: PendingRequest, tasks: TaskGroup) -> None:
        """Ask the questions of a poll that were not asked before.

        A question that disappears is withdrawn; if it appears again, it is a new one.
        """
        requests = await member(exchange, "inputRequests") or {}
        before, self._shown = self._shown, digests(requests)
        new = {key: each for key, each in requests.items() if before.get(key) != self._shown[key]}
        self._withdraw_the_rest()
        if new and exchange.request is not None and exchange.reply is not None:
            tasks.start_soon(self._answer, new, exchange.reply.number)

    def withdraw(self) -> None:
        self._shown = {}
        self._withdraw_the_rest()

    def _withdraw_the_rest(self) -> None:
        for asking in list(self._asking):
            if not asking.digests.items() & self._shown.items():
                asking.scope.cancel()

    async def _answer(self, requests: JsonObject, frame: int) -> None:
        answers: JsonObject | None = None
        asking = _Asking(digests(requests), anyio.CancelScope())
        self._asking.append(asking)
        try:
            with asking.scope:
                answers = await self._ask(requests, frame)
        except InputRequiredError as error:
            await self._refuse(error.text, is_wanted=error.is_wanted)
        finally:
            self._asking.remove(asking)
        if answers is not None:
            with contextlib.suppress(anyio.ClosedResourceError):  # reported by the run
                await self._send(self._still_meant(answers, asking.digests))

    def _still_meant(self, answers: JsonObject, known: Mapping[str, bytes]) -> JsonObject:
        """The answers without those whose keys now belong to another question."""
        now = self._shown
        return {
            key: given for key, given in answers.items() if now.get(key, known[key]) == known[key]
        }

    async def _send(self, answers: JsonObject) -> None:
        """Send answers, retrying if the server refuses; then its questions count as new."""
        for pause_s in (*_PAUSES_S, None):
            exchange = await self._wire.ask(UPDATE_TASK, inputResponses=answers)
            if exchange.reply is not None and exchange.reply.result is not None:
                return
            if pause_s is not None:
                await anyio.sleep(pause_s)
        self._shown = {key: digest for key, digest in self._shown.items() if key not in answers}


_AFTERMATH_S: Final = 30.0  # how long a cancelled task is still polled for its outcome
_TRIES: Final = 3  # how often a result that should exist is requested


class FollowedTask(NamedTuple):
    """A task to follow: its last reported state, and its job.

    `request` returns the number of the job's newest request; `began_at` is the task's beginning,
    from which its time to live counts, in monotonic seconds. Unless its state `is_known`, it is
    polled first.
    """

    view: TaskView
    request: Callable[[], int]
    began_at: float
    is_known: bool = True


class TaskRun:
    """One followed task, until its end is known.

    `run` is its one async task, and never raises. `clock` is that of the waiting call: it is woken
    at the end.
    """

    def __init__(
        self,
        connection: Connection,
        offer: TaskOffer,
        followed: FollowedTask,
        clock: CallClock,
        ask: InputAsker | None = None,
    ) -> None:
        """Follow a task of a server with the capabilities `offer`; its questions go to `ask`."""
        self.view = followed.view  # the task as last reported
        self.end: TaskEnd | None = None  # how following it ended, None while it is followed
        self.clock = clock
        self.connection = connection
        self.offer = offer
        self.is_left = False  # whether the program is closing: then the task is left running
        self.settled = anyio.Event()  # set by the code that saves tasks, once the end was saved
        self._followed = followed
        self._wire = TaskRequests(connection, followed.view.id)
        self._input = None if ask is None else TaskInput(self._wire, ask, self._refuse_input)
        self._result = ResultRequest(self._wire, self._poll_soon)
        self._pace = PollPace()
        self._wake = anyio.Event()
        self._over = anyio.Event()
        self._group: TaskGroup | None = None
        self._scope = anyio.CancelScope()
        self._newest_view: TaskView | None = None
        self._has_no_get = False
        self._wants_cancel = False
        self._text = ""

    @property
    def request(self) -> int:
        """The number of the job's newest request."""
        return self._followed.request()

    @property
    def expires_at(self) -> float | None:
        """When the server may discard the task, in monotonic seconds; None if never or unknown."""
        ttl_ms = self.view.ttl_ms
        if ttl_ms is None:
            return None
        return self._followed.began_at + min(ttl_ms, tasks.LONGEST_TTL_MS) / 1000

    @property
    def is_over(self) -> bool:
        return self.end is not None

    def has_ended(self) -> bool:
        """The same as a method, for those who wait."""
        return self.end is not None

    async def over(self) -> None:
        await self._over.wait()

    async def run(self) -> None:
        """Follow the task to its end, or to the connection's."""
        outbox = self.connection.outbox
        outbox.watch(STATUS_METHODS, self._watch)
        outbox.task_clocks[self.view.id] = self.clock
        try:
            with self._scope:
                await self._run_together()
        except anyio.ClosedResourceError:
            pass  # the connection has ended, as reported below
        finally:
            outbox.unwatch(STATUS_METHODS, self._watch)
            if outbox.task_clocks.get(self.view.id) is self.clock:
                del outbox.task_clocks[self.view.id]
            self._finish(self._fate_without_end())
            self._over.set()

    def cancel(self) -> None:
        """Send one cancel at a time for the task; the server decides on the outcome."""
        if self.end is not None or self._wants_cancel:
            return
        self._wants_cancel = True
        if self._group is not None:
            self._post_cancel(self._group)

    def give_up(self, text: str) -> None:
        """Stop waiting for the task: cancel it, and watch the outcome for a while.

        The caller sets the job's state.
        """
        if self.is_left:
            return
        self._text = self._text or text
        self.cancel()
        self._scope.deadline = min(self._scope.deadline, anyio.current_time() + _AFTERMATH_S)

    def stop(self, text: str) -> None:
        """Stop polling the task: its job has ended, and the server is silent."""
        self._text = self._text or text
        self._scope.cancel()

    # The loop

    async def _run_together(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._group = tasks
            try:
                if self._wants_cancel:
                    self._post_cancel(tasks)
                if self.offer.way is TaskWay.EXTENSION and self.offer.has_calls:
                    tasks.start_soon(self._wire.listen)
                await self._follow(tasks)
            except anyio.ClosedResourceError:
                self._finish(self._fate_without_end())
            finally:
                self._result.drop()
                tasks.cancel_scope.cancel()

    async def _follow(self, tasks: TaskGroup) -> None:
        self._pace.note(self.view.poll_ms)
        await (self._act(None, tasks) if self._followed.is_known else self._poll(tasks))
        while self.end is None:
            await self._pause()
            newest, self._newest_view = self._newest_view, None
            if newest is not None and self._is_complete():
                self.view = newest
                await self._act(None, tasks)
            else:
                await self._poll(tasks)

    def _is_complete(self) -> bool:
        """Return whether notifications contain everything that a poll would."""
        return self.offer.way is TaskWay.CORE and self._result.reply is None

    async def _pause(self) -> None:
        """Wait for the next poll: the interval, the end of the time to live, or a notification."""
        pause_s = None if self._has_no_get else self._pace.pause_s
        left_s = None if self.expires_at is None else self.expires_at - self.connection.now()
        if left_s is not None and left_s > 0:
            pause_s = left_s if pause_s is None else min(pause_s, left_s)
        await anyio.sleep(SHORTEST_S)
        with anyio.move_on_after(None if pause_s is None else max(pause_s - SHORTEST_S, 0.0)):
            await self._wake.wait()
        self._wake = anyio.Event()

    async def _poll(self, tasks: TaskGroup) -> None:
        if self._has_no_get:
            self._end_by_result()
            return
        exchange = await self._wire.ask(GET_TASK)
        view = stated(exchange.reply, self.view.id)
        if view is None:
            self._note_failure(exchange.reply)
            return
        self.view = view
        self._pace.note(view.poll_ms)
        await self._act(exchange, tasks)

    async def _act(self, exchange: PendingRequest | None, tasks: TaskGroup) -> None:
        """Act on the task's state; `exchange` is the poll that returned it, if any."""
        if self.view.is_terminal:
            await self._conclude(exchange, tasks)
            return
        self._result.note_resuming()
        if self.view.status == TaskStatus.INPUT_REQUIRED:
            await self._give_input(exchange, tasks)
        elif self._input is not None:
            self._input.withdraw()

    async def _give_input(self, exchange: PendingRequest | None, tasks: TaskGroup) -> None:
        if self.offer.way is TaskWay.CORE:
            # The server's questions arrive while this is open (2025-11-25 "Input Required Status").
            self._result.open(tasks)
        elif exchange is None:
            self._poll_soon()
        elif self._input is not None:
            await self._input.take(exchange, tasks)

    # Endings

    async def _conclude(self, exchange: PendingRequest | None, tasks: TaskGroup) -> None:
        if self.view.status == TaskStatus.CANCELLED:
            self._end(TaskFate.ENDED)
        elif self.offer.way is TaskWay.CORE:
            await self._fetch(tasks)
        elif exchange is None:
            await self._poll(tasks)
        else:
            await self._end_with(exchange)

    async def _fetch(self, tasks: TaskGroup) -> None:
        """Fetch the result of an ended task, once (2025-11-25 "Result Retrieval")."""
        text = ""
        for _ in range(_TRIES):
            exchange = await self._result.had(tasks)
            reply = exchange.reply
            is_failed = self.view.status == TaskStatus.FAILED
            if reply is not None and (reply.result is not None or is_failed):
                at, raw = reply.at, exchange.raw
                self._end(TaskFate.ENDED, reply.result, reply.error, raw, at=at)
                return
            text = why_not(reply)
            if code_of(reply) in {INVALID_PARAMS, METHOD_NOT_FOUND}:
                break
            self._result.forget()
            self._pace.note_failure()
            await anyio.sleep(self._pace.pause_s)
        self._end(
            TaskFate.NO_RESULT,
            text=f"The task has finished, but its result is not available: {text}",
        )

    async def _end_with(self, exchange: PendingRequest) -> None:
        """The end as stated by the reply to a poll (extension of 2026-07-28)."""
        result = await member(exchange, "result")
        error = await member(exchange, "error")
        at = self.connection.now() if exchange.reply is None else exchange.reply.at
        self._end(TaskFate.ENDED, result, error, exchange.raw, at=at)

    def _end_by_result(self) -> None:
        """For a server that cannot be polled: only the result's reply shows the outcome."""
        reply = self._result.reply
        if reply is not None:
            self._end(TaskFate.ENDED, reply.result, reply.error, self._result.raw, at=reply.at)

    def _note_failure(self, reply: RequestAnswered | None) -> None:
        """A poll failed: wait longer for the next one, unless further ones are pointless."""
        code = code_of(reply)
        if code == INVALID_PARAMS:
            self._end(TaskFate.UNKNOWN, text=self._text_of_unknown(reply))
        elif code == METHOD_NOT_FOUND:
            self._do_without_get()
        elif self._is_expired:
            text = f"{self._text_of_expiry()}, and the server does not report its status"
            self._end(TaskFate.UNKNOWN, text=f"{text}: {why_not(reply)}")
        else:
            self._pace.note_failure()

    def _do_without_get(self) -> None:
        if self.offer.way is TaskWay.EXTENSION or self._group is None:
            text = "The server created a task, but does not support tasks/get"
            self._end(TaskFate.UNKNOWN, text=text)
            return
        self._has_no_get = True
        self._result.open(self._group)

    @property
    def _is_expired(self) -> bool:
        return self.expires_at is not None and self.connection.now() >= self.expires_at

    def _text_of_expiry(self) -> str:
        ttl_s = min(self.view.ttl_ms or 0, tasks.LONGEST_TTL_MS) / 1000
        kept = formatting.duration(int(ttl_s) if ttl_s.is_integer() else ttl_s)
        return f"The task's time to live, {kept}, has expired"

    def _text_of_unknown(self, reply: RequestAnswered | None) -> str:
        said = why_not(reply)
        if self._is_expired:
            return f"{self._text_of_expiry()}, and the server has discarded it: {said}"
        return f"The server no longer knows the task: {said}"

    def _end(
        self,
        fate: TaskFate,
        result: JsonObject | None = None,
        error: JsonObject | None = None,
        raw: bytes = b"",
        *,
        at: float | None = None,
        text: str = "",
    ) -> None:
        when = self.connection.now() if at is None else at
        self._finish(TaskEnd(fate, self.view.status, when, result, error, raw, text))

    def _finish(self, end: TaskEnd) -> None:
        """End, unless it has already ended, and wake the waiting tasks."""
        if self.end is None:
            self.end = end
            self.clock.wake()

    def _fate_without_end(self) -> TaskEnd:
        """The end of a task whose state became unknown; the last known state may be final."""
        if self._newest_view is not None and self._newest_view.status == TaskStatus.CANCELLED:
            self.view = self._newest_view
            return TaskEnd(TaskFate.ENDED, self.view.status, self.connection.now())
        fate = TaskFate.GIVEN_UP if self._text else TaskFate.DISCONNECTED
        return TaskEnd(fate, self.view.status, self.connection.now(), text=self._text)

    # Called from outside

    def _watch(self, fact: NotificationReceived) -> None:
        view = read_task(fact.params, flat=True)
        if view is None or view.id != self.view.id:
            return
        is_step = view.status != self.view.status or view.status == TaskStatus.INPUT_REQUIRED
        if is_step or view.is_terminal:
            self._newest_view = view
            self._wake.set()

    def _poll_soon(self) -> None:
        self._wake.set()

    def _post_cancel(self, tasks: TaskGroup) -> None:
        """Send the cancel immediately: queued messages are written even if nobody waits."""
        if self.offer.has_cancel:
            tasks.start_soon(self._cancel, self._wire.post(CANCEL_TASK))
        else:
            self._wants_cancel = False

    async def _cancel(self, exchange: PendingRequest) -> None:
        try:
            await self._wire.wait(exchange)
            view = stated(exchange.reply, self.view.id)
            self._newest_view = self._newest_view if view is None else view
        except anyio.ClosedResourceError:
            pass  # noticed by the loop
        finally:
            self._wants_cancel = False
            self._wake.set()

    async def _refuse_input(self, text: str, *, is_wanted: bool) -> None:
        """The task's input is not given: end the job with the message, and cancel the task."""
        if not self.connection.is_open:
            return
        outcome = "cancelled" if is_wanted else "failed"
        await self.connection.record_event(
            "call_ended", request=self.request, outcome=outcome, text=text
        )
        self._text = text
        if self.offer.has_cancel:
            await self._wire.ask(CANCEL_TASK)
        self._end(TaskFate.GIVEN_UP, text=text)
