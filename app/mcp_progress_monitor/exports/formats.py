"""The export formats, and how each makes a file from the options of an export.

Loaded by `--help`: what a format needs is imported when it is exported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource, FindingTexts, OnShare
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.filtering.filter import TrafficFilter
    from mcp_progress_monitor.tracker.snapshot import JobId


class ExportFormat(NamedTuple):
    """A format: all that the command line, the window and the manual know of it.

    `key` is its name on the command line and the files' suffix, `title` names it in the window,
    `what` in help, with what it `contains`. A filter `chooses_jobs` if the format has no messages.
    """

    key: str
    title: str
    what: str
    contains: str
    pieces: Callable[[Export], Iterator[bytes]]
    """The file, as `export_chunks` returns it."""
    chooses_jobs: bool = False


class ExportOptions(NamedTuple):
    """The choices of one export.

    `wanted` selects frames; in a report, their jobs; in HAR, their exchanges. `job` limits it to
    one job. `title` is that of a report of several jobs.
    """

    form: ExportFormat
    wanted: TrafficFilter | None = None
    job: JobId | None = None
    title: str = ""

    @property
    def is_filtered(self) -> bool:
        return self.wanted is not None and not self.wanted.shows_all


class Export(NamedTuple):
    """A session, with what of it to export and how."""

    source: ExportSource
    options: ExportOptions
    redaction: Redaction
    marks: FindingTexts
    on_share: OnShare

    def slices(self) -> Iterator[Sequence[int]]:
        """The places of the frames, as `chosen` returns them; reports the share that is done."""
        from mcp_progress_monitor.exports.frames import chosen

        job = self.options.job
        requests = None if job is None else self.source.jobs.requests_of(job)
        return self._reporting(chosen(self.source, self.options.wanted, requests))

    def _reporting(self, slices: Iterator[Sequence[int]]) -> Iterator[Sequence[int]]:
        first, end = self.source.timeline.first, self.source.timeline.end
        for places in slices:
            if places:
                self.on_share((places[-1] + 1 - first) / (end - first))
            yield places


def export_chunks(
    source: ExportSource,
    options: ExportOptions,
    redaction: Redaction,
    marks: FindingTexts,
    on_share: OnShare | None = None,
) -> Iterator[bytes]:
    """The export in pieces that take a few milliseconds each; some may be empty.

    `on_share` receives the share that is done, from 0 to 1. Raises `FilterError` immediately for
    an invalid filter, and `UserError` if there is nothing to export.
    """
    from mcp_progress_monitor.exports.options import no_share

    return options.form.pieces(Export(source, options, redaction, marks, on_share or no_share))


def _json_lines(export: Export) -> Iterator[bytes]:
    from mcp_progress_monitor.exports.jsonl import JsonLines

    return JsonLines(export.source, export.redaction, export.marks).lines(export.slices())


def _ticks(export: Export) -> Iterator[bytes]:
    from mcp_progress_monitor.exports.ticks import TicksCsv

    return TicksCsv(export.source, export.redaction).lines(export.slices())


def _har(export: Export) -> Iterator[bytes]:
    from mcp_progress_monitor.exports.har import Har, check_http

    slices = export.slices()
    check_http(export.source.timeline)
    is_all = export.options.job is None and not export.options.is_filtered
    return Har(export.source, export.redaction, export.on_share).pieces(None if is_all else slices)


def _report(export: Export) -> Iterator[bytes]:
    from mcp_progress_monitor.exports.frames import chosen
    from mcp_progress_monitor.exports.html.report import HtmlReport

    source, options = export.source, export.options
    report = HtmlReport(source, export.redaction, export.marks, export.on_share)
    if options.job is not None:
        return report.job(options.job)
    if not options.is_filtered:
        return report.session(options.title)
    return report.filtered(options.title, chosen(source, options.wanted))


JSONL: Final = ExportFormat(
    "jsonl", "Messages as JSON Lines", "JSON Lines", "all messages", _json_lines
)
CSV: Final = ExportFormat("csv", "Ticks as CSV", "CSV", "progress ticks", _ticks)
HTML: Final = ExportFormat("html", "Report", "an HTML report", "", _report, chooses_jobs=True)
HAR: Final = ExportFormat("har", "HTTP exchanges as HAR", "HAR", "HTTP exchanges", _har)

FORMATS: Final = (JSONL, CSV, HTML, HAR)


class FolderFormat(NamedTuple):
    """A format of the command line that adds to the files of a folder; as `ExportFormat`."""

    key: str
    what: str
    contains: str


PARQUET: Final = FolderFormat(
    "parquet", "Parquet", "tables of many recordings in the folder --out, for DuckDB or Polars"
)
