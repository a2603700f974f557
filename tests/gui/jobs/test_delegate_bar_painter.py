"""Bars: how far they are filled, and when they move."""

import itertools

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from mcp_progress_monitor.gui.jobs.delegate import BarPainter
from mcp_progress_monitor.gui.jobs.row import is_settling
from mcp_progress_monitor.gui.theme import Appearance, tone_of
from mcp_progress_monitor.tracker.snapshot import JobSnapshot, JobState
from tests.job_stand_ins import job, new_job

WIDTH = 200


def painted(appearance: Appearance, snapshot: JobSnapshot) -> QImage:
    image = QImage(WIDTH, 10, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    BarPainter(appearance).paint(painter, QRectF(0, 0, WIDTH, 10), snapshot)
    painter.end()
    return image


def filled(appearance: Appearance, snapshot: JobSnapshot) -> list[int]:
    """Columns of the middle line that have the state's full colour."""
    image = painted(appearance, snapshot)
    wanted = appearance.colour(tone_of(snapshot)).rgb()
    return [x for x in range(WIDTH) if image.pixel(x, 5) == wanted]


@pytest.mark.parametrize("fraction", [0.25, 0.632, 0.9])
def test_a_bar_is_filled_to_its_fraction(appearance: Appearance, fraction: float) -> None:
    columns = filled(appearance, job(fraction=fraction))
    assert columns == list(range(columns[0], columns[-1] + 1))
    assert columns[0] <= 1
    assert columns[-1] == pytest.approx(WIDTH * fraction, abs=2)


def test_a_bar_at_nought_is_empty(appearance: Appearance) -> None:
    assert filled(appearance, job(fraction=0.0)) == []


@pytest.mark.parametrize("fraction", [1.0, 7.5])
def test_a_bar_is_never_filled_beyond_its_end(appearance: Appearance, fraction: float) -> None:
    assert filled(appearance, job(fraction=fraction))[-1] >= WIDTH - 2


def test_an_unknown_total_makes_a_travelling_piece(appearance: Appearance) -> None:
    places = [
        filled(appearance, job(fraction=None, elapsed_s=float(second))) for second in range(5, 12)
    ]
    assert all(0 < len(columns) < WIDTH / 2 for columns in places)
    assert all(one != other for one, other in itertools.pairwise(places))


def test_a_job_done_without_a_total_is_full(appearance: Appearance) -> None:
    done = job(state=JobState.DONE, fraction=None)
    assert len(filled(appearance, done)) > WIDTH - 4


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.LOST, JobState.CANCELLED])
def test_a_job_that_ended_badly_without_a_total_is_empty(
    appearance: Appearance, state: JobState
) -> None:
    assert filled(appearance, job(state=state, fraction=None)) == []


def test_a_stalled_bar_differs_from_a_running_one_by_more_than_colour(
    appearance: Appearance,
) -> None:
    running = filled(appearance, job(fraction=0.9))
    stalled = filled(appearance, job(fraction=0.9, state=JobState.STALLED))
    assert 0 < len(stalled) < len(running)


def test_a_very_young_job_stays_calm(appearance: Appearance) -> None:
    assert is_settling(new_job(1, elapsed_s=0.49))
    assert filled(appearance, new_job(1, elapsed_s=0.49)) == []
    assert not is_settling(new_job(1, elapsed_s=0.5))
    assert filled(appearance, new_job(1, elapsed_s=0.5)) != []


def test_a_young_job_with_progress_shows_it(appearance: Appearance) -> None:
    young = new_job(1, elapsed_s=0.1, tick_count=1, progress=5, total=10, fraction=0.5)
    assert len(filled(appearance, young)) == pytest.approx(WIDTH / 2, abs=4)


def test_the_painter_is_left_as_it_was(appearance: Appearance) -> None:
    image = QImage(WIDTH, 10, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    pen = painter.pen()
    BarPainter(appearance).paint(painter, QRectF(0, 0, WIDTH, 10), job(state=JobState.STALLED))
    assert not painter.hasClipping()
    assert painter.pen() == pen
    painter.end()
