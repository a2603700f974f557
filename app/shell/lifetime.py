"""The life of a window's program, from its name on to its exit code, whatever it shows."""

from __future__ import annotations

import signal
import sys
import weakref
from typing import TYPE_CHECKING

import anyio
from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QIcon

from app import __version__, paths

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QApplication, QWidget

_BEAT_MS = 250


class Lifetime(QObject):
    """Begins when the window is shown and is over when somebody quits."""

    beat = Signal()
    """Four times a second, from `show` to `quit`: to look after what tells nobody by itself."""

    def __init__(self, application: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        self.ready = anyio.Event()
        """Set when the window is up and everything behind it is there."""
        self.exit_code = 0
        self._over = anyio.Event()
        self._window: QWidget | None = None
        self._picture: Path | None = None
        _name(application)

    @property
    def is_over(self) -> bool:
        """Whether somebody has quit."""
        return self._over.is_set()

    def show(self, window: QWidget) -> None:
        """Show `window`, the program's own."""
        self._window = window
        self._listen_to_signals()
        window.show()

    async def last(self) -> None:
        """Wait until somebody quits; then nothing beats any more, all that listens is going."""
        self.ready.set()
        await self._over.wait()
        self._timer.stop()

    @Slot()
    def quit(self) -> None:
        """End the program."""
        self._over.set()

    def take_picture(self, target: Path, after_s: float) -> None:
        """Save a picture of the window (PNG) after a while, and end the program.

        Exit code 8 when it cannot be saved.
        """
        self._picture = target
        QTimer.singleShot(round(after_s * 1000), self._on_picture_due)

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _Quitting(self))
        # Qt's loop runs no Python while nothing happens: a signal is seen at the next beat.
        self._timer = QTimer(self)
        self._timer.setInterval(_BEAT_MS)
        self._timer.timeout.connect(self._on_beat)
        self._timer.start()

    @Slot()
    def _on_beat(self) -> None:
        """Give Python the moment in which it runs signal handlers."""
        self.beat.emit()

    @Slot()
    def _on_picture_due(self) -> None:
        target = self._picture
        if self._window is None or not self._window.grab().save(str(target), "PNG"):
            print(f"The screenshot could not be saved: {target}", file=sys.stderr)  # noqa: T201
            self.exit_code = 8
        self.quit()


class _Quitting:
    """What a signal does until the process ends; a window that is gone is not held by it."""

    def __init__(self, life: Lifetime) -> None:
        self._life = weakref.ref(life)

    def __call__(self, _number: int, _frame: object) -> None:
        """Quit as the user would."""
        if (life := self._life()) is not None:
            life.quit()


def _name(application: QApplication) -> None:
    application.setApplicationName(paths.APPLICATION)
    application.setApplicationDisplayName("MCP Progress Monitor")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName(paths.APPLICATION)
    application.setWindowIcon(QIcon(str(paths.resource("icons/app.svg"))))
