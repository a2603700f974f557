"""Private reports of this program's own failures, without secrets, and its log."""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import logging
import logging.handlers
import os
import platform
import sys
import traceback
from typing import IO, TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.path_checks import home

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

LOG_NAME: Final = "monitor.log"  # the log of the program, in the data folder
_LOG_BYTES: Final = 1_000_000
_LOG_PARTS: Final = 3
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
            _harmless("".join(traceback.format_exception(error))),
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
            file = stack.enter_context(_opened(path, "w"))
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
            save(folder, f"{head}\n{_harmless(text)}")


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


@contextlib.contextmanager
def program_files(folder: Path, level: str) -> Iterator[None]:
    """Keep the log and the crash trace in `folder` while the window is open."""
    root = logging.getLogger()
    log = log_to_file(folder, level)
    _note(log, f"started, version {__version__}, Python {platform.python_version()}")
    try:
        with crash_trace(folder):
            yield
    finally:
        _note(log, "ended")
        root.removeHandler(log)
        log.close()


def _note(log: logging.Handler, text: str) -> None:
    log.emit(logging.makeLogRecord({"name": paths.APPLICATION, "levelname": "INFO", "msg": text}))


def log_to_file(folder: Path, level: str) -> logging.Handler:
    """Log records of `level` and above to `LOG_NAME`; a new file is begun at 1 MB."""
    handler = _PrivateLog(
        folder / LOG_NAME,
        maxBytes=_LOG_BYTES,
        backupCount=_LOG_PARTS,
        encoding="utf-8",
        errors="backslashreplace",
        delay=True,
    )
    handler.setLevel(level.upper())
    handler.setFormatter(_Lines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    return handler


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """Readable only by its owner; a full disk is not a failure."""

    def _open(self) -> IO[str]:  # type: ignore[override]
        from pathlib import Path

        return _opened(Path(self.baseFilename), "a")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's
        """Continue without the record: the window shows that the folder cannot be written."""


class _Lines(logging.Formatter):
    """Plain text without secrets and control characters; a traceback follows its line."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(_harmless(super().format(record)), keep_line_ends=True)


def _harmless(text: str) -> str:
    from mcp_progress_monitor.exports.secret_patterns import without_secrets  # seldom needed

    own = home()  # contains the user's name
    return without_secrets(text if own is None else text.replace(str(own), "~"))


def _opened(path: Path, mode: str) -> IO[str]:
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
