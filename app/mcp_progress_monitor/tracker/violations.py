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
"""Fewest newest irregular frames of a job whose findings are kept: as many as its ticks."""

WRONG_TYPE: Final = "wrong-type"  # a malformed tick; the finding says how
INVALID_REPLY: Final = "irregular-reply"
INVALID_REQUEST: Final = "irregular-request"
TASK: Final = "irregular-task"  # a malformed message about the job's task; the finding says how


def spoils(findings: Sequence[Finding]) -> bool:
    """Return whether a tick with these findings must not enter a rate, whatever their place."""
    return any(finding.rule is not rules.OTHER_STREAM for finding in findings)


class ViolationCounts:
    """The violations of one job, in the order of their first cases.

    One for each key. It also keeps the findings of the newest irregular frames.
    """

    __slots__ = ("_by_frame", "_counts", "_first", "_frozen")

    def __init__(self) -> None:
        self._first: dict[str, tuple[Finding, int]] = {}
        self._counts: dict[str, int] = {}
        self._frozen: tuple[ViolationCount, ...] | None = ()
        self._by_frame: dict[int, tuple[Finding, ...]] = {}

    def note(self, rule: Rule, number: int, *arguments: object) -> None:
        self.add(Finding(rule, arguments), number)

    def add(self, finding: Finding, number: int, kind: str = "") -> None:
        """Count a finding in frame `number`; the first case of each key stays.

        `kind` is the key for a rule without its own.
        """
        key = finding.rule.kind or kind
        counts, by_frame = self._counts, self._by_frame
        if key in counts:
            counts[key] += 1
        else:
            counts[key], self._first[key] = 1, (finding, number)
        self._frozen = None
        by_frame[number] = (*by_frame[number], finding) if number in by_frame else (finding,)
        if len(by_frame) > 2 * FRAMES_KEPT:  # many at a time: each cut copies the rest
            self.shrink(FRAMES_KEPT)

    def shrink(self, most: int) -> None:
        """Keep the findings of the newest `most` irregular frames."""
        gone = len(self._by_frame) - most
        if gone > 0:
            self._by_frame = dict(itertools.islice(self._by_frame.items(), gone, None))

    def of_frame(self, number: int) -> tuple[Finding, ...]:
        """The findings of frame `number`; empty if it has none, or is too old."""
        return self._by_frame.get(number, ())

    def as_tuple(self) -> tuple[ViolationCount, ...]:
        """All violations; the same object until one is added."""
        if self._frozen is None:
            first = self._first.items()
            self._frozen = tuple(
                ViolationCount(key, finding, self._counts[key], number)
                for key, (finding, number) in first
            )
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
    reader = _READERS.get(type(fact))
    return () if reader is None else reader(fact)


def _of_message(
    fact: RequestMade | NotificationReceived | TaskStated | UnreadableReceived,
) -> tuple[Finding, ...]:
    return fact.findings


def _of_progress(fact: ProgressReceived) -> tuple[Finding, ...]:
    found = _OF_TICK.get(fact.standing)
    return _with(found, fact.findings)


def _of_cancel(fact: RequestCancelled) -> tuple[Finding, ...]:
    found = _OF_CANCEL.get(fact.standing)
    return _with(found, fact.findings)


_SAY_MORE: Final = frozenset(
    {rules.TOKEN_TYPE_CHANGED, rules.CANCEL_BY_SERVER, rules.CANCEL_OF_TASK}
)
"""Rules about cancelled requests that are unknown or already answered."""


def _with(found: Finding | None, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings with the one about the request's standing, unless one of them says more."""
    if found is None or any(each.rule in _SAY_MORE for each in findings):
        return findings
    return (found, *findings)


def _of_answer(fact: RequestAnswered) -> tuple[Finding, ...]:
    """The findings of a reply; an error for a cancelled request only confirms the cancel."""
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
    return tuple(Finding(rules.OUTPUT_TEXT, (text,)) for text in fact.violations)


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
