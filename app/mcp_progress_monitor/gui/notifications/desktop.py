"""Notifications, tray icon, task bar button, and keeping the computer awake.

On Linux, notifications use the desktop's service on the session bus. Elsewhere, or without that
service: the tray icon's message, or at least the window's button in the task bar.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from PySide6.QtCore import QObject, QProcess, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon

from mcp_progress_monitor import paths
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.controls import plain_tip
from mcp_progress_monitor.wording import jobs as job_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtWidgets import QWidget

    from mcp_progress_monitor.gui.notifications.events import Notice
    from mcp_progress_monitor.gui.notifications.session_bus import SessionBus
    from mcp_progress_monitor.gui.theme import Appearance, Tone
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_CLICK: Final = "default"
_KEPT: Final = 100
_SHOWN_MS: Final = 10_000
_LOW, _CRITICAL = 1, 2  # urgency levels; a critical notification stays until it is read


class DesktopNotifier(QObject):
    """Shows notices; the desktop keeps and groups them."""

    clicked = Signal(object)  # the `JobId` of the clicked notice
    acted = Signal(object, object)  # the `NoticeAction` of the pressed button, and its `JobId`

    def __init__(self, window: QWidget, bus: Callable[[], SessionBus | None]) -> None:
        super().__init__(window)
        self._window = window
        self._bus_here = bus
        self._bus: SessionBus | None = None
        self._tray: QSystemTrayIcon | None = None
        self._takes_markup: bool | None = None
        self._has_buttons = False
        self._shown: dict[int, Notice] = {}
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
        """Close the notifications that are still shown: the user has come to the window."""
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
        self._has_buttons = "actions" in answer[0]
        self._notify(notice, has_sound=has_sound)

    def _notify(self, notice: Notice, *, has_sound: bool) -> None:
        if self._bus is None:
            return
        import html  # late: it has all entities

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
        if notice.action is not None and self._has_buttons:
            actions += [notice.action.name, notice.action.value]
        arguments = (name, 0, icon, notice.title, body, actions, hints, -1)
        take = partial(self._on_notified, notice, has_sound)
        self._bus.call("notifications", "Notify", "susssasa{sv}i", arguments, take)

    def _on_notified(self, notice: Notice, has_sound: bool, answer: tuple[Any, ...] | None) -> None:
        if not answer:
            self._takes_markup = None  # another service may start
            self._fall_back(notice, has_sound=has_sound)
            return
        self._shown[answer[0]] = notice
        while len(self._shown) > _KEPT:
            del self._shown[next(iter(self._shown))]

    def _fall_back(self, notice: Notice, *, has_sound: bool) -> None:
        tray = self._tray
        is_there = tray is not None and tray.isSystemTrayAvailable()  # its panel may have exited
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
            # Wayland activates a window only with the token of a click, which Qt reads here.
            os.environ["XDG_ACTIVATION_TOKEN"] = str(body[1])
        elif name == "ActionInvoked" and body[1] == _CLICK:
            self.clicked.emit(self._shown[body[0]].job)
        elif name == "ActionInvoked":
            notice = self._shown[body[0]]
            if notice.action is not None and body[1] == notice.action.name:
                self.acted.emit(notice.action, notice.job)
        elif name == "NotificationClosed":
            del self._shown[body[0]]


class TaskBarButton:
    """The program's button in the task bar or dock: a badge, and progress if supported."""

    def __init__(self, bus: Callable[[], SessionBus | None]) -> None:
        self._bus = bus
        self._shown: tuple[int, float | None] = (0, None)

    def show(self, count: int, share: float | None) -> None:
        """Show `count` as badge (0: none), and `share` from 0 to 1 as progress (None: none)."""
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
    """The session bus, created on first use; None on other systems than Linux."""

    def __init__(self, parent: QObject) -> None:
        self._parent = parent
        self._made: SessionBus | None = None

    def __call__(self) -> SessionBus | None:
        if self._made is None and sys.platform.startswith("linux"):
            from mcp_progress_monitor.gui.notifications.session_bus import (  # late: rarely used
                SessionBus,
            )

            self._made = SessionBus(self._parent)
        return self._made


_SIDE: Final = 64
_LISTED: Final = 8
_LONGEST: Final = 40
LOOK_MS: Final = 10_000
"""Interval of looking for a tray, at 0.3 ms each; Qt handles one that disappears and returns."""


