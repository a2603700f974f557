"""A report tells the course of a job's task, in the order and the words of its server."""

from typing import Any

from mcp_progress_monitor.exports.html.report import HtmlReport
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.exports.redaction import Redaction
from tests.unit.exports.pages import Page
from tests.unit.exports.sessions import Session

CREATED = "2026-11-20T12:00:00Z"


def _task(status: str, **changes: Any) -> dict[str, Any]:
    times = {"createdAt": CREATED, "lastUpdatedAt": CREATED, "ttl": 60_000, "pollInterval": 500}
    return {"taskId": "t-786", "status": status, **times, **changes}


def _reported(session: Session) -> str:
    made = HtmlReport(session, Redaction(), FindingTexts())
    page = Page(b"".join(made.job(1)))
    assert page.faults == []
    return page.text


def _session() -> Session:
    session = Session()
    session.asked("tools/call", {"name": "export", "arguments": {}, "task": {}}, 1)
    session.at = 0.25
    session.answered({"task": _task("working", statusMessage="Counting <b>files</b>")}, 1)
    session.at = 1.0
    session.asked("tasks/get", {"taskId": "t-786"}, 2)
    session.answered(_task("working", statusMessage="Half done"), 2)
    return session


def test_the_course_of_a_task_is_reported_with_how_it_was_learnt() -> None:
    session = _session()
    session.at = 2.0
    status = {"method": "notifications/tasks/status", "params": _task("completed")}
    session.heard({"jsonrpc": "2.0", **status})
    reported = _reported(session)
    for arguments in ("t-786", "Polled", "1 time", "Kept until", "1 min 0 s after the start"):
        assert arguments in reported
    first = reported.index("Counting <b>files</b>")
    second = reported.index("Half done")
    assert first < reported.index("the reply that created it") < second
    assert second < reported.index("tasks/get", second) < reported.index("a notification")


def test_a_job_that_is_no_task_has_no_section_about_one() -> None:
    session = Session()
    session.called("export")
    session.answered({"content": []})
    assert "Learnt from" not in _reported(session)


def test_secrets_in_a_status_message_are_taken_out() -> None:
    session = _session()
    session.heard(
        {
            "jsonrpc": "2.0",
            "method": "notifications/tasks/status",
            "params": _task("working", statusMessage="password=hunter2000 is refused"),
        }
    )
    reported = _reported(session)
    assert "is refused" in reported
    assert "hunter2000" not in reported
