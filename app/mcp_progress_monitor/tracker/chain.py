"""One job's resume chain: newest token, attempts, why it stopped, whether it can be resumed."""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import META, RESERVED, RESUME_TOKEN, TRACEPARENT
from mcp_progress_monitor.protocol.tasks import live_task
from mcp_progress_monitor.tracker.endings import JobEnding
from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_progress_monitor.protocol.facts import JsonObject, RequestAnswered, RequestMade

INVALID_PARAMS: Final = -32602  # the JSON-RPC code with which a server refuses a resume token

REFUSED: Final = "refused"
INTERRUPTED: Final = "interrupted"  # outcomes of attempts that are not job states

_UNUSABLE: Final = (
    "The server's new resume token is not a non-empty string and cannot be sent. The "
    "previous token is kept."
)
_TASK: Final = "The server turned the request into a task, which is not resumed automatically"


class AttemptOutcome(NamedTuple):
    """How an attempt ended, and what that means for its job.

    `ending` is the job's, `outcome` the attempt's. `token` is a new one to resume with;
    `is_complete` means that the chain has ended and its tokens have expired. `is_by_hand` means
    that the result requires something else first: the job is never resumed automatically.
    """

    ending: JobEnding
    outcome: JobState | str
    token: str | None = None
    is_complete: bool = False
    is_by_hand: bool = False


def is_usable(token: Any) -> TypeGuard[str]:
    """Return whether a server's `nextResumeToken` can be sent back: a non-empty string."""
    return isinstance(token, str) and bool(token)


def of_answer(
    answer: RequestAnswered, plain: JobEnding, *, in_chain: bool
) -> AttemptOutcome | None:
    """The outcome that a reply means; `plain` is its ending without resuming.

    `in_chain` says that the job already has a token. None if no chain is concerned.
    """
    if answer.error is not None or (answer.result or {}).get("isError") is True:
        return _of_error(answer, plain) if in_chain else None
    token = answer.next_resume_token
    if is_usable(token):
        return _resumable(answer, plain, token)
    if not in_chain:
        return None
    if token is None:
        return AttemptOutcome(plain, plain.state, is_complete=True)
    return stopped(JobEnding(JobState.FAILED, Failure("local", _UNUSABLE)))


def stopped(plain: JobEnding) -> AttemptOutcome:
    """The outcome of an attempt without a reply to resume from: the last token stays usable."""
    return AttemptOutcome(plain._replace(state=JobState.RESUMABLE), plain.state)


def _of_error(answer: RequestAnswered, plain: JobEnding) -> AttemptOutcome:
    code = None if plain.failure is None else plain.failure.code
    if answer.error is not None and plain.state is JobState.FAILED and code == INVALID_PARAMS:
        return AttemptOutcome(plain, REFUSED)
    if answer.error is None and answer.next_resume_token is None:
        return AttemptOutcome(plain, plain.state, is_complete=True)
    return stopped(plain)


def _resumable(answer: RequestAnswered, plain: JobEnding, token: str) -> AttemptOutcome:
    if plain.finding is None and live_task(answer.result or {}) is not None:
        unfinished = Finding(rules.UNFINISHED, (_TASK,))
        plain = JobEnding(plain.state, Failure("local", _TASK), unfinished)
    is_by_hand = plain.finding is not None and plain.finding.rule is rules.UNFINISHED
    ending = plain._replace(state=JobState.RESUMABLE)
    return AttemptOutcome(ending, JobState.RESUMABLE, token, is_by_hand=is_by_hand)


ATTEMPTS_KEPT: Final = 1000  # most attempts that one job shows; older ones are only counted


class Settling(NamedTuple):
    """An attempt that has ended, until that is saved."""

    result: AttemptOutcome
    at: float
    attempt: AttemptSnapshot


