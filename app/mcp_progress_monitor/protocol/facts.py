"""Facts: the meaning of frames, and how messages describe a task.

Frozen and small, made once by `Conversation`, read by everyone else.
"""

from __future__ import annotations

import datetime
import enum
import math
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, Rule, joined, texts
from mcp_progress_monitor.protocol.lenient_json import shown
from mcp_progress_monitor.protocol.messages import TASK_ID, TaskStatus, is_terminal

_TASK_MESSAGE_LIMIT: Final = 4096
"""Longest status message that is kept, in characters; the frame has all of it."""
_SHOWN: Final = 60


_KNOWN: Final = frozenset(TaskStatus)


class TaskView(NamedTuple):
    """A task as one message describes it.

    What is absent or of a wrong type is None. `status` is as received, empty if absent. `created`
    and `updated` are the server's strings. `ttl_ms` is None also for "unlimited". `findings` is
    empty for a well-formed task. `is_flat` distinguishes the extension's shape from that of
    2025-11-25.
    """

    id: str
    status: str
    message: str | None = None
    created: str | None = None
    updated: str | None = None
    ttl_ms: int | float | None = None
    poll_ms: int | float | None = None
    findings: tuple[Finding, ...] = ()
    is_flat: bool = False

    @property
    def violations(self) -> tuple[str, ...]:
        """Its violations, as sentences."""
        return texts(self.findings)

    @property
    def is_terminal(self) -> bool:
        return is_terminal(self.status)


def read_task(value: Any, *, flat: bool) -> TaskView | None:
    """The task in a result or a notification's parameters; None if there is none.

    With `flat` the task is `value` itself, else its member `task`. Only an id that is a string is
    required; everything else that is missing or wrong is a finding.
    """
    task = value if flat or not isinstance(value, dict) else value.get("task")
    if not isinstance(task, dict) or not isinstance(task.get(TASK_ID), str):
        return None
    is_extension = flat and ("ttlMs" in task or "pollIntervalMs" in task or "resultType" in task)
    ttl, poll = ("ttlMs", "pollIntervalMs") if is_extension else ("ttl", "pollInterval")
    notes: list[Finding] = []
    if not task[TASK_ID]:
        notes.append(Finding(rules.TASK_ID_EMPTY))
    return TaskView(
        task[TASK_ID],
        _status(task, notes),
        _text(task, "statusMessage", notes),
        _moment(task, "createdAt", notes),
        _moment(task, "lastUpdatedAt", notes),
        _milliseconds(task, ttl, notes, is_due=True),
        _milliseconds(task, poll, notes),
        tuple(notes),
        is_extension,
    )


def parsed_moment(text: str | None) -> float | None:
    """The wall time of an ISO 8601 time stamp, in seconds; None if invalid."""
    if text is None:
        return None
    try:
        moment = datetime.datetime.fromisoformat(text)
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _status(task: dict[str, Any], notes: list[Finding]) -> str:
    status = task.get("status")
    if not isinstance(status, str) or status not in _KNOWN:
        notes.append(_wrong(task, "status", rules.TASK_STATUS_TYPE, rules.TASK_STATUS_MISSING))
    return status[:_SHOWN] if isinstance(status, str) else ""


def _text(task: dict[str, Any], name: str, notes: list[Finding]) -> str | None:
    text = task.get(name)
    if text is not None and not isinstance(text, str):
        notes.append(_wrong(task, name, rules.TASK_TEXT_TYPE))
    return text[:_TASK_MESSAGE_LIMIT] if isinstance(text, str) else None


def _moment(task: dict[str, Any], name: str, notes: list[Finding]) -> str | None:
    text = task.get(name)
    if not isinstance(text, str) or parsed_moment(text) is None:
        notes.append(_wrong(task, name, rules.TASK_TIME_TYPE))
    return text[:_SHOWN] if isinstance(text, str) else None


def _milliseconds(
    task: dict[str, Any], name: str, notes: list[Finding], *, is_due: bool = False
) -> int | float | None:
    """A duration; null means "unlimited" where one is required."""
    span: Any = task.get(name)
    is_number = type(span) is int or (type(span) is float and math.isfinite(span))
    if is_number and span >= 0:
        return span  # type: ignore[no-any-return]
    is_allowed = span is None and (name in task if is_due else name not in task)
    if not is_allowed:
        notes.append(_wrong(task, name, rules.TASK_SPAN_TYPE))
    return None