class TrayIcon(QObject):
    """A tray icon, shown while it is enabled and the desktop has a tray."""

    shown = Signal()  # the user asked for the window
    job_opened = Signal(object)  # the `JobId` chosen from the menu
    icon_changed = Signal()  # the icon was created or removed

    def __init__(
        self,
        window: QWidget,
        appearance: Appearance,
        running: Callable[[], Sequence[JobSnapshot]],
        actions: Sequence[QAction],
    ) -> None:
        """`running` returns the jobs to list in the menu; `actions` come last in it."""
        super().__init__(window)
        self._appearance = appearance
        self._running = running
        self._actions = actions
        self._text = ""
        self._tone: Tone | None = None
        self.icon: QSystemTrayIcon | None = None  # None without a tray
        self._look = QTimer(self, interval=LOOK_MS)
        self._look.timeout.connect(self._show_icon)
        self._menu = QMenu(window)
        self._menu.aboutToShow.connect(self._fill)
        self._menu.triggered.connect(self._on_triggered)
        self._fill()

    def set_wanted(self, *, is_wanted: bool) -> None:
        if is_wanted and self.icon is None:
            self._look.start()
            self._show_icon()
        elif not is_wanted:
            self._look.stop()
            if self.icon is not None:
                self.icon.hide()
                self.icon.deleteLater()
                self.icon = None
                self.icon_changed.emit()

    @Slot()
    def _show_icon(self) -> None:
        """Show the icon once there is a tray: a panel may start after this program."""
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        self._look.stop()
        self.icon = QSystemTrayIcon(self)
        self.icon.setContextMenu(self._menu)
        self.icon.activated.connect(self._on_activated)
        self._draw()
        self.icon.show()
        self.icon_changed.emit()

    def show_state(self, text: str, tone: Tone | None) -> None:
        """Set the tool tip, and mark the icon in the colour of `tone`; None leaves it plain."""
        if (text, tone) != (self._text, self._tone):
            self._text, self._tone = text, tone
            self._draw()

    def _draw(self) -> None:
        if self.icon is None:
            return
        self.icon.setToolTip(plain_tip(self._text or "No running jobs"))
        self.icon.setIcon(self._drawn())

    def _drawn(self) -> QIcon:
        plain = QIcon(str(paths.resource("icons/app.svg")))
        if self._tone is None:
            return plain
        picture = QPixmap(plain.pixmap(_SIDE, _SIDE))
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        side = picture.width()
        for share, colour in ((0.5, Qt.GlobalColor.white), (0.42, None)):
            dot = round(side * share)
            rim = round(side * (0.5 - share) / 2)
            painter.setBrush(colour or self._appearance.colour(self._tone))
            painter.drawEllipse(side - dot - rim, side - dot - rim, dot, dot)
        painter.end()
        return QIcon(picture)

    @Slot()
    def _fill(self) -> None:
        menu = self._menu
        menu.clear()
        show = menu.addAction("&Show window")
        show.triggered.connect(self.shown)
        menu.setDefaultAction(show)
        menu.addSeparator()
        jobs = self._running()
        for job in jobs[:_LISTED]:
            name = one_line(job_texts.name(job), _LONGEST).replace("&", "&&")
            text = ", ".join(filter(None, (name, job_texts.amount(job), job.state.value.lower())))
            menu.addAction(text).setData(job.id)
        if not jobs:
            menu.addAction("No running jobs").setEnabled(False)
        menu.addSeparator()
        menu.addActions(list(self._actions))

    @Slot(QAction)
    def _on_triggered(self, action: QAction) -> None:
        if isinstance(action.data(), int):
            self.job_opened.emit(action.data())

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in {
            QSystemTrayIcon.ActivationReason.Trigger,
            QSystemTrayIcon.ActivationReason.DoubleClick,
        }:
            self.shown.emit()


_NAME: Final = "MCP Progress Monitor"
_WHY: Final = "Jobs are running"
_SUSPENDING: Final = 4  # GNOME's flag for suspending an idle session
_ES_CONTINUOUS, _ES_SYSTEM_REQUIRED = 0x80000000, 0x00000001


class _Service(NamedTuple):
    """A service of the session bus that inhibits sleep, and the method that releases it."""

    name: str
    signature: str
    body: tuple[Any, ...]
    release: str


_SERVICES: Final = (
    _Service("power", "ss", (_NAME, _WHY), "UnInhibit"),
    _Service("gnome", "susu", (_NAME, 0, _WHY, _SUSPENDING), "Uninhibit"),
)


class StayAwake(QObject):
    """Inhibits sleep while wanted, and releases it afterwards."""

    def __init__(self, bus: Callable[[], SessionBus | None], parent: QObject) -> None:
        super().__init__(parent)
        self._bus_here = bus
        self._is_wanted = False
        self._is_asking = False
        self._held: tuple[_Service, int] | None = None
        self._process: QProcess | None = None

    def set_wanted(self, *, is_wanted: bool) -> None:
        """Inhibit or allow sleep; calling it again has no effect."""
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
        """Ask the services in turn until one of them agrees."""
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
    """Set the execution state of this thread on Windows, until it is changed or the thread ends."""
    if sys.platform == "win32":
        import ctypes

        state = _ES_CONTINUOUS | (_ES_SYSTEM_REQUIRED if is_wanted else 0)
        ctypes.windll.kernel32.SetThreadExecutionState(ctypes.c_uint(state))
