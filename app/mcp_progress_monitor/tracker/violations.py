"""Violations of the protocol: counted by kind for a job, described for a message of the log."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.findings import rules
from mcp_progress_monitor.findings.finding import Finding, Rule
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    OutputChecked,
    ProgressReceived,
    RequestAnswered,
    RequestCancelled,
    RequestMade,
    RequestStanding,
    TaskStated,
    UnreadableReceived,
)
from mcp_progress_monitor.tracker.snapshot import ViolationCount

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.protocol.facts import Fact

FRAMES_KEPT: Final = 200
"""Newest irregular frames of a job whose findings are kept, at least: as many as it keeps ticks."""

NOT_INCREASING: Final = rules.NOT_INCREASING.kind
"""A tick's progress was equal to the one before, or below it."""
ABOVE_TOTAL: Final = rules.ABOVE_TOTAL.kind
TOTAL_CHANGED: Final = rules.TOTAL_CHANGED.kind
TOTAL_NOT_POSITIVE: Final = rules.TOTAL_NOT_POSITIVE.kind
WRONG_TYPE: Final = "wrong-type"
"""A tick that is not formed as the protocol asks; the words say how."""
AFTER_END: Final = rules.TICK_AFTER_END.kind
LATE_DELIVERY: Final = rules.TICK_LATE_IN_BATCH.kind
"""A tick behind the reply in its batch, or in another response over HTTP: late, but no fault."""
AFTER_CANCEL: Final = rules.TICK_AFTER_CANCEL.kind
AFTER_TIMEOUT: Final = rules.TICK_AFTER_TIMEOUT.kind
"""A tick for a request that we had given up; no fault of the server's."""
LATE_RESULT: Final = rules.LATE_REPLY.kind
"""A result for a request that was cancelled or given up; it is kept."""
DUPLICATE_REPLY: Final = rules.DUPLICATE_REPLY.kind
"""A further reply to a request already answered; the first one counts."""
IRREGULAR_REPLY: Final = "irregular-reply"
TOKEN_IN_USE: Final = rules.TOKEN_IN_USE.kind
"""The request's progress token was that of another open request."""
IRREGULAR_REQUEST: Final = "irregular-request"
UNFINISHED: Final = rules.UNFINISHED.kind
"""A result of another type than complete: it does not end the work."""
NO_QUESTIONS: Final = rules.SERVER_ASKS.kind
"""A server of 2026-07-28 whose own question failed: its code asks as in the handshake era."""
CANCEL_TOO_LATE: Final = rules.CANCEL_TOO_LATE.kind
"""The cancel notice came after the reply."""
RESUME_TOKEN: Final = rules.NEXT_TOKEN_TYPE.kind
"""A resume token that is not what, or where, the draft wants it; the words say how."""
TOKEN_ON_ERROR: Final = rules.TOKEN_ON_ERROR.kind
"""A resume token came with an error; it is not used."""
SAME_TOKEN: Final = rules.SAME_TOKEN.kind
"""The server handed out the token it had been given."""
CHANGED_REQUEST: Final = rules.REQUEST_CHANGED.kind
"""A resumed request differed from the first one in more than its token."""
TASK: Final = "irregular-task"
"""A message about the job's task that is not formed as the protocol asks; the words say how."""
TASK_STATUS: Final = rules.STATUS_AFTER_FINAL.kind
"""A status after the one that is the end, or after the job's own."""
TASK_PLAIN: Final = rules.ANSWERED_AT_ONCE.kind
"""A request for a task was answered at once, or a task came that nobody had asked for."""
TASK_RESULT: Final = rules.RESULT_TOO_EARLY.kind
"""A result before its task was over, none after, or one that does not go with its status."""
TASK_REFUSED: Final = rules.TASK_REFUSED.kind
"""A `tasks/…` request about the job's task was answered with an error."""
TASK_TOKEN: Final = rules.OTHER_TOKEN.kind
"""Progress of the job's task came with another token than its request gave."""
TASK_PROGRESS: Final = rules.TICK_OF_TASK.kind
"""Progress came after the reply that left the work to a task, or to a further request."""
OTHER_STREAM: Final = rules.OTHER_STREAM.kind
"""Progress came over HTTP in the response to another request (2026-07-28)."""
OUTPUT: Final = rules.OUTPUT.kind
"""The result breaks the output schema of its tool; the words say how."""
OUTPUT_UNCHECKED: Final = rules.OUTPUT_UNCHECKED.kind
"""The result could not be checked completely against the output schema of its tool."""
RESUMED_TWICE: Final = rules.RESUMED_TWICE.kind
"""The request's resume token was that of another open request."""


def spoils(findings: Sequence[Finding]) -> bool:
    """Whether a tick with these findings cannot enter a rate; where it came is no matter."""
    return any(finding.rule is not rules.OTHER_STREAM for finding in findings)


