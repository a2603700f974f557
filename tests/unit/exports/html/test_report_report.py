"""A report is one safe page that tells somebody who was not there what happened."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.exports.html.report import HtmlReport
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import NOTE, Redaction
from tests.unit.exports.pages import Page
from tests.unit.exports.sessions import Session

HOSTILE = (
    '</pre><script>alert(1)</script><img src="http://x/y" onerror=alert(1)>" \u202e\x1b[31m&amp;'
)


def _report(session: Session, job: int | None = None, *, with_secrets: bool = False) -> Page:
    marks = FindingTexts()
    for update in session.updates:
        marks.add(update.changes.marked)
    made = HtmlReport(session, Redaction(with_secrets=with_secrets), marks)
    parts = made.session("week.mcprec") if job is None else made.job(job)
    page = Page(b"".join(parts))
    assert page.faults == []
    return page


def _failed() -> Session:
    """An export that is refused by the server after two of four rows."""
    session = Session()
    session.opened()
    session.called("export_orders", region="eu", rows=4)
    session.at = 1.0
    session.ticked(1, total=4, message="Row 1 of 4")
    session.at = 2.0
    session.ticked(2, total=4, message="Row 2 of 4")
    session.at = 5.0
    session.printed("ERROR disk /dev/sda1 is full")
    session.refused(-32603, "No space left", data={"device": "sda1"})
    session.at = 5.5
    session.closed("The server exited", 3)
    return session


def test_the_report_of_a_failed_job_explains_the_failure() -> None:
    reported = _report(_failed(), 1).text

    for arguments in (
        "called export_orders",
        'with region="eu" rows=4',
        "Progress reached 2 of 4 (50.0 %) in 2 ticks",
        "The last tick came 2.0 s after the start: Row 2 of 4",
        "Then there was no progress for 3.0 s",
        "After 5.0 s it ended as Failed",
        "with error -32603 (internal error)",
        "No space left",
        '"device": "sda1"',
        "500 ms later the connection closed: The server exited. The server's process ended with",
        "exit code 3",
        "ERROR disk /dev/sda1 is full",
        "The server returned an error, which ended the request",
    ):
        assert arguments in reported


def test_a_tool_that_reports_its_own_error_is_quoted() -> None:
    session = Session()
    session.called("export")
    session.answered({"content": [{"type": "text", "text": "Bad region"}], "isError": True})
    reports = _report(session, 1).text

    assert "The tool returned an error: Bad region" in reports
    assert "The server reported no progress" in reports


def test_a_job_lost_with_its_server_tells_exit_code_and_last_lines() -> None:
    session = Session()
    session.called("export")
    session.at = 1.0
    session.printed("Segmentation fault")
    session.closed("The server exited", -11)
    reported = _report(session, 1).text

    assert "ended as Lost" in reported
    assert "exit code -11" in reported
    assert "Segmentation fault" in reported
    assert "No reply." in reported


@pytest.mark.parametrize("later", [0.05, 60.0])
def test_a_wanted_close_after_the_end_is_no_part_of_the_story(later: float) -> None:
    session = Session()
    session.called("export")
    session.refused(1, "no")
    session.at += later
    session.closed("You disconnected the server", 0, wanted=True)

    assert "You disconnected" not in _report(session, 1).text


def test_a_stalled_job_tells_how_long_it_has_been_silent() -> None:
    session = Session()
    session.called("crawl")
    for n in range(8):
        session.at = float(n)
        session.ticked(n + 1)
    session.at = 200.0
    reported = _report(session, 1).text

    assert "Stalled" in reported
    assert "no progress for 3 min 13 s" in reported
    assert "8 of an unknown total" in reported
    assert "may be busy or hung" in reported


def test_a_job_that_a_recording_ends_within_is_not_reported_to_go_on() -> None:
    session = Session()
    session.called("export_orders")
    session.ticked(3, total=10)
    session.at = 4.0
    session.jobs.has_ended = True
    page = _report(session, 1)
    assert "Running; the recording ends here" in page.text
    assert "After 4.0 s, when the recording ends, it is Running" in page.text
    assert "Its outcome is not in the recording." in page.text
    assert "The request is pending" not in page.text
    assert "Running; the recording ends here" in _report(session).text


def test_a_job_that_timed_out_tells_its_limit() -> None:
    session = Session()
    request = session.called("export")
    session.at = 30.0
    session.timed_out(request, "The limit of 30 s without progress was reached.\nLast tick: none.")
    reported = _report(session, 1).text

    assert "The client stopped waiting" in reported
    assert "The limit of 30 s without progress was reached." in reported


def test_a_done_job_shows_its_bar_course_phases_ticks_and_result() -> None:
    session = Session()
    session.called("build")
    for n in range(1, 11):
        session.at = n * 1.0
        session.ticked(n, total=10, message="Compiling" if n < 6 else "Linking")
    session.answered({"content": [{"type": "text", "text": "Built."}]})
    page = _report(session, 1)

    assert "10 / 10 (100 %)" in page.text
    assert "Compiling 1.0 s 5.0 s 5" in page.text
    assert "10 of 10 ticks." in page.text
    assert "Built." in page.text
    assert ("i", {"style": "width:100.0%"}) in page.elements
    assert [tag for tag, _ in page.elements].count("svg") == 1


def test_of_many_ticks_the_first_and_last_are_shown_and_the_rest_counted() -> None:
    session = Session()
    session.called("export")
    for n in range(1, 1_001):
        session.ticked(n, total=1_000, message=f"row {n}.")
    reported = _report(session, 1).text

    assert "100 of 1,000 ticks: the first, the last, and a sample between" in reported
    assert "row 1." in reported
    assert "row 1000." in reported
    assert "row 30." not in reported


def test_of_many_messages_the_first_and_last_are_shown_and_the_rest_counted() -> None:
    session = Session()
    session.called("export")
    session.answered({})
    for n in range(98):
        session.answered({"again": n})
    reported = _report(session, 1).text

    assert "70 more messages" in reported
    assert '"again": 97' in reported


def test_what_was_irregular_is_reported_with_its_message() -> None:
    session = Session()
    session.called("export")
    session.ticked(5, total=9)
    session.ticked(4, total=9)
    page = _report(session, 1)

    assert "Findings:" in page.text
    assert page.text.count("Progress did not increase: 4 after 5") >= 2


def test_a_huge_message_is_cut_and_it_is_reported_how_long_it_is() -> None:
    session = Session()
    session.called("export", text="x" * 200_000)
    reported = _report(session, 1).text

    assert len(reported) < 60_000
    assert "more characters" in reported
    assert "start of 200." in reported


def test_images_in_a_result_are_left_out() -> None:
    session = Session()
    session.called("draw")
    session.answered(
        {"content": [{"type": "image", "data": "QUJD" * 100, "mimeType": "image/png"}]}
    )

    assert "(400 B of base64 omitted)" in _report(session, 1).text


@pytest.mark.parametrize("job", [1, None])
def test_a_report_loads_nothing_and_runs_nothing(job: int | None) -> None:
    session = _failed()
    session.called(HOSTILE, HOSTILE, 2, **{HOSTILE: HOSTILE})
    session.ticked(1, HOSTILE, message=HOSTILE)
    session.printed(HOSTILE)
    session.refused(1, HOSTILE, 2, data=HOSTILE)
    page = _report(session, job)
    policy = {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'",
    }

    assert ("meta", policy) in page.elements
    for _, attributes in page.elements:
        assert not {"src", "onerror", "onclick", "action", "srcset"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "\u202e" not in page.text


def test_hostile_texts_are_shown_as_what_they_are() -> None:
    session = Session()
    session.called("export")
    session.refused(1, HOSTILE)
    reported = _report(session, 1).text

    assert "</pre><script>alert(1)</script>" in reported
    assert "\\u202e\\x1b[31m&amp;" in reported


_TEXTS = st.text(max_size=30)


@given(_TEXTS, _TEXTS, st.dictionaries(_TEXTS, _TEXTS | st.integers(), max_size=3), st.binary())
def test_a_report_of_anything_is_well_formed(
    name: str, message: str, arguments: dict[str, Any], garbage: bytes
) -> None:
    session = Session()
    session.asked(
        "tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": name}}
    )
    session.ticked(1, name, message=message)
    session.printed(garbage.replace(b"\n", b""))
    session.refused(5, message, data=arguments)

    _report(session, 1)
    _report(session)


def test_secrets_are_taken_out_and_it_is_reported() -> None:
    session = Session()
    session.opened(args=["--api-key", "hunter2-args"], env=["A=hunter2-env"])
    session.called("login", password="hunter2", options={"apiKey": "hunter2", "n": 1})
    session.ticked(1, message="token=hunter2-tick")
    session.printed("Authorization: Bearer hunter2-stderr")
    session.refused(1, "password: hunter2-error", data={"secret": "hunter2-data"})
    for job in (1, None):
        reported = _report(session, job).text
        assert "hunter2" not in reported
        assert NOTE in reported

    exact = _report(session, 1, with_secrets=True).text
    assert "this file may contain secrets" in exact
    assert json.dumps("hunter2-data") in exact


def test_a_session_begins_with_all_its_jobs_servers_and_connections() -> None:
    session = _failed()
    session.called("second", "prog-2", 2)
    page = _report(session)

    assert "2 jobs and" in page.text
    assert "1: export_orders" in page.text
    assert ("a", {"href": "#job-2"}) in page.elements
    assert any(attributes.get("id") == "job-2" for _, attributes in page.elements)
    assert "local-db#1 opened" in page.text
    assert page.text.count("What happened") == 2


def test_a_session_without_jobs_says_so() -> None:
    assert "No jobs." in _report(Session()).text


def test_a_missing_job_is_reported() -> None:
    assert "No such job." in _report(Session(), 9).text


def test_of_very_many_jobs_those_that_went_wrong_are_reported_and_the_rest_counted() -> None:
    session = Session()
    for n in range(1, 231):
        session.called("good", f"prog-{n}", n)
        session.answered({}, n)
    session.called("bad", "prog-0", 231)
    session.refused(1, "no", 231)
    page = _report(session)
    links = {attributes.get("href") for tag, attributes in page.elements if tag == "a"}
    anchors = {f"#{attributes['id']}" for _, attributes in page.elements if "id" in attributes}

    assert "231 jobs" in page.text
    assert "31 more jobs only in the overview." in page.text
    assert "#job-231" in anchors
    assert links == anchors
