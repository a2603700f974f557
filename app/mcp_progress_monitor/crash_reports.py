"""Private reports of this program's own failures, without secrets."""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import os
import platform
import sys
import traceback
from typing import IO, TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.path_checks import home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LOG_NAME: Final = "monitor.log"  # the log of the program, in the data folder
_REPORT: Final = "defect-*.log"
_CRASH: Final = "crash-*.trace"
"""Where the interpreter itself writes when it crashes; the star is the process."""
_KEPT: Final = 20
_MOST_CHARACTERS: Final = 100_000
_SAME: Final[dict[str, Path]] = {}
"""What this process has reported, so that one failure is one report however often it is logged."""


def report_of(error: BaseException, arguments: Sequence[str]) -> str:
    """A report of `error`, without secrets and the user's name; `arguments` have no values."""
    return "\n".join(
        (
            f"{paths.APPLICATION} {__version__}",
            f"Python {platform.python_version()} on {platform.platform()}",
            f"Arguments: {list(arguments)!r} (values omitted)",
            harmless("".join(traceback.format_exception(error))),
        )
    )


def save(folder: Path, text: str) -> Path:
    """Write a report that only its owner can read; the newest twenty are kept.

    The same text is one file. `OSError` if it cannot be written.
    """
    known = _SAME.get(text)
    if known is not None and known.exists():
        return known
    now = datetime.datetime.now(datetime.UTC)
    path = _new_file(folder, f"{now:%Y%m%dT%H%M%S}")
    content = f"{now.isoformat(timespec='seconds')}\n{text}"
    path.write_text(content, "utf-8", errors="backslashreplace")
    _SAME[text] = path
    for old in reports(folder)[:-_KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path


def reports(folder: Path) -> list[Path]:
    """The reports in a folder, the oldest first; empty if it cannot be read."""
    try:
        return sorted(folder.glob(_REPORT), key=lambda path: path.stem)
    except OSError:
        return []


@contextlib.contextmanager
def crash_trace(folder: Path) -> Iterator[None]:
    """Let the interpreter write a trace if it crashes within the block.

    Traces of earlier processes become reports. Does nothing without a writable folder.
    """
    _take_traces(folder)
    path = folder / _CRASH.replace("*", str(os.getpid()))
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(opened(path, "w"))
        except OSError:
            yield
            return
        faulthandler.enable(file)
        try:
            yield
        finally:
            faulthandler.disable()
            file.close()
            with contextlib.suppress(OSError):
                path.unlink()


def _take_traces(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for trace in folder.glob(_CRASH):
            if not _is_running(trace.stem.partition("-")[2]):
                _take_trace(folder, trace)


def _take_trace(folder: Path, trace: Path) -> None:
    """Make a report of a process's trace; a process that was killed left an empty file."""
    with contextlib.suppress(OSError):  # on Windows another program has it open: it runs
        text = trace.read_text("utf-8", errors="replace")[:_MOST_CHARACTERS]
        trace.unlink()
        if text.strip():
            head = f"{paths.APPLICATION} {__version__}\nThe program crashed:"
            save(folder, f"{head}\n{harmless(text)}")


def _is_running(process: str) -> bool:
    if not process.isdigit() or sys.platform == "win32":
        return False  # Windows does not delete open files
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # owned by another user
        return True
    return True


def harmless(text: str) -> str:
    from mcp_progress_monitor.exports.secret_patterns import without_secrets  # seldom needed

    own = home()  # contains the user's name
    return without_secrets(text if own is None else text.replace(str(own), "~"))


def opened(path: Path, mode: str) -> IO[str]:
    """A file that is private from the first moment; an existing one keeps its permissions."""
    how = os.O_APPEND if mode == "a" else os.O_TRUNC
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    return os.fdopen(descriptor, mode, encoding="utf-8", errors="backslashreplace")


def _new_file(folder: Path, stamp: str) -> Path:
    for number in range(_KEPT + 1):
        name = _REPORT.replace("*", f"{stamp}-{number}" if number else stamp)
        try:
            os.close(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            continue
        return folder / name
    raise FileExistsError(str(folder))
