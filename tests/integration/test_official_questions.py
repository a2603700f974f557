"""Questions of a server made with the official SDK, which checks our replies, in both eras."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Refused, Sampled
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.asking_server import asking

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.call import Outcome
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.snapshots.definitions import Era
    from mcp_progress_monitor.snapshots.questions import Answer, Question

ERAS = ["handshake", "per-request"]
SAMPLED = {
    "role": "assistant",
    "model": "me",
    "stopReason": "toolUse",
    "content": [
        {"type": "text", "text": "An old silent pond"},
        {"type": "tool_use", "id": "u", "name": "count", "input": {"to": 3}},
    ],
}


class Desk:
    """Answers each question by its kind as soon as it comes."""

    def __init__(self, engine: Engine, **answers: Answer) -> None:
        self._engine = engine
        self.answers = answers
        self.seen: list[Question] = []
        engine.subscribe(self._take)

    def _take(self, update: Update) -> None:
        for identity in update.questions:
            asked = self._engine.questions.find(identity)
            if asked is not None and not asked.ended:
                self.seen.append(asked)
                self._engine.questions.answer(identity, self.answers[asked.kind])


def _said(outcome: Outcome) -> str:
    assert outcome.result is not None, outcome
    return str(outcome.result["content"][0]["text"])


async def _called(
    era: Era, tool: str, rules: QuestionRules | None = None, **answers: Answer
) -> tuple[Outcome, list[Question]]:
    async with Engine() as engine:
        request_broker = Desk(engine, **answers)
        name = engine.servers.add(asking(era))
        engine.settings.set_roots(name, [Root(uri="file:///a"), Root(uri="file:///b")])
        if rules is not None:
            engine.settings.set_question_rules(name, rules)
        await engine.servers.connect(name)
        outcome = await engine.calls.make(_call_of(name, tool))
    return outcome, request_broker.seen


def _call_of(server: str, tool: str) -> Call:
    return Call(server, "tools/call", {"name": tool, "arguments": {}})


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_understands_each_answer_to_a_form(era: Era) -> None:
    answers: dict[str, Answer] = {
        "accept Person(name='Ada', age=36, size='small')": Accept({"name": "Ada", "age": 36}),
        "decline None": Decline(),
        "cancel None": Dismiss(),
    }
    async with Engine() as engine:
        request_broker = Desk(engine)
        name = engine.servers.add(asking(era))
        await engine.servers.connect(name)
        for said, answer in answers.items():
            request_broker.answers["form"] = answer
            outcome = await engine.calls.make(_call_of(name, "form"))
            assert _said(outcome) == said
    assert [asked.problem for asked in request_broker.seen] == [""] * len(answers)


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_samples_with_pictures_and_tools(era: Era) -> None:
    outcome, [asked] = await _called(era, "sampling", sampling=Sampled(SAMPLED))
    assert json.loads(_said(outcome)) == SAMPLED
    assert asked.message == "Write a haiku"
    assert asked.problem == ""
    assert asked.params["tools"][0]["name"] == "count"


@pytest.mark.parametrize(
    ("era", "state"), [("handshake", JobState.DONE), ("per-request", JobState.CANCELLED)]
)
async def test_refused_sampling_reaches_the_server_or_ends_the_call(
    era: Era, state: JobState
) -> None:
    outcome, _ = await _called(era, "sampling", sampling=Refused())
    assert "User rejected" in str(outcome.failure or outcome.result)
    assert outcome.state in {state, JobState.FAILED}
    assert outcome.failure is None or outcome.failure.where in {"local", "server", "tool"}


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_lists_our_roots(era: Era) -> None:
    outcome, seen = await _called(era, "roots")
    assert _said(outcome) == "file:///a,file:///b"
    assert seen == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_asks_several_things_of_one_call(era: Era) -> None:
    outcome, seen = await _called(
        era, "together", form=Accept({"name": "Ada", "age": 1}), sampling=Sampled(SAMPLED)
    )
    assert _said(outcome) == "accept 2 me"
    assert {asked.kind for asked in seen} == {"form", "sampling"}


@pytest.mark.parametrize("era", ERAS)
async def test_rules_answer_an_official_server_by_themselves(era: Era) -> None:
    rules = QuestionRules(
        form=QuestionRule(mode="decline"), sampling=QuestionRule(mode="answer", answer=SAMPLED)
    )
    outcome, seen = await _called(era, "together", rules)
    assert _said(outcome) == "decline 2 me"
    assert seen == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_sees_what_was_not_declared(era: Era) -> None:
    none = QuestionRule(mode="undeclared")
    rules = QuestionRules(sampling=none, form=none, url=none, roots=none)
    outcome, seen = await _called(era, "form", rules)
    assert seen == []
    assert "elicitation" in str(outcome.failure or outcome.result).lower()


async def test_an_official_server_is_pinged_back() -> None:
    outcome, _ = await _called("handshake", "pinged")
    assert _said(outcome) == "pinged"


def test_what_is_sampled_here_is_what_the_official_types_take() -> None:
    import mcp_types

    message: Any = mcp_types.CreateMessageResultWithTools.model_validate(SAMPLED)
    assert message.model == "me"
