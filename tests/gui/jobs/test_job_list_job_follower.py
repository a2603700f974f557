"""New jobs are kept in sight; what is out of sight is reported, and one click away."""

from functools import partial

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.tables import is_in_sight
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter, JobGroup
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import ROW, JobsModel
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, job


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(*(job(id=number) for number in range(1, 4)))


@pytest.fixture
def pane(qtbot: QtBot, jobs: JobsModel, appearance: Appearance) -> JobList:
    made = JobList(jobs, JobFilter(jobs, jobs), appearance, Commands())
    expose(qtbot, made, 900, 300)
    qtbot.wait(20)
    return made


def _add(jobs: JobsModel, source: FakeJobs, *numbers: int, **changes: JobState) -> None:
    for number in numbers:
        source.put(job(id=number, **changes))
    jobs.apply(ChangeSet(added=numbers))


def _is_seen(pane: JobList, number: int) -> bool:
    index = pane.table.model().index(0, 0)
    while index.isValid() and pane.table.model().data(index, ROW).job.id != number:
        index = index.siblingAtRow(index.row() + 1)
    return is_in_sight(pane.table, index)


def test_new_jobs_are_followed(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    for number in range(4, 40, 5):
        newest = number + 4
        _add(jobs, source, *range(number, newest + 1))
        qtbot.waitUntil(partial(_is_seen, pane, newest))
    assert pane.follower.isHidden()


def test_jobs_are_followed_when_the_list_gets_lower(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    _add(jobs, source, *range(4, 12))
    qtbot.waitUntil(lambda: _is_seen(pane, 11))
    pane.resize(900, 180)
    qtbot.waitUntil(lambda: _is_seen(pane, 11))


def test_a_user_who_scrolled_up_is_reported_new_jobs_instead(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    _add(jobs, source, *range(4, 20))
    qtbot.waitUntil(lambda: _is_seen(pane, 19))
    pane.table.verticalScrollBar().setValue(0)
    _add(jobs, source, 20)
    qtbot.waitUntil(lambda: pane.follower.newest.isVisible())
    assert pane.follower.newest.text() == "1 new job out of view"
    assert _is_seen(pane, 1)
    _add(jobs, source, 21)
    qtbot.waitUntil(lambda: pane.follower.newest.text() == "2 new jobs out of view")
    QTest.mouseClick(pane.follower.newest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: _is_seen(pane, 21) and pane.follower.isHidden())
    _add(jobs, source, 22)
    qtbot.waitUntil(lambda: _is_seen(pane, 22))


def test_following_leaves_the_chosen_job_in_sight(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    pane.select(2)
    _add(jobs, source, *range(4, 30))
    qtbot.waitUntil(lambda: pane.follower.newest.isVisible())
    assert _is_seen(pane, 2)
    assert not _is_seen(pane, 1)


def test_sorted_by_name_new_jobs_move_nothing(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    _add(jobs, source, *range(4, 20))
    qtbot.waitUntil(lambda: _is_seen(pane, 19))
    pane.table.sortByColumn(Column.JOB, Qt.SortOrder.AscendingOrder)
    pane.table.verticalScrollBar().setValue(0)
    _add(jobs, source, 20)
    qtbot.waitUntil(lambda: pane.follower.newest.isVisible())
    assert pane.table.verticalScrollBar().value() == 0
    QTest.mouseClick(pane.follower.newest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: _is_seen(pane, 20))


def test_sorted_by_name_new_jobs_are_counted_until_they_were_in_sight(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    pane.table.sortByColumn(Column.JOB, Qt.SortOrder.AscendingOrder)
    _add(jobs, source, *range(4, 64))
    qtbot.waitUntil(lambda: pane.follower.newest.isVisible())
    newest, bar = pane.follower.newest, pane.table.verticalScrollBar()
    seen = set(range(63 - int(newest.text().split()[0])))

    def is_counted() -> bool:
        seen.update(pane.table.rows_in_sight())
        return newest.text() == f"{63 - len(seen)} new jobs out of view"

    for value in (0, bar.maximum() // 2, bar.maximum(), 0):
        bar.setValue(value)
        qtbot.waitUntil(is_counted)


def test_a_job_that_needs_the_user_out_of_sight_is_one_click_away(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    _add(jobs, source, *range(4, 30))
    qtbot.waitUntil(lambda: _is_seen(pane, 29))
    assert pane.follower.isHidden()
    for number in (1, 2):
        source.put(job(id=number, state=JobState.NEEDS_YOU))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2}), moved=frozenset({1, 2})))
    qtbot.waitUntil(lambda: pane.follower.needs_you.isVisible())
    assert pane.follower.needs_you.text() == "2 jobs out of view need you"
    QTest.mouseClick(pane.follower.needs_you, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: _is_seen(pane, 1))
    assert pane.selected() == (1,)
    assert pane.focusWidget() is pane.table
    for number in (1, 2):
        source.put(job(id=number))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2}), moved=frozenset({1, 2})))
    qtbot.waitUntil(lambda: not pane.follower.needs_you.isVisible())


def test_what_a_filter_hides_is_not_out_of_sight(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    shown = pane.table.model()
    assert isinstance(shown, JobFilter)
    shown.set_group(JobGroup.FAILED)
    _add(jobs, source, *range(4, 30))
    _add(jobs, source, 30, state=JobState.NEEDS_YOU)
    qtbot.wait(20)
    assert pane.follower.isHidden()


def test_other_jobs_are_shown_from_their_begin(
    pane: JobList, jobs: JobsModel, qtbot: QtBot
) -> None:
    jobs.set_source(FakeJobs(*(job(id=number) for number in range(1, 60))))
    qtbot.wait(20)
    assert _is_seen(pane, 1)
    assert pane.follower.isHidden()


def test_tab_into_the_list_begins_in_sight(
    pane: JobList, jobs: JobsModel, source: FakeJobs, qtbot: QtBot
) -> None:
    pane.activateWindow()
    _add(jobs, source, *range(4, 40))
    qtbot.waitUntil(lambda: _is_seen(pane, 39))
    pane.table.clearFocus()
    pane.table.selectionModel().clearCurrentIndex()
    pane.table.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(pane.table, Qt.Key.Key_Down)
    assert is_in_sight(pane.table, pane.table.currentIndex())
    assert pane.table.currentIndex().row() > 10
