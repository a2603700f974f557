"""What is kept of a resume chain: enough to send its request again, and to say where it stood."""

from __future__ import annotations

import dataclasses
import enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject

ChainId: TypeAlias = int
"""Names a chain for good: the number of a forgotten one is not given out again."""


class Outcome(enum.Enum):
    """How an attempt ended; the values are stored."""

    RUNNING = "running"
    RESUMABLE = "resumable"
    """It was answered, with a token to go on with."""
    REFUSED = "refused"
    """The server answered -32602: it does not take the token."""
    FAILED = "failed"
    LOST = "lost"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The program that sent it ended before the reply."""
    UNKNOWN = "unknown"
    """Stored by a newer version of this program, in a word that this one does not know."""

    @classmethod
    def _missing_(cls, value: object) -> Outcome | None:
        return cls.UNKNOWN if isinstance(value, str) else None


class Origin(NamedTuple):
    """The request a chain began with, and the server it went to.

    `server_key` is the definition's content (`job_key`), so that a renamed server still matches;
    `definition` is the whole of it as JSON, with the folder that it was started in (which earlier
    versions left out where the user had named none). `params` are as first sent, without a resume
    token and without the stamps of the per-request era; a progress token, if there was one, is in
    their `_meta`. They come back with their members in order and their numbers as they were.
    """

    server: str
    server_key: str
    definition: str
    revision: str
    method: str
    params: JsonObject


class Standing(NamedTuple):
    """Where the work stood at the last tick: numbers as received, None where unknown."""

    progress: int | float | None = None
    total: int | float | None = None
    message: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SavedAttempt:
    """One request of a chain. `number` counts from 1; `_when` are seconds since the epoch.

    `ended_when` is None while it runs, and for good when it was interrupted: nobody was there to
    look at the clock.
    """

    number: int
    started_when: float
    ended_when: float | None
    outcome: Outcome
    detail: str


class SavedChain(NamedTuple):
    """A chain as it lies on disk. A tuple: ten thousand are made at once, in half the time.

    `token` is the newest one, opaque. `is_usable` is False after a refusal: it is not offered
    again. `reason` says, in words, why it stopped; empty when the server only handed out a token.
    `is_elsewhere` is True while another running program has an attempt of it in flight.
    """

    id: ChainId
    origin: Origin
    token: str
    is_usable: bool
    reason: str
    standing: Standing
    created_when: float
    updated_when: float
    attempt_count: int
    is_elsewhere: bool

    def __repr__(self) -> str:
        """Without the token: whoever has it may go on with the job."""
        return f"SavedChain(id={self.id}, origin={self.origin}, reason={self.reason!r})"
