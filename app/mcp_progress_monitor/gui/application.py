"""Opens the window: it is built and painted before the program behind it is loaded."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.gui.startup import WindowStartup

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.gui.launch_options import WindowOptions


def run_window(options: WindowOptions, end_servers: Callable[[], None]) -> int:
    """Open the window and run until it is closed; returns the exit code.

    `end_servers` is called, in any thread, before the process ends without its main thread. What is
    imported here is loaded once the window is painted.
    """
    opening = WindowStartup(QApplication(sys.argv[:1]), options)
    opening.paint()
    from mcp_progress_monitor.gui.aio import run_on_qt  # with asyncio
    from mcp_progress_monitor.program_log import program_log

    with program_log(options.data_dir, options.log_level):
        main = partial(opening.life.attended, partial(run, opening), end_servers)
        return run_on_qt(opening.application, main)


async def run(opening: WindowStartup) -> int:
    """Run the program behind the window that is painted; returns the exit code."""
    from mcp_progress_monitor.gui.program import Program  # late: slow to import

    return await Program(opening.application, opening.options, opening).run()
