"""How a call ended, without a call."""

from typing import Any

from mcp_progress_monitor.engine.call import Outcome
from mcp_progress_monitor.tracker.snapshot import Failure, JobState


def outcome(
    result: dict[str, Any] | None,
    failure: Failure | None,
    state: JobState,
    raw: bytes = b"",
    resume_id: int | None = None,
) -> Outcome:
    """The end of job 1 after a second."""
    return Outcome(1, result, failure, state, 1.0, raw, resume_id=resume_id)
