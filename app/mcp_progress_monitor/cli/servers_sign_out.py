"""`servers sign-out`: tokens of a sign-in in the browser are forgotten."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.servers_trust import definition_of
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import HttpDefinition
from mcp_progress_monitor.text import visible

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.options import CommonOptions


def sign_out_server(common: CommonOptions, name: str) -> ExitCode:
    """Forget what lets us in at a server; `CommandFailed` for one that nobody signs in at."""
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from mcp_progress_monitor.sessions.http.sign_in import sign_out

    definition = definition_of(common, name)
    if not isinstance(definition, HttpDefinition):
        problem = Problem("Nobody signs in at a server that is a command", name)
        raise CommandFailed(ExitCode.USAGE, problem)
    try:
        was_signed_in = sign_out(definition, data_dir(common.data_dir))
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
    said = "You have signed out from" if was_signed_in else "You were not signed in at"
    output = Output(sys.stdout)
    output.text(f"{said} {visible(name)}\n")
    output.check()
    return ExitCode.DONE
