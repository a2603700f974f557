"""Deferred start-up: runs steps after the window is painted, one per turn.

`loading` names the modules that an empty window does not need, but will soon.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from PySide6.QtWidgets import QWidget

_AT_LATEST_MS: Final = 300  # for a window that starts minimised and is not painted
_SHOWN_MS: Final = 5  # time for the painted content to reach the screen


class DeferredStartup(QObject):
    """Runs steps once `window` has been painted."""

    painted = Signal()  # once: the window is painted, or does not have to be

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._steps: list[Callable[[], object]] = []
        self._is_drawing = False
        self._is_painted = False
        self._timer = QTimer(self)
        self._timer.setInterval(_AT_LATEST_MS)
        self._timer.timeout.connect(self._on_due)
        self._timer.start()
        window.installEventFilter(self)

    def take(self, steps: Iterable[Callable[[], object]]) -> None:
        self._steps.extend(steps)
        self._timer.start()

    def stop(self) -> None:
        self._steps.clear()
        self._timer.stop()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Wait for the first paint; all of the window is painted in the same turn."""
        if event.type() is QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            self._is_drawing = True
            self._timer.setInterval(0)
        return False

    @Slot()
    def _on_due(self) -> None:
        if self._is_drawing:  # all of it is painted now
            self._is_drawing = False
            self._timer.setInterval(_SHOWN_MS)
            return
        self._timer.setInterval(0)
        if not self._is_painted:
            self._is_painted = True
            self.painted.emit()
        if self._steps:
            self._steps.pop(0)()
        if not self._steps:
            self._timer.stop()


_FILTERS: Final = (
    "mcp_progress_monitor.filtering.completion",
    "mcp_progress_monitor.filtering.search",
    "mcp_progress_monitor.gui.traffic.filtering",
)
_SESSIONS: Final = (
    "mcp_progress_monitor.sessions.connection.session",
    "mcp_progress_monitor.sessions.connection.connection",
    "mcp_progress_monitor.sessions.transport.stdio",
)

_SCHEMAS: Final = ("jsonschema_rs",)  # for the first message and the first form
_SESSION_BUS: Final = ("mcp_progress_monitor.gui.notifications.session_bus",)
"""The first job wants it, to keep the computer awake; QtDBus takes 15 ms to load."""


def loading() -> tuple[Callable[[], object], ...]:
    names = (*_SESSIONS, *_FILTERS, *_SCHEMAS, *(_SESSION_BUS if sys.platform == "linux" else ()))
    return tuple(functools.partial(importlib.import_module, name) for name in names)
