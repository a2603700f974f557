"""Shows a notification on the desktop, and says when it is clicked; progress in the task bar.

Linux: the desktop's notification service on the session bus. Elsewhere, and where there is no such
service: the tray icon's message, or at least the window's button in the task bar.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor import paths

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QSystemTrayIcon, QWidget

    from mcp_progress_monitor.gui.notifications.events import Notice
    from mcp_progress_monitor.gui.notifications.session_bus import SessionBus
    from mcp_progress_monitor.tracker.snapshot import JobId

_CLICK: Final = "default"
_KEPT: Final = 100
_SHOWN_MS: Final = 10_000
_LOW, _CRITICAL = 1, 2  # urgency in the desktop's terms; a critical one stays until it is read


class DesktopNotifier(QObject):
    """Shows notices, the newest in place of none: the desktop keeps and groups them."""

    clicked = Signal(object)  # the `JobId` of the notice that was clicked

    def __init__(self, window: QWidget, bus: Callable[[], SessionBus | None]) -> None:
        super().__init__(window)
        self._window = window
        self._bus_here = bus
        self._bus: SessionBus | None = None
        self._tray: QSystemTrayIcon | None = None
        self._takes_markup: bool | None = None
        self._shown: dict[int, JobId] = {}
        self._newest: JobId | None = None

    def set_tray(self, tray: QSystemTrayIcon | None) -> None:
        self._tray = tray
        if tray is not None:
            tray.messageClicked.connect(self._on_message_clicked)

    def show(self, notice: Notice, *, has_sound: bool) -> None:
        if self._bus is None:
            self._bus = self._bus_here()
            if self._bus is not None:
                self._bus.signalled.connect(self._on_signalled)
        if self._bus is None:
            self._fall_back(notice, has_sound=has_sound)
        elif self._takes_markup is None:
            take = partial(self._on_capabilities, notice, has_sound)
            self._bus.call("notifications", "GetCapabilities", answered=take)
        else:
            self._notify(notice, has_sound=has_sound)

    def withdraw(self) -> None:
        """Take back what is still shown: the user has come to the window."""
        for number in self._shown:
            if self._bus is not None:
                self._bus.call("notifications", "CloseNotification", "u", (number,))
        self._shown.clear()

    def _on_capabilities(
        self, notice: Notice, has_sound: bool, answer: tuple[Any, ...] | None
    ) -> None:
        if not answer:
            self._fall_back(notice, has_sound=has_sound)
            return
        self._takes_markup = "body-markup" in answer[0]
        self._notify(notice, has_sound=has_sound)

    def _notify(self, notice: Notice, *, has_sound: bool) -> None:
        if self._bus is None:
            return
        import html  # with all its entities: no start waits for them

        body = html.escape(notice.body, quote=False) if self._takes_markup else notice.body
        sound = ("sound-name", ("s", "message-new-instant"))
        hints = {
            "desktop-entry": ("s", paths.APPLICATION),
            "urgency": ("y", _CRITICAL if notice.is_urgent else _LOW),
            **(dict([sound]) if has_sound else {"suppress-sound": ("b", True)}),
        }
        icon = str(paths.resource("icons/app.svg"))
        name = QGuiApplication.applicationDisplayName()
        actions = [_CLICK, "Show"]
        told = (name, 0, icon, notice.title, body, actions, hints, -1)
        take = partial(self._on_notified, notice, has_sound)
        self._bus.call("notifications", "Notify", "susssasa{sv}i", told, take)

    def _on_notified(self, notice: Notice, has_sound: bool, answer: tuple[Any, ...] | None) -> None:
        if not answer:
            self._takes_markup = None  # another service may come
            self._fall_back(notice, has_sound=has_sound)
            return
        self._shown[answer[0]] = notice.job
        while len(self._shown) > _KEPT:
            del self._shown[next(iter(self._shown))]

    def _fall_back(self, notice: Notice, *, has_sound: bool) -> None:
        tray = self._tray
        is_there = tray is not None and tray.isSystemTrayAvailable()  # its panel may have ended
        if tray is not None and is_there and tray.supportsMessages():
            self._newest = notice.job
            tray.showMessage(notice.title, notice.body, tray.icon(), _SHOWN_MS)
        else:
            QApplication.alert(self._window)
        if has_sound:
            QApplication.beep()

    @Slot()
    def _on_message_clicked(self) -> None:
        if self._newest is not None:
            self.clicked.emit(self._newest)

    @Slot(str, object)
    def _on_signalled(self, name: str, body: tuple[Any, ...]) -> None:
        if not body or body[0] not in self._shown:
            return
        if name == "ActivationToken":
            # Wayland lets a program come to the front only with what came of a click; Qt takes it.
            os.environ["XDG_ACTIVATION_TOKEN"] = str(body[1])
        elif name == "ActionInvoked" and body[1] == _CLICK:
            self.clicked.emit(self._shown[body[0]])
        elif name == "NotificationClosed":
            del self._shown[body[0]]


class TaskBarButton:
    """The program's button in the task bar or dock: a number, and progress where there can be."""

    def __init__(self, bus: Callable[[], SessionBus | None]) -> None:
        self._bus = bus
        self._shown: tuple[int, float | None] = (0, None)

    def show(self, count: int, share: float | None) -> None:
        """Show `count` as badge (0: none), and `share` of 0 to 1 as progress (None: none)."""
        share = None if share is None else round(share, 2)
        before, self._shown = self._shown, (count, share)
        application = QGuiApplication.instance()
        if self._shown == before:
            return
        bus = self._bus()
        if bus is None and isinstance(application, QGuiApplication):
            application.setBadgeNumber(count)
        elif bus is not None:
            values = {
                "progress": ("d", share or 0.0),
                "progress-visible": ("b", share is not None),
                "count": ("x", count),
                "count-visible": ("b", count > 0),
                "urgent": ("b", count > before[0]),
            }
            place = f"application://{paths.APPLICATION}.desktop"
            bus.emit_signal("launcher", "Update", "sa{sv}", (place, values))


class BusHere:
    """The session bus, made when first asked for; None where it has no such use: not on Linux."""

    def __init__(self, parent: QObject) -> None:
        self._parent = parent
        self._made: SessionBus | None = None

    def __call__(self) -> SessionBus | None:
        """The same for everyone."""
        if self._made is None and sys.platform.startswith("linux"):
            from mcp_progress_monitor.gui.notifications.session_bus import (  # few starts need it
                SessionBus,
            )

            self._made = SessionBus(self._parent)
        return self._made
