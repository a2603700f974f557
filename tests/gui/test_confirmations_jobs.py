"""What is asked before something is lost, or may be done twice."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.confirmations import ForgetQuestion, ReissueQuestion
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.job_stand_ins import job, resumable


def button(box: QMessageBox, message: str) -> QPushButton:
    return next(b for b in box.findChildren(QPushButton) if b.text().replace("&", "") == message)


@pytest.fixture
def forget(qtbot: QtBot) -> ForgetQuestion:
    made = ForgetQuestion([resumable(1, name="Nightly <b>"), resumable(2, fraction=None)])
    qtbot.addWidget(made)
    made.open()
    return made


@pytest.fixture
def reissue(qtbot: QtBot) -> ReissueQuestion:
    made = ReissueQuestion([resumable(1)])
    qtbot.addWidget(made)
    made.open()
    return made


def test_forgetting_says_what_is_lost(forget: ForgetQuestion) -> None:
    assert forget.text() == "Forget 2 resumable jobs?"
    reported = forget.informativeText()
    assert "Nightly <b>, local-db, 40.0\u00a0%, saved 0 s ago" in reported
    assert "deleted permanently" in reported
    assert forget.textFormat() is Qt.TextFormat.PlainText


def test_of_many_jobs_a_few_are_named_and_the_rest_counted(qtbot: QtBot) -> None:
    question = ForgetQuestion([resumable(n) for n in range(1, 1001)])
    qtbot.addWidget(question)
    assert question.text() == "Forget 1,000 resumable jobs?"
    assert question.informativeText().count("•") == 5
    assert "and 995 more" in question.informativeText()


def test_of_one_job_it_speaks_as_of_one(qtbot: QtBot) -> None:
    question = ForgetQuestion([resumable(1)])
    qtbot.addWidget(question)
    assert question.text() == "Forget this resumable job?"
    assert "Its resume token" in question.informativeText()


def test_agreeing_forgets_and_cancelling_does_not(qtbot: QtBot, forget: ForgetQuestion) -> None:
    with qtbot.assertNotEmitted(forget.forget_confirmed):
        button(forget, "Cancel").click()
    forget.open()
    with qtbot.waitSignal(forget.forget_confirmed) as signal:
        button(forget, "Forget").click()
    assert signal.args == [(1, 2), True]


def test_enter_alone_loses_nothing(forget: ForgetQuestion) -> None:
    assert forget.defaultButton() is button(forget, "Cancel")


def test_reissuing_warns_that_work_may_run_twice(reissue: ReissueQuestion) -> None:
    assert "may be done twice" in reissue.informativeText()
    assert "Resume continues" in reissue.informativeText()


def test_resuming_is_not_recommended_where_it_cannot_work(qtbot: QtBot) -> None:
    question = ReissueQuestion([job(state=JobState.FAILED)])
    qtbot.addWidget(question)
    assert "Resume continues" not in question.informativeText()


def test_many_requests_are_named_counted_and_sent_together(qtbot: QtBot) -> None:
    failed = job(id=9, name="crawl", state=JobState.FAILED)
    question = ReissueQuestion([failed, *map(resumable, range(1, 8))])
    qtbot.addWidget(question)
    assert question.text() == "Send 8 requests again from the start?"
    reported = question.informativeText()
    assert "• crawl" in reported
    assert "and 3 more" in reported
    assert "Resume continues where 7 of these jobs stopped." in reported
    question.open()
    with qtbot.waitSignal(question.reissue_confirmed) as approved:
        button(question, "Re-issue").click()
    assert approved.args == [(9, 1, 2, 3, 4, 5, 6, 7), True]


@pytest.mark.parametrize("is_asked", [True, False])
def test_agreeing_to_reissue_tells_whether_to_ask_again(
    qtbot: QtBot, reissue: ReissueQuestion, is_asked: bool
) -> None:
    reissue.never_again.setChecked(not is_asked)
    with qtbot.waitSignal(reissue.reissue_confirmed) as signal:
        button(reissue, "Re-issue").click()
    assert signal.args == [(1,), is_asked]


def test_cancelling_reissues_nothing(qtbot: QtBot, reissue: ReissueQuestion) -> None:
    with qtbot.assertNotEmitted(reissue.reissue_confirmed):
        button(reissue, "Cancel").click()


def test_enter_does_not_run_work_twice(reissue: ReissueQuestion) -> None:
    assert reissue.defaultButton() is button(reissue, "Cancel")
