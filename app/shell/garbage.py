"""When Python looks for cyclic garbage: in small steps, and in full only while nothing comes in.

A log of 200,000 messages is a million objects, none of them garbage. Python's own schedule walks
all of them several times a second under a flood: the 5 ms heartbeat was 140 ms late at its 99th
percentile, and 18 ms without any collection (measured, 2 cores, 500,000 messages).
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.protocol.frame import Frame

_YOUNG: Final = 20_000
"""New objects between two looks at the new ones alone: a millisecond each."""
_NEVER: Final = 1_000_000_000
_LOOK_MS: Final = 5_000
_AT_LEAST_EVERY_S: Final = 600.0
"""A flood of hours may hold cycles, too: one pause in ten minutes is the lesser evil."""


class Garbage(QObject):
    """Takes the place of Python's schedule until `restore`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._threshold = gc.get_threshold()
        self._since_look = 0
        self._since_full = 0
        self._full_at = time.monotonic()
        gc.collect()
        gc.freeze()  # modules and widgets live as long as the program
        gc.set_threshold(_YOUNG, _NEVER, _NEVER)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start()

    def restore(self) -> None:
        """Give Python its schedule back."""
        self._timer.stop()
        gc.set_threshold(*self._threshold)
        gc.unfreeze()

    @Slot(object)
    def add_frames(self, frames: Sequence[Frame]) -> None:
        """Note that something came in."""
        self._since_look += len(frames)

    @Slot()
    def _on_timeout(self) -> None:
        is_quiet = self._since_look == 0
        self._since_full += self._since_look
        self._since_look = 0
        is_due = time.monotonic() - self._full_at > _AT_LEAST_EVERY_S
        if (is_quiet and self._since_full) or is_due:
            self._since_full = 0
            self._full_at = time.monotonic()
            gc.collect()
