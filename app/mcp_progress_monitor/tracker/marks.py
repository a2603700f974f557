"""Marks: what was irregular about a job, counted by kind, with the words of the first case."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.protocol import reply_places, tasks
from mcp_progress_monitor.tracker.snapshot import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS_KEPT: Final = 200
"""Newest irregular frames of a job whose words are kept, at least: as many as it keeps ticks."""

NOT_INCREASING: Final = "not-increasing"
"""A tick's progress was equal to the one before, or below it."""
ABOVE_TOTAL: Final = "above-total"
TOTAL_CHANGED: Final = "total-changed"
TOTAL_NOT_POSITIVE: Final = "total-not-positive"
WRONG_TYPE: Final = "wrong-type"
"""A tick that is not formed as the protocol asks; the words say how."""
AFTER_END: Final = "after-end"
LATE_DELIVERY: Final = "late-delivery"
"""A tick behind the reply in its batch, or in another response over HTTP: late, but no fault."""
AFTER_CANCEL: Final = "after-cancel"
AFTER_TIMEOUT: Final = "after-timeout"
"""A tick for a request that we had given up; no fault of the server's."""
LATE_RESULT: Final = "late-result"
"""A result for a request that was cancelled or given up; it is kept."""
DUPLICATE_REPLY: Final = "duplicate-reply"
"""A further reply to a request already answered; the first one counts."""
IRREGULAR_REPLY: Final = "irregular-reply"
TOKEN_IN_USE: Final = "token-in-use"  # noqa: S105 - a progress token is no password
"""The request's progress token was that of another open request."""
IRREGULAR_REQUEST: Final = "irregular-request"
UNFINISHED: Final = "unfinished-result"
"""A result of another type than complete: it does not end the work."""
NO_QUESTIONS: Final = "no-questions"
"""A server of 2026-07-28 whose own question failed: its code asks as in the handshake era."""
CANCEL_TOO_LATE: Final = "cancel-too-late"
"""The cancel notice came after the reply."""
RESUME_TOKEN: Final = "resume-token"  # noqa: S105 - a mark's key
"""A resume token that is not what, or where, the draft wants it; the words say how."""
TOKEN_ON_ERROR: Final = "token-on-error"  # noqa: S105 - idem
"""A resume token came with an error; it is not used."""
SAME_TOKEN: Final = "same-token"  # noqa: S105 - idem
"""The server handed out the token it had been given."""
CHANGED_REQUEST: Final = "changed-request"
"""A resumed request differed from the first one in more than its token."""
TASK: Final = "irregular-task"
"""A message about the job's task that is not formed as the protocol asks; the words say how."""
TASK_STATUS: Final = "task-status"
"""A status after the one that is the end, or after the job's own."""
TASK_PLAIN: Final = "task-plain"
"""A request for a task was answered at once, or a task came that nobody had asked for."""
TASK_RESULT: Final = "task-result"
"""A result before its task was over, none after, or one that does not go with its status."""
TASK_REFUSED: Final = "task-refused"
"""A `tasks/…` request about the job's task was answered with an error."""
TASK_TOKEN: Final = "task-token"  # noqa: S105 - a mark's key
"""Progress of the job's task came with another token than its request gave."""
TASK_PROGRESS: Final = "task-progress"
"""Progress came after the reply that left the work to a task, or to a further request."""
OTHER_STREAM: Final = "other-stream"
"""Progress came over HTTP in the response to another request (2026-07-28)."""
OUTPUT: Final = "output-schema"
"""The result breaks the output schema of its tool; the words say how."""
OUTPUT_UNCHECKED: Final = "output-unchecked"
"""The result could not be checked completely against the output schema of its tool."""
RESUMED_TWICE: Final = "resumed-twice"
"""The request's resume token was that of another open request."""

ADVICE: Final = {
    NO_QUESTIONS: (
        "The server's code asks the client by a request, which 2026-07-28 does not allow. "
        "Try the handshake era: choose it in the server's settings, or with --era handshake."
    ),
}
"""What to do about marks that the failure's own words do not explain."""

OF_PROBLEM: Final = {tasks.OTHER_TOKEN: TASK_TOKEN, reply_places.OTHER_STREAM: OTHER_STREAM}
"""The marks of ticks that are well formed and all the same not right, by their problem."""


def spoils(problems: Sequence[str]) -> bool:
    """Whether a tick with these problems cannot enter a rate; where it came is no matter."""
    return any(problem != reply_places.OTHER_STREAM for problem in problems)


class Marks:
    """The marks of one job, in the order of their first cases. Never more than one per key.

    Beside them it keeps what was wrong with each of the newest irregular frames.
    """

    __slots__ = ("_by_frame", "_by_key", "_frozen")

    def __init__(self) -> None:
        self._by_key: dict[str, Mark] = {}
        self._frozen: tuple[Mark, ...] | None = ()
        self._by_frame: dict[int, str] = {}

    def note(self, key: str, text: str, number: int) -> None:
        """Count one more case of `key`, seen in frame `number`; the first case's words stay."""
        known = self._by_key.get(key)
        if known is None:
            self._by_key[key] = Mark(key, text, 1, number)
        else:
            self._by_key[key] = Mark(key, known.text, known.count + 1, known.first)
        self._frozen = None
        before = self._by_frame.get(number)
        self._by_frame[number] = text if before is None else f"{before}; {text}"
        if len(self._by_frame) > 2 * WORDS_KEPT:  # many at a time: each cut copies the rest
            self.shrink(WORDS_KEPT)

    def shrink(self, most: int) -> None:
        """Keep the words of the newest `most` irregular frames."""
        gone = len(self._by_frame) - most
        if gone > 0:
            self._by_frame = dict(itertools.islice(self._by_frame.items(), gone, None))

    def words_of(self, number: int) -> str:
        """What was noted of frame `number`; empty when nothing was, or it was long ago."""
        return self._by_frame.get(number, "")

    def as_tuple(self) -> tuple[Mark, ...]:
        """All marks; the same object until one is added."""
        if self._frozen is None:
            self._frozen = tuple(self._by_key.values())
        return self._frozen
