"""A report tells how a job's HTTP stream broke and was resumed."""

from mcp_progress_monitor.exports.html.report import HtmlReport
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from tests.unit.exports.pages import Page
from tests.unit.exports.sessions import HttpSession


def _reported(session: HttpSession) -> str:
    page = Page(b"".join(HtmlReport(session, Redaction(), FindingTexts()).job(1)))
    assert page.faults == []
    return page.text


def test_breaks_are_reported_with_their_reasons_and_what_became_of_them() -> None:
    session = HttpSession()
    made = session.called("export")
    session.at = 2.0
    session.happened(
        "stream_broken",
        request=made,
        reason="reset <b>by</b> peer",
        last_event_id="41",
        attempt=1,
        retry_s=2,
    )
    session.at = 5.0
    session.happened("stream_resumed", request=made, last_event_id="41", attempt=1)
    session.answered({})
    reported = _reported(session)
    assert "HTTP: the stream broke 1 time and was resumed 1 time" in reported
    assert "broken: reset <b>by</b> peer; reconnecting in 2 s from event 41, attempt 1" in reported
    assert "resumed after 3.0 s" in reported


def test_a_stream_that_stayed_broken_is_reported_as_such() -> None:
    session = HttpSession()
    made = session.called("export")
    session.happened("stream_broken", request=made)
    session.happened("call_ended", request=made, outcome="lost", text="It broke for good")
    reported = _reported(session)
    assert "HTTP: the stream broke 1 time and was not resumed." in reported


def test_a_job_whose_stream_never_broke_has_no_section_about_it() -> None:
    session = HttpSession()
    session.called("export")
    session.answered({})
    assert "HTTP stream" not in _reported(session)


def test_ticks_that_came_after_the_end_are_reported_as_such() -> None:
    session = HttpSession()
    session.streamed(session.posted(session.called("export")), b"data: 1\n\n")
    session.answered({})
    later = session.posted(session.called("other", "p", 2))
    session.at = 3.0
    session.streamed(
        later,
        b'data: {"jsonrpc":"2.0","method":"notifications/progress","params":'
        b'{"progressToken":"prog-1","progress":7}}\n\n',
    )
    reported = _reported(session)
    assert "More ticks came after the end." in reported
    assert "in another HTTP response" in reported
