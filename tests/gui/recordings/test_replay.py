"""A recording is shown at the pace that was asked for, in slices."""

import time
from collections.abc import Callable
from typing import cast

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from mcp_progress_monitor.gui.recordings.replay import Mode, Replay
from mcp_progress_monitor.playback.playback import Playback


class FakeFrames:
    """Counts."""

    end = 0


class FakePlayer:
    """A recording with frames at given seconds; `per_slice` of them can be read in one slice."""

    def __init__(self, *frames: float, per_slice: int = 1000) -> None:
        self.timeline = FakeFrames()
        self.frames = frames
        self.per_slice = per_slice
        self.position_s = 0.0
        self.restarts = 0
        self.slices = 0
        self.is_following = False

    @property
    def length_s(self) -> float:
        return self.frames[-1]

    @property
    def progress(self) -> float:
        return self.timeline.end / len(self.frames)

    def advance(self, budget_s: float) -> bool:
        return self._work(float("inf"), budget_s)

    def play_until(self, at_s: float, budget_s: float) -> bool:
        is_more = self._work(at_s, budget_s)
        if is_more and self._next > at_s:
            self.position_s = max(self.position_s, at_s)
        return is_more

    def step(self) -> bool:
        self._take()
        return self.timeline.end < len(self.frames)

    def restart(self) -> None:
        self.restarts += 1
        self.timeline.end, self.position_s = 0, 0.0

    @property
    def _next(self) -> float:
        return self.frames[self.timeline.end]

    def _take(self) -> None:
        self.position_s = self._next
        self.timeline.end += 1

    def _work(self, until: float, budget_s: float) -> bool:
        assert 0 < budget_s <= 0.05
        self.slices += 1
        for _ in range(self.per_slice):
            if self.timeline.end == len(self.frames):
                return False
            if self._next > until:
                return True
            self._take()
        return self.timeline.end < len(self.frames)


def replay_of(
    player: FakePlayer, parent: QObject | None = None, clock: Callable[[], float] = time.monotonic
) -> Replay:
    """A replay of `player` in place of a recording."""
    return Replay(cast("Playback", player), parent, clock)


