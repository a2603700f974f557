"""The window before its program: built and painted before anything behind it is loaded."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QGuiApplication, QImage, QPainter

from mcp_progress_monitor import paths
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.crash_reports import LOG_NAME
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.deferred_startup import DeferredStartup
from mcp_progress_monitor.gui.fonts import ensure_fonts
from mcp_progress_monitor.gui.lifetime import Failures, Lifetime
from mcp_progress_monitor.gui.main_window import MainWindow
from mcp_progress_monitor.gui.models import Models
from mcp_progress_monitor.gui.preferences import Preferences
from mcp_progress_monitor.gui.status_bar import StatusBar
from mcp_progress_monitor.gui.theme import Appearance
from mcp_progress_monitor.gui.window_commands import QUIT
from mcp_progress_monitor.recording.recorder import recorder_for

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from mcp_progress_monitor.gui.launch_options import WindowOptions


FIRST: Final = "window/first"  # what the window showed last, and shows first the next time


_NO_POOL: Final = "QT_NO_GUI_THREADPOOL"


def fill_in_one_thread() -> None:
    """Keep Qt from dividing what it fills among threads; to be called before anything is painted.

    Waking them for each scroll bar took longer than filling all of it: a fifth of what scrolling
    costs. Qt looks at the environment when it fills something high for the first time, which is
    here: no server that is started later shall see the variable.
    """
    if _NO_POOL in os.environ:
        return
    os.environ[_NO_POOL] = "1"
    picture = QImage(1, 256, QImage.Format.Format_ARGB32_Premultiplied)
    painter = QPainter(picture)
    painter.drawImage(0, 0, QImage(1, 256, QImage.Format.Format_ARGB32))
    painter.end()
    del os.environ[_NO_POOL]


class WindowStartup(QObject):
    """The window alone: it looks as it will, and closing it ends the program.

    The engine takes as long to load as the window takes to be visible. It is loaded after the first
    paint, before anybody could use it.
    """

    window: MainWindow

    def __init__(self, application: QApplication, options: WindowOptions) -> None:
        super().__init__()
        fill_in_one_thread()
        ensure_fonts(application)
        self.application: Final = application
        self.options: Final = options
        self.life: Final = Lifetime(application, self)
        self.failures: Final = Failures(options.data_dir / LOG_NAME, self.report)
        self.clock: Final = Clock()
        folder = options.data_dir.absolute()
        self.recorder, self._error = recorder_for(folder, options.record, self.clock)
        self._is_shown = False

    def paint(self) -> None:
        """Show the window, and return once it is painted.

        In Qt's own loop: what runs asyncio on it takes as long to load as half of the window. An
        interrupt meanwhile ends the process, as before and as there is nothing to be ended yet.
        """
        self.show()
        self.deferred.painted.connect(self._on_painted)
        self.application.setQuitOnLastWindowClosed(False)
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.application.exec()
        signal.signal(signal.SIGINT, before)

    @Slot()
    def _on_painted(self) -> None:
        self.application.exit()

    def show(self) -> None:
        """Show the window, unless it is shown."""
        if self._is_shown:
            return
        self._is_shown = True
        self.failures.install()
        self._build()
        for error in (self._error, self.options.error, self._safe_mode()):
            if error is not None and not self.options.is_known(error):
                self.report(error)
        self._show()

    def _safe_mode(self) -> ErrorDetails | None:
        if not self.options.is_safe:
            return None
        what = "Safe mode: no server is connected and no other client is watched"
        hint = "Connect the servers one at a time to find the cause. To leave, restart the program."
        return ErrorDetails(what, hint=hint)

    @Slot()
    def quit(self) -> None:
        """End the program while nothing behind the window is running."""
        self.window.hide()
        self.life.quit()

    def report(self, error: ErrorDetails) -> None:
        self.window.notices.show_error(error)

    def _build(self) -> None:
        options = self.options
        self.preferences = Preferences(options.data_dir, keeps_layout=not options.is_safe)
        if options.resets_layout:
            self.preferences.reset_layout()
        self.appearance = Appearance(QGuiApplication.palette(), paths.resource("icons"), self)
        self.models = Models(self.recorder.timeline, self)
        self.status = StatusBar(
            self.recorder, self.models.servers, self.recorder.timeline, self.appearance
        )
        self.window = MainWindow(self.models, self.status, self.appearance, self.preferences)
        self.window.close_requested.connect(self.quit)
        self.window.session_ended.connect(self.life.quit)
        self.window.commands.carry_out(QUIT, self.quit)

    def _show(self) -> None:
        """Show the window in its last layout, until the saved data is read."""
        options = self.options
        kept = self.preferences.json_of(FIRST)
        named = options.config or options.definitions or options.saved or options.is_demo
        self.window.middle.show_first(are_any=bool(named or kept.get("has_jobs")))
        self.deferred = DeferredStartup(self.window)
        self.life.show(self.window)