class Restored(NamedTuple):
    """A chain as found on disk. Times are wall seconds; `key` is its server's identity.

    `token` is None if it was refused.
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

    `id` is that in the store, None while nothing is stored. `token` is None before the first one is
    saved, and if there is none left to resume with. `obstacle` says why the newest token is not on
    disk. `busy` says what is being done before the next attempt is sent. `settling` is the attempt
    that ended and is not saved yet. `begun_by` is the other client that made the first attempt,
    None for our own.
    """

    __slots__ = (
        "attempt_count",
        "attempts",
        "begun_by",
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
        self.attempts: collections.deque[AttemptSnapshot] = collections.deque(maxlen=ATTEMPTS_KEPT)
        self.attempt_count = 1
        self.begun_by: str | None = None

    @property
    def text(self) -> str:
        """The note about the chain, in one or two sentences."""
        if self.settling is not None:
            return "Saving the resume token" if self.settling.result.token else ""
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
        """True if another attempt can be made."""
        return self.token is not None and not (self.busy or self.settling or self.is_elsewhere)

    def conclude(self, settling: Settling) -> None:
        """Add the attempt that ended as the newest one."""
        result = settling.result
        self.attempts.append(settling.attempt)
        self.begun_by = self.begun_by or settling.attempt.client
        self.note = settling.attempt.detail
        self.busy = ""
        self.is_by_hand = result.is_by_hand
        if result.token is not None:
            self.token, self.token_when = result.token, settling.attempt.ended_when
        elif result.ending.state is not JobState.RESUMABLE:
            self.expire()

    def forgotten(self) -> int | None:
        """The request of the attempt that is dropped for the next one; None if there is room."""
        return self.attempts[0].request if len(self.attempts) == self.attempts.maxlen else None

    def expire(self) -> None:
        self.token, self.next_attempt_at = None, None

    def add_saved(self, attempts: Iterable[AttemptSnapshot], *, is_in_flight: bool) -> None:
        """Add attempts from other runs of the program that this one has not seen."""
        seen = {attempt.number for attempt in self.attempts}
        newest = self.attempt_count - is_in_flight
        found = [each for each in attempts if each.number <= newest and each.number not in seen]
        if found:
            every = sorted((*found, *self.attempts), key=lambda attempt: attempt.number)
            self.attempts.clear()
            self.attempts.extend(every)
            self.begun_by = self.begun_by or every[0].client

    def snapshots(self, running: AttemptSnapshot | None) -> Sequence[AttemptSnapshot]:
        """All known attempts, oldest first, including the one in flight."""
        newest: list[AttemptSnapshot] = []
        if self.settling is not None:
            newest.append(self.settling.attempt)
        elif running is not None:
            newest.append(running)
        return tuple(itertools.chain(self.attempts, newest))


def without_resume_token(params: JsonObject) -> JsonObject:
    """The parameters that all attempts of a chain share; an empty `_meta` is dropped."""
    meta: Any = params.get(META)
    if not isinstance(meta, dict):
        return params
    kept = {name: value for name, value in meta.items() if name != RESUME_TOKEN}
    rest = {name: value for name, value in params.items() if name != META}
    return {**rest, META: kept} if kept else rest


_TRACE: Final = frozenset({TRACEPARENT, "tracestate", "baggage"})
"""The W3C trace context, whose keys the per-request era reserves in `_meta`."""


def is_changed_from(first: RequestMade, fact: RequestMade) -> bool:
    """Return whether a resumed request differs from the first one in more than its token."""
    return _comparable(first.params) != _comparable(fact.params)


def _comparable(params: JsonObject) -> bytes:
    """Parameters without what may differ: the resume token, stamps and the trace context."""
    kept = without_resume_token(params)
    meta = kept.get(META)
    if not isinstance(meta, dict):
        return canonical(kept)
    own = {name: value for name, value in meta.items() if not _is_of_one_request(name)}
    rest = {name: value for name, value in kept.items() if name != META}
    return canonical({**rest, META: own} if own else rest)


def _is_of_one_request(name: str) -> bool:
    return name.startswith(RESERVED) or name in _TRACE
