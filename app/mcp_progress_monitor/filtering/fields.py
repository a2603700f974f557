"""The fields of the filter language: names, types and meanings."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from mcp_progress_monitor.protocol.frames import Channel, FrameKind
from mcp_progress_monitor.protocol.messages import TASK_PATHS

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of `notifications/message`, least severe first (RFC 5424, as MCP names them)."""


class FieldType(enum.Enum):
    """The type that a field is compared with; the values are shown in errors."""

    TEXT = "a text"
    JSON = "a number, text, true, false or null"
    COUNT = "a number"
    SECONDS = "a duration such as 2, 500ms or 2min"
    BYTES = "a size such as 812, 10kB or 2MB"
    MOMENT = 'a time such as "12:01:07", 2026-11-20 or "2026-11-20 12:01"'
    CHOICE = "one of a fixed set of values"
    FLAG = "true or false"
    JOB = "a job's number"

    @property
    def is_textual(self) -> bool:
        return self in (FieldType.TEXT, FieldType.JSON, FieldType.CHOICE)

    @property
    def is_ordered(self) -> bool:
        return self not in (FieldType.CHOICE, FieldType.FLAG, FieldType.JOB)


class Members(NamedTuple):
    """A value within messages: of which kinds, and the paths that may lead to it."""

    kinds: tuple[FrameKind, ...]
    paths: tuple[tuple[str, ...], ...]


class FieldDefinition(NamedTuple):
    """A field; `choices` are the only values of a `CHOICE`, and suggestions for others.

    `members` are what is read of a message; without them, the index has or derives the value
    (`filtering.search`).
    """

    name: str
    type: FieldType
    meaning: str
    choices: tuple[str, ...] = ()
    members: Members | None = None


_CALLS: Final = (
    FrameKind.REQUEST,
    FrameKind.PROGRESS,
    FrameKind.NOTIFICATION,
    FrameKind.OCCURRENCE,
)
_TICK: Final = (FrameKind.PROGRESS,)
_KINDS: Final = tuple(kind.word for kind in FrameKind)
_DIRECTIONS: Final = tuple(channel.name.lower() for channel in Channel)

FIELDS: Final[dict[str, FieldDefinition]] = {
    field.name: field
    for field in (
        FieldDefinition("method", FieldType.TEXT, "method of the request or notification"),
        FieldDefinition("kind", FieldType.CHOICE, "kind of message", _KINDS),
        FieldDefinition("dir", FieldType.CHOICE, "direction, or source of the line", _DIRECTIONS),
        FieldDefinition("server", FieldType.TEXT, "name of the server"),
        FieldDefinition(
            "connection",
            FieldType.TEXT,
            "name of the server and number of the connection, such as demo#2",
        ),
        FieldDefinition(
            "id",
            FieldType.JSON,
            "JSON-RPC id of the request or reply",
            members=Members((FrameKind.REQUEST, FrameKind.REPLY, FrameKind.ERROR), (("id",),)),
        ),
        FieldDefinition(
            "token", FieldType.JSON, "progress token; a reply has the token of its request"
        ),
        FieldDefinition(
            "task",
            FieldType.TEXT,
            "id of the task that the message is about",
            members=Members((*_CALLS, FrameKind.REPLY), TASK_PATHS),
        ),
        FieldDefinition("job", FieldType.JOB, "number of the job that the message belongs to"),
        FieldDefinition(
            "request", FieldType.COUNT, "number of the request that the message is or belongs to"
        ),
        FieldDefinition(
            "progress",
            FieldType.JSON,
            "progress of the progress notification",
            members=Members(_TICK, (("params", "progress"),)),
        ),
        FieldDefinition(
            "total",
            FieldType.JSON,
            "total of the progress notification",
            members=Members(_TICK, (("params", "total"),)),
        ),
        FieldDefinition(
            "level",
            FieldType.TEXT,
            "level of the log message, ordered by severity",
            LEVELS,
            members=Members((FrameKind.NOTIFICATION, FrameKind.REQUEST), (("params", "level"),)),
        ),
        FieldDefinition(
            "code",
            FieldType.JSON,
            "code of the error reply",
            members=Members((FrameKind.ERROR,), (("error", "code"),)),
        ),
        FieldDefinition("size", FieldType.BYTES, "size of the message"),
        FieldDefinition(
            "dt",
            FieldType.SECONDS,
            "time since the previous message with the same token; without a token, since any "
            "message",
        ),
        FieldDefinition("duration", FieldType.SECONDS, "time from the request to this reply"),
        FieldDefinition(
            "time", FieldType.MOMENT, "local time or date at which it was sent or received"
        ),
        FieldDefinition("number", FieldType.COUNT, "number of the message in the recording"),
        FieldDefinition(
            "irregular", FieldType.FLAG, "whether it violates a rule", ("true", "false")
        ),
        FieldDefinition("text", FieldType.TEXT, "the whole message as sent or received"),
        FieldDefinition(
            "params",
            FieldType.JSON,
            "parameters and their members: params.arguments.n",
            members=Members(_CALLS, (("params",),)),
        ),
        FieldDefinition(
            "result",
            FieldType.JSON,
            "result of the reply: result.content[0].text",
            members=Members((FrameKind.REPLY,), (("result",),)),
        ),
        FieldDefinition(
            "error",
            FieldType.JSON,
            "error of the reply: error.data.reason",
            members=Members((FrameKind.ERROR,), (("error",),)),
        ),
    )
}
ROOTS: Final = ("params", "result", "error")  # the fields that paths start with
OPERATORS: Final[dict[str, str]] = {
    "==": "is equal to",
    "!=": "exists and is not equal to",
    "<": "is less than",
    "<=": "is at most",
    ">": "is greater than",
    ">=": "is at least",
    "contains": "contains this text, ignoring case",
    "matches": "matches this regular expression",
    "in": "is one of a list: in (a, b)",
}
