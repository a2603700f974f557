"""The section about a task: shown for tasks alone, with its course and its id to be copied."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.commands import PICK_UP
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import TaskSnapshot, TaskStep
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import asked, job_actions
from tests.job_stand_ins import FakeJobs, detail, job

TASK = TaskSnapshot("<b>t-1</b>", "working", "Step 3", 500, 61.2, 213.2, 12, polled_s=2.4)
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def source() -> FakeJobs:
    made = FakeJobs(job(id=1), job(id=2, task=TASK), job(id=3))
    steps = [
        TaskStep("working", "Begun", 100.0, "created", 20),
        TaskStep("working", "", 101.0, "get", 31),
    ]
    made.details[2] = detail(job(id=2, task=TASK), task_steps=steps, round_trips=1)
    left = TASK._replace(is_followed=False)
    made.put(job(id=3, task=left))
    return made


@pytest.fixture
def pane(qtbot: QtBot, source: FakeJobs, appearance: Appearance) -> JobPane:
    made = JobPane(appearance, job_actions(appearance))
    made.set_source(source)
    return expose(qtbot, made, 900, 400)


def has_tab(pane: JobPane) -> bool:
    return pane.tabs.isTabVisible(pane.tabs.indexOf(pane.task))


def test_the_section_is_there_for_tasks_alone(pane: JobPane) -> None:
    pane.show_job(1)
    assert not has_tab(pane)
    pane.show_job(2)
    assert has_tab(pane)
    pane.tabs.setCurrentWidget(pane.task)
    pane.show_job(1)
    assert not has_tab(pane)
    assert pane.tabs.currentWidget() is not pane.task


def test_the_course_is_reported_and_leads_into_traffic(pane: JobPane) -> None:
    pane.show_job(2)
    pane.tabs.setCurrentWidget(pane.task)
    followed: list[object] = []
    pane.frame_followed.connect(followed.append)
    table = pane.task.table
    assert [table.model().index(0, column).data() for column in (0, 1, 3)] == [
        "Working",
        "Begun",
        "the reply that created it",
    ]
    table.activated.emit(table.model().index(1, 0))
    assert followed == [31]
    assert "polled 12 times" in pane.task.numbers.text()
    assert "1 round of input" in pane.task.numbers.text()


def test_the_id_is_plain_text_and_is_copied_whole(pane: JobPane) -> None:
    pane.show_job(2)
    pane.tabs.setCurrentWidget(pane.task)
    assert pane.task.identity.textFormat() is Qt.TextFormat.PlainText
    QTest.mouseClick(pane.task.copy_id, LEFT)
    assert QGuiApplication.clipboard().text() == "<b>t-1</b>"


def test_a_task_left_at_its_server_is_picked_up_by_a_button(pane: JobPane) -> None:
    wished = asked(pane, PICK_UP)
    pane.show_job(3)
    button = next(
        each for each in pane.header.findChildren(QToolButton) if each.text() == "Follow task"
    )
    assert button.isVisible()
    QTest.mouseClick(button, LEFT)
    assert wished == [(3,)]
    pane.show_job(1)
    assert not button.isVisible()
