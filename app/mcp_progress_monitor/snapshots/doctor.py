"""The facts about a connection that failed, for diagnosis."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.servers import Health, Retry, ServerState, Waiting


class EndKind(enum.Enum):
    """Cause of a connection's end."""

    OPEN = "open"
    SERVER = "server"  # the server exited or closed its output
    CLOSED_INPUT = "closed-input"  # the server closed its input, and was stopped
    CLOSED_OUTPUT = "closed-output"  # the server closed its output without exiting, and was stopped
    FAILED = "failed"  # it could not be opened, the transport failed, or this program has a defect
    TIMED_OUT = "timed-out"  # this program, at the connect timeout
    CLIENT = "client"  # this program, for any other reason


class Searched(NamedTuple):
    """A folder of PATH that was searched for a command: `found` is the file, or None."""

    folder: str
    exists: bool
    found: str | None


class HttpNote(NamedTuple):
    """One HTTP request and its response; without one `status` is None, and `text` says why.

    `headers` are the informative ones of the response; `body` is the beginning of its body.
    """

    request: str
    status: int | None
    text: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


class OpeningQuestion(NamedTuple):
    """One request of an opening, its reason and its outcome; times are monotonic.

    `answer` is empty while there is none.
    """

    method: str
    revision: str
    why: str
    asked_at: float
    answer: str = ""
    answered_at: float | None = None


class Cause(NamedTuple):
    """A usual cause of the symptoms, and what to try."""

    text: str
    hint: str


class DoctorReport(NamedTuple):
    """Everything known about a server's newest connection. Unknown is None or empty.

    `command` is as it was run, program first, and `found` the program's file; `folder` is absolute.
    `environment` has only the names of variables. `first_bytes` are the first received, at most
    512. `http` are the last exchanges, oldest first. `opening` lists the opening requests. `ending`
    is the reason for the end as text, `end_kind` as a value. `causes` are in order of likelihood.
    `secrets` are values of variables and headers, the longest first: they must not appear in a
    report that is passed on.
    """

    server: str
    state: ServerState
    address: str
    command: tuple[str, ...] = ()
    folder: str | None = None
    found: str | None = None
    searched: tuple[Searched, ...] = ()
    environment: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    pid: int | None = None
    exit_code: int | None = None
    ending: str = ""
    end_kind: EndKind = EndKind.OPEN
    stderr_tail: tuple[str, ...] = ()
    first_bytes: bytes = b""
    http: tuple[HttpNote, ...] = ()
    opening: tuple[OpeningQuestion, ...] = ()
    causes: tuple[Cause, ...] = ()
    error: ErrorDetails | None = None
    health: Health | None = None
    retry: Retry | None = None
    restarts: int = 0
    waiting: Waiting | None = None

    def __repr__(self) -> str:
        """Everything but the secrets: for logs and failed tests."""
        return f"DoctorReport{tuple.__repr__(self._replace(secrets=()))}"

    @property
    def was_ended_by_us(self) -> bool:
        """True if we, and not the server, ended the connection."""
        return self.end_kind not in {EndKind.OPEN, EndKind.SERVER}
