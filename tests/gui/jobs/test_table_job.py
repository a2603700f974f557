"""The table of jobs: what is painted when many rows change at once."""

from collections.abc import Iterable
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QRect, QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.columns import Column
from mcp_progress_monitor.gui.jobs.delegate import BarPainter, JobDelegate
from mcp_progress_monitor.gui.jobs.job_list import JobList
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.jobs.table import ROWS_AT_ONCE, JobTable
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobSnapshot
from tests.gui.jobs.job_lists import place_of
from tests.job_stand_ins import FakeJobs, job

_JOBS = range(1, 41)


class PaintWatch(QObject):
    """Keeps which rows were painted at a time, as `range`s."""

    def __init__(self, table: JobTable) -> None:
        super().__init__(table)
        self._table = table
        self.rows: list[range] = []
        self.areas: list[QRect] = []
        table.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            area = event.rect()
            self.areas.append(area)
            first = self._table.indexAt(area.topLeft()).row()
            self.rows.append(range(first, self._table.indexAt(area.bottomLeft()).row() + 1))
        return super().eventFilter(watched, event)

    def has_all(self, wanted: range) -> bool:
        return set(wanted) <= {row for rows in self.rows for row in rows}


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(*(job(id=number, name=f"Job {number}") for number in _JOBS))


@pytest.fixture
def table(pane: JobList) -> JobTable:
    return pane.table


def _tick(jobs: JobsModel, numbers: Iterable[int] = _JOBS) -> None:
    """Let something change that the rows of these jobs show."""
    source = jobs.source
    assert isinstance(source, FakeJobs)
    held = [source.held[number] for number in numbers]
    source.put(*(each._replace(message=f"{each.message}.") for each in held))
    jobs.apply(ChangeSet(progressed=frozenset(numbers)))


def test_names_that_begin_alike_are_told_apart_in_a_narrow_column(
    jobs: JobsModel, table: JobTable, source: FakeJobs
) -> None:
    names = [f"github_{'enterprise_' * 20}create_{end}" for end in ("draft", "reviewed")]
    held = source.held[1]
    painted = []
    for name in names:
        source.put(held._replace(name=name))
        jobs.apply(ChangeSet(moved=frozenset({1}), progressed=frozenset({1})))
        assert name in {table.model().index(row, Column.JOB).data() for row in range(3)}
        painted.append(table.viewport().grab().toImage())
    assert painted[0] != painted[1]


def _in_sight(table: JobTable) -> range:
    rows = [index.row() for index in table.in_sight()]
    return range(rows[0], rows[-1] + 1)


