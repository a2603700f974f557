"""The exit codes of every command: a public interface, listed in the user's help.

All exceptions of a command become messages and exit codes here.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import sys
from typing import TYPE_CHECKING

from mcp_progress_monitor.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_progress_monitor.errors import ErrorDetails


class ExitCode(enum.IntEnum):
    """The exit codes of all commands. Their meanings never change."""

    DONE = 0
    """The command succeeded."""
    ANSWERED_ERROR = 1
    """The tool or the server returned an error."""
    USAGE = 2
    """Wrong usage, arguments that violate the tool's schema, or an unreadable configuration."""
    NOT_CONNECTED = 3
    """The connection failed, or was lost before the reply."""
    TIMED_OUT = 4
    """The call exceeded a time limit."""
    CANCELLED = 5
    """The user, or the reader of the output, ended the command early."""
    RESUMABLE = 6
    """The job stopped with a saved resume token. The command that resumes it is printed."""
    FINDINGS = 7
    """`check` has new findings at or above `--fail-on`, or could test nothing."""
    UNWRITABLE = 8
    """A file, or standard output, could not be read or written."""
    DEFECT = 70
    """An internal error of this program (EX_SOFTWARE in sysexits.h)."""


class CommandFailed(Exception):  # noqa: N818 - states what happened, as facts do
    """A command failed: `details` for the user, `code` for scripts."""

    def __init__(self, code: ExitCode, details: ErrorDetails) -> None:
        super().__init__(details.what)
        self.code = code
        self.details = details

    def as_text(self) -> str:
        from mcp_progress_monitor.formatting import visible

        return "\n".join(visible(line) for line in self.details.as_text().splitlines())


@contextlib.contextmanager
def failing(code: ExitCode) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise CommandFailed(code, error.details) from error


_DISK_ERRORS = frozenset(
    {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
)
"""Errors of a disk to which output is redirected; any other is an internal error."""


def exit_code_of(command: Callable[[], int], arguments: Sequence[str]) -> int:
    """Run a command, and print the message of any exception.

    An internal error is reported in one sentence that names the file with the details.
    """
    try:
        return command()
    except CommandFailed as failure:
        _print_error(failure.as_text())
        return failure.code
    except UserError as error:
        _print_error(CommandFailed(ExitCode.USAGE, error.details).as_text())
        return ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.CANCELLED
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            return _internal_error(error, arguments)
        _print_error(f"Cannot write the output: {error.strerror}")
        return ExitCode.UNWRITABLE
    except Exception as error:  # noqa: BLE001 - the last resort, so that no traceback is shown
        return _internal_error(error, arguments)


def _internal_error(error: Exception, arguments: Sequence[str]) -> ExitCode:
    if details := _incomplete_python(error):
        _print_error(CommandFailed(ExitCode.USAGE, details).as_text())
        return ExitCode.USAGE
    from mcp_progress_monitor.cli.diagnostics import report_internal_error

    _print_error(report_internal_error(error, arguments))
    return ExitCode.DEFECT


def _incomplete_python(error: BaseException | None) -> ErrorDetails | None:
    """Say which library of the system, or part of itself, this Python lacks; None if none."""
    from mcp_progress_monitor import qt_libraries
    from mcp_progress_monitor.errors import ErrorDetails

    while error is not None:
        if isinstance(error, ImportError):
            if libraries := qt_libraries.named(str(error)):
                hint = "\n".join(qt_libraries.advice(libraries))
                what = "Python cannot load a library of the system"
                return ErrorDetails(what, ", ".join(libraries), hint)
            if error.name in _PARTS_OF_PYTHON:
                hint = "Use a Python that has it: most that are installed as a package do."
                what = f"This Python was built without {_PARTS_OF_PYTHON[error.name]}"
                return ErrorDetails(what, sys.executable, hint, str(error))
        error = error.__cause__ or error.__context__
    return None


_PARTS_OF_PYTHON = {"_sqlite3": "SQLite", "_ssl": "TLS", "_ctypes": "ctypes", "_lzma": "LZMA"}
"""Modules that a Python lacks if their library was not there when it was built."""


def _print_error(text: str) -> None:
    """Write to standard error, if there is one; ignore a full disk there."""
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
