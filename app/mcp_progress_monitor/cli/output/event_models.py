"""The events of `--json` as models, for their JSON Schema and its test.

`events.py` writes the lines by hand: numbers and results stay exactly as received, and a flood is
mostly progress.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

_Number: TypeAlias = int | float
_Job: TypeAlias = Annotated[int | None, Field(description="null if none was made")]


class _Event(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)

    t: Annotated[_Number, Field(ge=0, description="seconds since the start")]


class _Reply(_Event):
    late: Annotated[bool, Field(description="the call had ended already")] = False
    problems: Annotated[tuple[str, ...], Field(description="its violations")] = ()


class Connected(_Event):
    """A server was connected."""

    event: Literal["connected"]
    server: str
    protocolVersion: str  # noqa: N815  # as in MCP
    era: Literal["handshake", "per-request"]
    capabilities: dict[str, Any] | None
    serverInfo: dict[str, Any] | None  # noqa: N815  # as in MCP


class Request(_Event):
    """A call was sent, or sent again with answers."""

    event: Literal["request"]
    job: int
    attempt: int
    id: int | str
    method: str
    token: int | str | None
    server: Annotated[str | None, Field(description="of `watch`: the server's name")] = None
    client: Annotated[
        str | None, Field(description="of `watch`: the client that sent it, null for this program")
    ] = None


class Progress(_Reply):
    """A progress notification, one event for each."""

    event: Literal["progress"]
    job: _Job
    token: Annotated[Any, Field(description="as received")]
    progress: Annotated[_Number | None, Field(description="null unless it is a number")]
    total: _Number | None
    message: str | None
    rate: Annotated[_Number | None, Field(description="units per second")]
    eta_s: Annotated[_Number | None, Field(description="seconds left")]
    eta_span_s: Annotated[
        tuple[_Number | None, _Number | None] | None,
        Field(description="from when to when, while the time left is not sure"),
    ]
    count: Annotated[int, Field(description="of the job's notifications")]


class Task(_Event):
    """A task's status or message changed."""

    event: Literal["task"]
    job: int
    taskId: str  # noqa: N815  # as in MCP
    status: str
    statusMessage: str | None  # noqa: N815  # as in MCP


class Question(_Event):
    """A server asked a question."""

    event: Literal["question"]
    job: _Job
    method: str
    params: Any
    question: Annotated[int, Field(description="its number")]
    key: str | None
    kind: str
    problem: str | None


class Answered(_Event):
    """A question was answered."""

    event: Literal["answered"]
    job: _Job
    question: int
    action: str
    text: str


class SignIn(_Event):
    """A server asked to sign in."""

    event: Literal["sign_in"]
    server: str
    url: Annotated[str, Field(description="where to sign in")]


class Resumable(_Event):
    """A job stopped with a saved token."""

    event: Literal["resumable"]
    job: int
    resume_id: Annotated[int | None, Field(description="for `resume`")]
    attempt: int
    reason: Annotated[str | None, Field(description="null if the server merely returned a token")]
    usable: Annotated[bool, Field(description="the server still accepts the token")]


class Finding(_Event):
    """A rule was violated for the first time by a job or a connection."""

    event: Literal["finding"]
    rule: Annotated[
        str, Field(description="of the [rules](rules.md), or `output-schema`, `output-unchecked`")
    ]
    level: Literal["error", "warning", "info"]
    job: int | None
    text: str
    source: str
    by: Literal["server", "client"]
    server: str
    due: str
    fix: str


class Log(_Event):
    """A server sent a log message."""

    event: Literal["log"]
    level: Any
    logger: Any
    data: Any


class Part(_Event):
    """An event of a stream (`events/stream`), or a partial result."""

    event: Literal["part"]
    job: int | None
    method: str
    params: Any


class Silent(_Event):
    """A running call was not heard of for another 15 s: the program itself goes on."""

    event: Literal["silent"]
    job: int
    silent_s: Annotated[_Number, Field(description="since the last message for the job")]


class Stderr(_Event):
    """A server wrote a line to its standard error."""

    event: Literal["stderr"]
    line: str


class Result(_Reply):
    """A call ended with a result."""

    event: Literal["result"]
    job: int | None
    result: Annotated[Any, Field(description="as received")]
    duration_s: _Number | None
    ticks: int


class Error(_Reply):
    """A call ended without a result, or the command failed."""

    event: Literal["error"]
    job: _Job
    where: Literal["server", "local"]
    code: Any
    message: Any
    data: Any


class Closed(_Event):
    """A connection ended."""

    event: Literal["closed"]
    reason: str | None
    exit_code: int | None


class Summary(_Event):
    """The last event."""

    event: Literal["summary"]
    jobs: int
    findings: int
    frames: int
    unchecked: Annotated[
        int,
        Field(description="messages not compared with the official schema: too large, too many"),
    ]
    recording: Annotated[str | None, Field(description="the file with all messages")]


Event: TypeAlias = Annotated[
    Connected
    | Request
    | Progress
    | Task
    | Question
    | Answered
    | SignIn
    | Resumable
    | Finding
    | Log
    | Part
    | Silent
    | Stderr
    | Result
    | Error
    | Closed
    | Summary,
    Field(discriminator="event"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
"""Validates an event of any kind, and has their JSON Schema."""
