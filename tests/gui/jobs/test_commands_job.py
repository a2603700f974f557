"""What can be done with the selected jobs, by key, menu and button; exactly what can work."""

import time

import pytest
from PySide6.QtCore import QEvent, QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QToolTip
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Command
from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.commands import (
    ANSWER,
    AUTOMATIC,
    CANCEL,
    COMPARE,
    COPY_COMMAND,
    COPY_CURL,
    COPY_REQUEST,
    COPY_RESULT,
    COPY_SNIPPET,
    COPY_TOKEN,
    EDIT,
    FOLLOW,
    FORGET,
    JOB_COMMANDS,
    PICK_UP,
    REISSUE,
    REMOVE,
    REPORT,
    RESUME,
    TICKS,
)
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState, TaskSnapshot
from tests.gui.jobs.job_lists import CONTROL, LEFT, PLAIN, SHIFT, asked, click, place_of
from tests.job_stand_ins import FakeJobs, job, resumable


@pytest.mark.parametrize("command", [COPY_REQUEST, COPY_RESULT, COPY_TOKEN])
def test_something_of_the_current_job_is_copied(pane: JobList, command: Command) -> None:
    said = asked(pane, command)
    pane.select(3)
    pane.commands[command].trigger()
    assert said == [3]


def test_a_snippet_is_made_of_a_jobs_request(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    said = asked(pane, COPY_SNIPPET)
    source.put(job(id=1, request=40, watched_client="Cursor", state=JobState.DONE))
    source.put(job(id=2, request=-2))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2})))
    pane.select(1)
    pane.commands[COPY_SNIPPET].trigger()
    pane.select(2)
    assert not pane.commands[COPY_SNIPPET].isEnabled()  # it was found on disk
    assert said == [1]


