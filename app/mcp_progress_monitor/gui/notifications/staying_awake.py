"""Keeps an idle computer from going to sleep while jobs run; the screen may still turn off.

Linux: the desktop's power or session service on the session bus, which forgets it when we leave the
bus. macOS: `caffeinate`, which ends with us. Windows: the state of the window's thread.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, QProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.notifications.session_bus import SessionBus

_NAME: Final = "MCP Progress Monitor"
_WHY: Final = "Jobs are running"
_SUSPENDING: Final = 4  # what is held up, in GNOME's terms: to suspend an idle session
_ES_CONTINUOUS, _ES_SYSTEM_REQUIRED = 0x80000000, 0x00000001


class _Service(NamedTuple):
    """A service of the session bus: how it is asked, and which method takes that back."""

    name: str
    signature: str
    body: tuple[Any, ...]
    release: str


_SERVICES: Final = (
    _Service("power", "ss", (_NAME, _WHY), "UnInhibit"),
    _Service("gnome", "susu", (_NAME, 0, _WHY, _SUSPENDING), "Uninhibit"),
)


class StayAwake(QObject):
    """Asks the system when it is wanted first, and takes that back when it is wanted no more."""

    def __init__(self, bus: Callable[[], SessionBus | None], parent: QObject) -> None:
        super().__init__(parent)
        self._bus_here = bus
        self._is_wanted = False
        self._is_asking = False
        self._held: tuple[_Service, int] | None = None
        self._process: QProcess | None = None

    def set_wanted(self, *, is_wanted: bool) -> None:
        """Stay awake, or let the system do as it does; asked again, nothing changes."""
        if is_wanted == self._is_wanted:
            return
        self._is_wanted = is_wanted
        if sys.platform == "win32":
            _set_state(is_wanted)
        elif sys.platform == "darwin":
            self._run(is_wanted)
        elif not is_wanted:
            self._release()
        elif not self._is_asking:
            self._ask(0)

    def _ask(self, place: int) -> None:
        """Ask the services one after the other until one of them agrees."""
        bus = self._bus_here()
        self._is_asking = self._is_wanted and bus is not None and place < len(_SERVICES)
        if self._is_asking and bus is not None:
            service = _SERVICES[place]
            take = partial(self._on_answered, place)
            bus.call(service.name, "Inhibit", service.signature, service.body, take)

    def _on_answered(self, place: int, answer: tuple[Any, ...] | None) -> None:
        if not answer:
            self._ask(place + 1)
            return
        self._is_asking = False
        self._held = _SERVICES[place], answer[0]
        if not self._is_wanted:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, None
        bus = self._bus_here()
        if held is not None and bus is not None:
            service, cookie = held
            bus.call(service.name, service.release, "u", (cookie,))

    def _run(self, is_wanted: bool) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.deleteLater()
            self._process = None
        if is_wanted:
            self._process = QProcess(self)
            self._process.start("caffeinate", ["-i", "-w", str(os.getpid())])


def _set_state(is_wanted: bool) -> None:
    """Tell Windows; it holds for this thread until it is told otherwise, or the thread ends."""
    if sys.platform == "win32":
        import ctypes

        state = _ES_CONTINUOUS | (_ES_SYSTEM_REQUIRED if is_wanted else 0)
        ctypes.windll.kernel32.SetThreadExecutionState(ctypes.c_uint(state))
