"""Opening the window: the only command that needs Qt, and the only place that asks for it."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING

from app.cli.exits import CommandFailed, ExitCode
from app.cli.program_log import log_to_stderr
from app.cli.recorded import named_record
from app.cli.target import named_servers
from app.paths import data_dir
from app.problem import Problem, ProblemError
from app.shell.options import WindowOptions

if TYPE_CHECKING:
    from pathlib import Path

    from app.cli.options import CommonOptions

_TOOLKIT = ("PySide6.QtWidgets", "qasync")
_WITHOUT_WINDOW = "The commands `tools`, `call` and `resume` work without it."


def open_window(common: CommonOptions, screenshot: Path | None, after_s: float) -> int:
    """Open the window with the servers that the options name; returns when it is closed.

    `CommandFailed` with code 2 when the window toolkit or a display is missing.
    """
    level = common.log_level or "warning"
    log_to_stderr(level)
    definitions = named_servers(common)
    record = named_record(common)
    try:
        folder = data_dir(common.data_dir)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    # Loading makes no garbage, but the collector looks at it a dozen times: a tenth of the time
    # until the window is there. `app.shell.garbage` decides from then on.
    gc.disable()
    _require_toolkit()
    _require_display()
    from app.shell.application import run_window

    return run_window(
        WindowOptions(
            definitions=definitions,
            is_demo=common.demo,
            data_dir=folder,
            log_level=level,
            screenshot=screenshot,
            after_s=after_s,
            config=common.config,
            record=record,
        )
    )


def _require_toolkit() -> None:
    for module in _TOOLKIT:
        try:
            importlib.import_module(module)
        except ImportError as error:
            problem = Problem(
                "The window needs Qt, which cannot be loaded here",
                module,
                f"{_advice(error)} {_WITHOUT_WINDOW}",
                str(error),
            )
            raise CommandFailed(ExitCode.USAGE, problem) from error


def _advice(error: ImportError) -> str:
    """What to install: the Python packages, or the system's libraries that Qt itself needs."""
    if isinstance(error, ModuleNotFoundError) or ".so" not in str(error):
        return f"Install it with: {sys.executable} -m pip install PySide6-Essentials qasync"
    return "Install the system library it names; on Debian and Ubuntu: apt install libegl1 libgl1"


def _require_display() -> None:
    """On systems with X or Wayland, Qt would abort the process where there is neither."""
    is_wanted = sys.platform.startswith("linux") and not os.environ.get("QT_QPA_PLATFORM")
    if is_wanted and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        problem = Problem(
            "There is no display to open a window on",
            "neither DISPLAY nor WAYLAND_DISPLAY is set",
            f"Log in to a desktop, or use a virtual one: xvfb-run. {_WITHOUT_WINDOW}",
        )
        raise CommandFailed(ExitCode.USAGE, problem)
