"""The command line in a process that was forked after all of it was imported.

A command of ours spends two thirds of a test importing itself. Python's own fork server imports
once; what it forks has its own pid, environment, streams and exit code, as any process has.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import multiprocessing
import os
import pkgutil
import subprocess
import sys
import tempfile
from multiprocessing.reduction import DupFd
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CAN_FORK: Final = sys.platform == "linux"
"""macOS has a fork server too, but its system libraries do not survive a fork well."""
_IMPORTED: Final = ("cli", "sessions", "exports", "recording", "catalogue", "store", "engine")


def run_forked(
    words: Sequence[str], folder: str, environment: Mapping[str, str], timeout: float
) -> tuple[int, bytes, bytes]:
    """Run one command to its end: its exit code, and what it wrote to its two streams."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = [DupFd(stream.fileno()) for stream in (out, err)]
        arguments = (list(words), folder, dict(environment), streams)
        process = context.Process(target=_be_the_command, args=arguments)
        process.start()
        process.join(timeout)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), timeout)
        process.close()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def _be_the_command(
    words: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[Any]
) -> None:
    for number, stream in enumerate(streams, start=1):
        os.dup2(stream.detach(), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    program = importlib.import_module("mcp_progress_monitor.__main__")
    sys.argv = [str(program.__file__), *words]  # as of python -m
    try:
        sys.exit(program.main())
    finally:
        atexit._run_exitfuncs()  # noqa: SLF001  # which forked processes leave out


def _import_everything() -> None:
    package = importlib.import_module("mcp_progress_monitor")
    prefixes = tuple(f"{package.__name__}.{name}" for name in _IMPORTED)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.startswith(prefixes) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()  # what the forked share stays shared


if "multiprocessing.forkserver" in sys.orig_argv[-1]:
    _import_everything()