def _wrong(
    task: dict[str, Any], name: str, rule: Rule, missing: Rule = rules.TASK_MEMBER_MISSING
) -> Finding:
    return Finding(rule, (name, shown(task[name]))) if name in task else Finding(missing, (name,))


JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int | float | None
"""A JSON-RPC id as received; MCP allows strings and integers only."""


class Side(enum.IntEnum):
    """Sender of a message."""

    CLIENT = 0
    SERVER = 1


class RequestStanding(enum.IntEnum):
    """The state of a request when a message about it arrived."""

    ACTIVE = 0
    """The request was pending."""
    ANSWERED = 1
    """It had been answered: the message is late."""
    CANCELLED = 2
    """It had been cancelled: the message is late."""
    UNKNOWN = 3
    """No such request or token is known on this connection."""
    IN_BATCH = 4
    """It had been answered before in the same batch: late only by position."""
    ELSEWHERE = 5
    """It had been answered in another response over HTTP: their order is undefined."""
    GIVEN_UP = 6
    """This side had given it up, because its stream was lost or HTTP refused it: late."""


class ConnectionOpened(NamedTuple):
    """A transport is open: for stdio the process has started (`detail` holds pid and command)."""

    number: int
    connection: str
    at: float
    when: float
    detail: JsonObject


class ConnectionNegotiated(NamedTuple):
    """The opening exchange succeeded; `revision` is a protocol version such as `2025-11-25`."""

    number: int
    connection: str
    at: float
    when: float
    revision: str
    server_info: JsonObject
    capabilities: JsonObject
    instructions: str | None


class ConnectionClosed(NamedTuple):
    """The transport is closed.

    `reason` is text; `exit_code` is the process's, None if unknown. `is_wanted` says that this side
    requested the end, `outlook` what happens next: text for those who waited for the server, empty
    if unknown.
    """

    number: int
    connection: str
    at: float
    when: float
    reason: str
    exit_code: int | None
    is_wanted: bool = False
    outlook: str = ""


class StderrReceived(NamedTuple):
    """One line of the server's standard error, decoded with replacement."""

    number: int
    connection: str
    at: float
    when: float
    line: str


class RequestMade(NamedTuple):
    """A request of either side.

    `number` is the request's identity from here on. `token` is the progress token as received, None
    when there was none; `resume_token` likewise. `findings` are about the message (id of a wrong
    type or in use, token in use …).
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    id: RequestId
    method: str
    params: JsonObject
    token: Any
    resume_token: Any
    findings: tuple[Finding, ...]


class RequestAnswered(NamedTuple):
    """A reply.

    Exactly one of `result` and `error` is set. `request` is None when the id matches nothing known
    (`standing` UNKNOWN); a reply to a request already answered or cancelled names it and has that
    standing. `next_resume_token` is None when the key is absent; an error should have none (the
    resume draft). `size` is the reply's length in bytes. `result` of an oversized reply (see
    `jsonrpc.OVERSIZED`) holds `Elided` values.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    id: RequestId
    request: int | None
    standing: RequestStanding
    result: JsonObject | None
    error: JsonObject | None
    next_resume_token: Any
    size: int
    findings: tuple[Finding, ...]


class RequestCancelled(NamedTuple):
    """`notifications/cancelled`: `sender` gives up its own request `id`."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    id: RequestId
    request: int | None
    standing: RequestStanding
    reason: str | None
    findings: tuple[Finding, ...]


class ProgressReceived(NamedTuple):
    """`notifications/progress`. Made for every one of them, however wrong.

    `token` is as received. `progress` and `total` are the numbers as received (never bool, NaN or
    infinite), None when absent or of a wrong type; `message` a string of at most
    `MESSAGE_LIMIT` characters, None when absent or of a wrong type. `findings` is empty for a
    well-formed notification.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    token: Any
    request: int | None
    standing: RequestStanding
    progress: int | float | None
    total: int | float | None
    message: str | None
    findings: tuple[Finding, ...]


