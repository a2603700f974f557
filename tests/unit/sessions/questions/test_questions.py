"""All open questions: they come, are answered once, and their ends are remembered for a while."""

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.connection.clocks import CallClock, Hold
from mcp_progress_monitor.sessions.questions.questions import AnswerPhase, Pending, Questions
from mcp_progress_monitor.snapshots.questions import BY_RULE, Accept, Decline, Question
from tests.unit.sessions.questioned import question


class Desk:
    """Questions, their listeners, and what they hold."""

    def __init__(self) -> None:
        self.reported: list[int] = []
        self.phases: list[AnswerPhase] = []
        self.clock = CallClock(0.0)
        self.questions = Questions(self._tell, self._hold)

    def ask(self, **changes: object) -> Pending:
        pending = Pending(question(id=self.questions.next_id(), **changes), self.phases.append)
        self.questions.ask(pending)
        return pending

    def _tell(self, ids: frozenset[int]) -> None:
        self.reported += ids

    def _hold(self, _question: Question) -> Hold:
        return Hold([self.clock], float)


async def test_a_question_comes_is_answered_and_goes() -> None:
    broker = Desk()
    pending = broker.ask()
    assert broker.questions.open() == (pending.question,)
    assert broker.clock.is_suspended
    broker.questions.answer(1, Accept({"name": "Ada"}))
    assert await pending.answered() == Accept({"name": "Ada"})
    assert broker.questions.open() == ()
    assert broker.reported == [1, 1]
    assert broker.phases == [AnswerPhase.CHECKING]
    assert not broker.clock.is_suspended


async def test_a_question_that_is_withdrawn_has_no_answer() -> None:
    broker = Desk()
    pending = broker.ask()
    broker.questions.withdraw(1, "the server cancelled it")
    broker.questions.withdraw(1, "again")
    assert await pending.answered() is None
    found = broker.questions.find(1)
    assert found is not None
    assert found.ended == "the server cancelled it"
    assert broker.reported == [1, 1]


def test_nothing_is_answered_twice() -> None:
    broker = Desk()
    broker.ask()
    broker.questions.answer(1, Decline())
    with pytest.raises(UserError, match="no longer open: answered"):
        broker.questions.answer(1, Accept({"name": "Ada"}))


def test_a_question_that_was_never_asked_is_reported_as_missing() -> None:
    with pytest.raises(UserError, match="Question not found"):
        Desk().questions.answer(7, Decline())


def test_a_misfit_leads_back_to_waiting() -> None:
    broker = Desk()
    pending = broker.ask()
    with pytest.raises(UserError) as caught:
        broker.questions.answer(1, Accept({"age": -1}))
    assert caught.value.details.detail.splitlines() == [
        "name: a value is required",
        "age: -1 is less than the minimum of 0",
    ]
    assert broker.phases == [AnswerPhase.CHECKING, AnswerPhase.WAITING]
    assert pending.is_open
    assert broker.clock.is_suspended


def test_pages_are_complete_by_connection_and_id() -> None:
    broker = Desk()
    for connection, identity in (("s#1", "e"), ("s#2", "e"), ("s#1", "f")):
        params = {"elicitationId": identity}
        broker.ask(kind="url", connection=connection, params=params, schema=None)
    broker.questions.complete("s#1", "e")
    assert [each.is_complete for each in broker.questions.open()] == [True, False, False]
    assert broker.reported == [1, 2, 3, 1]


def test_ended_questions_are_remembered_but_not_for_ever() -> None:
    broker = Desk()
    for _ in range(300):
        broker.ask()
        broker.questions.answer(broker.questions.open()[0].id, Decline())
    known = [number for number in range(1, 301) if broker.questions.find(number)]
    assert known == list(range(101, 301))


def test_a_question_that_a_rule_answers_is_reported_and_never_open() -> None:
    broker = Desk()
    broker.questions.note_ruled(question())
    ended = broker.questions.find(1)
    assert broker.reported == [1]
    assert broker.questions.open() == ()
    assert ended is not None
    assert ended.ended == BY_RULE
