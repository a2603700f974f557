"""Our own log records on standard error, for a command without a window."""

from __future__ import annotations

import logging
import sys

from mcp_progress_monitor.cli.defect import report_defect
from mcp_progress_monitor.text import visible


class _Sentences(logging.Formatter):
    """One line for a record; the traceback of a defect goes to a file that the line names."""

    def format(self, record: logging.LogRecord) -> str:
        """The record in words that are safe on a terminal."""
        line = visible(f"{record.levelname} {record.name}: {record.getMessage()}")
        error = record.exc_info[1] if record.exc_info else None
        return line if error is None else f"{line}. {report_defect(error, sys.argv[1:])}"


def log_to_stderr(level: str | None) -> None:
    """Show records of `level` and above, warnings by default."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentences())
    logging.basicConfig(level=(level or "warning").upper(), handlers=[handler])
