"""What was asked in replies and of tasks is kept with what was answered."""

from typing import Any

from mcp_progress_monitor.protocol.facts import (
    RequestAnswered,
    RequestStanding,
    Side,
    TaskStated,
    TaskView,
)
from mcp_progress_monitor.tracker.job_parts import CHILDREN_KEPT, JobQuestions


def asks(message: str) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": message}}


def reply(number: int, requests: object, at: float = 1.0) -> RequestAnswered:
    result = {"resultType": "input_required", "inputRequests": requests}
    return RequestAnswered(
        number=number,
        connection="s#1",
        at=at,
        when=100.0 + at,
        sender=Side.SERVER,
        id=1,
        request=number - 1,
        standing=RequestStanding.ACTIVE,
        result=result,
        error=None,
        next_resume_token=None,
        size=10,
        findings=(),
    )


def stated(number: int, requests: dict[str, Any]) -> TaskStated:
    view = TaskView("T", "input_required")
    return TaskStated(
        number, "s#1", 2.0, 102.0, Side.SERVER, view, 1, "get", input_requests=requests
    )


def reported(asked: JobQuestions) -> list[tuple[int, str, object, float | None]]:
    return [(each.number, each.key, each.answer, each.answered_at) for each in asked.history]


def test_the_answers_of_a_round_are_reported_with_its_questions() -> None:
    asked = JobQuestions()
    asked.require(reply(4, {"a": asks("One"), "b": asks("Two")}))
    asked.note_answers({"b": {"action": "decline"}}, 3.0)
    assert reported(asked) == [(4, "a", None, None), (4, "b", {"action": "decline"}, 3.0)]
    assert asked.history[0].params == {"message": "One"}


def test_a_key_that_comes_again_in_the_next_round_is_another_question() -> None:
    asked = JobQuestions()
    asked.require(reply(4, {"a": asks("One")}))
    asked.note_answers({"a": 1}, 3.0)
    asked.require(reply(8, {"a": asks("Again")}, 5.0))
    asked.note_answers({"a": 2}, 6.0)
    assert reported(asked) == [(4, "a", 1, 3.0), (8, "a", 2, 6.0)]


def test_a_task_that_states_its_questions_again_asks_them_once() -> None:
    asked = JobQuestions()
    asked.note_of_task(stated(4, {"a": asks("One")}))
    asked.note_of_task(stated(6, {"a": asks("One"), "b": asks("Two")}))
    assert [(number, key) for number, key, _, _ in reported(asked)] == [(4, "a"), (6, "b")]


def test_what_is_no_question_does_no_harm_and_the_newest_are_kept() -> None:
    asked = JobQuestions()
    asked.require(reply(4, ["a"]))
    asked.require(reply(6, {"a": 7}))
    assert (asked.history[0].method, asked.history[0].params) == ("None", {})
    asked.note(8, {str(key): asks("x") for key in range(2 * CHILDREN_KEPT)}, 1.0, 1.0)
    assert len(asked.history) == CHILDREN_KEPT
