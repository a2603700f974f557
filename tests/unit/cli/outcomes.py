"""How a call ended, without a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from app.tracker.snapshot import Failure, JobState


class Outcome(NamedTuple):
    """What `app.monitor.Outcome` is."""

    job: int | None
    result: dict[str, Any] | None
    failure: Failure | None
    state: JobState
    duration_s: float = 1.0
    raw: bytes = b""