class NotificationReceived(NamedTuple):
    """Any other notification, from either side."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    method: str
    params: JsonObject
    findings: tuple[Finding, ...]


class PartReceived(NamedTuple):
    """A part of the outcome of `request`, before its reply: an event, a partial result, content.

    Stated before the notification's own fact, except that of progress. `request` is None if no open
    one is named.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    method: str
    params: JsonObject
    request: int | None


class UnreadableReceived(NamedTuple):
    """A line that is not a JSON-RPC message: `kind` is the envelope's kind, `findings` say why."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    kind: str
    findings: tuple[Finding, ...]

    @property
    def violation(self) -> str:
        return joined(self.findings)


class TaskStated(NamedTuple):
    """Statement of a message about a task; comes after the fact of the message itself.

    `how` is the kind of message: `created` (the reply that begins a task), `get`, `cancel`,
    `update`, `result` (replies to those requests), `list` (one fact for each task listed) or
    `status` (a notification). `request` is the number of the request that began the task, None when
    no request on this connection did. `task.id` is the requested task; its `status` is empty if the
    message has none, as an acknowledgement, an error and the reply to `tasks/result`.

    `result` and `error` are the outcome of the work itself: the whole reply to `tasks/result`, or
    the members of those names that 2026-07-28 has in a task; for any other reply that is a JSON-RPC
    error, that error. `input_requests` are the questions that the task waits for, by key.
    `reply_to` is the number of the request that is answered, `standing` its standing; None and
    ACTIVE for a notification. `size` is the message's length in bytes.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    task: TaskView
    request: int | None
    how: str
    result: JsonObject | None = None
    error: JsonObject | None = None
    input_requests: JsonObject | None = None
    findings: tuple[Finding, ...] = ()
    standing: RequestStanding = RequestStanding.ACTIVE
    reply_to: int | None = None
    size: int = 0


class CancelRequested(NamedTuple):
    """This side cancels `request`; the server is sent the cancel as soon as it reads.

    Silence of `grace_s` will count as its confirmation; None if that was not stated. Made from an
    event of our own, not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    reason: str | None
    grace_s: float | None = None


class CallTimedOut(NamedTuple):
    """This side no longer waits for `request`; `text` says what was pending and since when.

    Made from an event of our own, not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    text: str


class OutputChecked(NamedTuple):
    """The result of `request` violates its tool's output schema.

    `violations` are texts, `unchecked` is what could not be checked. Made from an event of our
    own, not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    violations: tuple[str, ...]
    unchecked: tuple[str, ...]


class CallEnded(NamedTuple):
    """This side has given up the work that `request` began; `text` says why.

    For ends that no message states: a task whose time to live has expired, or a stream that broke
    for good (`outcome` lost), a request that HTTP refused, or questions that were asked too often
    (failed) or that the user dismissed (cancelled). Made from an event of our own, `call_ended`,
    not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    outcome: str
    text: str


class StreamBroken(NamedTuple):
    """The HTTP stream of the reply to `request` has ended before it.

    `attempt` is how often resuming it was tried, including the try in `retry_s`, from the event
    `last_event_id`; None if not stated, or not tried.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    reason: str
    last_event_id: str | None = None
    attempt: int | None = None
    retry_s: float | None = None


class StreamResumed(NamedTuple):
    """The stream was resumed, from the event after `last_event_id`."""

    number: int
    connection: str
    at: float
    when: float
    request: int
    last_event_id: str | None = None
    attempt: int | None = None


Fact: TypeAlias = (
    ConnectionOpened
    | ConnectionNegotiated
    | ConnectionClosed
    | StderrReceived
    | RequestMade
    | RequestAnswered
    | RequestCancelled
    | ProgressReceived
    | NotificationReceived
    | PartReceived
    | UnreadableReceived
    | TaskStated
    | CancelRequested
    | CallTimedOut
    | OutputChecked
    | CallEnded
    | StreamBroken
    | StreamResumed
)

MESSAGE_LIMIT = 4096
"""Longest progress message kept in a fact, in characters; the frame has all of it."""
