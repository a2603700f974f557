"""The exit codes of every command: a public interface, listed in the user's help."""

from __future__ import annotations

import contextlib
import enum
from typing import TYPE_CHECKING

from mcp_progress_monitor.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """`check` has new findings at or above `--fail-on`."""
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
