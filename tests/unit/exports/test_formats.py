"""The wish for an export becomes its pieces."""

import pytest

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
from mcp_progress_monitor.filtering.filter import FilterError, TrafficFilter
from tests.unit.exports.sessions import Session


def _two_jobs() -> Session:
    session = Session()
    session.called("good")
    session.called("bad", "prog-2", 2)
    session.ticked(1)
    session.answered({})
    session.refused(-1, "no", 2)
    return session


def _made(request: ExportOptions) -> str:
    return b"".join(export_chunks(_two_jobs(), request, Redaction(), FindingTexts())).decode()


def test_a_filter_chooses_messages() -> None:
    assert _made(ExportOptions(JSONL, TrafficFilter("kind == error"))).count("\n") == 1
    assert _made(ExportOptions(JSONL)).count("\n") == 5


def test_a_filter_and_a_job_narrow_each_other_down() -> None:
    assert _made(ExportOptions(JSONL, TrafficFilter("kind == error"), 1)) == ""
    assert _made(ExportOptions(JSONL, TrafficFilter("kind == error"), 2)).count("\n") == 1
    assert _made(ExportOptions(CSV, None, 1)).count("\n") == 2
    assert _made(ExportOptions(CSV, None, 2)).count("\n") == 1


def test_the_jobs_of_the_messages_that_a_filter_shows_make_a_report() -> None:
    report = _made(ExportOptions(HTML, TrafficFilter("kind == error"), title="x"))

    assert "Job 2: bad" in report
    assert "Job 1: good" not in report
    assert "Job 1: good" in _made(ExportOptions(HTML, title="x"))


def test_a_report_of_one_job_has_no_other() -> None:
    report = _made(ExportOptions(HTML, job=2))

    assert "Job 2: bad" in report
    assert "Job 1" not in report


def test_a_mistake_in_the_filter_is_reported_at_once() -> None:
    with pytest.raises(FilterError):
        export_chunks(
            _two_jobs(), ExportOptions(CSV, TrafficFilter("kind ==")), Redaction(), FindingTexts()
        )


@pytest.mark.parametrize("form", [JSONL, CSV, HTML])
def test_how_much_is_done_is_heard(form: ExportFormat) -> None:
    shares: list[float] = []
    pieces = export_chunks(
        _two_jobs(), ExportOptions(form), Redaction(), FindingTexts(), shares.append
    )
    for _ in pieces:
        pass

    assert shares
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert shares[-1] <= 1