class FakeClock:
    """Stands still until it is set forward."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def beat(replay: Replay, clock: FakeClock, seconds: float) -> None:
    """Let time pass as the timer does, without waiting for it."""
    clock.now += seconds
    if replay.mode not in (Mode.PAUSED, Mode.ENDED):
        replay._on_timeout()  # noqa: SLF001  # the timer's own slot


def test_it_begins_paused_with_nothing_shown(clock: FakeClock) -> None:
    player = FakePlayer(0.0, 1.0)
    replay = replay_of(player, None, clock)
    assert (replay.mode, player.timeline.end) == (Mode.PAUSED, 0)


def test_all_at_once_reads_slice_by_slice_to_the_end(qtbot: QtBot) -> None:
    player = FakePlayer(*(float(n) for n in range(10)), per_slice=3)
    replay = replay_of(player)
    replay.read_all()
    qtbot.waitUntil(lambda: replay.mode is Mode.ENDED)
    assert player.timeline.end == 10
    assert player.slices == 4


@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
def test_playing_shows_what_had_happened_by_then(clock: FakeClock, speed: float) -> None:
    player = FakePlayer(*(float(n) for n in range(1000)))
    replay = replay_of(player, None, clock)
    replay.set_speed(speed)
    replay.play()
    beat(replay, clock, 2.5)
    assert player.position_s == pytest.approx(2.5 * speed)
    assert player.timeline.end == int(2.5 * speed) + 1
    assert replay.mode is Mode.PLAYING


def test_what_cannot_be_read_in_time_makes_it_fall_behind_and_no_slice_longer(
    clock: FakeClock,
) -> None:
    player = FakePlayer(*(n / 100 for n in range(1000)), per_slice=10)
    replay = replay_of(player, None, clock)
    replay.play()
    beat(replay, clock, 5.0)
    assert player.timeline.end == 10
    beat(replay, clock, 0.055)
    assert player.timeline.end == 15  # from where it was, not from where it should have been


def test_pausing_stops_and_playing_goes_on_from_there(clock: FakeClock) -> None:
    player = FakePlayer(*(float(n) for n in range(100)))
    replay = replay_of(player, None, clock)
    replay.play()
    beat(replay, clock, 3.0)
    replay.toggle()
    beat(replay, clock, 50.0)
    replay.toggle()
    beat(replay, clock, 1.0)
    assert player.position_s == pytest.approx(4.0)


def test_a_new_speed_holds_from_where_it_is(clock: FakeClock) -> None:
    player = FakePlayer(*(float(n) for n in range(100)))
    replay = replay_of(player, None, clock)
    replay.play()
    beat(replay, clock, 2.0)
    replay.set_speed(10.0)
    beat(replay, clock, 1.0)
    assert player.position_s == pytest.approx(12.0)


def test_a_step_shows_the_next_moment_and_stops(clock: FakeClock) -> None:
    player = FakePlayer(0.0, 60.0, 61.0)
    replay = replay_of(player, None, clock)
    replay.play()
    replay.step()
    replay.step()
    assert (replay.mode, player.position_s) == (Mode.PAUSED, 60.0)
    replay.step()
    assert replay.mode is Mode.ENDED
    replay.step()
    assert player.timeline.end == 3


def test_restarting_stops_at_the_beginning_and_says_so(qtbot: QtBot, clock: FakeClock) -> None:
    player = FakePlayer(0.0, 1.0)
    replay = replay_of(player, None, clock)
    replay.step()
    with qtbot.waitSignal(replay.restarted):
        replay.restart()
    assert (replay.mode, player.timeline.end, player.restarts) == (Mode.PAUSED, 0, 1)


def test_playing_after_the_end_begins_again(clock: FakeClock) -> None:
    player = FakePlayer(0.0, 1.0, 2.0)
    replay = replay_of(player, None, clock)
    replay.read_all()
    beat(replay, clock, 0.0)
    replay.play()
    beat(replay, clock, 1.0)
    assert (replay.mode, player.restarts, player.timeline.end) == (Mode.PLAYING, 1, 2)


def test_seeking_forward_reads_up_to_there_then_rests(clock: FakeClock) -> None:
    player = FakePlayer(*(float(n) for n in range(100)), per_slice=10)
    replay = replay_of(player, None, clock)
    replay.seek(42.5)
    while replay.mode is Mode.SEEKING:
        beat(replay, clock, 0.0)
    assert (replay.mode, player.timeline.end, player.position_s) == (Mode.PAUSED, 43, 42.5)
    assert player.restarts == 0


def test_seeking_back_reads_from_the_beginning_and_plays_on(clock: FakeClock) -> None:
    player = FakePlayer(*(float(n) for n in range(100)))
    replay = replay_of(player, None, clock)
    replay.play()
    beat(replay, clock, 50.0)
    replay.seek(10.0)
    beat(replay, clock, 0.0)
    assert (replay.mode, player.restarts, player.position_s) == (Mode.PLAYING, 1, 10.0)
    beat(replay, clock, 2.0)
    assert player.position_s == pytest.approx(12.0)


def test_seeking_beyond_the_end_ends(clock: FakeClock) -> None:
    player = FakePlayer(0.0, 1.0)
    replay = replay_of(player, None, clock)
    replay.seek(99.0)
    beat(replay, clock, 0.0)
    assert replay.mode is Mode.ENDED
    replay.seek(99.0)
    assert (replay.mode, player.restarts) == (Mode.ENDED, 0)


def test_a_long_silence_is_skipped_only_if_that_is_wanted(clock: FakeClock) -> None:
    player = FakePlayer(0.0, 3600.0, 3600.5, 9999.0)
    replay = replay_of(player, None, clock)
    replay.play()
    beat(replay, clock, 0.5)
    beat(replay, clock, 2.0)
    assert player.timeline.end == 1
    replay.set_skips_silence(True)
    beat(replay, clock, 0.1)
    assert (player.timeline.end, player.position_s) == (2, 3600.0)
    beat(replay, clock, 0.6)
    assert player.timeline.end == 3  # half a second is no silence: played as it happened
    assert player.position_s == pytest.approx(3600.6)


def test_positions_are_reported_ten_times_a_second_at_most(clock: FakeClock) -> None:
    player = FakePlayer(*(float(n) for n in range(1000)))
    replay = replay_of(player, None, clock)
    replay.play()
    reported = []
    replay.changed.connect(lambda: reported.append(replay.position_s))
    for _ in range(100):
        beat(replay, clock, 0.01)
    assert 8 <= len(reported) <= 11


def test_a_recording_that_grows_is_followed_until_its_end(qtbot: QtBot) -> None:
    player = FakePlayer(*(float(n) for n in range(10)), per_slice=3)
    player.is_following = True
    replay = replay_of(player)
    replay.read_all()
    qtbot.waitUntil(lambda: replay.mode is Mode.FOLLOWING)
    replay.pause()
    assert replay.mode is Mode.PAUSED
    replay.read_all()
    qtbot.waitUntil(lambda: replay.mode is Mode.FOLLOWING)
    player.is_following = False
    qtbot.waitUntil(lambda: replay.mode is Mode.ENDED)
