"""Open questions as rows."""

from collections.abc import Iterator

import pytest
from PySide6.QtTest import QAbstractItemModelTester

from mcp_progress_monitor.gui.questions.model import ABOUT, QUESTION, QuestionsModel
from mcp_progress_monitor.protocol.facts import Side
from tests.job_stand_ins import job
from tests.question_stand_ins import FakeQuestions, form, page, sampling


@pytest.fixture
def source() -> FakeQuestions:
    return FakeQuestions(form(), page("https://a.example"))


@pytest.fixture
def model(source: FakeQuestions) -> Iterator[QuestionsModel]:
    made = QuestionsModel()
    QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    made.set_source(source.questions, source.snapshot, source.now)
    yield made
    made.deleteLater()


def ids(model: QuestionsModel) -> list[int]:
    return [question.id for question in model.questions()]


def test_rows_follow_what_comes_and_goes(model: QuestionsModel, source: FakeQuestions) -> None:
    source.held = [source.held[1], sampling()]
    model.apply(frozenset({1, 3}))
    assert ids(model) == [2, 3]


def test_a_question_that_changes_stays_in_its_row(
    model: QuestionsModel, source: FakeQuestions
) -> None:
    source.held[1] = source.held[1]._replace(is_complete=True)
    model.apply(frozenset({2}))
    assert model.index(1).data(QUESTION).is_complete


def test_a_question_of_a_call_is_reported_with_that_calls_name(
    model: QuestionsModel, source: FakeQuestions
) -> None:
    source.jobs = {
        7: job(id=7, name="export"),
        8: job(id=8, name="elicitation/create", sender=Side.SERVER, parent=7, message="Validating"),
    }
    source.held[0] = form(job=8)
    model.apply(frozenset({1}))
    text = model.index(0).data(ABOUT)
    assert "demo · export · since" in text
    assert text.endswith("Validating")


def test_the_oldest_question_of_a_job_is_found_also_from_the_call_that_waits(
    model: QuestionsModel, source: FakeQuestions
) -> None:
    source.held = [form(job=8), page("https://a.example", job=8)]
    source.jobs = {7: job(id=7, questions=(22, 21)), 9: job(id=9)}
    model.apply(frozenset({1, 2}))
    found = [model.first_of(8), model.first_of(7), model.first_of(9)]
    assert [question and question.id for question in found] == [1, 1, None]
