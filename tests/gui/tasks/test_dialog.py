"""The list of a server's tasks: what can be done with each, and what went wrong, as text."""

import datetime
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.tasks.dialog import ListedTask, TasksDialog
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.facts import TaskView
from tests.gui.exposure import expose


def listed(
    identity: str, status: str = "working", job: int | None = None, **more: Any
) -> ListedTask:
    return ListedTask(TaskView(identity, status, **more), job)


@pytest.fixture
def dialog(qtbot: QtBot, appearance: Appearance) -> TasksDialog:
    made = TasksDialog("db", appearance)
    return expose(qtbot, made)


def row(dialog: TasksDialog, place: int) -> list[str]:
    return [dialog.model.index(place, column).data() for column in range(6)]


def test_tasks_are_reported_with_the_time_they_are_kept(dialog: TasksDialog) -> None:
    now = datetime.datetime.now(datetime.UTC).isoformat()
    dialog.show_tasks(
        [
            listed("t-1", job=3, message="half\nway", created=now, ttl_ms=90_000),
            listed("<b>", "completed", created="then", ttl_ms=10**400),
        ]
    )
    first = row(dialog, 0)
    assert (first[0], first[1], first[5]) == ("t-1", "Working", "job 3")
    assert first[4].startswith("1 min 30 s, 1 min ")
    assert first[4].endswith(" left")
    second = row(dialog, 1)
    assert (second[0], second[3], second[5]) == ("<b>", "then", "none")
    assert dialog.message.text() == "2 tasks"


def test_what_can_work_for_the_selected_task_is_enabled(dialog: TasksDialog) -> None:
    assert not dialog.cancel.isEnabled()
    dialog.show_tasks([listed("a", job=3), listed("b", "completed")])
    assert (dialog.cancel.isEnabled(), dialog.open_job.isEnabled()) == (True, True)
    dialog.select(1)
    assert (dialog.cancel.isEnabled(), dialog.open_job.isEnabled()) == (False, False)


def test_requests_name_the_task(dialog: TasksDialog) -> None:
    task = listed("a", job=3)
    dialog.show_tasks([task])
    cancelled: list[object] = []
    opened: list[object] = []
    dialog.cancel_requested.connect(cancelled.append)
    dialog.job_opened.connect(opened.append)
    dialog.cancel.click()
    dialog.table.activated.emit(dialog.model.index(0, 0))
    assert (cancelled, opened) == ([task], [3])


def test_the_selection_stays_with_its_task_when_the_list_comes_again(dialog: TasksDialog) -> None:
    dialog.show_tasks([listed("a"), listed("b")])
    dialog.select(1)
    dialog.show_tasks([listed("new"), listed("a"), listed("b")])
    assert dialog.table.currentIndex().row() == 2


def test_a_refusal_is_reported_and_the_tasks_stay(dialog: TasksDialog) -> None:
    asked: list[bool] = []
    dialog.refresh_requested.connect(lambda: asked.append(True))
    dialog.show_tasks([listed("a")])
    dialog.refresh.click()
    assert asked == [True]
    assert not dialog.refresh.isEnabled()
    dialog.show_error(ErrorDetails("Listing the server's tasks failed", "db"))
    assert "Listing the server's tasks failed" in dialog.message.text()
    assert dialog.model.rowCount() == 1
    assert dialog.refresh.isEnabled()
