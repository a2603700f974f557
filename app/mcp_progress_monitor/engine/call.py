"""One call: its request, how it resumes automatically, and its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.protocol.peer import AUTO
from mcp_progress_monitor.snapshots.limits import USUAL

if TYPE_CHECKING:
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.peer import TokenChoice
    from mcp_progress_monitor.snapshots.limits import LimitChoice
    from mcp_progress_monitor.tracker.snapshot import Failure, JobId, JobState


class AutoResume(NamedTuple):
    """Automatic resuming of a job until it is done, fails, or `limit` attempts were made.

    `pauses_s` are the seconds before each of them, the last one repeated; they begin again with
    every attempt that made progress.
    """

    limit: int = 100
    pauses_s: tuple[float, ...] = (0, 1, 2, 5, 10)

    def pause_s(self, fruitless: int) -> float:
        """The pause after so many attempts in a row without progress."""
        return self.pauses_s[min(fruitless, len(self.pauses_s) - 1)] if self.pauses_s else 0.0


class Call(NamedTuple):
    """A request to a server.

    `params` have no `_meta`. Limits are in seconds: 0 disables one, None uses the default of the
    server or else of the protocol. The idle timeout counts from the last message of the call, the
    total timeout from its start; with `auto_resume` both hold for each attempt, and the outcome is
    that of the last one. `as_task` requests a task or a plain call; None uses what the tool
    requires. In 2026-07-28 the server decides, unless it is False. `task_ttl_ms` is how long a
    server of 2025-11-25 is asked to keep the task. The outcome of a task is that of its end.
    """

    server: str
    method: str
    params: JsonObject
    token: TokenChoice = AUTO
    allow_duplicate_token: bool = False
    idle_timeout_s: LimitChoice = USUAL
    total_timeout_s: LimitChoice = USUAL
    auto_resume: AutoResume | None = None
    as_task: bool | None = None
    task_ttl_ms: float | None = None


class CallSeries(NamedTuple):
    """Calls to make one after the other or in parallel.

    At most `at_once` of them are pending at a time, 0 for no limit. `pause_s` is the delay in
    seconds before each but the first.
    """

    calls: tuple[Call, ...]
    at_once: int = 0
    pause_s: float = 0.0


class SeriesEnd(NamedTuple):
    """End of a series of calls: the jobs that were made of its `total`, and how long it took."""

    jobs: tuple[JobId, ...]
    total: int
    duration_s: float


class Outcome(NamedTuple):
    """End of a call. `raw` is the reply's exact bytes, empty without a reply.

    `job` is None if the request is not a job or was never written. `resume_id` names the saved
    chain of a job that stopped resumable; None if it is not saved.
    """

    job: JobId | None
    result: JsonObject | None
    failure: Failure | None
    state: JobState
    duration_s: float
    raw: bytes
    resume_id: int | None = None
