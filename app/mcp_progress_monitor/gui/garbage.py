"""Collects cyclic garbage while the window is idle, never under load.

Thousands of jobs with their histories are a million objects, none of them garbage. Python's own
schedule visits all of them several times a second in a flood: with as many objects the 5 ms
heartbeat was 140 ms late at its 99th percentile, and 18 ms without any collection (measured, 2
cores, 500,000 messages). Objects that are not in a cycle, such as all of a flood, are freed at once
without the collector.

Objects that exist when the window opens (modules, mostly) live as long as the program, and are
never visited. A collection visits objects since the last two; the others are visited every ten
minutes. Visiting everything blocked the window for 110 ms each time (measured, fifty servers
connecting).
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.timeline import Timeline

_WORTH_A_LOOK: Final = 5_000
"""New objects since the last collection that make another one worthwhile.

With four times as many, each collection took 30 ms of one core while fifty servers were connected
(measured).
"""
_QUIET: Final = 100
"""With fewer messages between two checks there is no flood, and a pause of 8 ms goes unnoticed."""
_LOOK_MS: Final = 1_000
_AT_LEAST_EVERY_S: Final = 600.0
"""A flood of hours may create cycles, too: one pause in ten minutes is acceptable."""
_YOUNG: Final = 1
_ALL: Final = 2
"""Python's oldest generation: objects that survived two collections."""


class Garbage(QObject):
    """Replaces Python's own schedule until `restore`."""

    def __init__(self, timeline: Timeline, parent: QObject | None = None) -> None:
        """A flood is detected by the growth of `timeline`."""
        super().__init__(parent)
        self._timeline = timeline
        self._seen = timeline.end
        self._checked_at = time.monotonic()
        gc.disable()
        gc.freeze()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def settle(self) -> None:
        """Exclude objects created since the window opened from collections."""
        gc.freeze()

    def restore(self) -> None:
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    @Slot()
    def _on_timeout(self) -> None:
        arrived, self._seen = self._timeline.end - self._seen, self._timeline.end
        is_quiet = arrived < _QUIET
        is_worth_it = gc.get_count()[0] > _WORTH_A_LOOK
        is_due = time.monotonic() - self._checked_at > _AT_LEAST_EVERY_S
        if is_due:
            gc.collect(_ALL)
            self._checked_at = time.monotonic()
        elif is_quiet and is_worth_it:
            gc.collect(_YOUNG)
