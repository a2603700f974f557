"""The clocks of a job in its pane: what they say, and what their buttons ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest

from mcp_progress_monitor.gui.jobs.header import ClockLine, JobClocks
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.snapshots.limits import Limit, Limits
from mcp_progress_monitor.tracker.snapshot import Clocks, JobState
from tests.gui.jobs.job_lists import job_actions
from tests.job_stand_ins import FakeJobs, job

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

BOTH = Clocks(1798.2, 3500.0, False, 1800.0, 3600.0)
IDLE_ALONE = Clocks(1798.2, None, False, 1800.0, None)


def timed(clocks: Clocks) -> JobSnapshot:
    return job(id=1, silent_s=14.0, elapsed_s=100.0, clocks=clocks)


@pytest.fixture
def source() -> FakeJobs:
    return FakeJobs(timed(BOTH), job(id=2, state=JobState.DONE))


@pytest.fixture
def pane(qtbot: QtBot, source: FakeJobs, appearance: Appearance) -> JobPane:
    made = JobPane(appearance, job_actions(appearance))
    qtbot.addWidget(made)
    made.set_source(source)
    made.resize(640, 260)
    with qtbot.waitExposed(made):
        made.show()
    made.show_job(1)
    return made


@pytest.fixture
def shown(pane: JobPane) -> JobClocks:
    return pane.header.clocks


def wishes(pane: JobPane) -> list[tuple[int, Limits]]:
    """What is asked for from now on, of either kind."""
    made: list[tuple[int, Limits]] = []
    pane.extension_requested.connect(lambda job, step: made.append((job, step)))
    pane.limits_requested.connect(lambda job, limits: made.append((job, limits)))
    return made


def test_both_clocks_are_shown_as_text(shown: JobClocks) -> None:
    assert shown.idle.label.text() == "Idle timeout in 29 min 59 s"
    assert shown.total.label.text() == "Total timeout in 58 min 20 s"
    assert shown.note.text() == ""


def test_they_count_down_each_second(
    qtbot: QtBot, pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    source.put(timed(BOTH._replace(idle_left_s=1797.2)))
    qtbot.waitUntil(lambda: shown.idle.label.text() == "Idle timeout in 29 min 58 s")


def test_a_job_that_is_not_waited_for_has_none(pane: JobPane, shown: JobClocks) -> None:
    assert shown.isVisible()
    pane.show_job(2)
    assert not shown.isVisible()


def test_a_recording_shows_no_clocks(pane: JobPane, shown: JobClocks) -> None:
    pane.set_source(FakeJobs(job(id=1)))
    pane.show_job(1)
    assert pane.header.isVisible()
    assert not shown.isVisible()


def test_a_question_that_is_open_is_said_to_stop_them(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    source.put(timed(BOTH._replace(is_suspended=True)))
    pane.show_job(1)
    assert shown.note.text() == "paused while a question is open"
    assert shown.idle.one.isEnabled()


@pytest.mark.parametrize(
    ("line", "button", "step"),
    [
        ("idle", "one", Limits(60, 0)),
        ("idle", "ten", Limits(600, 0)),
        ("total", "one", Limits(0, 60)),
        ("total", "ten", Limits(0, 600)),
    ],
)
def test_a_button_asks_for_more_time(
    pane: JobPane, shown: JobClocks, line: str, button: str, step: Limits
) -> None:
    asked = wishes(pane)
    QTest.mouseClick(getattr(getattr(shown, line), button), Qt.MouseButton.LeftButton)
    assert asked == [(1, step)]


@pytest.mark.parametrize(
    ("modifier", "key", "limits"),
    [
        (Qt.KeyboardModifier.NoModifier, Qt.Key.Key_F8, Limits(60, 0)),
        (Qt.KeyboardModifier.ShiftModifier, Qt.Key.Key_F8, Limits(600, 0)),
        (Qt.KeyboardModifier.ControlModifier, Qt.Key.Key_F8, Limits(None, 3600)),
        (Qt.KeyboardModifier.NoModifier, Qt.Key.Key_F9, Limits(0, 60)),
        (Qt.KeyboardModifier.ShiftModifier, Qt.Key.Key_F9, Limits(0, 600)),
        (Qt.KeyboardModifier.ControlModifier, Qt.Key.Key_F9, Limits(1800, None)),
    ],
)
def test_every_button_has_a_key(
    qtbot: QtBot, pane: JobPane, modifier: Qt.KeyboardModifier, key: Qt.Key, limits: Limits
) -> None:
    asked = wishes(pane)
    pane.activateWindow()
    qtbot.waitUntil(pane.isActiveWindow)
    QTest.keyClick(pane.tabs, key, modifier)
    qtbot.waitUntil(lambda: bool(asked))  # a button is seen to be pressed for a moment
    assert asked == [(1, limits)]


def test_a_clock_that_is_switched_off_can_be_switched_on_again_with_time_to_spare(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    asked = wishes(pane)
    source.put(timed(Clocks(16.0, None, False, 30.0, None)))
    pane.show_job(1)
    QTest.mouseClick(shown.idle.off, Qt.MouseButton.LeftButton)
    source.put(timed(Clocks(None, None, False, None, None)))
    pane.show_job(1)
    assert shown.idle.label.text() == "No idle timeout"
    assert shown.idle.off.isChecked()
    assert not shown.idle.one.isVisible()
    QTest.mouseClick(shown.idle.off, Qt.MouseButton.LeftButton)
    # It has been silent for 14 s of the 30 s that it had.
    assert asked == [(1, Limits(None, None)), (1, Limits(74.0, None))]


def test_a_clock_that_never_was_on_has_no_buttons(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    source.put(timed(IDLE_ALONE))
    pane.show_job(1)
    buttons = (shown.total.one, shown.total.ten, shown.total.off)
    assert not any(button.isVisible() for button in buttons)
    assert shown.total.label.text() == "No total timeout"


def test_what_was_switched_off_is_forgotten_with_its_job(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    QTest.mouseClick(shown.idle.off, Qt.MouseButton.LeftButton)
    source.put(job(id=3, clocks=Clocks(None, None, False, None, None)))
    pane.show_job(3)
    assert not shown.idle.off.isVisible()


def test_every_control_has_a_name_a_tip_with_its_key_and_a_place_in_the_tab_order(
    shown: JobClocks,
) -> None:
    for line, key in ((shown.idle, "F8"), (shown.total, "F9")):
        assert line.label.accessibleDescription().endswith("timeout")
        for button in (line.one, line.ten, line.off):
            assert "timeout" in button.accessibleName()
            assert key in button.toolTip()
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus


@pytest.mark.parametrize("ground", ["#ffffff", "#202124"])
def test_a_limit_that_is_near_stands_out_in_light_and_dark(
    qtbot: QtBot, appearance: Appearance, ground: str
) -> None:
    appearance.follow(QPalette(QColor(ground)))
    line = ClockLine(Limit.IDLE, appearance)
    qtbot.addWidget(line)
    for left_s, tone in ((61.0, Tone.MUTED), (59.0, Tone.WARNING)):
        line.show_left(1800.0, left_s, 0.0)
        colour = line.label.palette().color(QPalette.ColorRole.WindowText)
        assert colour == appearance.colour(tone)


def test_they_fit_a_narrow_pane(pane: JobPane, shown: JobClocks) -> None:
    assert pane.header.minimumSizeHint().width() <= 640
    assert shown.width() <= pane.width()
