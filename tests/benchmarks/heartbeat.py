"""How late a 5 ms timer fires: what a user feels as a stutter."""

from __future__ import annotations

import asyncio
import math
import time
from typing import NamedTuple

from PySide6.QtCore import QElapsedTimer, Qt, QTimer

PERIOD_S = 0.005


class Lateness(NamedTuple):
    """How late the beats were, in milliseconds."""

    p50: float
    p99: float
    maximum: float


class _Beat(NamedTuple):
    """When a beat was, how late, and how long this thread ran since the one before: seconds."""

    at: float
    late: float
    worked: float


class Heartbeat:
    """Beats every 5 ms on the running loop until stopped; keeps how late each beat was.

    It beats twice: for tasks, whose turn comes after all others', and for the window, where Qt
    takes keys and paints. Beside each beat it notes how long this thread ran since the one before:
    that is what we did to it, whatever else the machine had to do.
    """

    def __init__(self) -> None:
        self._beats: list[_Beat] = []
        self._felt: list[_Beat] = []
        self._worked = 0.0
        self._felt_worked = 0.0
        self._since = QElapsedTimer()

    async def run(self) -> None:
        """Beat for ever; to be started in a task group and cancelled."""
        window = QTimer()
        window.setTimerType(Qt.TimerType.PreciseTimer)
        window.setInterval(round(PERIOD_S * 1000))
        window.timeout.connect(self._on_timeout)
        self._worked = self._felt_worked = time.thread_time()
        self._since.start()
        window.start()
        try:
            while True:
                due = time.perf_counter() + PERIOD_S
                await asyncio.sleep(PERIOD_S)
                worked = time.thread_time()
                now = time.perf_counter()
                self._beats.append(_Beat(now, max(0.0, now - due), worked - self._worked))
                self._worked = worked
        finally:
            window.stop()

    def lateness(self, since: float = -math.inf, until: float = math.inf) -> Lateness:
        """Of the tasks' beats between two moments of `time.perf_counter`."""
        return _lateness([beat.late for beat in self._beats if since <= beat.at <= until])

    def felt(self, since: float = -math.inf, until: float = math.inf) -> Lateness:
        """Of the window's beats between two moments of `time.perf_counter`."""
        return _lateness([beat.late for beat in self._felt if since <= beat.at <= until])

    def work(self, since: float = -math.inf, until: float = math.inf) -> Lateness:
        """How long this thread ran from one of the window's beats to the next."""
        return _lateness([beat.worked for beat in self._felt if since <= beat.at <= until])

    def task_work(self, since: float = -math.inf, until: float = math.inf) -> Lateness:
        """The same from one of the tasks' beats to the next: how late they are if nobody waits."""
        return _lateness([beat.worked for beat in self._beats if since <= beat.at <= until])

    def _on_timeout(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        late = max(0.0, self._since.nsecsElapsed() / 1e9 - PERIOD_S)
        self._since.restart()
        self._felt.append(_Beat(now, late, worked - self._felt_worked))
        self._felt_worked = worked


def _lateness(seconds: list[float]) -> Lateness:
    late = sorted(seconds) or [0.0]
    return Lateness(percentile(late, 0.50) * 1e3, percentile(late, 0.99) * 1e3, late[-1] * 1e3)


def per_second(count: int, spent_s: float) -> float:
    """How many in a second; what came at once, in one batch, is taken to have needed a moment."""
    return count / max(spent_s, 1e-6)


def percentile(ordered: list[float], share: float) -> float:
    """The value below which `share` of the ordered values lie (nearest rank)."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
