"""The program's log: a private file without secrets, rotated when it is full."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import platform
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.crash_reports import LOG_NAME, harmless, opened
from mcp_progress_monitor.formatting import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOG_BYTES: Final = 1_000_000
_LOG_PARTS: Final = 3


@contextlib.contextmanager
def program_log(folder: Path, level: str) -> Iterator[None]:
    """Keep the log in `folder` while the window is open."""
    root = logging.getLogger()
    log = log_to_file(folder, level)
    _note(log, f"started, version {__version__}, Python {platform.python_version()}")
    try:
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
        return opened(Path(self.baseFilename), "a")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's
        """Continue without the record: the window shows that the folder cannot be written."""


class _Lines(logging.Formatter):
    """Plain text without secrets and control characters; a traceback follows its line."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(harmless(super().format(record)), keep_line_ends=True)
