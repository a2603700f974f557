"""Opens the real window, says when it was painted, and quits."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Print the monotonic time at which the window was shown and painted once, and quit."""
    gc.disable()  # as `app.cli.window` does before it loads the toolkit
    from PySide6.QtCore import QEvent, QObject, QTimer, Slot
    from PySide6.QtWidgets import QApplication, QMainWindow

    from app.shell.aio import run_on_qt
    from app.shell.application import Program
    from app.shell.options import WindowOptions

    class FirstPaint(QObject):
        """Waits until a window has been painted, with all that is in it."""

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() is QEvent.Type.Paint and isinstance(watched, QMainWindow):
                application.removeEventFilter(self)
                QTimer.singleShot(0, self._on_painted)
            return False

        @Slot()
        def _on_painted(self) -> None:
            print(time.monotonic(), flush=True)
            program.quit()

    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        program = Program(application, WindowOptions(data_dir=Path(folder)))
        waiting = FirstPaint()
        application.installEventFilter(waiting)
        return run_on_qt(application, program.run)


if __name__ == "__main__":
    sys.exit(main())
