"""All open questions: they come, are answered once, and their ends are remembered for a while."""

from __future__ import annotations

import pytest

from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.call_clock import CallClock, Hold
from mcp_progress_monitor.sessions.phases import Phase
from mcp_progress_monitor.sessions.questions import (
    BY_RULE,
    Accept,
    Decline,
    Pending,
    Question,
    Questions,
)
from tests.unit.sessions.questioned import question


class Desk:
    """Questions, whom they are told to, and what they hold."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.phases: list[Phase] = []
        self.clock = CallClock(0.0)
        self.questions = Questions(self._tell, self._hold)

    def ask(self, **changes: object) -> Pending:
        pending = Pending(question(id=self.questions.next_id(), **changes), self.phases.append)
        self.questions.ask(pending)
        return pending

    def _tell(self, ids: frozenset[int]) -> None:
        self.told += ids

    def _hold(self, _question: Question) -> Hold:
        return Hold([self.clock], float)


async def test_a_question_comes_is_answered_and_goes() -> None:
    desk = Desk()
    pending = desk.ask()
    assert desk.questions.open() == (pending.question,)
    assert desk.clock.is_suspended
    desk.questions.answer(1, Accept({"name": "Ada"}))
    assert await pending.answered() == Accept({"name": "Ada"})
    assert desk.questions.open() == ()
    assert desk.told == [1, 1]
    assert desk.phases == [Phase.CHECKING]
    assert not desk.clock.is_suspended


async def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    desk = Desk()
    pending = desk.ask()
    desk.questions.withdraw(1, "the server cancelled it")
    desk.questions.withdraw(1, "again")
    assert await pending.answered() is None
    found = desk.questions.find(1)
    assert found is not None
    assert found.ended == "the server cancelled it"
    assert desk.told == [1, 1]


def test_nothing_is_answered_twice() -> None:
    desk = Desk()
    desk.ask()
    desk.questions.answer(1, Decline())
    with pytest.raises(ProblemError, match="not open any more: answered"):
        desk.questions.answer(1, Accept({"name": "Ada"}))


def test_what_was_never_asked_is_said_not_to_be_there() -> None:
    with pytest.raises(ProblemError, match="no such question"):
        Desk().questions.answer(7, Decline())


def test_a_misfit_leads_back_to_waiting() -> None:
    desk = Desk()
    pending = desk.ask()
    with pytest.raises(ProblemError) as caught:
        desk.questions.answer(1, Accept({"age": -1}))
    assert caught.value.problem.detail.splitlines() == [
        "name: a value is required",
        "age: -1 is less than the minimum of 0",
    ]
    assert desk.phases == [Phase.CHECKING, Phase.WAITING]
    assert pending.is_open
    assert desk.clock.is_suspended


def test_pages_are_complete_by_connection_and_id() -> None:
    desk = Desk()
    for connection, identity in (("s#1", "e"), ("s#2", "e"), ("s#1", "f")):
        params = {"elicitationId": identity}
        desk.ask(kind="url", connection=connection, params=params, schema=None)
    desk.questions.complete("s#1", "e")
    assert [each.is_complete for each in desk.questions.open()] == [True, False, False]
    assert desk.told == [1, 2, 3, 1]


def test_ended_questions_are_remembered_but_not_for_ever() -> None:
    desk = Desk()
    for _ in range(300):
        desk.ask()
        desk.questions.answer(desk.questions.open()[0].id, Decline())
    known = [number for number in range(1, 301) if desk.questions.find(number)]
    assert known == list(range(101, 301))


def test_a_question_that_a_rule_answers_is_told_of_and_never_open() -> None:
    desk = Desk()
    desk.questions.note_ruled(question())
    ended = desk.questions.find(1)
    assert desk.told == [1]
    assert desk.questions.open() == ()
    assert ended is not None
    assert ended.ended == BY_RULE
