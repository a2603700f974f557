"""Events of jobs that are gone on with."""

from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.snapshots.questions import Question
from mcp_progress_monitor.tracker.snapshot import ChangeSet, Failure, JobState
from tests.job_stand_ins import FakeJobs, job
from tests.unit.cli.outcomes import outcome
from tests.unit.cli.witness import Witness


@pytest.fixture
def witness() -> Witness:
    return Witness()


class Resumed(FakeJobs):
    """Jobs as a test puts them, whatever the wire says; every request is one of job 3."""

    path: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        self.jobs = self.questions = self

    def open(self) -> list[Question]:
        """Nothing is asked."""
        return []

    def find(self, question: int) -> Question | None:
        """Nothing was asked."""
        return None

    def job_of(self, request: int) -> int:
        """The only job."""
        return 3


@pytest.fixture
def resumed(witness: Witness) -> Resumed:
    """Jobs for the witness, which are looked up instead of the traffic's own."""
    jobs = Resumed()
    witness.watch(jobs)
    return jobs


def test_a_request_tells_its_attempt(witness: Witness, resumed: Resumed) -> None:
    resumed.put(job(id=3, attempt_count=4))
    witness.events.on_update(witness.traffic.called("a"))
    assert (witness.last()["job"], witness.last()["attempt"]) == (3, 4)


def test_a_saved_token_is_an_event_after_the_result_that_brought_it(
    witness: Witness, resumed: Resumed
) -> None:
    resumed.put(job(id=3, attempt_count=2))
    witness.events.on_update(witness.traffic.called("a"))
    result = {"n": 1, "_meta": {"nextResumeToken": "s3cret"}}
    update = witness.traffic.received({"jsonrpc": "2.0", "id": 7, "result": result})
    witness.events.on_update(update._replace(changes=ChangeSet()))
    resumed.put(job(id=3, attempt_count=2, state=JobState.RESUMABLE, chain=9, can_resume=True))
    witness.events.on_update(Update(changes=ChangeSet(moved=frozenset({3}))))
    _, answer, resumable = witness.read()
    assert answer["result"] == {"n": 1, "_meta": {"nextResumeToken": "(hidden)"}}
    assert resumable.pop("t") >= 0
    assert resumable == {
        "event": "resumable",
        "job": 3,
        "resume_id": 9,
        "attempt": 2,
        "reason": None,
        "usable": True,
    }
    assert "s3cret" not in witness.text


@pytest.mark.parametrize(
    ("members", "violation"),
    [
        ({"_meta": {"nextResumeToken": ""}}, '"nextResumeToken" is not a non-empty string'),
        ({"nextResumeToken": "t"}, '"nextResumeToken" is next to "_meta" instead of inside it'),
        (
            {"_meta": {"nextResumeToken": "t"}, "isError": True},
            "Resume token received with an error; it is ignored",
        ),
    ],
)
def test_a_result_tells_what_is_wrong_with_its_token(
    witness: Witness, members: dict[str, Any], violation: str
) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    reply = {"jsonrpc": "2.0", "id": 7, "result": members}
    witness.events.on_update(witness.traffic.received(reply))
    (answer,) = [event for event in witness.read() if event["event"] == "result"]
    assert answer["problems"] == [violation]


def test_an_error_tells_of_a_token_that_it_should_not_have(witness: Witness) -> None:
    witness.events.on_update(witness.traffic.called("a"))
    error = {"code": 1, "message": "no", "data": {"nextResumeToken": "s3cret", "n": 1.0}}
    witness.events.on_update(witness.traffic.received({"jsonrpc": "2.0", "id": 7, "error": error}))
    assert witness.last()["data"] == {"nextResumeToken": "(hidden)", "n": 1.0}
    assert "s3cret" not in witness.text
    assert witness.last()["problems"] == ["Resume token received with an error; it is ignored"]


def test_each_result_with_the_same_token_again_tells_of_it(witness: Witness) -> None:
    result = {"_meta": {"nextResumeToken": "t"}}
    witness.events.on_update(witness.traffic.called("a"))
    for request_id in (7, 8, 9):
        reply = {"jsonrpc": "2.0", "id": request_id, "result": result}
        witness.events.on_update(witness.traffic.received(reply))
        witness.events.on_update(witness.traffic.resumed("t", request_id + 1))
    first, *others = [event for event in witness.read() if event["event"] == "result"]
    assert "problems" not in first
    assert [event["problems"] for event in others] == [
        ["The server returned the resume token that it had been given"]
    ] * 2


def test_a_stop_with_a_reason_tells_it(witness: Witness, resumed: Resumed) -> None:
    resumed.put(job(id=3, state=JobState.RESUMABLE, chain=9, resume_note="connection lost"))
    witness.events.on_update(Update(changes=ChangeSet(moved=frozenset({3}))))
    assert (witness.last()["reason"], witness.last()["usable"]) == ("connection lost", False)


def test_other_moves_are_no_events(witness: Witness, resumed: Resumed) -> None:
    resumed.put(job(id=3, state=JobState.STALLED, chain=9))
    witness.events.on_update(Update(changes=ChangeSet(moved=frozenset({3, 4}))))
    assert witness.text == ""


def test_an_attempt_that_is_lost_after_one_that_was_answered_is_an_error(
    witness: Witness, resumed: Resumed
) -> None:
    resumed.put(job(id=3))
    lost = outcome(None, Failure("local", "lost"), JobState.RESUMABLE, resume_id=9)._replace(job=3)
    witness.events.on_update(witness.traffic.called("a", 7))
    answer = {"jsonrpc": "2.0", "id": 7, "result": {}}
    witness.events.on_update(witness.traffic.received(answer)._replace(changes=ChangeSet()))
    witness.events.show(lost)
    assert witness.last()["event"] == "result"
    witness.events.on_update(witness.traffic.called("a", 8))
    witness.events.show(lost)
    assert (witness.last()["event"], witness.last()["message"]) == ("error", "lost")


def test_a_job_that_cannot_be_resumed_is_an_error_of_its_own(witness: Witness) -> None:
    witness.events.decline(3, ErrorDetails("It was refused", "demo"))
    error = witness.last()
    assert (error["job"], error["where"]) == (3, "local")
    assert error["message"] == "It was refused (demo)"
