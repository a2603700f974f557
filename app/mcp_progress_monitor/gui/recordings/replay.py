"""The pace of a replay: all at once, in real time, faster, or step by step."""

from __future__ import annotations

import enum
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.playback.playback import Playback

SPEEDS: Final = (1.0, 10.0, 100.0)  # factors of the replay's speed

_SLICE_S: Final = 0.004
"""How long reading may block the window at a time."""
_PAUSE_MS: Final = 1
"""Pause between slices: with a timer of 0 ms, others would hardly get a turn."""
_FOLLOW_MS: Final = 50
_PLAY_SLICE_S: Final = 0.01
_PLAY_MS: Final = 33
_ANNOUNCED_EVERY_S: Final = 0.1
_SILENCE_S: Final = 1.0
"""A silence of this length in real time is skipped if enabled."""
_SLACK_S: Final = 1e-6
"""Tolerance: times of a recording are in microseconds."""


class Mode(enum.Enum):
    """The state of a replay."""

    READING = "reading"
    FOLLOWING = "following"  # all was read; additions to the recording are shown at once
    SEEKING = "seeking"
    PLAYING = "playing"
    PAUSED = "paused"
    ENDED = "ended"


_INTERVALS_MS: Final = {Mode.PLAYING: _PLAY_MS, Mode.FOLLOWING: _FOLLOW_MS}


class Replay(QObject):
    """Plays a recording in slices, so that the window stays responsive; starts paused.

    If the recording is so dense that reading takes longer than it took to happen, replay falls
    behind its speed, and no slice gets longer.
    """

    changed = Signal()
    """Mode, speed or position has changed; at most ten times a second during playback."""
    restarted = Signal()  # everything that was shown is gone

    def __init__(
        self,
        player: Playback,
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._player = player
        self._clock = clock
        self.mode = Mode.PAUSED
        self._after_seeking = Mode.PAUSED
        self._target_s = 0.0
        self.speed = SPEEDS[0]
        self.skips_silence = False
        self._anchor = (0.0, 0.0)  # a clock time, and the position at that time
        self._heard = (0.0, 0)  # when frames last arrived, and their number then
        self._announced_at = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_timeout)

    @property
    def position_s(self) -> float:
        """The position in seconds of the recording."""
        return self._player.position_s

    @property
    def length_s(self) -> float:
        return self._player.length_s

    @property
    def progress(self) -> float:
        """How much of the file has been read, 0.0 to 1.0."""
        return self._player.progress

    @Slot()
    def read_all(self) -> None:
        if self.mode is not Mode.ENDED:
            self._go(Mode.READING)

    @Slot()
    def play(self) -> None:
        """Continue at the current speed; from the beginning, if the end was reached."""
        if self.mode is Mode.ENDED:
            self._rewind()
        self._go(Mode.PLAYING)

    @Slot()
    def pause(self) -> None:
        if self.mode is not Mode.ENDED:
            self._go(Mode.PAUSED)

    @Slot()
    def toggle(self) -> None:
        if self.mode in (Mode.PAUSED, Mode.ENDED):
            self.play()
        else:
            self.pause()

    @Slot()
    def step(self) -> None:
        if self.mode is not Mode.ENDED:
            self._go(Mode.PAUSED if self._player.step() else Mode.ENDED)

    @Slot()
    def restart(self) -> None:
        self._rewind()
        self._go(Mode.PAUSED)

    @Slot(float)
    def seek(self, at_s: float) -> None:
        """Go to a position; seeking back starts from the beginning. Then continue as before."""
        goes_on = Mode.PLAYING if self.mode is Mode.PLAYING else Mode.PAUSED
        if self.mode is not Mode.SEEKING:
            self._after_seeking = goes_on
        if at_s < self._player.position_s - _SLACK_S:
            self._rewind()
        elif self.mode is Mode.ENDED:
            return
        self._target_s = at_s
        self._go(Mode.SEEKING)

    @Slot(float)
    def set_speed(self, speed: float) -> None:
        """Set the factor of the replay's speed."""
        self.speed = speed
        self._drop_anchor()
        self._announce()

    @Slot(bool)
    def set_skips_silence(self, is_wanted: bool) -> None:
        """Set whether long silence is skipped while playing."""
        self.skips_silence = is_wanted
        self._announce()

    def _rewind(self) -> None:
        self.mode = Mode.PAUSED
        self._player.restart()
        self.restarted.emit()

    def _go(self, mode: Mode) -> None:
        self.mode = mode
        self._drop_anchor()
        self._heard = (self._clock(), self._player.timeline.end)
        if mode in (Mode.PAUSED, Mode.ENDED):
            self._timer.stop()
        else:
            self._timer.start(_INTERVALS_MS.get(mode, _PAUSE_MS))
        self._announce()

    def _drop_anchor(self) -> None:
        self._anchor = (self._clock(), self._player.position_s)

    def _announce(self) -> None:
        self._announced_at = self._clock()
        self.changed.emit()

    @Slot()
    def _on_timeout(self) -> None:
        if self.mode in (Mode.READING, Mode.FOLLOWING):
            is_more = self._read_on()
        elif self.mode is Mode.SEEKING:
            is_more = self._seek_on()
        else:
            is_more = self._play_on()
        if not is_more:
            self._go(Mode.ENDED)
        elif self._clock() - self._announced_at >= _ANNOUNCED_EVERY_S:
            self._announce()

    def _read_on(self) -> bool:
        """Read a slice, and wait for more at the end of a growing recording."""
        is_more = self._player.advance(_SLICE_S)
        mode = Mode.FOLLOWING if is_more and self._player.is_following else Mode.READING
        if mode is not self.mode:
            self._go(mode)
        return is_more

    def _seek_on(self) -> bool:
        is_more = self._player.play_until(self._target_s, _SLICE_S)
        if is_more and self._player.position_s >= self._target_s - _SLACK_S:
            self._go(self._after_seeking)
        return is_more

    def _play_on(self) -> bool:
        since, position_s = self._anchor
        target_s = position_s + (self._clock() - since) * self.speed
        is_more = self._player.play_until(target_s, _PLAY_SLICE_S)
        if is_more and self._player.position_s < target_s - _SLACK_S:
            self._drop_anchor()
        return is_more and self._skip_silence()

    def _skip_silence(self) -> bool:
        """Go to the next message at once if none has come for a while and skipping is on."""
        now, count = self._clock(), self._player.timeline.end
        if count != self._heard[1]:
            self._heard = (now, count)
        if not self.skips_silence or now - self._heard[0] < _SILENCE_S:
            return True
        is_more = self._player.step()
        self._heard = (now, self._player.timeline.end)
        self._drop_anchor()
        return is_more
