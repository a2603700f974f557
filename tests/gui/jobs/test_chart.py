"""The chart of a job's progress, and its scales."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.chart import ProgressChart
from mcp_progress_monitor.gui.theme import STATE_TONES, Appearance, Tone
from mcp_progress_monitor.tracker.history import AxisSpan, drawable, label_places, span
from mcp_progress_monitor.tracker.snapshot import ChartPoint, JobState
from tests.gui.exposure import expose
from tests.job_stand_ins import course, detail, job


@pytest.fixture
def chart(qtbot: QtBot, appearance: Appearance) -> ProgressChart:
    made = ProgressChart(appearance)
    return expose(qtbot, made, 400, 200)


def ink(chart: ProgressChart, colour: int) -> list[QPoint]:
    image: QImage = chart.grab().toImage()
    return [
        QPoint(x, y)
        for x in range(image.width())
        for y in range(image.height())
        if image.pixel(x, y) == colour
    ]


def test_a_steady_job_rises_from_left_to_right(
    chart: ProgressChart, appearance: Appearance
) -> None:
    chart.show_history(detail(job(), **course(52)))
    dots = ink(chart, appearance.colour(STATE_TONES[JobState.RUNNING]).rgb())
    left, right = min(dots, key=QPoint.x), max(dots, key=QPoint.x)
    assert right.x() - left.x() > 250
    assert left.y() - right.y() > 40


def test_a_resumed_job_is_drawn_on_one_clock_with_a_seam(
    chart: ProgressChart, appearance: Appearance
) -> None:
    steps = [float(n) for n in range(20)]
    first = [ChartPoint(100.0 + n, n, n, n) for n in steps[:10]]
    second = [ChartPoint(490.0 + n, n, n, n) for n in steps[10:]]
    resumed = job(started_at=100.0, elapsed_s=20.0)
    pauses = ((110.0, 500.0),)
    chart.show_history(detail(resumed, chart=[*first, *second], pauses=pauses))
    assert chart.accessibleDescription() == "From 0 to 19 within 20 s, 1 pause"
    dots = ink(chart, appearance.colour(STATE_TONES[JobState.RUNNING]).rgb())
    middle = (min(map(QPoint.x, dots)) + max(map(QPoint.x, dots))) / 2
    later = [dot.x() for dot in dots if dot.x() > middle]
    assert max(later) - min(later) > 100, "the second attempt has half of the width"
    seam = set(ink(chart, appearance.colour(Tone.MUTED).rgb()))
    chart.show_history(detail(resumed, chart=[*first, *second]))
    columns = {dot.x() for dot in seam - set(ink(chart, appearance.colour(Tone.MUTED).rgb()))}
    assert any(abs(x - middle) < 20 for x in columns)


def test_without_progress_it_says_so(chart: ProgressChart) -> None:
    chart.show_history(detail(job()))
    assert chart.accessibleDescription() == "No progress yet"
    chart.grab()


def test_the_mouse_reads_out_the_nearest_stretch(chart: ProgressChart) -> None:
    chart.show_history(detail(job(), **course(52)))
    before = chart.grab().toImage()
    QTest.mouseMove(chart, QPoint(200, 100))
    QTest.qWait(1)
    assert chart.grab().toImage() != before


@pytest.mark.parametrize("elapsed_s", [100 * 60.0, 52.0, 1e7, 0.1])
@pytest.mark.parametrize("width", [220, 400, 1000])
def test_no_time_is_cut_off_at_the_edge(chart: ProgressChart, elapsed_s: float, width: int) -> None:
    chart.resize(width, 200)
    chart.show_history(detail(job(elapsed_s=elapsed_s), **course(52)))
    labels = chart.time_labels()
    assert labels[0][1] == "0"
    assert len(labels) >= 2
    metrics = chart.fontMetrics()
    for place, text in labels:
        assert place.width() >= metrics.horizontalAdvance(text)
        assert chart.rect().contains(place.toAlignedRect())


@pytest.mark.parametrize("height", [110, 160, 400])
@pytest.mark.parametrize("total", [1000, 997, 1_234_567])
def test_the_line_of_the_total_has_its_number_however_low_the_pane(
    chart: ProgressChart, height: int, total: int
) -> None:
    chart.resize(400, height)
    chart.show_history(detail(job(total=total, state=JobState.DONE), **course(52)))
    labels = chart.value_labels()
    assert labels[0][1] == f"{total:,}"
    for place, text in labels:
        assert place.width() >= chart.fontMetrics().horizontalAdvance(text)
        assert chart.rect().contains(place.toAlignedRect())
        assert sum(place.intersects(other) for other, _ in labels) == 1


def test_the_axis_of_a_job_that_is_not_done_ends_at_what_is_there(chart: ProgressChart) -> None:
    chart.resize(400, 400)
    for state in (JobState.RUNNING, JobState.LOST, JobState.DONE):
        chart.show_history(detail(job(total=100_000, state=state), **course(52)))
        labels = [text for _, text in chart.value_labels()]
        assert ("100,000" in labels) is (state is JobState.DONE)


def test_clearing_forgets_the_job(chart: ProgressChart, appearance: Appearance) -> None:
    chart.show_history(detail(job(), **course(52)))
    chart.clear()
    assert ink(chart, appearance.colour(STATE_TONES[JobState.RUNNING]).rgb()) == []


@pytest.mark.parametrize(
    "points",
    [
        [ChartPoint(100.0, 5.0, 5.0, 5.0)],
        [ChartPoint(100.0, 1e308, 1e308, 1e308), ChartPoint(101.0, -1e308, 1e308, 0.0)],
        [ChartPoint(100.0, math.nan, math.inf, 3.0)],
        [ChartPoint(100.0, 1e300, 1e300, 1e300), ChartPoint(101.0, -1e300, 1e300, 0.0)],
        [ChartPoint(100.0, 1e-300, 1e-300, 1e-300), ChartPoint(101.0, 0.0, 2e-300, 0.0)],
        [ChartPoint(100.0, 1e15, 1e15, 1e15), ChartPoint(100.0, 1e15, 1e15 + 1, 1e15)],
    ],
)
@pytest.mark.parametrize("total", [None, 0, -5, 10**400, 1e308, 5])
def test_no_number_a_server_can_send_breaks_the_drawing(
    chart: ProgressChart, points: list[ChartPoint], total: float | None
) -> None:
    chart.show_history(detail(job(total=total), chart=points))
    QTest.mouseMove(chart, QPoint(200, 100))
    assert not chart.grab().isNull()


def test_points_no_painter_can_take_are_left_out() -> None:
    good = ChartPoint(1.0, 2.0, 3.0, 2.5)
    bad = [good._replace(low=math.nan), good._replace(high=math.inf), good._replace(last=1e301)]
    assert drawable([bad[0], good, *bad[1:]]) == [good]


def test_labels_keep_within_the_edges_and_apart() -> None:
    wanted = [(0.0, 20.0), (50.0, 20.0), (65.0, 20.0), (100.0, 20.0)]
    assert label_places(wanted, 0.0, 100.0) == [0.0, 40.0, None, 80.0]


def test_lines_stand_at_round_values() -> None:
    assert AxisSpan(0.0, 1000.0).lines(4) == [0.0, 500.0, 1000.0]
    assert AxisSpan(0.0, 52.0).lines(5) == [0.0, 20.0, 40.0]
    assert AxisSpan(0.0, 1.0).lines(2) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("length_s", "steps_s"),
    [
        (0.5, 0.1),
        (52, 10),
        (400, 120),
        (5850, 1200),
        (40_000, 7200),
        (90_000, 21_600),
        (9e6, 20 * 86_400),
    ],
)
def test_times_stand_at_usual_stretches(length_s: float, steps_s: float) -> None:
    lines = AxisSpan(0.0, length_s).time_lines(5)
    assert lines[1] == pytest.approx(steps_s)


def test_round_times_are_reported_without_naught(chart: ProgressChart) -> None:
    chart.show_history(detail(job(elapsed_s=5850.0), **course(52)))
    assert [text for _, text in chart.time_labels()] == ["0", "30 min", "1 h", "1 h 30 min"]


@given(st.lists(st.floats(), max_size=6), st.integers(1, 12))
def test_any_values_make_a_usable_axis(values: list[float], wanted: int) -> None:
    axis = span(values)
    assert axis.high > axis.low
    lines = axis.lines(wanted)
    assert len(lines) <= 51
    assert all(0.0 <= axis.share(value) <= 1.0 for value in (*lines, axis.low, axis.high))
