"""The life of the window's process: signals, exit code, screenshot, and the exception hook."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QIcon

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.common.controls import EnterPresses

if TYPE_CHECKING:
    import asyncio
    import signal
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from PySide6.QtWidgets import QApplication, QWidget

    from mcp_progress_monitor.signal_watch import SignalWatch

_log = logging.getLogger(__name__)


class Failures:
    """Collects programming errors.

    An exception in a model's `data` reaches the hook once per cell and repaint (measured), so each
    place in the code is logged and reported once.
    """

    def __init__(self, log_file: Path, report: Callable[[ErrorDetails], None]) -> None:
        self._log_file = log_file
        self._report = report
        self._seen: set[str] = set()
        self._hook_before: Callable[[threading.ExceptHookArgs], object] | None = None

    def install(self) -> None:
        """Install the hook for uncaught errors in slots."""
        sys.excepthook = self._hook

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Install hooks for uncaught errors in callbacks of the loop and in threads."""
        loop.set_exception_handler(self._on_loop_error)
        self._hook_before = threading.excepthook
        threading.excepthook = functools.partial(self._on_thread_error, loop)

    def uninstall(self) -> None:
        """Restore the previous hook for threads; errors are no longer reported."""
        if self._hook_before is not None:
            threading.excepthook, self._hook_before = self._hook_before, None

    def note(self, error: BaseException) -> None:
        """Log `error` and notify the user, unless the same place failed before."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        key = f"{type(error).__name__} {place}"
        if key in self._seen:
            return
        self._seen.add(key)
        _log.error("a defect of this program", exc_info=error)
        self._report(
            ErrorDetails(
                "Internal error in MCP Progress Monitor; the program continues",
                where=f"{type(error).__name__}: {error}"[:500],
                hint=f"Details are in {self._log_file}. Please report this error.",
            )
        )

    def _on_loop_error(self, _loop: object, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.note(error)
        else:
            _log.error("the event loop says: %s", context.get("message"))

    def _on_thread_error(
        self, loop: asyncio.AbstractEventLoop, failed: threading.ExceptHookArgs
    ) -> None:
        if failed.exc_value is not None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self.note, failed.exc_value)

    def _hook(
        self, _kind: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        self.note(error)


_BEAT_MS: Final = 250
CANCELLED: Final = 5
"""The exit code of a program that was interrupted twice, as the command line has it."""
_LAST_S: Final = 10.0  # how long the program may take to end: servers have five seconds of it


class Lifetime(QObject):
    """Runs from the first paint until the user or a signal quits."""

    beat = Signal()  # four times a second, from `show` to `quit`, for polling
    _quit_asked = Signal()  # in the thread of the signals

    def __init__(self, application: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        self.exit_code = 0
        self._window: QWidget | None = None
        self._picture: Path | None = None
        self._signals: SignalWatch | None = None
        self._end_servers: Callable[[], None] | None = None
        self._is_asked = False
        self._quit_asked.connect(self.quit, Qt.ConnectionType.QueuedConnection)
        EnterPresses(application, self)
        _name(application)

    # The first event of anyio's imports twenty of its modules, and the window is painted before.

    @functools.cached_property
    def ready(self) -> anyio.Event:
        """Set when the window and everything behind it is ready."""
        return anyio.Event()

    @functools.cached_property
    def _over(self) -> anyio.Event:
        return anyio.Event()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def attended(
        self, main: Callable[[], Awaitable[int]], end_servers: Callable[[], None] | None = None
    ) -> int:
        """Run `main`, the whole program, and make sure that it ends when requested.

        Signals quit it from now on until the process ends. If that takes too long, the process ends
        after `end_servers`, which a window without servers does not have.
        """
        from mcp_progress_monitor.signal_watch import SignalWatch  # with sockets: after painting

        self._end_servers = end_servers
        self._signals = SignalWatch(self._on_signal)
        self._signals.__enter__()
        return await main()

    def show(self, window: QWidget) -> None:
        self._window = window
        self._timer = QTimer(self)
        self._timer.setInterval(_BEAT_MS)
        self._timer.timeout.connect(self.beat)
        self._timer.start()
        window.show()

    async def last(self) -> None:
        """Wait for the end; then no more beats are emitted, since their listeners are ending."""
        self.ready.set()
        await self._over.wait()
        self._timer.stop()

    @Slot()
    def quit(self) -> None:
        if self._signals is not None and not self._over.is_set():
            threading.Thread(target=self._leave_late, name="leaving", daemon=True).start()
        self._over.set()

    def take_picture(self, target: Path, after_s: float) -> None:
        """Save a screenshot of the window (PNG) after a while, and end the program.

        Exit code 8 if it cannot be saved.
        """
        self._picture = target
        QTimer.singleShot(round(after_s * 1000), self._on_picture_due)

    def _on_signal(self, _number: signal.Signals) -> None:
        """Quit as the user would; the second time, or if that takes too long, exit at once."""
        if self._is_asked:
            self._leave(CANCELLED)
        self._is_asked = True
        with suppress(RuntimeError):  # the program has ended
            self._quit_asked.emit()

    @Slot()
    def _on_picture_due(self) -> None:
        target = self._picture
        if self._window is None or not self._window.grab().save(str(target), "PNG"):
            print(f"Cannot save the screenshot: {target}", file=sys.stderr)  # noqa: T201
            self.exit_code = 8
        self.quit()

    def _leave_late(self) -> None:
        """Exit unless the process has ended in time."""
        time.sleep(_LAST_S)
        self._leave(self.exit_code)

    def _leave(self, code: int) -> None:
        """Exit immediately, ending servers first: the main thread is blocked."""
        if self._end_servers is not None:
            self._end_servers()
        os._exit(code)


def _name(application: QApplication) -> None:
    application.setApplicationName(paths.APPLICATION)
    application.setApplicationDisplayName("MCP Progress Monitor")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName(paths.APPLICATION)
    application.setWindowIcon(QIcon(str(paths.resource("icons/app.svg"))))
