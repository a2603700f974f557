"""Chains that were found on disk, as rows: jobs of an earlier run of the program."""

from __future__ import annotations

from app.protocol.facts import RequestMade, Side
from app.tracker import verdicts
from app.tracker.chain import Chain, Restored
from app.tracker.endings import Ending
from app.tracker.job import Job
from app.tracker.snapshot import Failure, JobId, JobState


def job_of(job: JobId, restored: Restored, offset: float) -> Job:
    """A row for a chain from the disk; `offset` is added to wall times to make monotonic ones.

    Its request is in no log of this program: its number is below zero.
    """
    meta = restored.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    request = RequestMade(
        -job,
        f"{restored.server}#0",
        restored.created_when + offset,
        restored.created_when,
        Side.CLIENT,
        None,
        restored.method,
        restored.params,
        token,
        None,
        (),
    )
    made = Job(job, request)
    if restored.progress is not None:
        made.progress = restored.progress
    made.total = made.known_total = restored.total
    made.message = restored.message
    chain = made.chain = Chain(restored.key)
    chain.id, chain.token, chain.token_when = restored.id, restored.token, restored.updated_when
    chain.note, chain.is_elsewhere = restored.reason, restored.is_elsewhere
    chain.attempt_count = restored.attempt_count
    made.end(_resting_or_refused(restored), restored.updated_when + offset)
    return made


def _resting_or_refused(restored: Restored) -> Ending:
    if restored.token is not None:
        return Ending(JobState.RESUMABLE)
    return Ending(JobState.FAILED, Failure("server", restored.reason, verdicts.INVALID_PARAMS))
