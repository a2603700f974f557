"""The attempts of a job, and the token that is hidden until it is asked for."""

import time

import pytest
from PySide6.QtCore import QItemSelectionModel
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.attempts import AttemptsSection
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import AttemptSnapshot, JobState
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import job_actions
from tests.job_stand_ins import detail, job, resumable

TOKEN = "secret\u202e-token-1"


@pytest.fixture
def section(qtbot: QtBot, appearance: Appearance) -> AttemptsSection:
    made = AttemptsSection(job_actions(appearance))
    expose(qtbot, made, 900, 240)
    now = time.time()
    attempts = (
        AttemptSnapshot(1, now - 90, now - 60, JobState.RESUMABLE, 12, 400),
        AttemptSnapshot(2, now - 50, None, "interrupted", None, 30, "the program ended"),
    )
    made.show_detail(detail(resumable(1), attempts=attempts, resume_token=TOKEN))
    return made


def cells(section: AttemptsSection, row: int) -> list[str]:
    return [section.model.index(row, c).data() for c in range(section.model.columnCount())]


def test_attempts_stand_oldest_first(section: AttemptsSection) -> None:
    assert section.model.rowCount() == 2
    assert (cells(section, 0)[0], cells(section, 0)[4:6]) == ("1", ["400", "Resumable"])
    assert cells(section, 1)[5:] == ["Interrupted", "the program ended"]


def test_an_attempt_leads_to_its_request_unless_that_was_in_an_earlier_run(
    qtbot: QtBot, section: AttemptsSection
) -> None:
    with qtbot.waitSignal(section.frame_followed) as signal:
        section.table.activated.emit(section.model.index(0, 0))
    assert signal.args == [12]
    with qtbot.assertNotEmitted(section.frame_followed):
        section.table.activated.emit(section.model.index(1, 0))


def test_the_token_is_hidden_until_it_is_asked_for(section: AttemptsSection) -> None:
    assert section.token.text() == ""
    section.show_token.click()
    assert section.token.text() == "secret\\u202e-token-1"
    section.show_token.click()
    assert section.token.text() == ""


def test_the_token_is_copied_exactly(section: AttemptsSection) -> None:
    section.copy_token.click()
    assert QGuiApplication.clipboard().text() == TOKEN


def test_another_jobs_token_is_hidden_again(section: AttemptsSection) -> None:
    section.show_token.click()
    section.show_detail(detail(resumable(2), resume_token=TOKEN))
    assert section.token.text() == ""
    assert not section.show_token.isChecked()


def test_a_new_token_of_the_same_job_replaces_the_one_that_is_shown(
    section: AttemptsSection,
) -> None:
    section.show_token.click()
    section.show_detail(detail(resumable(1), resume_token="newer"))
    assert section.token.text() == "newer"


def test_a_huge_token_is_shown_in_part_and_copied_whole(section: AttemptsSection) -> None:
    huge = "x" * 1_000_000
    section.show_detail(detail(resumable(1), resume_token=huge))
    section.show_token.click()
    assert 0 < len(section.token.text()) <= 2_000
    section.copy_token.click()
    assert QGuiApplication.clipboard().text() == huge


def test_without_a_token_there_is_nothing_to_show(section: AttemptsSection) -> None:
    section.show_detail(detail(job(id=1)))
    assert not section.token.isVisible()
    assert not section.show_token.isVisible()
    assert section.model.rowCount() == 0


def test_automatic_resuming_follows_the_job(section: AttemptsSection) -> None:
    section.show_detail(detail(resumable(1, is_automatic=True)))
    assert section.automatic.isChecked()
    section.show_detail(detail(job(id=1, state=JobState.DONE)))
    assert not section.automatic.isEnabled()


def test_a_selected_attempt_stays_selected_ten_times_a_second(section: AttemptsSection) -> None:
    attempts = (
        AttemptSnapshot(1, 0.0, 1.0, JobState.RESUMABLE, 12, 400),
        AttemptSnapshot(2, 2.0, None, JobState.RUNNING, 13, 1),
    )
    section.show_detail(detail(resumable(1), attempts=attempts))
    flags = (
        QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    )
    section.table.selectionModel().select(section.model.index(0, 0), flags)
    newer = (attempts[0], attempts[1]._replace(tick_count=2))
    section.show_detail(detail(resumable(1), attempts=newer))
    assert [index.row() for index in section.table.selectionModel().selectedRows()] == [0]