def test_the_request_of_another_client_can_be_edited_after_its_end(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    own = pane.commands[EDIT].text()
    source.put(job(id=1, watched_client="Cursor", state=JobState.DONE))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    pane.select(1)
    edit = pane.commands[EDIT]
    assert edit.isEnabled()
    assert edit.text() == "&Edit and re-issue here…"
    assert edit.toolTip().startswith("Edit Cursor's request, and send it on a connection")
    pane.select(2)
    assert edit.text() == own


@pytest.mark.parametrize("command", [EDIT, FOLLOW, REPORT, TICKS])
def test_a_request_for_one_job_names_it(pane: JobList, command: Command) -> None:
    said = asked(pane, command)
    pane.select(4)
    pane.commands[command].trigger()
    assert said == [4]


def test_all_of_a_selection_are_sent_again(pane: JobList) -> None:
    said = asked(pane, REISSUE)
    pane.table.selectAll()
    pane.commands[REISSUE].trigger()
    assert said == [(1, 2, 3, 4)]


_OF_TRACES = {"trace", "traceparent"}


def _dead(pane: JobList) -> set[str]:
    """The names of the commands that are disabled."""
    named = {command.id.removeprefix("jobs."): command for command in JOB_COMMANDS}
    return {name for name, command in named.items() if not pane.commands[command].isEnabled()}


@pytest.mark.parametrize(
    ("job_id", "dead"),
    [
        (1, {"answer", "resume", "pick-up", "reconnect", "result", "remove", "forget"}),
        (3, {"answer", "cancel", "resume", "pick-up", "reconnect", "automatic", "forget"}),
        (
            4,
            {
                "answer",
                "cancel",
                "resume",
                "pick-up",
                "reconnect",
                "automatic",
                "result",
                "token",
                "forget",
            },
        ),
    ],
)
def test_exactly_those_actions_are_enabled_that_can_work(
    pane: JobList, job_id: int, dead: set[str]
) -> None:
    pane.select(job_id)
    assert _dead(pane) == dead | {"compare", "issue", *_OF_TRACES}


def test_two_selected_jobs_are_compared(pane: JobList) -> None:
    said = asked(pane, COMPARE)
    pane.select(3)
    assert not pane.commands[COMPARE].isEnabled()
    flags = QItemSelectionModel.SelectionFlag
    index = pane.table.model().index(0, 0)
    pane.table.selectionModel().select(index, flags.Select | flags.Rows)
    pane.commands[COMPARE].trigger()
    assert said == [(3, 1)]


def test_nothing_is_sent_for_the_job_of_another_client(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    pane.select(1)
    own = pane.commands[CANCEL].toolTip()
    source.put(
        job(
            id=1,
            watched_client="Claude Code",
            state=JobState.NEEDS_YOU,
            questions=(9,),
            task=TaskSnapshot("t", "working", is_ours_to_cancel=True, is_followed=False),
        )
    )
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    sending = [each for each in JOB_COMMANDS if each.live_only and each not in {REMOVE, FORGET}]
    assert len(sending) == 10
    assert [each for each in sending if pane.commands[each].isEnabled()] == []
    why = "Claude Code runs this job; it is only watched here"
    assert {pane.commands[each].toolTip() for each in sending} == {why}
    assert pane.commands[FOLLOW].isEnabled()
    assert pane.commands[COPY_REQUEST].isEnabled()
    pane.select(2)
    assert pane.commands[CANCEL].isEnabled()
    assert pane.commands[CANCEL].toolTip() == own


def test_a_call_is_copied_for_elsewhere_and_nothing_but_a_call(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    said = [asked(pane, command) for command in (COPY_COMMAND, COPY_CURL)]
    pane.select(1)
    pane.commands[COPY_COMMAND].trigger()
    pane.commands[COPY_CURL].trigger()
    assert said == [[1], [1]]
    source.put(job(id=1, method="tools/list"))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    assert not pane.commands[COPY_CURL].isEnabled()


def test_actions_follow_a_job_that_ends(pane: JobList, jobs: JobsModel, source: FakeJobs) -> None:
    pane.select(1)
    source.put(job(id=1, state=JobState.DONE))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    assert not pane.commands[CANCEL].isEnabled()
    assert pane.commands[REMOVE].isEnabled()


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.DONE])
def test_the_menu_holds_what_applies_to_the_job(
    qtbot: QtBot, pane: JobList, jobs: JobsModel, source: FakeJobs, state: JobState
) -> None:
    source.put(job(id=1, state=state))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    pane.select(1)
    pane.table.customContextMenuRequested.emit(place_of(pane, 0, Column.JOB))
    menu = next(menu for menu in pane.findChildren(QMenu) if menu.isVisible())
    qtbot.addWidget(menu)
    actions = [action for action in menu.actions() if not action.isSeparator()]
    assert {action.objectName() for action in actions} == {
        command.id
        for command in JOB_COMMANDS
        if command is not ANSWER
        and (pane.commands[command].isEnabled() or pane.commands[command].why)
    }
    assert (pane.commands[CANCEL] in actions) is (state is JobState.RUNNING)
    assert pane.commands[REMOVE] in actions or state is JobState.RUNNING
    menu.close()


@pytest.fixture
def stopped(pane: JobList, jobs: JobsModel, source: FakeJobs) -> JobList:
    """The list with two resumable jobs more, 5 and 6; 6 goes on by itself."""
    waiting = {"is_automatic": True, "next_attempt_at": time.monotonic() + 60}
    source.put(resumable(5, resume_note="connection lost"), resumable(6, **waiting))
    jobs.apply(ChangeSet(added=(5, 6)))
    return pane


def test_the_button_of_a_resumable_row_resumes_that_job(qtbot: QtBot, stopped: JobList) -> None:
    said = asked(stopped, RESUME)
    click(qtbot, stopped, 4, Column.ACTIONS)
    assert said == [(5,)]


def test_a_job_that_cannot_be_resumed_now_has_no_button(
    qtbot: QtBot, stopped: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(resumable(5, can_resume=False))
    jobs.apply(ChangeSet(progressed=frozenset({5})))
    said = asked(stopped, RESUME)
    click(qtbot, stopped, 4, Column.ACTIONS)
    assert said == []


@pytest.mark.parametrize("widget", ["table", "elsewhere"])
def test_control_r_resumes_those_of_the_selection_that_can_be(
    qtbot: QtBot, stopped: JobList, widget: str
) -> None:
    elsewhere = QLineEdit(stopped)
    elsewhere.show()
    said = asked(stopped, RESUME)
    stopped.table.selectAll()
    stopped.activateWindow()
    focused = stopped.table if widget == "table" else elsewhere
    focused.setFocus()
    QTest.keyClick(focused, Qt.Key.Key_R, CONTROL)
    assert said == [(5, 6)]


def test_delete_elsewhere_cancels_nothing(qtbot: QtBot, pane: JobList) -> None:
    elsewhere = QPushButton(pane)
    elsewhere.show()
    said = asked(pane, CANCEL)
    pane.select(1)
    pane.activateWindow()
    elsewhere.setFocus()
    QTest.keyClick(elsewhere, Qt.Key.Key_Delete)
    assert said == []
    pane.table.setFocus()
    QTest.keyClick(pane.table, Qt.Key.Key_Delete)
    assert said == [(1,)]


def test_automatic_resuming_is_ticked_where_all_that_could_are_automatic(
    stopped: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    automatic = stopped.commands[AUTOMATIC]
    stopped.select(5)
    assert (automatic.isEnabled(), automatic.isChecked()) == (True, False)
    stopped.select(6)
    assert automatic.isChecked()
    stopped.table.selectAll()
    assert not automatic.isChecked()
    source.put(*(resumable(n, is_automatic=True) for n in (5, 6)))
    for number in (1, 2):
        source.put(job(id=number, is_automatic=True))
    jobs.apply(ChangeSet(progressed=frozenset({1, 2, 5, 6}), moved=frozenset({5})))
    assert automatic.isChecked()


def test_automatic_resuming_is_asked_for_and_called_off(stopped: JobList) -> None:
    said = asked(stopped, AUTOMATIC)
    stopped.select(5)
    stopped.commands[AUTOMATIC].trigger()
    stopped.select(6)
    stopped.commands[AUTOMATIC].trigger()
    assert said == [((5,), True), ((6,), False)]


def test_a_request_of_a_server_cannot_resume_automatically(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=1, sender=Side.SERVER))
    jobs.apply(ChangeSet(progressed=frozenset({1}), moved=frozenset({1})))
    pane.select(1)
    assert not pane.commands[AUTOMATIC].isEnabled()


def test_shift_delete_removes_what_is_over_resumable_jobs_too(stopped: JobList) -> None:
    removed, forgotten = asked(stopped, REMOVE), asked(stopped, FORGET)
    stopped.table.selectAll()
    stopped.activateWindow()
    stopped.table.setFocus()
    QTest.keyClick(stopped.table, Qt.Key.Key_Delete, SHIFT)
    assert (removed, forgotten) == ([(3, 4, 5, 6)], [])


def test_cancelling_stops_the_automatic_resuming_of_a_waiting_job(
    qtbot: QtBot, stopped: JobList
) -> None:
    said = asked(stopped, CANCEL)
    stopped.table.selectAll()
    stopped.commands[CANCEL].trigger()
    assert said == [(1, 2, 6)]


def test_a_waiting_row_has_two_buttons(qtbot: QtBot, stopped: JobList) -> None:
    resumed, cancelled = asked(stopped, RESUME), asked(stopped, CANCEL)
    first = place_of(stopped, 5, Column.ACTIONS)
    second = first + QPoint(28, 0)
    assert stopped.table.columnAt(second.x()) == Column.ACTIONS
    for place in (first, second):
        QTest.mouseClick(stopped.table.viewport(), LEFT, PLAIN, place)
    assert (resumed, cancelled) == ([(6,)], [(6,)])


def test_exactly_what_can_work_for_a_resumable_job_is_enabled(stopped: JobList) -> None:
    stopped.select(5)
    dead = {"answer", "compare", "pick-up", "reconnect", "cancel", "result", "issue"}
    assert _dead(stopped) == dead | _OF_TRACES


def test_no_two_actions_share_a_key(pane: JobList) -> None:
    keys = [key for each in JOB_COMMANDS for key in (*each.keys, *each.fixed_keys)]
    assert len(keys) == len(set(keys))


def test_a_job_without_ticks_has_none_to_be_saved(
    pane: JobList, source: FakeJobs, jobs: JobsModel
) -> None:
    source.put(job(id=4, tick_count=0))
    jobs.apply(ChangeSet(progressed=frozenset({4})))
    pane.select(4)
    assert pane.commands[REPORT].isEnabled()
    assert not pane.commands[TICKS].isEnabled()


def test_the_tip_of_a_resumable_state_says_all(stopped: JobList) -> None:
    index = stopped.table.model().index(4, Column.STATUS)
    place = stopped.table.visualRect(index).center()
    at = stopped.table.viewport().mapToGlobal(place)
    stopped.table.viewportEvent(QHelpEvent(QEvent.Type.ToolTip, place, at))
    tip = QToolTip.text()
    QToolTip.hideText()
    for arguments in ("Resumable, 40.0 %", "saved 0 s ago", "connection lost"):
        assert arguments in tip


@pytest.fixture
def left(jobs: JobsModel, source: FakeJobs) -> FakeJobs:
    """The second job is a task that was left at its server, the third one that is followed."""
    source.put(
        job(id=2, task=TaskSnapshot("t-2", "working", ttl_left_s=60.0, is_followed=False)),
        job(id=3, task=TaskSnapshot("t-3", "working", is_ours_to_cancel=True)),
    )
    changed = frozenset({2, 3})
    jobs.apply(ChangeSet(progressed=changed, moved=changed))
    return source


@pytest.mark.usefixtures("left")
def test_a_task_left_at_its_server_is_picked_up_and_not_cancelled(pane: JobList) -> None:
    wished, cancelled = asked(pane, PICK_UP), asked(pane, CANCEL)
    pane.table.selectAll()
    pane.commands[PICK_UP].trigger()
    pane.commands[CANCEL].trigger()
    assert wished == [(2,)]
    assert cancelled == [(1, 3)]


@pytest.mark.usefixtures("left")
def test_a_click_on_the_button_of_such_a_row_picks_it_up(pane: JobList) -> None:
    wished = asked(pane, PICK_UP)
    place = place_of(pane, 1, Column.ACTIONS)
    QTest.mouseClick(pane.table.viewport(), LEFT, PLAIN, place)
    assert wished == [(2,)]


def test_a_task_whose_time_is_over_is_not_offered_to_be_picked_up(
    pane: JobList, jobs: JobsModel, source: FakeJobs
) -> None:
    source.put(job(id=2, task=TaskSnapshot("t-2", "working", ttl_left_s=0.0, is_followed=False)))
    jobs.apply(ChangeSet(progressed=frozenset({2}), moved=frozenset({2})))
    pane.select(2)
    assert not pane.commands[PICK_UP].isEnabled()
    assert pane.commands[FORGET].isEnabled()
