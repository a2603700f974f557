"""Options and sources of exports; loaded without the exporters."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from mcp_progress_monitor.findings.finding import Finding, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.snapshots.servers import ServerSnapshot
    from mcp_progress_monitor.tracker.snapshot import JobId
    from mcp_progress_monitor.tracker.tracker import Jobs


class ExportFormat(enum.Enum):
    """The format of an export; values are command-line names and file suffixes."""

    JSONL = "jsonl"  # frames
    CSV = "csv"  # ticks
    HTML = "html"  # a report
    HAR = "har"  # exchanges over HTTP


class ExportOptions(NamedTuple):
    """What to export.

    `wanted` selects frames; in a report, their jobs; in HAR, their exchanges. `job` limits it to
    one job. `title` is that of a report of several jobs.
    """

    form: ExportFormat
    wanted: TrafficFilter | None = None
    job: JobId | None = None
    title: str = ""


class ExportSource(Protocol):
    """The reading side of `Engine` and of `playback.playback.Playback`."""

    @property
    def timeline(self) -> Timeline:
        """All frames by place."""

    @property
    def jobs(self) -> Jobs:
        """All jobs; `is_ended` if they are of a recording that was read to its end."""

    @property
    def servers(self) -> ExportedServers:
        """All servers."""

    def now(self) -> float:
        """Monotonic seconds on the clock of the frames."""


class ExportedServers(Protocol):
    """The servers of an engine or of a recording."""

    def snapshots(self) -> Sequence[ServerSnapshot]:
        """All servers, in order."""


class ReportDepth(NamedTuple):
    """How much of a job is shown: rows and messages at either end, characters of a value."""

    ticks: int
    between: int
    messages: int
    characters: int

    def thinned(self, count: int) -> list[int]:
        """The indices of the rows to show of `count`: the first, the last, and a sample between."""
        ends, between = self.ticks, self.between
        if count <= 2 * ends + between:
            return list(range(count))
        step = (count - 2 * ends) / (between + 1)
        middle = (ends + int(step * n) for n in range(1, between + 1))
        return [*range(ends), *middle, *range(count - ends, count)]


WHOLE: Final = ReportDepth(ticks=20, between=60, messages=15, characters=20_000)
BRIEF: Final = ReportDepth(ticks=5, between=10, messages=3, characters=4_000)


OnShare: TypeAlias = "Callable[[float], object]"
"""Receives the share of an export that is done, from 0 to 1."""


def no_share(_share: float) -> None:
    """Ignore the progress of an export."""


_KEPT: Final = 20_000
UNKNOWN: Final = "violation; details are no longer in memory"


class FindingTexts:
    """Keeps the findings on the first messages with violations."""

    def __init__(self) -> None:
        self._findings: dict[int, tuple[Finding, ...]] = {}

    def add(self, marked: Mapping[int, tuple[Finding, ...]]) -> None:
        """Keep findings by the numbers of their frames (`ChangeSet.marked`)."""
        if len(self._findings) < _KEPT:
            self._findings.update(marked)

    def of(self, number: int) -> str:
        found = self._findings.get(number)
        return UNKNOWN if found is None else joined(found)
