"""How attempts ended, in the store's words and in those of jobs."""

from __future__ import annotations

from typing import Final

from mcp_progress_monitor.store.chains import Outcome
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.tracker.verdicts import INTERRUPTED, REFUSED

STATES: Final[dict[Outcome, JobState | str]] = {
    Outcome.RESUMABLE: JobState.RESUMABLE,
    Outcome.FAILED: JobState.FAILED,
    Outcome.LOST: JobState.LOST,
    Outcome.TIMED_OUT: JobState.TIMED_OUT,
    Outcome.CANCELLED: JobState.CANCELLED,
    Outcome.REFUSED: REFUSED,
    Outcome.INTERRUPTED: INTERRUPTED,
}
"""Of attempts that are over; one that runs has none."""

OUTCOMES: Final[dict[JobState | str, Outcome]] = {
    state: outcome for outcome, state in STATES.items()
}
