"""Makes an export from its options: shared by the window and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.exports.frames import chosen
from mcp_progress_monitor.exports.har import Har, check_http
from mcp_progress_monitor.exports.html.report import HtmlReport
from mcp_progress_monitor.exports.jsonl import JsonLines
from mcp_progress_monitor.exports.options import ExportFormat, ExportOptions, no_share
from mcp_progress_monitor.exports.ticks import TicksCsv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.options import ExportSource, FindingTexts, OnShare
    from mcp_progress_monitor.exports.redaction import Redaction


def export_chunks(
    source: ExportSource,
    request: ExportOptions,
    redaction: Redaction,
    marks: FindingTexts,
    on_share: OnShare = no_share,
) -> Iterator[bytes]:
    """The export in pieces that take a few milliseconds each; some may be empty.

    `on_share` receives the share that is done, from 0 to 1. Raises `FilterError` immediately for
    an invalid filter, and `UserError` if there is nothing to export.
    """
    if request.form is ExportFormat.HTML:
        report = HtmlReport(source, redaction, marks, on_share)
        if request.job is not None:
            return report.job(request.job)
        if request.wanted is None or request.wanted.shows_all:
            return report.session(request.title)
        return _filtered_report(source, report, chosen(source, request.wanted), request.title)
    requests = None if request.job is None else source.jobs.requests_of(request.job)
    slices = _reporting_share(source, chosen(source, request.wanted, requests), on_share)
    if request.form is ExportFormat.HAR:
        check_http(source.timeline)
        is_all = requests is None and (request.wanted is None or request.wanted.shows_all)
        return Har(source, redaction, on_share).pieces(None if is_all else slices)
    if request.form is ExportFormat.CSV:
        return TicksCsv(source, redaction).lines(slices)
    return JsonLines(source, redaction, marks).lines(slices)


def _reporting_share(
    source: ExportSource, slices: Iterator[Sequence[int]], on_share: OnShare
) -> Iterator[Sequence[int]]:
    first, end = source.timeline.first, source.timeline.end
    for places in slices:
        if places:
            on_share((places[-1] + 1 - first) / (end - first))
        yield places


def _filtered_report(
    source: ExportSource, report: HtmlReport, slices: Iterator[Sequence[int]], title: str
) -> Iterator[bytes]:
    exchanges: set[int] = set()
    for places in slices:
        exchanges.update(map(source.timeline.exchange, places))
        yield b""
    found = {source.jobs.job_of(exchange) for exchange in exchanges if exchange}
    yield from report.session(title, sorted(job for job in found if job is not None))
