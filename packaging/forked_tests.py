"""Runs of pytest forked from this process, which has imported what all of them import.

Pytest, the official SDK, Qt and the application take five seconds of a processor to import.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from typing import TYPE_CHECKING, Final, NoReturn

from beside import Beside
from environment import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

CAN_FORK: Final = sys.platform == "linux"
_IMPORTED: Final = (
    "anyio._backends._asyncio",
    "hypothesis.internal.conjecture.engine",
    "hypothesis.strategies",
    "pytest",
    "pytest_timeout",
    "PySide6.QtTest",
    "PySide6.QtWidgets",
)
_APPLICATION: Final = "mcp_progress_monitor"
_NOT_IMPORTED: Final = ("__main__", "pytest_plugin")


class ForkedTests(Beside):
    """A run of pytest with these arguments, forked when this was made."""

    def _begin(self, folder: Path, environ: Mapping[str, str]) -> _Forked:
        _import_all()
        command = list(self.command[3:])  # what follows `python -m pytest`
        return _Forked(_run, command, folder, environ, self._printed.fileno())


class _Forked(subprocess.Popen[bytes]):
    """`Popen` of a function, which ends the process."""

    def __init__(self, function: Callable[..., NoReturn], *arguments: object) -> None:
        self._function = functools.partial(function, *arguments)
        super().__init__([function.__name__])

    # What Popen calls once it has made the pipes: the one step that is another here.
    def _execute_child(self, *_others: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 3  # of pytest: an internal error
            try:
                self._function()
            except SystemExit as ending:
                code = int(ending.code or 0)
            except BaseException:  # noqa: BLE001  # as an interpreter does
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        self._child_created = True


@functools.cache
def _import_all() -> None:
    """Import them, with warnings as errors, as they are where pytest imports."""
    sys.path.insert(0, str(ROOT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in _IMPORTED:
            importlib.import_module(name)
        package = importlib.import_module(_APPLICATION)
        for module in pkgutil.walk_packages(package.__path__, f"{_APPLICATION}."):
            # What cannot be imported fails where a test needs it.
            with contextlib.suppress(Exception):
                if not module.name.endswith(_NOT_IMPORTED):
                    importlib.import_module(module.name)
        importlib.import_module("tests.integration.forked").import_commands()
    gc.freeze()  # what the forked share stays shared


def _run(
    arguments: Sequence[str], folder: Path, environ: Mapping[str, str], printed: int
) -> NoReturn:
    """Be this run of pytest, with nothing of other parts open."""
    for stream in (1, 2):
        os.dup2(printed, stream)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    tempfile.tempdir = None  # it is found again, from these variables
    sys.argv = ["pytest", *arguments]
    importlib.import_module("tests.integration.forked").stand_by()
    sys.exit(importlib.import_module("pytest").main([*arguments]))
