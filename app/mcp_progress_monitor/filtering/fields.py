"""The fields of the filter language: their names, their types, and what they mean."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.protocol.frame_kind import FrameKind

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Severities of `notifications/message`, the least first (RFC 5424, as MCP names them)."""


class Type(enum.Enum):
    """What a field is compared with. The values are words for people."""

    TEXT = "a text"
    JSON = "a number, a text, true, false or null"
    COUNT = "a number"
    SECONDS = "a duration such as 2, 500ms or 2min"
    BYTES = "a size such as 812, 10kB or 2MB"
    MOMENT = 'a time such as "12:01:07", 2026-11-20 or "2026-11-20 12:01"'
    CHOICE = "one of a few words"
    FLAG = "true or false"
    JOB = "a job's number"

    @property
    def is_textual(self) -> bool:
        """Whether `contains` and `matches` make sense."""
        return self in (Type.TEXT, Type.JSON, Type.CHOICE)

    @property
    def is_ordered(self) -> bool:
        """Whether `<` and its kin make sense."""
        return self not in (Type.CHOICE, Type.FLAG, Type.JOB)


class Field(NamedTuple):
    """A field; `choices` are the only values of a `CHOICE`, and suggestions for others."""

    name: str
    type: Type
    meaning: str
    choices: tuple[str, ...] = ()


def _kinds() -> tuple[str, ...]:
    return tuple(kind.word for kind in FrameKind)


def _directions() -> tuple[str, ...]:
    return tuple(channel.name.lower() for channel in Channel)


FIELDS: Final[dict[str, Field]] = {
    field.name: field
    for field in (
        Field("method", Type.TEXT, "method of a request or notification"),
        Field("kind", Type.CHOICE, "what a message is", _kinds()),
        Field("dir", Type.CHOICE, "which way it went, or where it was seen", _directions()),
        Field("server", Type.TEXT, "the server's name"),
        Field("connection", Type.TEXT, "the server's name and the connection, such as demo#2"),
        Field("id", Type.JSON, "JSON-RPC id of a request or reply"),
        Field("token", Type.JSON, "progress token; a reply has its request's"),
        Field("task", Type.TEXT, "id of the task a message is about"),
        Field("job", Type.JOB, "number of the job a message belongs to"),
        Field("request", Type.COUNT, "number of the request a message is or belongs to"),
        Field("progress", Type.JSON, "progress of a progress notification"),
        Field("total", Type.JSON, "total of a progress notification"),
        Field("level", Type.TEXT, "level of a log message, in order of severity", LEVELS),
        Field("code", Type.JSON, "code of an error reply"),
        Field("size", Type.BYTES, "size of the message"),
        Field("dt", Type.SECONDS, "time since the token's message before; without, since any"),
        Field("duration", Type.SECONDS, "time from a request to this reply"),
        Field("time", Type.MOMENT, "when it came, local time of day or date"),
        Field("number", Type.COUNT, "number of the message in the recording"),
        Field("irregular", Type.FLAG, "whether it breaks a rule", ("true", "false")),
        Field("text", Type.TEXT, "the whole message, as it came"),
        Field("params", Type.JSON, "parameters, and what is in them: params.arguments.n"),
        Field("result", Type.JSON, "result of a reply: result.content[0].text"),
        Field("error", Type.JSON, "error of a reply: error.data.reason"),
    )
}
ROOTS: Final = ("params", "result", "error")
"""The fields that paths begin with."""
OPERATORS: Final[dict[str, str]] = {
    "==": "is equal to",
    "!=": "is there and differs from",
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
    "contains": "has this text in it, in any case",
    "matches": "has a match of this regular expression",
    "in": "is one of a list: in (a, b)",
}
