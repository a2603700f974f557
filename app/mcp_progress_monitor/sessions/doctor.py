"""What is known of a connection that fails, for people who want to know why."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.connect_limit import Waiting
    from mcp_progress_monitor.sessions.negotiation import Question
    from mcp_progress_monitor.sessions.snapshot import Health, Retry, ServerState


class Searched(NamedTuple):
    """A folder of PATH that a command was looked for in: `found` is the file, None if none."""

    folder: str
    exists: bool
    found: str | None


class HttpNote(NamedTuple):
    """One request over HTTP and what came: `status` None when nothing did, `words` then say why.

    `headers` are those of the response that tell something; `body` the beginning of what it said.
    """

    request: str
    status: int | None
    words: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


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
    stderr_tail: tuple[str, ...] = ()
    first_bytes: bytes = b""
    http: tuple[HttpNote, ...] = ()
    opening: tuple[Question, ...] = ()
    causes: tuple[Cause, ...] = ()
    problem: Problem | None = None
    health: Health | None = None
    retry: Retry | None = None
    restarts: int = 0
    waiting: Waiting | None = None
