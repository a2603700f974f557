"""Questions of a server made with the official SDK, which checks our replies, in both eras."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mcp_progress_monitor.engine.call import Call, Outcome
from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.engine.updates import Update
from mcp_progress_monitor.snapshots.definitions import Era
from mcp_progress_monitor.snapshots.questions import (
    Accept,
    Answer,
    Decline,
    Dismiss,
    Question,
    Refused,
    Sampled,
)
from mcp_progress_monitor.snapshots.settings import QuestionRule, QuestionRules, Root
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.integration.asking_server import asking

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


class Servers:
    """A server of each era, started once: the official SDK takes a second to be imported."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._connected: dict[Era, tuple[Engine, Desk, str]] = {}

    async def of(self, era: Era) -> tuple[Engine, Desk, str]:
        """An engine that has the server connected, who answers there, and the server's name."""
        if era not in self._connected:
            engine = await self._stack.enter_async_context(Engine())
            self._connected[era] = (engine, Desk(engine), await _connected(engine, era))
        engine, desk, name = self._connected[era]
        desk.seen = []
        return engine, desk, name

    async def called(
        self, era: Era, tool: str, **answers: Answer
    ) -> tuple[Outcome, list[Question]]:
        """How a call of a tool ended that asks something, and what it asked."""
        engine, desk, name = await self.of(era)
        desk.answers = answers
        return await engine.calls.make(_call_of(name, tool)), desk.seen


@pytest.fixture(scope="module")
async def servers() -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(stack)


async def _connected(engine: Engine, era: Era, rules: QuestionRules | None = None) -> str:
    name = engine.servers.add(asking(era))
    engine.settings.set_roots(name, [Root(uri="file:///a"), Root(uri="file:///b")])
    if rules is not None:
        engine.settings.set_question_rules(name, rules)
    await engine.servers.connect(name)
    return name


async def _called_with(rules: QuestionRules, era: Era, tool: str) -> tuple[Outcome, list[Question]]:
    async with Engine() as engine:
        desk = Desk(engine)
        outcome = await engine.calls.make(_call_of(await _connected(engine, era, rules), tool))
    return outcome, desk.seen


def _call_of(server: str, tool: str) -> Call:
    return Call(server, "tools/call", {"name": tool, "arguments": {}})


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_understands_each_answer_to_a_form(
    servers: Servers, era: Era
) -> None:
    answers: dict[str, Answer] = {
        "accept Person(name='Ada', age=36, size='small')": Accept({"name": "Ada", "age": 36}),
        "decline None": Decline(),
        "cancel None": Dismiss(),
    }
    for said, answer in answers.items():
        outcome, [asked] = await servers.called(era, "form", form=answer)
        assert _said(outcome) == said
        assert asked.error == ""


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_samples_with_images_and_tools(servers: Servers, era: Era) -> None:
    outcome, [asked] = await servers.called(era, "sampling", sampling=Sampled(SAMPLED))
    assert json.loads(_said(outcome)) == SAMPLED
    assert asked.message == "Write a haiku"
    assert asked.error == ""
    assert asked.params["tools"][0]["name"] == "count"


@pytest.mark.parametrize(
    ("era", "state"), [("handshake", JobState.DONE), ("per-request", JobState.CANCELLED)]
)
async def test_refused_sampling_reaches_the_server_or_ends_the_call(
    servers: Servers, era: Era, state: JobState
) -> None:
    outcome, _ = await servers.called(era, "sampling", sampling=Refused())
    assert "User rejected" in str(outcome.failure or outcome.result)
    assert outcome.state in {state, JobState.FAILED}
    assert outcome.failure is None or outcome.failure.where in {"local", "server", "tool"}


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_lists_our_roots(servers: Servers, era: Era) -> None:
    outcome, seen = await servers.called(era, "roots")
    assert _said(outcome) == "file:///a,file:///b"
    assert seen == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_asks_several_things_of_one_call(
    servers: Servers, era: Era
) -> None:
    outcome, seen = await servers.called(
        era, "together", form=Accept({"name": "Ada", "age": 1}), sampling=Sampled(SAMPLED)
    )
    assert _said(outcome) == "accept 2 me"
    assert {asked.kind for asked in seen} == {"form", "sampling"}


@pytest.mark.parametrize("era", ERAS)
async def test_rules_answer_an_official_server_by_themselves(era: Era) -> None:
    rules = QuestionRules(
        form=QuestionRule(mode="decline"), sampling=QuestionRule(mode="answer", answer=SAMPLED)
    )
    outcome, seen = await _called_with(rules, era, "together")
    assert _said(outcome) == "decline 2 me"
    assert seen == []


@pytest.mark.parametrize("era", ERAS)
async def test_an_official_server_sees_what_was_not_declared(era: Era) -> None:
    none = QuestionRule(mode="undeclared")
    rules = QuestionRules(sampling=none, form=none, url=none, roots=none)
    outcome, seen = await _called_with(rules, era, "form")
    assert seen == []
    assert "elicitation" in str(outcome.failure or outcome.result).lower()


async def test_an_official_server_is_pinged_back(servers: Servers) -> None:
    outcome, _ = await servers.called("handshake", "pinged")
    assert _said(outcome) == "pinged"


def test_what_is_sampled_here_is_what_the_official_types_take() -> None:
    import mcp_types

    message: Any = mcp_types.CreateMessageResultWithTools.model_validate(SAMPLED)
    assert message.model == "me"
