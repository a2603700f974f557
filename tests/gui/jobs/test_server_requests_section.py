"""The section of a job's pane that lists what was asked because of it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import JobState, ServerRequestSnapshot
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import job_actions
from tests.job_stand_ins import FakeJobs, answer, detail, job


@pytest.fixture
def pane(qtbot: QtBot, appearance: Appearance) -> JobPane:
    jobs = FakeJobs(job(id=7))
    child = job(id=8, request=30, sender=Side.SERVER, method="roots/list", state=JobState.DONE)
    jobs.put(child)
    jobs.details[8] = detail(child, answer=answer({"roots": []}))
    round_of_ours = ServerRequestSnapshot(
        12, "k", "elicitation/create", {"message": "<b>Who</b>\u202e?"}, 90.0, 0.0
    )
    jobs.details[7] = detail(job(id=7), children=(8,), server_requests=(round_of_ours,))
    made = JobPane(appearance, job_actions(appearance, "a recording"))
    made.set_source(jobs)
    expose(qtbot, made)
    made.show_job(7)
    made.tabs.setCurrentWidget(made.server_requests)
    return made


def test_questions_of_both_kinds_are_listed_also_in_a_recording(pane: JobPane) -> None:
    model = pane.server_requests.model
    texts = [[model.index(row, column).data() for column in (1, 2)] for row in range(2)]
    assert texts == [
        ["<b>Who</b>\\u202e?", "open"],
        ["asks which folders it may use", "no folders"],
    ]


def test_a_question_leads_to_its_message_in_traffic(qtbot: QtBot, pane: JobPane) -> None:
    table = pane.server_requests.table
    table.setCurrentIndex(pane.server_requests.model.index(1, 0))
    with qtbot.waitSignal(pane.frame_followed) as signal:
        QTest.keyClick(table, Qt.Key.Key_Return)
    assert signal.args == [30]