def test_many_changed_rows_are_painted_a_few_at_a_time_and_all_in_the_end(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    seen = _in_sight(table)
    assert len(seen) > ROWS_AT_ONCE
    watch = PaintWatch(table)
    _tick(jobs)
    qtbot.waitUntil(lambda: watch.has_all(seen))
    assert max(map(len, watch.rows)) <= ROWS_AT_ONCE
    assert sum(map(len, watch.rows)) == len(seen)


def test_no_row_starves_where_changes_come_faster_than_they_are_painted(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    seen, watch = _in_sight(table), PaintWatch(table)

    def changed_meanwhile() -> bool:
        _tick(jobs)
        return watch.has_all(seen)

    qtbot.waitUntil(changed_meanwhile)


def test_rows_that_a_step_of_scrolling_painted_are_not_painted_again(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    bar = table.verticalScrollBar()
    assert bar.maximum() > table.viewport().height()
    _tick(jobs)
    watch = PaintWatch(table)
    bar.setValue(bar.maximum())
    qtbot.waitUntil(lambda: bool(watch.rows))
    _tick(jobs)  # the next step is expected to paint it
    qtbot.wait(0)
    assert len(watch.rows) == 1
    qtbot.waitUntil(lambda: len(watch.rows) > 1)  # but nobody scrolls any more


def test_a_change_of_one_row_repaints_that_row_alone(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    watch = PaintWatch(table)
    _tick(jobs, {3})
    qtbot.waitUntil(lambda: bool(watch.rows))
    assert watch.rows == [range(2, 3)]


def test_a_row_that_looks_the_same_is_not_painted(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    source, watch = jobs.source, PaintWatch(table)
    assert isinstance(source, FakeJobs)
    source.put(source.held[3]._replace(silent_s=0.1))
    jobs.apply(ChangeSet(progressed=frozenset({3})))
    qtbot.wait(30)
    assert len(source.asked) > len(_JOBS)  # it was looked at
    assert watch.rows == []


def test_a_change_repaints_the_cells_that_show_it(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    watch = PaintWatch(table)
    _tick(jobs, {3})
    qtbot.waitUntil(lambda: bool(watch.rows))
    header = table.header()
    assert watch.areas[0].left() == header.sectionViewportPosition(Column.PROGRESS)
    assert watch.areas[0].width() == header.sectionSize(Column.PROGRESS)


def test_a_button_under_the_mouse_repaints_its_row_alone(
    qtbot: QtBot, pane: JobList, table: JobTable
) -> None:
    QTest.mouseMove(table.viewport(), place_of(pane, 2, Column.STATUS))
    qtbot.wait(20)
    watch = PaintWatch(table)
    for column in (Column.ACTIONS, Column.STATUS):
        QTest.mouseMove(table.viewport(), place_of(pane, 2, column))
        qtbot.waitUntil(lambda: bool(watch.rows))
        assert watch.rows == [range(2, 3)]
        watch.rows.clear()


def test_a_row_of_which_a_part_was_painted_is_painted_again_as_a_whole(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    source, watch = jobs.source, PaintWatch(table)
    assert isinstance(source, FakeJobs)
    source.put(source.held[3]._replace(message="changed"))
    place = table.visualRect(table.model().index(2, 0))
    with qtbot.waitSignal(jobs.dataChanged):
        jobs.apply(ChangeSet(progressed=frozenset({3})))
        jobs.snapshot(3)  # some other view
        table.viewport().repaint(place.adjusted(0, 0, -20, -5))
    qtbot.waitUntil(lambda: len(watch.areas) > 1)
    assert watch.areas[-1].contains(place)


def test_what_is_out_of_sight_costs_no_paint(
    qtbot: QtBot, jobs: JobsModel, table: JobTable
) -> None:
    watch = PaintWatch(table)
    _tick(jobs, {40})
    qtbot.wait(30)
    assert watch.rows == []
    table.scrollToBottom()
    qtbot.waitUntil(lambda: watch.has_all(range(39, 40)))


class MadeBeforePaint(QObject):
    """Keeps how many snapshots were made when each painting began."""

    def __init__(self, table: JobTable, source: FakeJobs) -> None:
        super().__init__(table)
        self._source = source
        self.counts: list[int] = []
        table.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.counts.append(len(self._source.asked))
        return super().eventFilter(watched, event)


@pytest.mark.parametrize("number", [3, 40])
def test_painting_makes_no_snapshot(
    qtbot: QtBot, jobs: JobsModel, table: JobTable, number: int
) -> None:
    source = jobs.source
    assert isinstance(source, FakeJobs)
    made = MadeBeforePaint(table, source)
    before = len(source.asked)
    _tick(jobs, {number})
    if number - 1 not in _in_sight(table):
        table.scrollToBottom()
    qtbot.waitUntil(lambda: bool(made.counts))
    qtbot.wait(20)
    assert len(source.asked) == before + 1
    assert set(made.counts) == {before + 1}


def test_a_repaint_builds_no_snapshot_and_asks_nobody(
    qtbot: QtBot, jobs: JobsModel, source: FakeJobs, table: JobTable
) -> None:
    _tick(jobs)
    source.asked.clear()
    table.viewport().repaint()  # before a turn of the loop has made any
    assert source.asked == []
    qtbot.waitUntil(lambda: {job - 1 for job in source.asked} >= set(_in_sight(table)))


def test_rows_that_come_into_sight_by_a_resize_are_made_before_they_are_painted(
    qtbot: QtBot,
    jobs: JobsModel,
    source: FakeJobs,
    pane: JobList,
    table: JobTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pane.resize(1080, 200)
    qtbot.waitUntil(lambda: len(_in_sight(table)) < 8)
    _tick(jobs)
    qtbot.wait(50)
    made_in_paint: list[int] = []
    paint_row = JobDelegate.paint_row

    def watched(*arguments: Any) -> None:
        before = len(source.asked)
        paint_row(*arguments)
        made_in_paint.extend(source.asked[before:])

    monkeypatch.setattr(JobDelegate, "paint_row", watched)
    source.asked.clear()
    pane.resize(1080, 600)
    watch = PaintWatch(table)
    qtbot.waitUntil(lambda: watch.has_all(_in_sight(table)))
    assert len(_in_sight(table)) > 8
    assert {job - 1 for job in source.asked} >= set(_in_sight(table)[8:])
    assert made_in_paint == []


def test_a_narrow_list_leaves_room_for_the_progress(
    pane: JobList, table: JobTable, qtbot: QtBot
) -> None:
    pane.resize(430, 300)
    qtbot.waitUntil(lambda: 60 < table.columnWidth(Column.PROGRESS) < 200)


def test_in_a_wide_list_the_bar_ends_and_columns_of_text_grow(
    pane: JobList, table: JobTable, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = {column: table.columnWidth(column) for column in (Column.JOB, Column.STATUS)}
    pane.resize(2360, 600)
    qtbot.waitUntil(lambda: table.columnWidth(Column.PROGRESS) > 600)
    assert all(table.columnWidth(column) > 1.5 * width for column, width in wide.items())
    bars: list[float] = []

    def note(_self: BarPainter, _painter: QPainter, area: QRectF, _job: JobSnapshot) -> None:
        bars.append(area.width())

    monkeypatch.setattr(BarPainter, "paint", note)
    table.viewport().grab()
    assert set(bars) == {480.0}


def test_buttons_are_painted_where_the_user_is(
    pane: JobList, table: JobTable, qtbot: QtBot, appearance: Appearance
) -> None:
    pane.select(2)

    def has_button(row: int) -> bool:
        image = table.viewport().grab().toImage()
        cell, line = table.visualRect(table.model().index(row, Column.ACTIONS)), Tone.TEXT
        places = ((cell.left() + x, cell.center().y()) for x in range(40))
        return any(image.pixelColor(*at) == appearance.colour(line) for at in places)

    assert [has_button(row) for row in range(3)] == [False, True, False]
    pane.select(3)
    assert [has_button(row) for row in range(3)] == [False, False, True]
