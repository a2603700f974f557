"""What is ready to run on the event loop, run a slice at a time so that Qt comes in between.

Qt runs all timers that are due in one go, and qasync gives each callback a timer of its own: three
hundred callbacks of half a millisecond held the window for all of their 160 ms, and a step of one
of a hundred tasks cost 15 µs beside its work. Here the window waits for 16 ms, and such a step
costs 3 to 5 µs (measured, 2 cores).
"""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    import asyncio

    from PySide6.QtCore import QTimerEvent

SLICE_S: Final = 0.008
"""After so much work Qt has its turn; one callback that takes longer is not interrupted.

Of our own processor's time: on a machine that is busy with others, a slice by the clock would be
one callback for each time that Qt does all it has.
"""


class ReadyQueue(QObject):
    """Runs handles in the order they came, as asyncio does: none within the turn that added it."""

    def __init__(self) -> None:
        super().__init__()
        self._handles: collections.deque[asyncio.Handle] = collections.deque()
        self._timer = 0
        self._is_closed = False

    def add(self, handle: asyncio.Handle) -> None:
        """Run `handle` in the next turn of the loop; after `close`, never."""
        if not self._is_closed:
            self._handles.append(handle)
            if not self._timer:
                self._timer = self.startTimer(0)

    def close(self) -> None:
        """Run nothing more."""
        self._is_closed = True
        self._handles.clear()
        self._stop_timer()

    def timerEvent(self, event: QTimerEvent) -> None:
        """Run what is ready now, until the slice is over."""
        if event.timerId() != self._timer:
            return
        # A timer is not due again within its own event. A callback may run a loop of Qt's in
        # itself (a drag does): the rest is served there by a new one.
        self._stop_timer()
        left, ends_at = len(self._handles), time.thread_time() + SLICE_S
        if left > 1:
            self._timer = self.startTimer(0)
        while left and self._handles:
            left -= 1
            handle = self._handles.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001  # what each of asyncio's loops calls
            if time.thread_time() >= ends_at:
                break
        if not self._handles:
            self._stop_timer()
        elif not self._timer and not self._is_closed:
            self._timer = self.startTimer(0)

    def _stop_timer(self) -> None:
        if self._timer:
            self.killTimer(self._timer)
            self._timer = 0
