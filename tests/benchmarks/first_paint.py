"""Opens the real window, waits until it is painted, and quits."""

from __future__ import annotations

import gc
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Quit as soon as the window has been shown and painted once."""
    gc.disable()  # as `app.cli.window` does before it loads the toolkit
    from PySide6.QtWidgets import QApplication

    from app.shell.aio import run_on_qt
    from app.shell.application import Program
    from app.shell.options import WindowOptions

    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        program = Program(application, WindowOptions(data_dir=Path(folder)))
        program.quit_when_painted()
        return run_on_qt(application, program.run)


if __name__ == "__main__":
    sys.exit(main())
