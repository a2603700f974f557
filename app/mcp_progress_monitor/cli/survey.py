"""Figures of recordings as a whole: jobs, stalls, errors, findings and tools, without an engine."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.open import opened
from mcp_progress_monitor.cli.output.stdout import show_warnings
from mcp_progress_monitor.cli.recordings import recordings_in
from mcp_progress_monitor.exports.final_jobs import FinalJob, FinalJobs
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.protocol.jsonrpc import canonical
from mcp_progress_monitor.protocol.messages import META
from mcp_progress_monitor.tracker.lanes import SpanKind, lane_of
from mcp_progress_monitor.tracker.snapshot import JobState
from mcp_progress_monitor.wording import comparison
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.playback.playback import Playback
    from mcp_progress_monitor.protocol.offers import Tool
    from mcp_progress_monitor.tracker.snapshot import JobDetail, JobSnapshot

_SLICE_S: Final = 0.05
_JOBS_KEPT: Final = 200_000
_CALLS_KEPT: Final = 10_000
_LONGEST_REPLY: Final = 20_000  # characters of a reply that are kept to be compared
_FAILED: Final = frozenset({JobState.FAILED, JobState.TIMED_OUT, JobState.LOST})


class Call(NamedTuple):
    """The newest call of a tool with the same arguments: its state, and its reply as text."""

    name: str
    state: str
    reply: str
    digest: str


class _Noted(NamedTuple):
    """The details of a job that are kept: its stalls in seconds, its call by its arguments."""

    stalls: tuple[float, ...]
    call: tuple[str, Call] | None


class Survey:
    """Adds up recordings, one after the other; jobs and calls beyond a bound are only counted."""

    def __init__(self) -> None:
        self.recordings = 0
        self.messages = 0
        self.ticks = 0
        self.jobs: list[JobSnapshot] = []
        self.left_out = 0
        """Jobs that are in no other figure."""
        self.resumed = self.resumed_after_loss = 0
        self.stalls: dict[str, list[float]] = {}
        """Seconds of each stall, by server."""
        self.errors: Counter[tuple[str, str, str]] = Counter()
        """Server, call and message of failed jobs."""
        self.findings: Counter[tuple[str, str, str]] = Counter()
        """Messages by level, rule and server."""
        self.tools: dict[tuple[str, str], Tool] = {}
        """The newest definitions by server and name."""
        self.calls: dict[tuple[str, str], Call] = {}
        """The newest calls by server and a digest of tool and arguments."""

    def add(self, playback: Playback) -> None:
        """Read a recording to its end."""
        check = SessionChecker(playback.jobs.job_of)
        final = FinalJobs(playback.jobs, _noted)

        def take(update: Update) -> None:
            check.take(update.frames, update.facts, update.changes.marked)
            for job in final.take(update.changes):
                self._add_job(job)

        playback.subscribe(take)
        while playback.advance(_SLICE_S):
            playback.timeline.columns.keep_newest(1)
        check.judge.finish()
        for job in final.rest():
            self._add_job(job)
        self.recordings += 1
        self.messages += playback.timeline.end
        for result in check.judge.results:
            self.findings[result.level.value, result.rule, result.server] += result.count
        for server in playback.servers.snapshots():
            self.tools.update({(server.name, tool.name): tool for tool in server.tools})

    def _add_job(self, final: FinalJob[_Noted]) -> None:
        job, noted = final.snapshot, final.note
        self.ticks += job.tick_count
        if job.sender is not Side.CLIENT:
            return
        if len(self.jobs) >= _JOBS_KEPT:
            self.left_out += 1
            return
        self.jobs.append(job)
        self.resumed += job.attempt_count > 1
        self.resumed_after_loss += final.was_resumed_after_loss
        if job.state in _FAILED:
            text = "" if job.failure is None else job.failure.lasting
            self.errors[job.server, job_texts.name(job), text or job.state.value] += 1
        if noted is None:
            return
        if noted.stalls:
            self.stalls.setdefault(job.server, []).extend(noted.stalls)
        if noted.call is not None and len(self.calls) < _CALLS_KEPT:
            self.calls[job.server, noted.call[0]] = noted.call[1]


def _noted(detail: JobDetail) -> _Noted:
    job = detail.snapshot
    spans = lane_of(detail, job.started_at + job.elapsed_s).spans
    stalls = tuple(s.ended_at - s.began_at for s in spans if s.kind is SpanKind.STALL)
    if not job.name or not job.state.is_over:
        return _Noted(stalls, None)
    arguments = {name: value for name, value in detail.params.items() if name != META}
    reply = comparison.reply_text(detail)
    state, digest = job.state.value, hashlib.sha256(reply.encode(errors="replace")).hexdigest()
    call = Call(job_texts.name(job), state, reply[:_LONGEST_REPLY], digest)
    key = hashlib.sha256(job.method.encode(errors="replace") + canonical(arguments)).hexdigest()
    return _Noted(stalls, (key, call))


def surveyed(places: Sequence[Path]) -> tuple[Survey, ExitCode]:
    """Read files and folders of recordings; code 8 if one cannot be read.

    `CommandFailed` with code 8 if none can.
    """
    survey, code = Survey(), ExitCode.DONE
    for file in recordings_in(places):
        try:
            with opened(file) as playback:
                survey.add(playback)
                show_warnings(*playback.errors[:3])
        except CommandFailed as failure:
            show_warnings(failure.details)
            code = failure.code
    if not survey.recordings:
        return survey, ExitCode.UNWRITABLE
    return survey, code
