"""What each export of a long recording costs, in turn: processor time for a frame and a tick."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from mcp_progress_monitor.exports.formats import (
    CSV,
    HTML,
    JSONL,
    ExportFormat,
    ExportOptions,
    export_chunks,
)
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from mcp_progress_monitor.playback.playback import Playback
from tests.benchmarks.figures import Figure, Size
from tests.benchmarks.recordings import write_recording


class _Export(NamedTuple):
    """Seconds of a processor: all, and for the longest piece."""

    used_s: float
    longest_s: float


_FORMS = (HTML, CSV, JSONL)


def exports(size: Size) -> list[Figure]:
    """A million frames, almost all of them ticks, as a report, as CSV and as JSON Lines."""
    count, times = size.pick((1_000_000, 3), (100_000, 3), (500, 1))
    with tempfile.TemporaryDirectory(prefix="bench-exports-") as folder:
        path = Path(folder) / "long.mcprec"
        write_recording(path, count)
        playback = Playback(path)
        while playback.advance(1.0):
            pass
        rounds = [{form: _export(playback, form) for form in _FORMS} for _ in range(times)]
    html, csv, jsonl = (
        statistics.median(each[form].used_s for each in rounds) * 1e6 / count for form in _FORMS
    )
    ratio = statistics.median(each[CSV].used_s / each[HTML].used_s for each in rounds)
    longest = statistics.median(max(each[form].longest_s for form in _FORMS) for each in rounds)
    return [
        Figure("report", html, "us a frame"),
        Figure("csv", csv, "us a tick"),
        Figure("csv_to_report", ratio, "x", "<= 1.5"),
        Figure("jsonl", jsonl, "us a frame"),
        Figure("longest_piece", longest * 1000, "ms"),
    ]


def _export(playback: Playback, form: ExportFormat) -> _Export:
    request, longest = ExportOptions(form, title="bench"), 0.0
    began = until = time.process_time()
    for _ in export_chunks(playback, request, Redaction(), FindingTexts()):
        longest = max(longest, (now := time.process_time()) - until)
        until = now
    return _Export(until - began, longest)
