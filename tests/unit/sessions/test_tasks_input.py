"""What tasks of 2026-07-28 ask: once each, withdrawn with the task's need, answered together."""

from typing import Any

import anyio
import pytest

from mcp_progress_monitor.protocol.facts import JsonObject
from mcp_progress_monitor.sessions.questions.multi_round_trip import InputRequiredError
from mcp_progress_monitor.sessions.tasks import TaskFate
from tests.unit.sessions.task_play import (
    ANSWER,
    EXTENDED,
    TaskServer,
    end_of,
    followed,
    of_extension,
)

FORM = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}}
OTHER = {"method": "elicitation/create", "params": {"message": "!", "requestedSchema": {}}}
YES = {"action": "accept", "content": {"a": 1}}


async def accept(requests: JsonObject, _frame: int) -> JsonObject:
    return dict.fromkeys(requests, YES)


async def test_questions_of_the_extension_are_asked_once_and_answered_together() -> None:
    both = of_extension("input_required", inputRequests={"a": FORM, "b": FORM})
    done = of_extension("completed", result=ANSWER)
    asked: list[tuple[str, ...]] = []

    async def ask(requests: JsonObject, frame: int) -> JsonObject:
        asked.append(tuple(requests))
        await server.until_count(6)  # it is shown again while the user thinks
        return await accept(requests, frame)

    def update(_message: object) -> Any:
        server.states = [done]
        return {"resultType": "complete"}

    server = TaskServer(EXTENDED, [both], update=update)
    await end_of(server, ask)
    assert asked == [("a", "b")]
    sent = await server.until_sent("tasks/update")
    assert sent["params"]["inputResponses"] == {"a": YES, "b": YES}
    assert server.count("tasks/update") == 1


async def test_a_question_that_is_shown_no_more_is_withdrawn_and_a_later_one_is_new() -> None:
    first = of_extension("input_required", inputRequests={"a": FORM})
    done = of_extension("completed", result=ANSWER)
    withdrawn: list[str] = []
    asked: list[str] = []

    async def ask(requests: JsonObject, frame: int) -> JsonObject:
        asked.extend(requests)
        if len(asked) == 1:
            try:
                await anyio.sleep_forever()
            finally:
                withdrawn.extend(requests)
        return await accept(requests, frame)

    def update(_message: object) -> Any:
        server.states = [done]
        return {}

    server = TaskServer(EXTENDED, [first, first, "working", first], update=update)
    await end_of(server, ask)
    assert withdrawn == ["a"]
    assert asked == ["a", "a"]
    assert server.count("tasks/update") == 1


async def test_another_question_under_a_used_key_is_asked_as_well() -> None:
    first = of_extension("input_required", inputRequests={"a": FORM})
    second = of_extension("input_required", inputRequests={"a": OTHER})
    done = of_extension("completed", result=ANSWER)
    after = {1: [first, first, second], 2: [done]}
    asked: list[JsonObject] = []

    async def ask(requests: JsonObject, frame: int) -> JsonObject:
        asked.append(requests)
        return await accept(requests, frame)

    def update(_message: object) -> Any:
        server.states = after[len(asked)]
        return {}

    server = TaskServer(EXTENDED, [first], update=update)
    await end_of(server, ask)
    assert asked == [{"a": FORM}, {"a": OTHER}]
    assert server.count("tasks/update") == 2


async def test_an_answer_is_not_given_to_another_question_that_took_its_key() -> None:
    first = of_extension("input_required", inputRequests={"a": FORM, "b": FORM})
    second = of_extension("input_required", inputRequests={"a": OTHER, "b": FORM})
    done = of_extension("completed", result=ANSWER)
    given: list[Any] = []
    both_shown = anyio.Event()

    async def ask(requests: JsonObject, frame: int) -> JsonObject:
        if len(requests) == 1:
            both_shown.set()
        await both_shown.wait()
        return await accept(requests, frame)

    def update(message: Any) -> Any:
        given.extend(message["params"]["inputResponses"])
        if len(given) == 2:
            server.states = [done]
        return {}

    server = TaskServer(EXTENDED, [first, second], update=update)
    await end_of(server, ask)
    assert sorted(given) == ["a", "b"]


async def test_answers_that_are_not_taken_are_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_progress_monitor.sessions.tasks._PAUSES_S", (0.0, 0.0))
    both = of_extension("input_required", inputRequests={"a": FORM})
    replies: list[Any] = [-32603, -32603, {}]

    def update(_message: object) -> Any:
        if len(replies) == 1:
            server.states = [of_extension("completed", result=ANSWER)]
        return replies.pop(0)

    server = TaskServer(EXTENDED, [both], update=update)
    await end_of(server, accept)
    assert server.count("tasks/update") == 3


@pytest.mark.parametrize(("is_wanted", "outcome"), [(True, "cancelled"), (False, "failed")])
async def test_input_that_is_not_given_ends_the_job_with_a_message_and_cancels_the_task(
    is_wanted: bool, outcome: str
) -> None:
    async def ask(_requests: JsonObject, _frame: int) -> JsonObject:
        raise InputRequiredError("Refused: no", is_wanted=is_wanted)

    asks = of_extension("input_required", inputRequests={"a": FORM})
    server = TaskServer(EXTENDED, [asks], cancel={})
    async with followed(server, ask) as play:
        end = await play.end()
        assert (end.fate, end.text) == (TaskFate.GIVEN_UP, "Refused: no")
        reported = [f for f in play.log.facts if type(f).__name__ == "CallEnded"]
    assert [(f.request, f.outcome, f.text) for f in reported] == [(1, outcome, "Refused: no")]  # type: ignore[union-attr]
    assert server.count("tasks/cancel") == 1


async def test_input_required_without_a_question_is_waited_out() -> None:
    states = ["input_required", "input_required", of_extension("completed", result=ANSWER)]
    server = TaskServer(EXTENDED, states)
    end = await end_of(server, accept)
    assert end.result == ANSWER


# Cancelling
