"""The list of jobs: what is asked for by mouse, keyboard and menu, and what it costs."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QToolTip
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.findings.finding import Level
from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.common.labels import Badge
from mcp_progress_monitor.gui.jobs.columns import COLUMNS, FIRST_SHOWN, Column
from mcp_progress_monitor.gui.jobs.commands import ANSWER, CANCEL, FINDINGS, OPEN, RECONNECT, REMOVE
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter, JobGroup
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import ROW, JobsModel
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import (
    ChangeSet,
    Failure,
    JobState,
    StreamSnapshot,
    StreamStep,
)
from tests.findings import mark
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import CONTROL, LEFT, PLAIN, SHIFT, asked, click, heard, place_of
from tests.job_stand_ins import FakeJobs, job, new_job


def test_the_cancel_button_in_a_row_cancels_its_job(qtbot: QtBot, pane: JobList) -> None:
    said = asked(pane, CANCEL)
    click(qtbot, pane, 1, Column.ACTIONS)
    assert said == [(2,)]


def test_a_row_that_is_over_has_no_button(qtbot: QtBot, pane: JobList) -> None:
    said = asked(pane, CANCEL)
    click(qtbot, pane, 2, Column.ACTIONS)
    assert said == []


def test_a_press_on_one_button_and_release_on_another_does_nothing(
    qtbot: QtBot, pane: JobList
) -> None:
    said = asked(pane, CANCEL)
    viewport = pane.table.viewport()
    QTest.mousePress(viewport, LEFT, PLAIN, place_of(pane, 0, Column.ACTIONS))
    QTest.mouseRelease(viewport, LEFT, PLAIN, place_of(pane, 1, Column.ACTIONS))
    assert said == []


def test_a_press_beside_a_button_and_release_on_it_does_nothing(pane: JobList) -> None:
    said = asked(pane, CANCEL)
    viewport = pane.table.viewport()
    button = place_of(pane, 0, Column.ACTIONS)
    cell = pane.table.visualRect(pane.table.model().index(0, Column.ACTIONS))
    QTest.mousePress(viewport, LEFT, PLAIN, cell.topRight() + QPoint(-1, 1))
    QTest.mouseRelease(viewport, LEFT, PLAIN, button)
    assert said == []


def test_a_new_job_has_no_button_until_it_has_settled(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    said = asked(pane, CANCEL)
    source.put(new_job(5))
    jobs.apply(ChangeSet(added=(5,)))
    click(qtbot, pane, 4, Column.ACTIONS)
    source.put(new_job(5, elapsed_s=1.0))
    jobs.tick([4])
    click(qtbot, pane, 4, Column.ACTIONS)
    assert said == [(5,)]


@pytest.mark.parametrize(
    ("key", "modifier"), [(Qt.Key.Key_Delete, PLAIN), (Qt.Key.Key_Period, CONTROL)]
)
def test_the_keyboard_cancels_those_of_the_selection_that_go_on(
    qtbot: QtBot, pane: JobList, key: Qt.Key, modifier: Qt.KeyboardModifier
) -> None:
    said = asked(pane, CANCEL)
    pane.table.selectAll()
    pane.activateWindow()
    pane.table.setFocus()
    QTest.keyClick(pane.table, key, modifier)
    assert said == [(1, 2)]


def test_shift_delete_removes_those_of_the_selection_that_are_over(
    qtbot: QtBot, pane: JobList
) -> None:
    said = asked(pane, REMOVE)
    pane.table.selectAll()
    pane.activateWindow()
    pane.table.setFocus()
    QTest.keyClick(pane.table, Qt.Key.Key_Delete, SHIFT)
    assert said == [(3, 4)]


def test_enter_and_double_click_open_a_job(qtbot: QtBot, pane: JobList) -> None:
    said = asked(pane, OPEN)
    assert pane.select(2)
    pane.activateWindow()
    pane.table.setFocus()
    QTest.keyClick(pane.table, Qt.Key.Key_Return)
    place = place_of(pane, 2, Column.PROGRESS)
    QTest.mouseClick(pane.table.viewport(), LEFT, PLAIN, place)
    QTest.mouseDClick(pane.table.viewport(), LEFT, PLAIN, place)
    assert said == [2, 3]


def test_the_selection_is_reported_with_the_current_job_first(qtbot: QtBot, pane: JobList) -> None:
    said = heard(pane.selection_changed)
    viewport = pane.table.viewport()
    QTest.mouseClick(viewport, LEFT, PLAIN, place_of(pane, 0, Column.JOB))
    QTest.mouseClick(viewport, LEFT, CONTROL, place_of(pane, 2, Column.JOB))
    assert said[-1] == (3, 1)
    assert pane.selected() == (3, 1)


def test_columns_can_be_shown_and_hidden_from_the_header(qtbot: QtBot, pane: JobList) -> None:
    header = pane.table.header()
    assert {column for column in COLUMNS if not header.isSectionHidden(column)} == set(FIRST_SHOWN)
    header.customContextMenuRequested.emit(QPoint(5, 5))
    menu = next(menu for menu in pane.findChildren(QMenu) if menu.isVisible())
    qtbot.addWidget(menu)
    next(action for action in menu.actions() if action.text() == "Rate").trigger()
    menu.close()
    assert not header.isSectionHidden(Column.RATE)
    assert header.sectionSize(Column.RATE) > 40


def test_a_saved_layout_is_taken_up_again(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, shown: JobFilter, appearance: Appearance
) -> None:
    pane.table.header().setSectionHidden(Column.SERVER, True)
    other = JobList(jobs, shown, appearance, Commands())
    qtbot.addWidget(other)
    assert other.restore_layout(pane.save_layout())
    assert other.table.header().isSectionHidden(Column.SERVER)


def test_the_column_of_endings_is_for_those_who_choose_it(pane: JobList) -> None:
    assert pane.table.header().isSectionHidden(Column.ENDED)


def test_names_stay_readable_however_often_a_narrow_window_is_opened(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, shown: JobFilter, appearance: Appearance
) -> None:
    for column in (Column.MESSAGE, Column.RATE, Column.ELAPSED):
        pane.table.header().setSectionHidden(column, False)
    layout, widths = pane.save_layout(), []
    for _ in range(5):
        narrow = JobList(jobs, shown, appearance, Commands())
        assert narrow.restore_layout(layout)
        narrow.resize(604, 300)  # what a window of 800 pixels leaves
        expose(qtbot, narrow)
        widths.append(narrow.table.header().sectionSize(Column.JOB))
        layout = narrow.save_layout()
    assert len(set(widths)) == 1
    assert widths[0] > 140


def test_a_layout_without_names_is_fixed(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, shown: JobFilter, appearance: Appearance
) -> None:
    wide = pane.table.header().sectionSize(Column.JOB)
    pane.table.header().resizeSection(Column.JOB, 40)
    other = JobList(jobs, shown, appearance, Commands())
    other.restore_layout(pane.save_layout())
    expose(qtbot, other, 1080, 600)
    assert other.table.header().sectionSize(Column.JOB) == wide


def test_a_narrow_window_leaves_room_for_the_bar(qtbot: QtBot, pane: JobList) -> None:
    header = pane.table.header()
    wide = header.sectionSize(Column.JOB)
    pane.resize(700, 400)
    qtbot.waitUntil(lambda: header.sectionSize(Column.PROGRESS) >= 170)
    assert header.sectionSize(Column.JOB) < wide
    pane.resize(1080, 600)
    qtbot.waitUntil(lambda: header.sectionSize(Column.JOB) == wide)


def test_clicking_a_header_sorts(qtbot: QtBot, pane: JobList) -> None:
    header = pane.table.header()
    place = QPoint(header.sectionViewportPosition(Column.JOB) + 20, header.height() // 2)
    QTest.mouseClick(header.viewport(), LEFT, PLAIN, place)
    names = [pane.table.model().index(row, Column.JOB).data() for row in range(4)]
    assert names == ["Convert", "Crawl", "Export", "Index"]


def test_sorting_keeps_the_selection_on_its_job(pane: JobList) -> None:
    pane.select(3)
    pane.table.sortByColumn(Column.JOB, Qt.SortOrder.AscendingOrder)
    assert pane.selected() == (3,)


def test_only_rows_in_sight_are_asked_for(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(*(job(id=number) for number in range(5, 1005)))
    with qtbot.waitSignal(jobs.groups_changed):
        jobs.apply(ChangeSet(added=tuple(range(5, 1005))))
    qtbot.wait(20)
    source.asked.clear()
    jobs.apply(ChangeSet(progressed=frozenset(range(1, 1005))))
    qtbot.waitUntil(lambda: bool(source.asked))
    qtbot.wait(20)
    in_sight = len(pane.table.in_sight())
    assert 10 <= in_sight <= 20
    assert len(set(source.asked)) <= in_sight


def test_time_passes_in_sight_once_a_second_while_something_goes_on(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    spans = heard(jobs.dataChanged)
    qtbot.waitUntil(lambda: bool(spans))
    first, last = spans[0][:2]  # type: ignore[index]
    assert (first.row(), last.row()) == (0, 1)
    for number in (1, 2):
        source.put(job(id=number, state=JobState.DONE))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2}), moved=frozenset({1, 2})))
    spans.clear()
    qtbot.wait(1200)
    assert spans == []
    assert pane.isVisible()


def test_a_hidden_list_lets_no_time_pass(qtbot: QtBot, pane: JobList, jobs: JobsModel) -> None:
    pane.hide()
    spans = heard(jobs.dataChanged)
    qtbot.wait(1200)
    assert spans == []


def test_selecting_a_job_that_the_filter_leaves_out_says_so(
    pane: JobList, shown: JobFilter
) -> None:
    shown.set_group(JobGroup.FAILED)
    assert not pane.select(1)
    assert pane.select(4)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", list(JobState))
def test_every_state_can_be_painted_in_every_column_with_hostile_values(
    qtbot: QtBot,
    appearance: Appearance,
    pane: JobList,
    jobs: JobsModel,
    source: FakeJobs,
    state: JobState,
    scheme: str,
) -> None:
    ground, ink = ("#ffffff", "#000000") if scheme == "light" else ("#111111", "#eeeeee")
    palette = QPalette(pane.palette())
    palette.setColor(QPalette.ColorRole.Base, ground)
    palette.setColor(QPalette.ColorRole.Text, ink)
    appearance.follow(palette)
    for column in COLUMNS:
        pane.table.header().setSectionHidden(column, False)
    source.put(
        job(id=1, state=state, progress=10**400, total=-1, fraction=None, token={"a": [1] * 500}),
        job(id=2, state=state, name="<img src=x>" * 999, marks=(mark("k", "x" * 9999, 7, 1),)),
        job(id=3, state=state, failure=Failure("server", "no\x00\u202e" * 999), message="m" * 4096),
        new_job(4, state=state),
    )
    changed = frozenset({1, 2, 3, 4})
    jobs.apply(ChangeSet(progressed=changed, moved=changed))
    pane.select(2)
    qtbot.wait(1)
    assert not pane.grab().isNull()


def test_a_tool_tip_shows_server_text_as_text(qtbot: QtBot, pane: JobList) -> None:
    pane_jobs = pane.table.model()
    index = pane_jobs.index(0, Column.PROGRESS)
    source_text = "<b>bold</b>"
    changed = job(id=1, message=source_text)
    pane_jobs.sourceModel().source.put(changed)  # type: ignore[attr-defined]
    pane_jobs.sourceModel().apply(ChangeSet(progressed=frozenset({1})))  # type: ignore[attr-defined]
    place = pane.table.visualRect(index).center()
    event = QHelpEvent(QEvent.Type.ToolTip, place, pane.table.viewport().mapToGlobal(place))
    pane.table.viewportEvent(event)
    assert "&lt;b&gt;bold&lt;/b&gt;" in QToolTip.text()
    QToolTip.hideText()
    qtbot.wait(1)


def test_an_empty_list_says_why(pane: JobList, shown: JobFilter) -> None:
    before = pane.grab().toImage()
    shown.set_text("no such job")
    after = pane.grab().toImage()
    assert shown.rowCount() == 0
    assert before != after


def test_the_mouse_over_a_button_is_shown(qtbot: QtBot, pane: JobList) -> None:
    place = place_of(pane, 0, Column.ACTIONS)
    away = pane.grab().toImage()
    QTest.mouseMove(pane.table.viewport(), place)
    qtbot.wait(1)
    over = pane.grab().toImage()
    pixel = QPointF(pane.table.viewport().mapTo(pane, place)).toPoint() + QPoint(-9, -8)
    assert over.pixel(pixel) != away.pixel(pixel)


def test_streams_that_broke_can_be_reconnected_while_their_jobs_run(
    pane: JobList, source: FakeJobs, jobs: JobsModel
) -> None:
    said = asked(pane, RECONNECT)
    action = pane.commands[RECONNECT]
    pane.table.selectAll()
    assert not action.isEnabled()
    step = StreamStep(False, 100.0, 41, "", "40", 1, None)
    stream = StreamSnapshot(False, 12.0, 1, 1, step)
    source.put(job(id=1, stream=stream), job(id=3, stream=stream, state=JobState.DONE))
    jobs.apply(ChangeSet(progressed=frozenset({1, 3})))
    pane.table.clearSelection()
    pane.table.selectAll()
    action.trigger()
    assert said == [(1,)]


def test_badges_show_findings_and_of_an_earlier_run_what_was_saved(
    pane: JobList, source: FakeJobs, jobs: JobsModel
) -> None:
    saved = job(id=1, request=0, marks=(mark("k", "went back", 7, 1),))
    source.put(saved, job(id=2, request=9, marks=(mark("k", "went back", 7, 1),)))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2}), moved=frozenset({1, 2})))
    row = {each: jobs.index(jobs.row_of(each) or 0, Column.JOB) for each in (1, 2)}
    assert row[2].data(ROW).badge == Badge(1, Level.WARNING)
    jobs.set_badges({2: Badge(3, Level.ERROR)})
    assert row[2].data(ROW).badge == Badge(3, Level.ERROR)
    assert (
        row[2]
        .data(Qt.ItemDataRole.AccessibleTextRole)
        .endswith("3 findings, highest severity: error")
    )
    assert row[1].data(ROW).badge == Badge(1, Level.WARNING)
    jobs.set_badges({})
    assert row[2].data(ROW).badge is None


def test_the_findings_of_a_job_can_be_asked_for(pane: JobList) -> None:
    said = asked(pane, FINDINGS)
    pane.select(2)
    pane.commands[FINDINGS].trigger()
    assert said == [2]


def test_the_oldest_question_can_be_answered_whatever_is_chosen(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    said = asked(pane, ANSWER)
    assert not pane.commands[ANSWER].isEnabled()
    for number in (6, 5):
        source.put(job(id=number, state=JobState.NEEDS_YOU))
    jobs.apply(ChangeSet(added=(5, 6)))
    qtbot.waitUntil(pane.commands[ANSWER].isEnabled)
    pane.select(3)
    pane.commands[ANSWER].trigger()
    pane.select(6)
    pane.commands[ANSWER].trigger()
    assert said == [5, 6]


def test_the_menu_of_a_job_offers_no_answer_to_the_question_of_another(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=5, state=JobState.NEEDS_YOU))
    jobs.apply(ChangeSet(added=(5,)))
    qtbot.waitUntil(pane.commands[ANSWER].isEnabled)
    for chosen, is_offered in ((3, False), (5, True)):
        pane.select(chosen)
        pane.table.customContextMenuRequested.emit(place_of(pane, 0, Column.JOB))
        menu = next(menu for menu in pane.findChildren(QMenu) if menu.isVisible())
        assert (pane.commands[ANSWER] in menu.actions()) is is_offered
        menu.close()


def test_the_question_of_another_client_cannot_be_answered(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=5, state=JobState.NEEDS_YOU, watched_client="Claude Code"))
    jobs.apply(ChangeSet(added=(5,)))
    qtbot.waitUntil(lambda: pane.follower.needing == [5])
    assert not pane.commands[ANSWER].isEnabled()
