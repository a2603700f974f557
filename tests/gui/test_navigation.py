"""What is put on the clipboard of a job."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.engine.engine import Engine
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.jobs.compare import CompareDialog
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter, JobGroup
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.navigation import Navigation, copied
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.servers import commands as on_servers
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, Frame
from mcp_progress_monitor.tracker.snapshot import JobDetail
from tests.gui.exposure import expose
from tests.gui.windows import window_on
from tests.job_stand_ins import FakeJobs, answer, detail, job, resumable


@pytest.fixture
def story() -> JobDetail:
    result = {"content": [], "_meta": {"nextResumeToken": "hush"}}
    return detail(job(token=7), params={"name": "export"}, answer=answer(result=result))


def test_a_copied_result_keeps_the_resume_token_hidden(story: JobDetail) -> None:
    found = json.loads(copied(story, "result"))
    assert found == {"content": [], "_meta": {"nextResumeToken": "(hidden)"}}


@pytest.mark.parametrize(("what", "text"), [("token", "7"), ("request", '"name": "export"')])
def test_token_and_request_are_copied_as_they_went_out(
    story: JobDetail, what: str, text: str
) -> None:
    assert text in copied(story, what)


@pytest.fixture
def parts(qapp: QApplication) -> Iterator[QObject]:
    made = QObject(qapp)
    yield made
    made.deleteLater()


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def window(qtbot: QtBot, parts: QObject, tmp_path: Path, engine: Engine) -> MainWindow:
    reported: list[ErrorDetails] = []
    models = Models(engine.timeline, parts)
    models.follow(engine)
    appearance = Appearance(QPalette(), resource("icons"), parts)
    status = StatusBar(engine.recording, models.servers, models.traffic.timeline, appearance)
    made = MainWindow(models, status, appearance, Preferences(tmp_path))
    Navigation(made, engine.jobs, models.shown_jobs, reported.append)
    return expose(qtbot, made)


def test_the_list_leads_to_the_stderr_of_a_server(qtbot: QtBot, window: MainWindow) -> None:
    window.commands.run(on_servers.STDERR, "crawler")
    assert window.stderr_pane.server == "crawler"
    qtbot.waitUntil(lambda: not window.stderr_pane.text.viewport().visibleRegion().isEmpty())


@pytest.mark.parametrize("is_watched", [False, True])
def test_the_jobs_and_the_messages_of_a_server_are_shown_alone(
    window: MainWindow, *, is_watched: bool
) -> None:
    jobs = on_servers.WATCHED_JOBS if is_watched else on_servers.JOBS
    traffic = on_servers.WATCHED_TRAFFIC if is_watched else on_servers.TRAFFIC
    window.job_filters.select(JobGroup.FAILED)
    window.commands.run(jobs, "my crawler")
    assert window.filter_edit.text() == "my crawler"
    assert window.job_filters.view.currentIndex().row() == 0
    window.open_dock("stderr")
    window.commands.run(traffic, 'my "crawler"')
    assert window.traffic_pane.bar.filter().text == r'server == "my \"crawler\""'
    assert not window.traffic_pane.visibleRegion().isEmpty()


def test_a_frame_that_came_while_traffic_was_behind_another_tab_is_found_there(
    window: MainWindow, engine: Engine
) -> None:
    window.open_dock("stderr")
    frame = Frame(7, "a#1", Channel.RECEIVED, 1.7e9, 0.0, b'{"jsonrpc":"2.0","method":"x"}')
    engine.recording.take([frame], NO_FACTS)
    window.stderr_pane.frame_opened.emit(7)
    assert window.traffic_pane.details.place == 0


def test_a_line_of_stderr_leads_to_its_frame_in_traffic(qtbot: QtBot, window: MainWindow) -> None:
    window.stderr_pane.add_frames([Frame(7, "a#1", Channel.STDERR, 1.7e9, 0.0, b"words")])
    window.open_dock("stderr")
    qtbot.waitUntil(lambda: not window.stderr_pane.text.unwritten)
    window.stderr_pane.text.open_line()
    qtbot.waitUntil(lambda: not window.traffic_pane.visibleRegion().isEmpty())
    texts = [label.text() for label in window.traffic_pane.findChildren(QLabel)]
    assert "Message no. 7 is no longer in Traffic." in texts


def test_a_span_of_the_timeline_filters_the_traffic(window: MainWindow) -> None:
    window.open_dock("timeline")
    message = 'time >= "2026-11-20 12:01:07.123" and time <= "2026-11-20 12:01:09.000"'
    window.timeline_pane.traffic_requested.emit(message)
    assert window.traffic_pane.isVisible()
    assert window.traffic_pane.bar.filter().text == message


def test_two_jobs_are_compared_in_a_window_of_their_own(qtbot: QtBot, window: MainWindow) -> None:
    jobs = FakeJobs(job(id=1), job(id=2))
    navigation = Navigation(window, jobs, JobFilter(JobsModel(window), window), lambda _error: None)
    navigation.compare((1, 3))
    assert window.findChildren(CompareDialog) == []
    navigation.compare((1, 2))
    (dialog,) = window.findChildren(CompareDialog)
    assert dialog.isVisible()
    dialog.close()


def test_a_revealed_job_is_selected_whatever_the_list_is_filtered_by(
    qtbot: QtBot, tmp_path: Path
) -> None:
    window = window_on(qtbot, tmp_path)
    shown, jobs = window.job_list.table.model(), FakeJobs(job(id=1), resumable(2))
    assert isinstance(shown, JobFilter)
    navigation = Navigation(window, jobs, shown, lambda _error: None)
    window.filter_edit.setText("no such job")
    window.job_filters.select(JobGroup.FAILED)
    assert not window.job_list.select(2)
    navigation.reveal_job(2)
    assert window.filter_edit.text() == ""
    assert window.job_list.select(2)


def test_a_message_is_shown_with_its_notice(window: MainWindow) -> None:
    navigation = window.findChild(Navigation)
    assert navigation is not None
    navigation.show_message(1, "PROG-1: too much")
    assert not window.docks["traffic"].isHidden()
