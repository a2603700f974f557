"""What is known of a connection that fails, for people who want to know why."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.servers import Health, Retry, ServerState, Waiting


class EndKind(enum.Enum):
    """Who or what ended a connection."""

    OPEN = "open"
    SERVER = "server"  # the server exited or closed its output
    CLOSED_INPUT = "closed-input"  # the server closed its input, and was stopped
    CLOSED_OUTPUT = "closed-output"  # the server closed its output without exiting, and was stopped
    FAILED = "failed"  # it could not be opened, the transport failed, or this program has a defect
    TIMED_OUT = "timed-out"  # this program, at the connect timeout
    CLIENT = "client"  # this program, for any other reason


class Searched(NamedTuple):
    """A folder of PATH that a command was looked for in: `found` is the file, None if none."""

    folder: str
    exists: bool
    found: str | None


class HttpNote(NamedTuple):
    """One request over HTTP and what came: `status` None when nothing did, `text` then says why.

    `headers` are those of the response that tell something; `body` the beginning of what it said.
    """

    request: str
    status: int | None
    text: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


class OpeningQuestion(NamedTuple):
    """One question of an opening: what was asked and why, and what came; times are monotonic.

    `answer` is empty while nothing came.
    """

    method: str
    revision: str
    why: str
    asked_at: float
    answer: str = ""
    answered_at: float | None = None


class Cause(NamedTuple):
    """Something that usually causes what was seen, and what to try."""

    text: str
    hint: str


@dataclasses.dataclass(frozen=True, slots=True)
class DoctorReport:
    """All that is known of a server's newest connection. What is not known is None or empty.

    `command` is as it was run, program first, and `found` the program's file; `folder` absolute.
    `environment` has names of variables only. `first_bytes` are the first that came, at most 512.
    `http` are the last exchanges, oldest first. `opening` is what was asked to open it, and why.
    `ending` is the reason for the end as text, `end_kind` as a value.
    `causes` the likeliest first. `secrets` are values of variables and headers, the longest first:
    they stand in no report that is handed on.
    """

    server: str
    state: ServerState
    address: str
    command: tuple[str, ...] = ()
    folder: str | None = None
    found: str | None = None
    searched: tuple[Searched, ...] = ()
    environment: tuple[str, ...] = ()
    secrets: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    pid: int | None = None
    exit_code: int | None = None
    ending: str = ""
    end_kind: EndKind = EndKind.OPEN
    stderr_tail: tuple[str, ...] = ()
    first_bytes: bytes = b""
    http: tuple[HttpNote, ...] = ()
    opening: tuple[OpeningQuestion, ...] = ()
    causes: tuple[Cause, ...] = ()
    problem: ErrorDetails | None = None
    health: Health | None = None
    retry: Retry | None = None
    restarts: int = 0
    waiting: Waiting | None = None

    @property
    def was_ended_by_us(self) -> bool:
        """Whether the server did not end the connection itself."""
        return self.end_kind not in {EndKind.OPEN, EndKind.SERVER}
