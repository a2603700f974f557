"""What one job has of its resume chain: its newest token, its attempts, why it stopped."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_progress_monitor.tracker.snapshot import AttemptPicture, JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.tracker.verdicts import Verdict

ATTEMPTS_KEPT: Final = 1000
"""Attempts that are told of one job; of older ones only the count stays."""


class Settling(NamedTuple):
    """An attempt that has ended, until that is on disk."""

    verdict: Verdict
    at: float
    attempt: AttemptPicture


class Restored(NamedTuple):
    """A chain as it was found on disk. Times are wall seconds; `key` is its server's identity.

    `token` is None when it was refused.
    """

    id: int
    server: str
    key: str
    method: str
    params: JsonObject
    token: str | None
    reason: str
    progress: int | float | None
    total: int | float | None
    message: str | None
    created_when: float
    updated_when: float
    attempt_count: int
    is_elsewhere: bool


class Chain:
    """The part of a job that only resumable ones have.

    `id` is that in the store, None while nothing is stored. `token` is None before the first one
    is safe, and when there is none to go on with any more. `obstacle` says why the newest token
    is not on disk. `busy` says what is being done before the next attempt is sent. `settling` is
    the attempt that ended and is not noted yet.
    """

    __slots__ = (
        "attempt_count",
        "attempts",
        "busy",
        "id",
        "is_by_hand",
        "is_elsewhere",
        "key",
        "next_attempt_at",
        "note",
        "obstacle",
        "settling",
        "token",
        "token_when",
    )

    def __init__(self, key: str) -> None:
        """Begin with a first attempt, to the server with the identity `key`."""
        self.key = key
        self.id: int | None = None
        self.token: str | None = None
        self.token_when: float | None = None
        self.note = ""
        self.obstacle = ""
        self.busy = ""
        self.is_elsewhere = False
        self.is_by_hand = False
        self.next_attempt_at: float | None = None
        self.settling: Settling | None = None
        self.attempts: collections.deque[AttemptPicture] = collections.deque(maxlen=ATTEMPTS_KEPT)
        self.attempt_count = 1

    @property
    def words(self) -> str:
        """What is to be told of the chain, in one or two sentences."""
        if self.settling is not None:
            return "Saving the resume token" if self.settling.verdict.token else ""
        if self.is_elsewhere:
            return "Another running program is resuming it"
        if not self._not_saved:
            return self.busy or self.note
        return ". ".join(filter(None, (self.busy or self.note.rstrip("."), self._not_saved)))

    @property
    def _not_saved(self) -> str:
        return f"Not saved: {self.obstacle}" if self.obstacle and self.token else ""

    @property
    def can_resume(self) -> bool:
        """Whether nothing stands in the way of another attempt."""
        return self.token is not None and not (self.busy or self.settling or self.is_elsewhere)

    def conclude(self, settling: Settling) -> None:
        """Take the attempt that ended as the newest one that is known."""
        verdict = settling.verdict
        self.attempts.append(settling.attempt)
        self.note = settling.attempt.detail
        self.busy = ""
        self.is_by_hand = verdict.is_by_hand
        if verdict.token is not None:
            self.token, self.token_when = verdict.token, settling.attempt.ended_when
        elif verdict.ending.state is not JobState.RESUMABLE:
            self.expire()

    def forgotten(self) -> int | None:
        """The request of the attempt that goes when the next one is kept; None if there is room."""
        return self.attempts[0].request if len(self.attempts) == self.attempts.maxlen else None

    def expire(self) -> None:
        """Have no token any more."""
        self.token, self.next_attempt_at = None, None

    def add_earlier(self, attempts: Iterable[AttemptPicture], *, is_in_flight: bool) -> None:
        """Put attempts of earlier runs of the program before those of this one."""
        first = self.attempts[0].number if self.attempts else self.attempt_count + 1 - is_in_flight
        earlier = [attempt for attempt in attempts if attempt.number < first]
        self.attempts.extendleft(reversed(earlier[-(ATTEMPTS_KEPT - len(self.attempts)) :]))

    def pictures(self, running: AttemptPicture | None) -> Sequence[AttemptPicture]:
        """All attempts that are known, oldest first, with the one in flight."""
        newest: list[AttemptPicture] = []
        if self.settling is not None:
            newest.append(self.settling.attempt)
        elif running is not None:
            newest.append(running)
        return tuple(itertools.chain(self.attempts, newest))


def without_resume_token(params: JsonObject) -> JsonObject:
    """A request's parameters as they are in every attempt of a chain; an empty `_meta` goes."""
    meta: Any = params.get("_meta")
    if not isinstance(meta, dict):
        return params
    kept = {name: value for name, value in meta.items() if name != "resumeToken"}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": kept} if kept else rest
