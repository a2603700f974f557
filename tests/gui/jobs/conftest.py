"""The list of jobs that its tests share; some put other jobs into it, or give it another size."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.common.commands import Commands
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import JobState
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, job


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(
        job(id=1, name="Export"),
        job(id=2, name="Crawl", state=JobState.STALLED),
        job(id=3, name="Index", state=JobState.DONE, reply_size=90),
        job(id=4, name="Convert", state=JobState.FAILED, token=None),
    )


@pytest.fixture
def jobs(qapp: QApplication, source: FakeJobs) -> Iterator[JobsModel]:
    assert qapp is not None
    model = JobsModel()
    model.set_source(source)
    yield model
    model.deleteLater()


@pytest.fixture
def shown(jobs: JobsModel) -> JobFilter:
    return JobFilter(jobs, jobs)


@pytest.fixture
def pane(qtbot: QtBot, jobs: JobsModel, shown: JobFilter, appearance: Appearance) -> JobList:
    made = JobList(jobs, shown, appearance, Commands())
    return expose(qtbot, made, 1080, 600)
