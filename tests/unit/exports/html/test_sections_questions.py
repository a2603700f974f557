"""A report tells what was asked because of a job and what was answered, without secrets."""

from mcp_progress_monitor.exports.html.report import HtmlReport
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from tests.unit.exports.pages import Page
from tests.unit.exports.sessions import Session

FORM = {
    "message": "Which <i>account</i>?",
    "requestedSchema": {"type": "object", "properties": {"user": {"type": "string"}}},
}


def _reported(session: Session, job: int = 1) -> str:
    made = HtmlReport(session, Redaction(), FindingTexts())
    page = Page(b"".join(made.job(job)))
    assert page.faults == []
    return page.text


def _asked(session: Session) -> None:
    session.called("ask_form")
    session.at = 1.0
    session.heard({"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": FORM})


def _questions(reported: str) -> str:
    """The section, up to the request of the job."""
    return reported.partition("Questions")[2].partition("Request")[0]


def test_a_question_of_the_server_is_reported_with_its_answer() -> None:
    session = Session()
    _asked(session)
    session.at = 3.0
    session.replied({"action": "accept", "content": {"user": "ada"}}, 9)
    reported = _questions(_reported(session))
    for arguments in ("elicitation/create", "Which <i>account</i>?", '"user": "ada"', "2.0 s"):
        assert arguments in reported


def test_secrets_in_answers_are_taken_out() -> None:
    session = Session()
    _asked(session)
    content = {"user": "ada", "password": "hunter2000"}
    session.replied({"action": "accept", "content": content}, 9)
    reported = _reported(session)
    assert '"user": "ada"' in _questions(reported)
    assert "hunter2000" not in reported


def test_an_open_question_is_said_to_be_open_and_its_own_report_names_the_job() -> None:
    session = Session()
    _asked(session)
    assert "open" in _questions(_reported(session))
    assert "Job 1" in _reported(session, 2)


def test_a_round_of_input_is_reported_with_its_answer() -> None:
    session = Session()
    session.called("ask")
    requests = {"name": {"method": "elicitation/create", "params": FORM}}
    session.answered({"resultType": "input_required", "inputRequests": requests})
    session.at = 2.0
    answers = {"name": {"action": "decline"}}
    params = {"name": "ask", "arguments": {}, "inputResponses": answers}
    meta = {"_meta": {"progressToken": "prog-1"}}
    session.asked("tools/call", {**params, **meta}, 2)
    reported = _questions(_reported(session))
    assert "Which <i>account</i>?" in reported
    assert "decline" in reported


def test_a_job_without_questions_has_no_section_about_them() -> None:
    session = Session()
    session.called("export")
    session.answered({"content": []})
    assert "Questions" not in _reported(session)


def test_the_words_of_a_clock_that_ran_out_are_reported() -> None:
    session = Session()
    number = session.called("export")
    session.at = 30.0
    session.timed_out(number, "Nothing came for 30 s; 1 request was outstanding")
    assert "Nothing came for 30 s; 1 request was outstanding" in _reported(session)
