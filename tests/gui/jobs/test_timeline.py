"""The timeline: a lane for each job that the list shows, and a span that filters the traffic."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.filtering.language import parse
from mcp_progress_monitor.gui.jobs.filter_model import JobFilter
from mcp_progress_monitor.gui.jobs.model import JobsModel
from mcp_progress_monitor.gui.jobs.timeline import TimelinePane
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.tracker.snapshot import JobDetail, JobState, Phase
from tests.gui.exposure import expose
from tests.job_stand_ins import FakeJobs, detail, job

NOW = 160.0


class CountingJobs(FakeJobs):
    """Notes whose details were read."""

    def __init__(self) -> None:
        phases = [Phase("Reading", 100.0, 130.0, 5), Phase("Writing", 130.0, None, 9)]
        done = job(id=2, state=JobState.DONE, ended_at=120.0, name="import")
        super().__init__(job(id=1), done)
        self.details[1] = detail(job(id=1), phases=phases)
        self.read: list[int] = []

    def detail(self, job: int) -> JobDetail | None:
        self.read.append(job)
        return super().detail(job)


@pytest.fixture
def source() -> CountingJobs:
    return CountingJobs()


@pytest.fixture
def rows(source: CountingJobs) -> JobsModel:
    made = JobsModel()
    made.set_source(source)
    return made


@pytest.fixture
def shown(rows: JobsModel) -> JobFilter:
    return JobFilter(rows)


@pytest.fixture
def pane(
    qtbot: QtBot, appearance: Appearance, source: CountingJobs, rows: JobsModel, shown: JobFilter
) -> TimelinePane:
    made = TimelinePane(rows, shown, appearance)
    made.timeline.set_source(source, lambda: NOW)
    return expose(qtbot, made, 800, 200)


def drag(pane: TimelinePane, begin: int, end: int) -> None:
    view = pane.timeline.viewport()
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(view, left, none, QPoint(begin, 60))
    QTest.mouseMove(view, QPoint((begin + end) // 2, 60))
    QTest.mouseMove(view, QPoint(end, 60))
    QTest.mouseRelease(view, left, none, QPoint(end, 60))


def test_there_is_a_lane_for_each_job_that_the_list_shows(
    pane: TimelinePane, shown: JobFilter
) -> None:
    assert [lane.job for lane in pane.timeline.lanes] == [1, 2]
    assert tuple(pane.timeline.axis) == pytest.approx((100.0, 161.2))
    shown.set_text("import")
    assert [lane.job for lane in pane.timeline.lanes] == [2]
    pane.grab()


def test_a_job_that_has_ended_is_read_once(
    pane: TimelinePane, rows: JobsModel, source: CountingJobs
) -> None:
    source.read.clear()
    rows.tick([])
    rows.tick([])
    assert source.read == [1, 1]


def test_a_span_that_is_dragged_over_filters_the_traffic(pane: TimelinePane, qtbot: QtBot) -> None:
    assert not pane.show_button.isEnabled()
    drag(pane, 400, 500)
    assert pane.timeline.span is not None
    begin, end = pane.timeline.span
    assert 1_795_190_467.1 < begin < end < 1_795_190_528.4
    with qtbot.waitSignal(pane.traffic_requested) as wanted:
        pane.show_button.click()
    (text,) = wanted.args or [""]
    assert parse(text)
    assert text.startswith('time >= "20')
    with qtbot.waitSignal(pane.timeline.span_changed) as changed:
        QTest.keyClick(pane.timeline, Qt.Key.Key_Escape)
    assert changed.args == [None]
    assert not pane.show_button.isEnabled()


def test_a_click_chooses_a_job_and_a_double_click_opens_it(
    pane: TimelinePane, qtbot: QtBot
) -> None:
    place = QPoint(300, 60)
    with qtbot.waitSignal(pane.timeline.job_selected) as selected:
        QTest.mouseClick(pane.timeline.viewport(), Qt.MouseButton.LeftButton, pos=place)
    with qtbot.waitSignal(pane.timeline.job_opened) as opened:
        QTest.mouseDClick(pane.timeline.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert selected.args == opened.args == [2]


def test_zooming_keeps_the_time_under_the_mouse(pane: TimelinePane) -> None:
    timeline, place = pane.timeline, QPointF(500, 60)
    before = timeline.tip_at(QPointF(500, 30))
    event = QWheelEvent(
        place,
        timeline.mapToGlobal(place),
        QPoint(),
        QPoint(0, 240),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    low, high = timeline.axis
    QApplication.sendEvent(timeline.viewport(), event)
    assert timeline.axis.high - timeline.axis.low == pytest.approx((high - low) / 1.25**2)
    assert timeline.tip_at(QPointF(500, 30)) == before


def test_everything_works_by_keys(pane: TimelinePane, qtbot: QtBot) -> None:
    timeline = pane.timeline
    whole = timeline.axis
    QTest.keyClick(timeline, Qt.Key.Key_Plus)
    shorter = timeline.axis
    assert shorter.high - shorter.low < whole.high - whole.low
    QTest.keyClick(timeline, Qt.Key.Key_Right)
    assert timeline.axis.low > shorter.low
    QTest.keyClick(timeline, Qt.Key.Key_Minus)
    QTest.keyClick(timeline, Qt.Key.Key_0)
    assert timeline.axis == whole
    timeline.set_current(None)
    for job_id in (1, 2, 2):
        with qtbot.waitSignal(timeline.job_selected) as selected:
            QTest.keyClick(timeline, Qt.Key.Key_Down)
        assert selected.args == [job_id]
    assert timeline.accessibleDescription().startswith("import on local-db: Done")
    with qtbot.waitSignal(timeline.job_opened) as opened:
        QTest.keyClick(timeline, Qt.Key.Key_Return)
    assert opened.args == [2]


def test_what_is_under_the_mouse_is_reported_with_its_duration(pane: TimelinePane) -> None:
    assert pane.timeline.tip_at(QPointF(300, 30)).endswith("Reading: 30 s")
    assert pane.timeline.tip_at(QPointF(300, 5)) == ""


def test_without_jobs_it_says_so(pane: TimelinePane, rows: JobsModel) -> None:
    rows.set_source(FakeJobs())
    pane.timeline.set_source(FakeJobs(), lambda: NOW)
    assert pane.timeline.lanes == []
    pane.grab()


def test_in_a_small_window_its_buttons_are_whole(pane: TimelinePane, qtbot: QtBot) -> None:
    pane.resize(pane.minimumSizeHint().width(), 200)
    pane.show()
    qtbot.waitExposed(pane)
    assert pane.show_button.width() >= pane.show_button.sizeHint().width()
    assert pane.show_button.geometry().right() < pane.width()
    assert pane.minimumSizeHint().width() < 420
