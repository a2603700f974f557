"""Facts: what frames mean. Frozen, small, made once by `Conversation`, read by everyone else.

A request's identity is `request`, the number of the frame that carried it: unique for the
program's life, whatever ids and tokens a peer chose or repeated. Values from the wire are kept
as received; what breaks a rule is described in `problems`, never repaired and never dropped.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.task_state import TaskView

JsonObject: TypeAlias = dict[str, Any]
RequestId: TypeAlias = str | int | float | None
"""A JSON-RPC id as received; MCP allows strings and integers only."""


class Side(enum.IntEnum):
    """Who sent a message."""

    CLIENT = 0
    SERVER = 1


class Standing(enum.IntEnum):
    """What state a named request was in when a message about it came."""

    ACTIVE = 0
    """The request was open."""
    ANSWERED = 1
    """It had been answered: the message is late."""
    CANCELLED = 2
    """It had been cancelled: the message is late."""
    UNKNOWN = 3
    """No such request or token is known on this connection."""
    IN_BATCH = 4
    """It had been answered, but before this in the same batch: late by its place alone."""
    ELSEWHERE = 5
    """It had been answered in another response over HTTP: nothing orders the two."""
    GIVEN_UP = 6
    """This side had ended it, because its stream was lost or HTTP refused it: late."""


class ConnectionOpened(NamedTuple):
    """A transport is up: for stdio the process has started (`detail` holds pid and command)."""

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
    """The transport is gone. `reason` is words; `exit_code` the process's, None if unknown.

    `is_wanted` says that it ended because this side asked for it, `outlook` what comes next: words
    for those who waited for the server, empty when nothing is known of it.
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
    """Either side asked for something. `number` is the request's identity from here on.

    `token` is the progress token as received, None when there was none; `resume_token` likewise.
    `problems` says what is wrong with the message (id of a wrong type or in use, token in use …).
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
    problems: tuple[str, ...]


class RequestAnswered(NamedTuple):
    """A reply. Exactly one of `result` and `error` is set.

    `request` is None when the id matches nothing known (`standing` UNKNOWN); a reply to a request
    already answered or cancelled names it and has that standing. `next_resume_token` is None when
    the key is absent; an error should have none (the resume draft). `size` is the reply's length
    in bytes. `result` of an oversized reply (see `jsonrpc.OVERSIZED`) holds `Elided` values.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    id: RequestId
    request: int | None
    standing: Standing
    result: JsonObject | None
    error: JsonObject | None
    next_resume_token: Any
    size: int
    problems: tuple[str, ...]


class RequestCancelled(NamedTuple):
    """`notifications/cancelled`: `sender` gives up its own request `id`."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    id: RequestId
    request: int | None
    standing: Standing
    reason: str | None
    problems: tuple[str, ...]


class ProgressReceived(NamedTuple):
    """`notifications/progress`. Made for every one of them, however wrong.

    `token` is as received. `progress` and `total` are the numbers as received (never bool, NaN or
    infinite), None when absent or of a wrong type; `message` a string of at most
    `MESSAGE_LIMIT` characters, None when absent or of a wrong type. `problems` is empty for a
    well-formed notification.
    """

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    token: Any
    request: int | None
    standing: Standing
    progress: int | float | None
    total: int | float | None
    message: str | None
    problems: tuple[str, ...]


class NotificationReceived(NamedTuple):
    """Any other notification, from either side."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    method: str
    params: JsonObject
    problems: tuple[str, ...]


class UnreadableReceived(NamedTuple):
    """A line that is no JSON-RPC message: `kind` is the envelope's kind, `problem` words."""

    number: int
    connection: str
    at: float
    when: float
    sender: Side
    kind: str
    problem: str


class TaskStated(NamedTuple):
    """What a message says of a task, beside the fact of the message itself, which comes first.

    `how` is what kind of message it is: `created` (the reply that begins a task), `get`, `cancel`,
    `update`, `result` (replies to those requests), `list` (one fact for each task listed) or
    `status` (a notification). `request` is the number of the request that began the task, None
    when no request on this connection did. `task.id` is the task that was asked for; its `status`
    is empty where the message states none, as an acknowledgement, an error and the reply to
    `tasks/result` do.

    `result` and `error` are what became of the work itself: the whole reply to `tasks/result`, or
    the members of those names that 2026-07-28 has in a task; for any other reply that is a JSON-RPC
    error, that error. `input_requests` are the questions that the task waits for, by key.
    `asked` is the number of the request that is answered, `standing` its standing; None and ACTIVE
    for a notification. `size` is the message's length in bytes.
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
    problems: tuple[str, ...] = ()
    standing: Standing = Standing.ACTIVE
    asked: int | None = None
    size: int = 0


class CancelRequested(NamedTuple):
    """This side wants to give up `request`; the server is told as soon as it reads.

    Silence of `grace_s` will count as its confirmation; None where that was not told. Made from an
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
    """This side waits for `request` no longer; `text` says what was outstanding and since when.

    Made from an event of our own, not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    text: str


class OutputChecked(NamedTuple):
    """The result of `request` was checked against its tool's output schema, and did not pass.

    `problems` say what breaks the schema, `unchecked` what could not be checked. Made from an
    event of our own, not from a message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    problems: tuple[str, ...]
    unchecked: tuple[str, ...]


class CallEnded(NamedTuple):
    """This side goes on no more with the work that `request` began; `text` says why.

    For what no message tells: a task whose time to live is over, or a stream that broke for good
    (`outcome` lost), a request that HTTP refused, or questions that were asked too often (failed)
    or that the user dismissed (cancelled). Made from an event of our own, `call_ended`, not from a
    message: see `Framer.event`.
    """

    number: int
    connection: str
    at: float
    when: float
    request: int
    outcome: str
    text: str


class StreamBroken(NamedTuple):
    """The HTTP stream on which the reply to `request` is due has ended before it.

    `attempt` is how often it has been tried to take it up again, or will have been when that is
    tried in `retry_s`, from the event `last_event_id`; None where that is not told, or not tried.
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
    """That stream was taken up again, from the event after `last_event_id`."""

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
"""Longest progress message kept in a fact, in characters; the frame keeps the whole."""
