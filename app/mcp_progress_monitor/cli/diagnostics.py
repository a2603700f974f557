"""Crash reports for programming errors, and logging to standard error."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_progress_monitor import paths
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.formatting import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_DATA_DIR = "--data-dir"
_SECRET_OPTIONS = frozenset({"--header", "--url", "--input"})  # options whose values may be secrets


def report_internal_error(error: BaseException, arguments: Sequence[str]) -> str:
    """Write a crash report and return the message that names its file.

    A server's command after `--` may contain secrets and is left out of the report.
    """
    from mcp_progress_monitor.crash_reports import report_of, save  # seldom needed

    text = report_of(error, _names(_own(arguments)))
    for folder in _folders(arguments):
        try:
            path = save(folder, text)
        except OSError:
            continue
        return (
            "Internal error in mcp-progress-monitor."
            f" Please report it and attach {visible(str(path))}"
        )
    return (
        "Internal error in mcp-progress-monitor. The crash report could not be saved:"
        f" {visible(repr(error))}"
    )


def _names(arguments: Sequence[str]) -> list[str]:
    """The arguments without values that may be secrets."""
    before = ("", *arguments)
    return [
        "…" if previous in _SECRET_OPTIONS else word.partition("=")[0]
        for previous, word in zip(before, arguments, strict=False)
    ]


def _own(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _folders(arguments: Sequence[str]) -> list[Path]:
    """Return where to write: the data folder, or else the folder for temporary files."""
    import tempfile  # seldom needed

    try:
        data = [paths.data_dir(_chosen_data_dir(_own(arguments)))]
    except UserError:
        data = []
    return [*data, Path(tempfile.gettempdir())]


def _chosen_data_dir(arguments: Sequence[str]) -> Path | None:
    """The `--data-dir` on the command line, found without click, which may be what failed."""
    for word, following in zip(arguments, (*arguments[1:], ""), strict=True):
        name, sign, value = word.partition("=")
        if name == _DATA_DIR and (value or following):
            return Path(value if sign else following)
    return None


class _Sentences(logging.Formatter):
    """One line per record; a traceback goes to a file that the line names."""

    def format(self, record: logging.LogRecord) -> str:
        line = visible(f"{record.levelname} {record.name}: {record.getMessage()}")
        error = record.exc_info[1] if record.exc_info else None
        return line if error is None else f"{line}. {report_internal_error(error, sys.argv[1:])}"


def log_to_stderr(level: str | None) -> None:
    """Show records of `level` and above, warnings by default."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Sentences())
    logging.basicConfig(level=(level or "warning").upper(), handlers=[handler])
