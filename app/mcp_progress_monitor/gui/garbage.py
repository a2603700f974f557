"""Collects cyclic garbage while the window is idle, never under load.

Thousands of jobs with their histories are a million objects, none of them garbage. Python's own
schedule walks all of them several times a second under a flood: with as many objects the 5 ms
heartbeat was 140 ms late at its 99th percentile, and 18 ms without any collection (measured, 2
cores, 500,000 messages). What is not in a cycle, all of a flood, is freed at once without the
collector.

What is there when the window opens (modules, most of it) stays as long as the program, and is never
walked. A collection walks what came since the last two; the rest is walked every ten minutes.
Walking everything held the window for 110 ms each time (measured, fifty servers connecting).
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from mcp_progress_monitor.recording.timeline import Timeline

_WORTH_A_LOOK: Final = 5_000
"""New objects since the last look; fewer are left for later. Of four times as many each look took
30 ms of one core while fifty servers were connected (measured)."""
_QUIET: Final = 100
"""Fewer messages between two looks are no flood: a pause of some 8 ms is not felt."""
_LOOK_MS: Final = 1_000
_AT_LEAST_EVERY_S: Final = 600.0
"""A flood of hours may hold cycles, too: one pause in ten minutes is the lesser evil."""
_YOUNG: Final = 1
_ALL: Final = 2
"""Generations of objects as Python counts them: what lived through two looks is not young."""


class Garbage(QObject):
    """Replaces Python's own schedule until `restore`."""

    def __init__(self, timeline: Timeline, parent: QObject | None = None) -> None:
        """A flood is seen by how fast `timeline` grows."""
        super().__init__(parent)
        self._timeline = timeline
        self._seen = timeline.end
        self._looked_at = time.monotonic()
        gc.disable()
        gc.freeze()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def settle(self) -> None:
        """Count what came since the window opened among what stays."""
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
        is_due = time.monotonic() - self._looked_at > _AT_LEAST_EVERY_S
        if is_due:
            gc.collect(_ALL)
            self._looked_at = time.monotonic()
        elif is_quiet and is_worth_it:
            gc.collect(_YOUNG)
