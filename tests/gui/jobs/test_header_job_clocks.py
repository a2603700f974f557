"""The clocks of a job in its pane: what they say, and what their buttons ask for."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.jobs.commands import CLOCK_COMMANDS, IDLE_CLOCK, TOTAL_CLOCK
from mcp_progress_monitor.gui.jobs.header import ClockLine, JobClocks
from mcp_progress_monitor.gui.jobs.pane import JobPane
from mcp_progress_monitor.gui.theme import Appearance, Tone
from mcp_progress_monitor.tracker.snapshot import Clocks, JobSnapshot, JobState
from tests.gui.exposure import expose
from tests.gui.jobs.job_lists import job_actions
from tests.gui.lone_commands import lone_actions
from tests.job_stand_ins import FakeJobs, job

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
    made.set_source(source)
    expose(qtbot, made, 640, 260)
    made.show_job(1)
    made.header.clocks.button.click()
    return made


@pytest.fixture
def shown(pane: JobPane) -> JobClocks:
    return pane.header.clocks


def asked_of(pane: JobPane) -> list[tuple[object, ...]]:
    """The commands on the limits that are run from now on, with what they are given."""
    made: list[tuple[object, ...]] = []

    def note(*given: object) -> None:
        *arguments, command = given
        made.append((command, *arguments))

    for command in CLOCK_COMMANDS:
        pane.commands.commands.carry_out(command, note, command)
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


@pytest.mark.parametrize("line", ["idle", "total"])
@pytest.mark.parametrize("button", ["one", "ten", "off"])
def test_a_button_carries_out_its_command(
    pane: JobPane, shown: JobClocks, line: str, button: str
) -> None:
    asked = asked_of(pane)
    QTest.mouseClick(getattr(getattr(shown, line), button), Qt.MouseButton.LeftButton)
    commands = IDLE_CLOCK if line == "idle" else TOTAL_CLOCK
    state = (True,) if button == "off" else ()
    assert asked == [(getattr(commands, button), 1, *state)]


@pytest.mark.parametrize("key", [Qt.Key.Key_F8, Qt.Key.Key_F9])
@pytest.mark.parametrize(
    ("modifier", "button"),
    [
        (Qt.KeyboardModifier.NoModifier, "one"),
        (Qt.KeyboardModifier.ShiftModifier, "ten"),
        (Qt.KeyboardModifier.ControlModifier, "off"),
    ],
)
def test_every_button_has_a_key(
    qtbot: QtBot, pane: JobPane, modifier: Qt.KeyboardModifier, button: str, key: Qt.Key
) -> None:
    asked = asked_of(pane)
    pane.activateWindow()
    qtbot.waitUntil(pane.isActiveWindow)
    QTest.keyClick(pane.tabs, key, modifier)
    commands = IDLE_CLOCK if key == Qt.Key.Key_F8 else TOTAL_CLOCK
    state = (True,) if button == "off" else ()
    assert asked == [(getattr(commands, button), 1, *state)]


def test_a_limit_that_is_off_can_be_turned_on_again(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    asked = asked_of(pane)
    source.put(timed(Clocks(None, None, False, None, None, idle_off_s=30.0)))
    pane.show_job(1)
    assert shown.idle.label.text() == "No idle timeout"
    assert shown.idle.off.isChecked()
    assert not shown.idle.one.isVisible()
    QTest.mouseClick(shown.idle.off, Qt.MouseButton.LeftButton)
    assert asked == [(IDLE_CLOCK.off, 1, False)]


def test_a_clock_that_never_was_on_has_no_buttons(
    pane: JobPane, source: FakeJobs, shown: JobClocks
) -> None:
    source.put(timed(IDLE_ALONE))
    pane.show_job(1)
    buttons = (shown.total.one, shown.total.ten, shown.total.off)
    assert not any(button.isVisible() for button in buttons)
    assert shown.total.label.text() == "No total timeout"


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
    actions = lone_actions(CLOCK_COMMANDS, appearance)
    line = ClockLine(IDLE_CLOCK, actions, appearance)
    qtbot.addWidget(line)
    for left_s, tone in ((61.0, Tone.MUTED), (59.0, Tone.WARNING)):
        line.show_left(timed(BOTH), left_s)
        colour = line.label.palette().color(QPalette.ColorRole.WindowText)
        assert colour == appearance.colour(tone)


def test_they_fit_a_narrow_pane(pane: JobPane, shown: JobClocks) -> None:
    assert pane.header.minimumSizeHint().width() <= 640
    assert shown.width() <= pane.width()
