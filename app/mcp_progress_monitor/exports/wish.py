"""What can be exported, and as what; apart from the making, which takes longer to load."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_progress_monitor.filtering.chosen import LogFilter
    from mcp_progress_monitor.tracker.snapshot import JobId


class Form(enum.Enum):
    """What an export is written as; the values are names for the command line, and suffixes."""

    JSONL = "jsonl"
    """Frames."""
    CSV = "csv"
    """Ticks."""
    HTML = "html"
    """A report."""
    HAR = "har"
    """Exchanges over HTTP."""


class Wish(NamedTuple):
    """What is to be exported.

    `wanted` chooses frames; of a report, the jobs that have any of them, of HAR, the exchanges.
    `job` narrows that down to one. `title` is what a report of many is called.
    """

    form: Form
    wanted: LogFilter | None = None
    job: JobId | None = None
    title: str = ""
