"""Starts the whole program as a user does, says when its window was painted, and quits."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from mcp_progress_monitor.__main__ import main as run
from mcp_progress_monitor.cli import desktop

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent


def main() -> int:
    """Print the monotonic and the processor time when the window was painted once, and quit.

    The first argument is its data folder, which is empty.
    """
    require = desktop.require_toolkit

    def require_and_watch() -> None:
        require()
        _watch()

    vars(desktop)["require_toolkit"] = require_and_watch
    sys.argv[1:] = ["--data-dir", sys.argv[1]]
    return run()


def _watch() -> None:
    """Let the window tell of its first painting, in the way of the bare one it is compared with.

    A filter of all the application's events would be 8,000 calls, and half as much work again.
    """
    from PySide6.QtCore import QTimer, Slot

    from mcp_progress_monitor.gui import startup
    from mcp_progress_monitor.gui.main_window import MainWindow

    class Watched(MainWindow):
        """The window, which ends the program once it was painted with all that is in it."""

        is_first = True

        def paintEvent(self, _event: QPaintEvent) -> None:
            if self.is_first:
                self.is_first = False
                QTimer.singleShot(0, self._on_painted)

        @Slot()
        def _on_painted(self) -> None:
            print(time.monotonic(), time.process_time(), flush=True)
            self.close()

    vars(startup)["MainWindow"] = Watched


if __name__ == "__main__":
    sys.exit(main())
