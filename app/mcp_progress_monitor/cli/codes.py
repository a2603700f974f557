"""From the end of a call to the exit code that tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.exits import ExitCode
from mcp_progress_monitor.tracker.snapshot import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_progress_monitor.monitor import Outcome

_CODES = {
    JobState.CANCELLED: ExitCode.CANCELLED,
    JobState.TIMED_OUT: ExitCode.TIMED_OUT,
    JobState.LOST: ExitCode.NOT_CONNECTED,
}


def code_of(outcome: Outcome) -> ExitCode:
    """The exit code for one call.

    One that could be gone on with, if only its token were saved, failed because of a file.
    """
    if outcome.resume_id is not None:
        return ExitCode.RESUMABLE
    if outcome.state is JobState.RESUMABLE:
        return ExitCode.UNWRITABLE
    is_failure = outcome.failure is not None or outcome.state is JobState.FAILED
    return _CODES.get(outcome.state, ExitCode.ANSWERED_ERROR if is_failure else ExitCode.DONE)


def first_failure(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of several calls: that of the first one that failed."""
    return next((code for code in codes if code), ExitCode.DONE)
