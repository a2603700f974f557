"""The replay's controls follow it and pace it, by mouse and by key."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.recordings.bars import ReplayBar
from mcp_progress_monitor.gui.recordings.replay import Mode, Replay
from mcp_progress_monitor.gui.theme import Appearance
from tests.gui.exposure import expose
from tests.gui.recordings.test_replay import FakePlayer, replay_of

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def player() -> FakePlayer:
    return FakePlayer(*(float(n) for n in range(101)))


@pytest.fixture
def replay(player: FakePlayer) -> Replay:
    return replay_of(player)


@pytest.fixture
def bar(qtbot: QtBot, replay: Replay, appearance: Appearance) -> ReplayBar:
    made = ReplayBar(replay, 1_700_000_000.0, appearance)
    replay.setParent(made)
    expose(qtbot, made, 900, made.sizeHint().height())
    made.activateWindow()
    return made


def test_all_at_once_reads_to_the_end(qtbot: QtBot, bar: ReplayBar, replay: Replay) -> None:
    bar.all.click()
    qtbot.waitUntil(lambda: replay.mode is Mode.ENDED)
    assert not bar.all.isEnabled()
    assert not bar.all.isChecked()
    assert not bar.next.isEnabled()
    assert bar.slider.value() == bar.slider.maximum()
    assert "%" not in bar.position.text()


def test_reading_is_stopped_by_the_button_that_began_it(bar: ReplayBar, replay: Replay) -> None:
    bar.all.click()
    assert bar.all.isChecked()
    bar.all.click()
    assert replay.mode is Mode.PAUSED
    assert not bar.all.isChecked()


def test_play_becomes_pause(bar: ReplayBar, replay: Replay) -> None:
    bar.play.click()
    assert (replay.mode, bar.play.text(), bar.play.accessibleName()) == (
        Mode.PLAYING,
        "Pause",
        "Pause",
    )
    bar.play.click()
    assert (replay.mode, bar.play.text()) == (Mode.PAUSED, "Play")


def test_a_speed_is_chosen_and_shown(bar: ReplayBar, replay: Replay) -> None:
    bar.speeds[2].click()
    assert replay.speed == 100.0
    replay.set_speed(10.0)
    assert [button.isChecked() for button in bar.speeds] == [False, True, False]


def test_stepping_tells_the_recorded_time_and_how_much_was_read(
    bar: ReplayBar, replay: Replay
) -> None:
    for _ in range(12):
        bar.next.click()
    assert replay.position_s == 11.0
    clock, far, share = bar.position.text().split(" · ")
    assert clock.endswith(":31")  # 20 s past the minute, and 11
    assert (far, share) == ("11 s / 1 min 40 s", "12 %")


def test_a_narrow_bar_says_less_and_its_tip_the_rest(
    qtbot: QtBot, bar: ReplayBar, replay: Replay
) -> None:
    replay.step()
    whole = bar.position.text()
    assert bar.minimumSizeHint().width() <= 900  # or the window could not get narrower than that
    bar.resize(700, bar.height())
    qtbot.waitUntil(lambda: bar.position.text() == "0 ms / 1 min 40 s")
    assert bar.position.toolTip() == whole
    assert bar.minimumSizeHint().width() <= 700


@pytest.mark.parametrize(
    ("key", "modifier", "expected"),
    [
        (Qt.Key.Key_F5, Qt.KeyboardModifier.NoModifier, (Mode.PLAYING, 1)),
        (Qt.Key.Key_F4, Qt.KeyboardModifier.NoModifier, (Mode.PAUSED, 2)),
        (Qt.Key.Key_F5, SHIFT, (Mode.PAUSED, 0)),
        (Qt.Key.Key_F5, CONTROL, (Mode.READING, 1)),
    ],
)
def test_every_control_has_its_key(
    bar: ReplayBar,
    replay: Replay,
    player: FakePlayer,
    key: Qt.Key,
    modifier: Qt.KeyboardModifier,
    expected: tuple[Mode, int],
) -> None:
    replay.step()
    QTest.keyClick(bar, key, modifier)
    assert (replay.mode, player.timeline.end) == expected


def test_the_keys_are_reported_and_every_control_has_a_name(bar: ReplayBar) -> None:
    assert "F5" in bar.play.toolTip()
    assert "F4" in bar.next.toolTip()
    controls = [bar.start, bar.play, bar.next, bar.all, *bar.speeds, bar.slider]
    assert all(control.accessibleName() and control.toolTip() for control in controls)
    assert all(control.focusPolicy() & Qt.FocusPolicy.TabFocus for control in controls)


def test_the_slider_goes_to_a_moment_by_mouse_and_by_key(
    qtbot: QtBot, bar: ReplayBar, replay: Replay
) -> None:
    bar.slider.setSliderDown(True)
    bar.slider.setSliderPosition(5_000)
    replay.step()  # while the handle is held, it is the user's
    assert bar.slider.sliderPosition() == 5_000
    bar.slider.setSliderDown(False)
    qtbot.waitUntil(lambda: replay.position_s == pytest.approx(50.0))
    QTest.keyClick(bar.slider, Qt.Key.Key_PageUp)
    qtbot.waitUntil(lambda: replay.position_s == pytest.approx(60.0))
    QTest.keyClick(bar.slider, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: replay.position_s == pytest.approx(59.0))


def test_a_click_beside_the_handle_goes_on_by_a_page(
    qtbot: QtBot, bar: ReplayBar, replay: Replay
) -> None:
    place = QPoint(bar.slider.width() - 5, bar.slider.height() // 2)
    QTest.mouseClick(bar.slider, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: replay.position_s > 5)


def test_skipping_silence_is_passed_on(bar: ReplayBar, replay: Replay) -> None:
    bar.silence.click()
    assert replay.skips_silence


def test_a_recording_without_duration_disables_the_slider(
    qtbot: QtBot, appearance: Appearance
) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    bar = ReplayBar(replay_of(FakePlayer(0.0), owner), None, appearance, owner)
    assert not bar.slider.isEnabled()
