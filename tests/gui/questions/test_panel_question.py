"""The panel of open questions: side by side, each with what was typed in it."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.questions import panel as panels
from mcp_progress_monitor.gui.questions.model import QuestionsModel
from mcp_progress_monitor.gui.questions.panel import QuestionPanel, QuestionView
from mcp_progress_monitor.gui.theme import Appearance, Tone, contrast
from mcp_progress_monitor.snapshots.questions import Accept, Decline, Dismiss, Question
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import CONTROL, heard
from tests.job_stand_ins import job
from tests.question_stand_ins import FakeQuestions, form, page, sampling


@pytest.fixture
def source() -> FakeQuestions:
    return FakeQuestions(form(), page("https://a.example"))


@pytest.fixture
def questions(source: FakeQuestions) -> QuestionsModel:
    made = QuestionsModel()
    made.set_source(source.questions, source.snapshot, source.now)
    return made


@pytest.fixture
def panel(qtbot: QtBot, questions: QuestionsModel, appearance: Appearance) -> QuestionPanel:
    made = QuestionPanel(questions, appearance)
    questions.setParent(made)
    expose(qtbot, made, 1000, 260)
    made.activateWindow()
    return made


def shown(panel: QuestionPanel) -> QuestionView:
    view = panel.current()
    assert view is not None
    return view


def name_of(view: QuestionView) -> QLineEdit:
    lines = view.body.findChildren(QLineEdit)
    return next(line for line in lines if line.accessibleName() == "name")


def test_the_oldest_question_is_shown_in_full_at_first(panel: QuestionPanel) -> None:
    assert shown(panel).question.id == 1
    assert shown(panel).head.text() == "demo asks you to fill in a form"


def test_what_was_typed_stays_while_another_question_is_answered(
    panel: QuestionPanel, questions: QuestionsModel, source: FakeQuestions
) -> None:
    name_of(shown(panel)).setText("Ada")
    panel.show_question(2)
    source.held = [source.held[0], sampling()]
    questions.apply(frozenset({2, 3}))
    panel.show_question(1)
    assert name_of(shown(panel)).text() == "Ada"


def test_a_question_that_comes_takes_neither_the_place_nor_the_focus(
    panel: QuestionPanel, questions: QuestionsModel, source: FakeQuestions
) -> None:
    panel.activateWindow()
    field = name_of(shown(panel))
    field.setFocus()
    source.held.append(sampling())
    questions.apply(frozenset({3}))
    assert shown(panel).question.id == 1
    assert panel.window().focusWidget() is field


def test_the_next_question_follows_the_one_that_is_gone(
    panel: QuestionPanel, questions: QuestionsModel, source: FakeQuestions
) -> None:
    del source.held[0]
    questions.apply(frozenset({1}))
    assert shown(panel).question.id == 2
    source.held.clear()
    questions.apply(frozenset({2}))
    assert panel.current() is None


def test_control_and_enter_accept_what_fits(qtbot: QtBot, panel: QuestionPanel) -> None:
    field = name_of(shown(panel))
    field.setFocus()
    QTest.keyClicks(field, "Ada")
    with qtbot.waitSignal(panel.answer_requested) as signal:
        QTest.keyClick(field, Qt.Key.Key_Return, CONTROL)
    assert signal.args == [1, Accept({"name": "Ada", "colour": "r"})]


def test_what_does_not_fit_is_not_sent_and_reported_at_its_field(
    qtbot: QtBot, panel: QuestionPanel
) -> None:
    view = shown(panel)
    QTest.keyClicks(name_of(view), "A")
    with qtbot.assertNotEmitted(panel.answer_requested):
        view.accept.click()
    texts = [label.text() for label in view.body.findChildren(QLabel)]
    assert any("shorter than" in each for each in texts)
    assert view.note.isVisible()


def test_escape_throws_nothing_away(panel: QuestionPanel) -> None:
    said = heard(panel.answer_requested)
    field = name_of(shown(panel))
    QTest.keyClicks(field, "Ada")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "Ada"
    assert said == []
    assert panel.isVisible()


def test_declining_and_cancelling_are_two_answers(panel: QuestionPanel) -> None:
    said = heard(panel.answer_requested)
    shown(panel).decline.click()
    panel.show_question(2)
    shown(panel).dismiss.click()
    assert said == [(1, Decline()), (2, Dismiss())]


def test_a_second_click_does_not_answer_twice(panel: QuestionPanel) -> None:
    said = heard(panel.answer_requested)
    shown(panel).decline.click()
    shown(panel).decline.click()
    QTest.keyClick(shown(panel), Qt.Key.Key_Return, CONTROL)
    assert len(said) == 1


def test_a_refused_answer_can_be_corrected(panel: QuestionPanel) -> None:
    view = shown(panel)
    QTest.keyClicks(name_of(view), "Ada")
    view.accept.click()
    panel.show_error(1, ErrorDetails("It does not fit", detail="name: \u202etoo plain"))
    assert "too plain" in view.note.text()
    assert "\\u202e" in view.note.text()
    assert view.accept.isEnabled()
    assert name_of(view).text() == "Ada"


def test_the_question_of_a_job_is_brought_up(panel: QuestionPanel, source: FakeQuestions) -> None:
    source.jobs = {7: job(id=7, questions=(22,))}
    assert panel.show_job(7)
    assert shown(panel).question.id == 2
    assert not panel.show_job(8)


def test_the_cursor_goes_to_what_is_filled_in(panel: QuestionPanel) -> None:
    panel.activateWindow()
    panel.focus()
    assert panel.window().focusWidget() is name_of(shown(panel))


def test_tab_goes_from_the_fields_to_the_answers(panel: QuestionPanel) -> None:
    panel.activateWindow()
    view = shown(panel)
    order: list[QWidget | None] = [name_of(view)]
    while (last := order[-1]) is not None and last is not view.accept and len(order) < 60:
        order.append(last.nextInFocusChain())
    places = [order.index(button) for button in (view.json, view.dismiss, view.decline)]
    assert places == sorted(places)


def test_how_long_ago_it_was_asked_is_reported_again(
    panel: QuestionPanel, questions: QuestionsModel, source: FakeQuestions
) -> None:
    source.time = 160.0
    questions.tick()
    assert "(1 min 0 s ago)" in shown(panel).about.text()


def test_a_page_that_is_done_says_so(
    panel: QuestionPanel, questions: QuestionsModel, source: FakeQuestions
) -> None:
    source.held[1] = source.held[1]._replace(is_complete=True)
    questions.apply(frozenset({2}))
    view = panel.view(2)
    assert view is not None
    assert view.question.is_complete


def test_what_is_written_follows_the_colours_of_the_desktop(
    panel: QuestionPanel, appearance: Appearance
) -> None:
    about = shown(panel).about
    dark = QPalette(QColor("#202020"))
    appearance.follow(dark)
    written = about.palette().color(QPalette.ColorRole.WindowText)
    assert written == appearance.colour(Tone.MUTED)
    assert contrast(written, dark.color(QPalette.ColorRole.Base)) > 4


def test_every_control_has_a_name(panel: QuestionPanel) -> None:
    for question in (1, 2):
        panel.show_question(question)
        view = shown(panel)
        for button in (view.accept, view.decline, view.dismiss, view.show_job):
            assert button.text() or button.accessibleName()
            assert button.toolTip()
    assert panel.list.accessibleName()


def test_a_hundred_questions_at_once_make_one_view(
    qtbot: QtBot, appearance: Appearance, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Counted(QuestionView):
        def __init__(self, question: Question, *rest: Any) -> None:
            super().__init__(question, *rest)
            made.append(question.id)

    monkeypatch.setattr(panels, "QuestionView", Counted)
    many = [form(id=number, request=number) for number in range(1, 101)]
    source = FakeQuestions()
    questions = QuestionsModel()
    questions.set_source(source.questions, source.snapshot, source.now)
    panel = QuestionPanel(questions, appearance)
    questions.setParent(panel)
    qtbot.addWidget(panel)
    source.held[:] = many
    questions.apply(frozenset(range(1, 101)))
    assert made == []  # as long as nobody sees it
    panel.show()
    assert made == []  # not in the turn that shows the pane
    qtbot.waitUntil(lambda: made == [1])
    assert panel.show_question(50)
    assert shown(panel).question.id == 50
    assert made == [1, 50]
    source.held.clear()
    questions.apply(frozenset(range(1, 101)))
    assert panel.current() is None
    assert made == [1, 50]
