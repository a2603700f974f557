"""What a window needs that is not sure to be there: the only place that asks for it."""

from __future__ import annotations

import builtins
import gc
import importlib
import os
import re
import socket
import sys
from typing import Final

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.problem import Problem

_TOOLKIT = ("PySide6.QtWidgets", "qasync")
_WITHOUT_WINDOW = "The commands `tools`, `call` and `resume` work without it."
_LOCAL_DISPLAY: Final = re.compile(r"(?:unix)?:(\d{1,5})(?:\.\d+)?")


def require_toolkit() -> None:
    """Load Qt, with nothing in its way; the window's own code can be imported then.

    `CommandFailed` with code 2 when Qt or a display is missing.
    """
    # Loading makes no garbage, but the collector looks at it a dozen times: a tenth of the time
    # until the window is there. `shell.garbage` decides from then on.
    gc.disable()
    _require_modules()
    take_back_import()
    _require_display()


def _require_modules() -> None:
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


def take_back_import() -> None:
    """Take back the import from before `from __feature__ import …`, which PySide6 adds.

    That one reads the source of every module that is imported from then on, to see whether it names
    PySide6: a tenth of the time until the window is there. Nothing here uses a feature; elsewhere
    the two do the same.
    """
    original = getattr(builtins, "__orig_import__", None)
    if original is not None:
        builtins.__import__ = original


def _advice(error: ImportError) -> str:
    """What to install: the Python packages, or the system's libraries that Qt itself needs."""
    if isinstance(error, ModuleNotFoundError) or ".so" not in str(error):
        return f"Install it with: {sys.executable} -m pip install PySide6-Essentials qasync"
    return "Install the system library it names; on Debian and Ubuntu: apt install libegl1 libgl1"


def _require_display() -> None:
    """On systems with X or Wayland, Qt would abort the process where there is neither."""
    platform = os.environ.get("QT_QPA_PLATFORM") or "xcb"
    if not sys.platform.startswith("linux") or platform != "xcb":
        return
    display = os.environ.get("DISPLAY", "")
    if os.environ.get("WAYLAND_DISPLAY") or (display and _answers(display)):
        return
    where = f"DISPLAY is {display}, and nothing answers there"
    problem = Problem(
        "There is no display to open a window on",
        where if display else "neither DISPLAY nor WAYLAND_DISPLAY is set",
        f"Log in to a desktop, or use a virtual one: xvfb-run. {_WITHOUT_WINDOW}",
    )
    raise CommandFailed(ExitCode.USAGE, problem)


def _answers(display: str) -> bool:
    """Whether an X server takes connections; those on other machines are supposed to."""
    local = _LOCAL_DISPLAY.fullmatch(display)
    if local is None:
        return True
    path = f"/tmp/.X11-unix/X{local[1]}"  # noqa: S108  # where X has it
    return _takes_connections(f"\0{path}") or _takes_connections(path)


def _takes_connections(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as stream:
        try:
            stream.connect(address)
        except OSError:
            return False
    return True
