"""Reads from recordings which servers, jobs and findings they hold, in slices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.playback.playback import Playback

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.engine.updates import Update

MOST_BYTES: Final = 20_000_000
_LIMIT_S: Final = 2.0
"""Larger recordings are not read, and others no longer: opening them shows the same."""
_SLICE_S: Final = 0.004


class RecordingSummary(NamedTuple):
    """The names of the servers, and how many jobs and findings there are."""

    servers: tuple[str, ...]
    jobs: int
    findings: int


class SummaryReader:
    """Reads a recording in slices; call `advance` until it returns False.

    Raises:
        UserError: it is not a recording, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._playback = Playback(path)
        self._checker = SessionChecker(self._playback.jobs.job_of)
        self._playback.subscribe(self._take)
        self._until = time.monotonic() + _LIMIT_S
        self._is_whole = False

    def advance(self) -> bool:
        """Read a slice; False at the end, or when it takes too long."""
        if time.monotonic() > self._until:
            return False
        has_more = self._playback.advance(_SLICE_S)
        self._is_whole = not has_more
        return has_more

    def summary(self) -> RecordingSummary | None:
        """Return what the recording holds; None if it was not read to its end."""
        if not self._is_whole:
            return None
        judge, playback = self._checker.judge, self._playback
        judge.finish()
        servers, jobs = playback.servers.names(), playback.jobs.ids()
        return RecordingSummary(tuple(servers), len(jobs), sum(1 for _ in judge.results))

    def _take(self, update: Update) -> None:
        self._checker.take(update.frames, update.facts, update.changes.marked)