class ViolationCounts:
    """The marks of one job, in the order of their first cases. Never more than one per key.

    Beside them it keeps what was wrong with each of the newest irregular frames.
    """

    __slots__ = ("_by_frame", "_by_key", "_frozen")

    def __init__(self) -> None:
        self._by_key: dict[str, ViolationCount] = {}
        self._frozen: tuple[ViolationCount, ...] | None = ()
        self._by_frame: dict[int, tuple[Finding, ...]] = {}

    def note(self, rule: Rule, number: int, *arguments: object) -> None:
        """Count one more case of a rule that was broken in frame `number`."""
        self.add(Finding(rule, arguments), number)

    def add(self, finding: Finding, number: int, kind: str = "") -> None:
        """Count one more finding in frame `number`; of each key the first case stays.

        `kind` is the key for a rule that has none of its own.
        """
        key = finding.rule.kind or kind
        known = self._by_key.get(key)
        if known is None:
            self._by_key[key] = ViolationCount(key, finding, 1, number)
        else:
            self._by_key[key] = known._replace(count=known.count + 1)
        self._frozen = None
        self._by_frame[number] = (*self._by_frame.get(number, ()), finding)
        if len(self._by_frame) > 2 * FRAMES_KEPT:  # many at a time: each cut copies the rest
            self.shrink(FRAMES_KEPT)

    def shrink(self, most: int) -> None:
        """Keep what was found in the newest `most` irregular frames."""
        gone = len(self._by_frame) - most
        if gone > 0:
            self._by_frame = dict(itertools.islice(self._by_frame.items(), gone, None))

    def of_frame(self, number: int) -> tuple[Finding, ...]:
        """What was found in frame `number`; empty when nothing was, or it was long ago."""
        return self._by_frame.get(number, ())

    def as_tuple(self) -> tuple[ViolationCount, ...]:
        """All marks; the same object until one is added."""
        if self._frozen is None:
            self._frozen = tuple(self._by_key.values())
        return self._frozen


_OF_TICK: Final = {
    RequestStanding.ANSWERED: Finding(rules.TICK_AFTER_ANSWER),
    RequestStanding.CANCELLED: Finding(rules.TICK_AFTER_CANCEL),
    RequestStanding.UNKNOWN: Finding(rules.UNKNOWN_TOKEN),
    RequestStanding.IN_BATCH: Finding(rules.TICK_IN_BATCH),
    RequestStanding.ELSEWHERE: Finding(rules.TICK_ELSEWHERE),
    RequestStanding.GIVEN_UP: Finding(rules.TICK_AFTER_GIVING_UP),
}
_OF_CANCEL: Final = {
    RequestStanding.ANSWERED: Finding(rules.CANCEL_TOO_LATE),
    RequestStanding.CANCELLED: Finding(rules.CANCEL_TWICE),
    RequestStanding.UNKNOWN: Finding(rules.CANCEL_UNKNOWN),
    RequestStanding.GIVEN_UP: Finding(rules.CANCEL_AFTER_GIVING_UP),
}


def violations_of(fact: Fact) -> tuple[Finding, ...]:
    """What is wrong with `fact` as far as it tells itself."""
    reader = _READERS.get(type(fact))
    return () if reader is None else reader(fact)


def _of_message(
    fact: RequestMade | NotificationReceived | TaskStated | UnreadableReceived,
) -> tuple[Finding, ...]:
    return fact.findings


def _of_progress(fact: ProgressReceived) -> tuple[Finding, ...]:
    found = _OF_TICK.get(fact.standing)
    return fact.findings if found is None else (found, *fact.findings)


def _of_cancel(fact: RequestCancelled) -> tuple[Finding, ...]:
    found = _OF_CANCEL.get(fact.standing)
    return fact.findings if found is None else (found, *fact.findings)


def _of_answer(fact: RequestAnswered) -> tuple[Finding, ...]:
    """An error in reply to a cancelled request confirms the cancel: nothing is wrong with it."""
    if fact.standing is RequestStanding.UNKNOWN and not fact.findings:
        rule = rules.REPLY_UNKNOWN
    elif fact.standing is RequestStanding.ANSWERED:
        rule = rules.DUPLICATE_REPLY
    elif fact.standing is RequestStanding.CANCELLED and fact.error is None:
        rule = rules.REPLY_AFTER_CANCEL
    elif fact.standing is RequestStanding.GIVEN_UP:
        rule = rules.REPLY_AFTER_GIVING_UP
    else:
        return fact.findings
    return Finding(rule), *fact.findings


def _of_output(fact: OutputChecked) -> tuple[Finding, ...]:
    return tuple(Finding(rules.OUTPUT_WORDS, (words,)) for words in fact.problems)


_READERS: Final[dict[type, Callable[[Any], tuple[Finding, ...]]]] = {
    RequestMade: _of_message,
    NotificationReceived: _of_message,
    TaskStated: _of_message,
    ProgressReceived: _of_progress,
    RequestCancelled: _of_cancel,
    RequestAnswered: _of_answer,
    UnreadableReceived: _of_message,
    OutputChecked: _of_output,
}
