"""The making of an export from a wish: what window and command line share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.exports.har import Har, check_http
from mcp_progress_monitor.exports.html_report import HtmlReport
from mcp_progress_monitor.exports.jsonl import JsonLines
from mcp_progress_monitor.exports.places import chosen
from mcp_progress_monitor.exports.ticks_csv import TicksCsv
from mcp_progress_monitor.exports.wish import Form, Wish

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_progress_monitor.exports.mark_words import MarkWords
    from mcp_progress_monitor.exports.redaction import Redaction
    from mcp_progress_monitor.exports.source import Source


def pieces(source: Source, wish: Wish, redaction: Redaction, marks: MarkWords) -> Iterator[bytes]:
    """The export in pieces that take some milliseconds each, empty ones among them.

    `FilterError` at once when the filter's text has a mistake, `ProblemError` when there is
    nothing of that form.
    """
    if wish.form is Form.HTML:
        report = HtmlReport(source, redaction, marks)
        if wish.job is not None:
            return report.job(wish.job)
        if wish.wanted is None or wish.wanted.shows_all:
            return report.session(wish.title)
        return _of_jobs(source, report, chosen(source, wish.wanted), wish.title)
    requests = None if wish.job is None else source.requests_of(wish.job)
    slices = chosen(source, wish.wanted, requests)
    if wish.form is Form.HAR:
        check_http(source.timeline)
        is_all = requests is None and (wish.wanted is None or wish.wanted.shows_all)
        return Har(source, redaction).pieces(None if is_all else slices)
    if wish.form is Form.CSV:
        return TicksCsv(source, redaction).lines(slices)
    return JsonLines(source, redaction, marks).lines(slices)


def _of_jobs(
    source: Source, report: HtmlReport, slices: Iterator[Sequence[int]], title: str
) -> Iterator[bytes]:
    """The report of the jobs that frames belong to."""
    exchanges: set[int] = set()
    for places in slices:
        exchanges.update(map(source.timeline.exchange, places))
        yield b""
    found = {source.job_of(exchange) for exchange in exchanges if exchange}
    yield from report.session(title, sorted(job for job in found if job is not None))
