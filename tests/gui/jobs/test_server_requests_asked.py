"""What was asked because of a job, as rows."""

from mcp_progress_monitor.gui.jobs.server_requests import server_request_rows
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState, ServerRequestSnapshot
from tests.job_stand_ins import FakeJobs, answer, detail, job


def arguments(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [row[1:] for row in rows]


def test_requests_of_the_server_are_reported_with_their_answers() -> None:
    jobs = FakeJobs()
    child = job(
        id=8,
        request=30,
        sender=Side.SERVER,
        method="elicitation/create",
        state=JobState.DONE,
        elapsed_s=4.2,
    )
    given = answer({"action": "accept", "content": {"name": "Ada"}})
    jobs.put(child)
    jobs.details[8] = detail(child, answer=given)._replace(params={"message": "Who?"})
    parent = detail(job(id=7), children=(8, 99))
    rows = server_request_rows(parent, jobs.detail)
    assert [row.number for row in rows] == [30]
    assert arguments([row.texts for row in rows]) == [("Who?", 'accepted: name="Ada"', "4.2 s")]
    assert server_request_rows(jobs.details[8], jobs.detail) == rows


def test_an_open_question_and_one_that_was_never_answered_say_so() -> None:
    jobs = FakeJobs()
    still, gone = (
        job(id=8, sender=Side.SERVER, method="roots/list", started_at=100.0),
        job(id=9, sender=Side.SERVER, method="roots/list", started_at=101.0, state=JobState.LOST),
    )
    jobs.put(still, gone)
    rows = server_request_rows(detail(job(id=7), children=(9, 8)), jobs.detail)
    assert [row.texts[2] for row in rows] == ["open", "Lost"]


def test_questions_in_replies_are_reported_with_the_answers_of_the_next_round() -> None:
    params = {"message": "Who?"}
    first = ServerRequestSnapshot(
        12, "k", "elicitation/create", params, 110.0, 0.0, {"action": "decline"}, 113.0
    )
    second = ServerRequestSnapshot(14, "k", "elicitation/create", params, 120.0, 0.0)
    going = detail(job(id=7, elapsed_s=52.0), server_requests=(first, second))
    rows = server_request_rows(going, FakeJobs().detail)
    assert arguments([row.texts for row in rows]) == [
        ("Who?", "declined", "3.0 s"),
        ("Who?", "open", "32 s"),
    ]
    over = detail(job(id=7, state=JobState.LOST), server_requests=(second,))
    assert server_request_rows(over, FakeJobs().detail)[0].texts[2] == "not answered"
