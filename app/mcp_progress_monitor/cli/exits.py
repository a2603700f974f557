"""The exit codes of every command: a public interface, listed in the user's help."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_progress_monitor.problem import Problem


class ExitCode(enum.IntEnum):
    """What a command's exit code tells a script. Numbers never change their meaning."""

    DONE = 0
    """Everything asked for was done."""
    ANSWERED_ERROR = 1
    """The tool or the server answered with an error."""
    USAGE = 2
    """Wrong usage, arguments that do not fit the tool, or an unreadable configuration."""
    NOT_CONNECTED = 3
    """The connection could not be made, or was lost before the reply."""
    TIMED_OUT = 4
    """A time limit of the call ran out."""
    CANCELLED = 5
    """The user, or the reader of our output, ended the call early."""
    RESUMABLE = 6
    """The work stopped with a saved resume token; the command that goes on is printed."""
    UNWRITABLE = 8
    """A file, or standard output, could not be read or written."""
    DEFECT = 70
    """A programming error of ours (the code that sysexits.h names EX_SOFTWARE)."""


class CommandFailed(Exception):  # noqa: N818 - states what happened, as facts do
    """A command cannot go on: `problem` for the user, `code` for the script."""

    def __init__(self, code: ExitCode, problem: Problem) -> None:
        """Wrap both; nothing is printed here."""
        super().__init__(problem.what)
        self.code = code
        self.problem = problem

    def as_text(self) -> str:
        """The whole problem in words that are safe on a terminal."""
        from mcp_progress_monitor.text import visible

        return "\n".join(visible(line) for line in self.problem.as_text().splitlines())
