"""The table of jobs: what is painted when many rows change at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPaintEvent

from mcp_progress_monitor.models.filters import JobFilter
from mcp_progress_monitor.models.jobs import JobsModel
from mcp_progress_monitor.tracker.snapshot import Changes
from mcp_progress_monitor.widgets.job_list import JobList
from mcp_progress_monitor.widgets.job_table import ROWS_AT_ONCE, JobTable
from tests.job_stand_ins import FakeJobs, job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

    from mcp_progress_monitor.widgets.appearance import Appearance

_JOBS = range(1, 41)


class PaintWatch(QObject):
    """Keeps which rows were painted at a time, as `range`s."""

    def __init__(self, table: JobTable) -> None:
        super().__init__(table)
        self._table = table
        self.rows: list[range] = []
        table.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            area = event.rect()
            first = self._table.indexAt(area.topLeft()).row()
            self.rows.append(range(first, self._table.indexAt(area.bottomLeft()).row() + 1))
        return super().eventFilter(watched, event)

    def has_all(self, wanted: range) -> bool:
        return set(wanted) <= {row for rows in self.rows for row in rows}


@pytest.fixture
def jobs(qapp: QApplication) -> Iterator[JobsModel]:
    assert qapp is not None
    model = JobsModel()
    model.set_source(FakeJobs(*(job(id=number, name=f"Job {number}") for number in _JOBS)))
    yield model
    model.deleteLater()


@pytest.fixture
def pane(qtbot: QtBot, jobs: JobsModel, appearance: Appearance) -> JobList:
    pane = JobList(jobs, JobFilter(jobs, jobs), appearance)
    qtbot.addWidget(pane)
    pane.resize(1080, 600)
    with qtbot.waitExposed(pane):
        pane.show()
    qtbot.wait(20)
    return pane


@pytest.fixture
def table(pane: JobList) -> JobTable:
    return pane.table


def _in_sight(table: JobTable) -> range:
    rows = [index.row() for index in table.in_sight()]
    return range(rows[0], rows[-1] + 1)


def test_many_changed_rows_are_painted_a_few_at_a_time_and_all_in_the_end(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    seen = _in_sight(table)
    assert len(seen) > 2 * ROWS_AT_ONCE
    watch = PaintWatch(table)
    jobs.apply(Changes(progressed=frozenset(_JOBS)))
    qtbot.waitUntil(lambda: watch.has_all(seen))
    assert max(map(len, watch.rows)) <= ROWS_AT_ONCE
    assert sum(map(len, watch.rows)) == len(seen)


def test_no_row_starves_where_changes_come_faster_than_they_are_painted(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    seen, watch = _in_sight(table), PaintWatch(table)

    def changed_meanwhile() -> bool:
        jobs.apply(Changes(progressed=frozenset(_JOBS)))
        return watch.has_all(seen)

    qtbot.waitUntil(changed_meanwhile)


def test_a_change_of_one_row_repaints_that_row_alone(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    watch = PaintWatch(table)
    jobs.apply(Changes(progressed=frozenset({3})))
    qtbot.waitUntil(lambda: bool(watch.rows))
    assert watch.rows == [range(2, 3)]


def test_what_is_out_of_sight_costs_no_paint(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    watch = PaintWatch(table)
    jobs.apply(Changes(progressed=frozenset({40})))
    qtbot.wait(30)
    assert watch.rows == []
    table.scrollToBottom()
    qtbot.waitUntil(lambda: watch.has_all(range(39, 40)))
