"""The attempts of a job as rows of words: when each was made, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP

from mcp_progress_monitor import text
from mcp_progress_monitor.models.job_texts import line, moment, state_word, tr
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from mcp_progress_monitor.tracker.snapshot import AttemptPicture

TITLES: Final = tuple(
    str(title)
    for title in (
        QT_TRANSLATE_NOOP("Jobs", "#"),
        QT_TRANSLATE_NOOP("Jobs", "Started"),
        QT_TRANSLATE_NOOP("Jobs", "Ended"),
        QT_TRANSLATE_NOOP("Jobs", "Ticks"),
        QT_TRANSLATE_NOOP("Jobs", "Outcome"),
        QT_TRANSLATE_NOOP("Jobs", "Details"),
    )
)
TEXT_COLUMNS: Final = (1, 2, 4, 5)


def row(attempt: AttemptPicture) -> tuple[str, ...]:
    """The words of one attempt, in the order of `TITLES`."""
    return (
        text.number(attempt.number),
        moment(attempt.started_when),
        _ended(attempt),
        _ticks(attempt),
        _outcome(attempt),
        line(attempt.detail),
    )


def _is_going_on(attempt: AttemptPicture) -> bool:
    outcome = attempt.outcome
    return not outcome.is_over if isinstance(outcome, JobState) else outcome == "running"


def _ticks(attempt: AttemptPicture) -> str:
    """The number of ticks; those of attempts of earlier runs of the program were not counted."""
    is_counted = attempt.request is not None or attempt.tick_count > 0
    return text.number(attempt.tick_count) if is_counted else ""


def _ended(attempt: AttemptPicture) -> str:
    if attempt.ended_when is not None:
        return moment(attempt.ended_when)
    return "" if _is_going_on(attempt) else tr("unknown")


def _outcome(attempt: AttemptPicture) -> str:
    if isinstance(attempt.outcome, JobState):
        return state_word(attempt.outcome)
    words = line(attempt.outcome)
    return tr(words[:1].upper() + words[1:])
