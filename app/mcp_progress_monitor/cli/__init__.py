"""The command line: arguments in, exit code out, and never a traceback for the user."""

from __future__ import annotations

import contextlib
import errno
import sys
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.commands import program
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.options import CommonOptions, Invocation
from mcp_progress_monitor.problem import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEPARATOR = "--"
_DISK_ERRORS = frozenset(
    {errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC)}
)
"""What a disk does to those who print help into a file on it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` are `sys.argv[1:]` by default.

    The one place where whatever went wrong becomes words: usage and expected failures with their
    code, a defect of this program as one sentence that names the file with the details.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    invocation = Invocation()
    try:
        return _run(words, invocation)
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        return ExitCode.USAGE
    except CommandFailed as failure:
        _tell(failure.as_text())
        return failure.code
    except ProblemError as error:
        _tell(CommandFailed(ExitCode.USAGE, error.problem).as_text())
        return ExitCode.USAGE
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.CANCELLED
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            return _defect(error, words)
        _tell(f"The output cannot be written: {error.strerror}")
        return ExitCode.UNWRITABLE
    except Exception as error:  # noqa: BLE001 - the last resort, so that no traceback is shown
        return _defect(error, words)


def _defect(error: Exception, words: Sequence[str]) -> ExitCode:
    from mcp_progress_monitor.cli.defect import report_defect

    _tell(report_defect(error, words))
    return ExitCode.DEFECT


def _tell(words: str) -> None:
    """Write to standard error; where that lies on a full disk, the exit code has to do."""
    with contextlib.suppress(OSError):
        click.echo(words, err=True)


def _run(words: list[str], invocation: Invocation) -> int:
    """Part the server's command from our own words and let click read those."""
    if _SEPARATOR in words:
        place = words.index(_SEPARATOR)
        words, command = words[:place], tuple(words[place + 1 :])
        if not command:
            raise click.UsageError("A server's command must follow --, as in: -- python server.py")
        invocation.common = CommonOptions(command=command)
    code = program.main(
        words, prog_name="mcp-progress-monitor", standalone_mode=False, obj=invocation
    )
    return int(code or ExitCode.DONE)
