"""`check` of a server: a tour of it, recorded, then judged."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.cli.calls.arguments import read_document
from mcp_progress_monitor.cli.calls.target import one_server
from mcp_progress_monitor.cli.calls.visit import (
    EngineCommand,
    connected,
    run_visit,
    session_recorder,
)
from mcp_progress_monitor.cli.check import check_recordings
from mcp_progress_monitor.cli.diagnostics import log_to_stderr
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import StandardOutput, own_command
from mcp_progress_monitor.engine.tour import Tour, WrongTourError
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line, visible

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.options import Invocation
    from mcp_progress_monitor.cli.orders import CheckOrder
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


def check_server(invocation: Invocation, order: CheckOrder) -> int:
    """Run the tour, then check its recording; returns the exit code of the check.

    `CommandFailed` if the server cannot be connected, or its session cannot be recorded.
    """
    log_to_stderr(invocation.common.log_level)
    recorded = session_recorder(invocation.common)
    command = _TourCommand(invocation, one_server(invocation.common), order)
    code = run_visit(command, recorded)
    path = recorded.recorder.path
    if path is None:
        error = recorded.error or ErrorDetails("The session was not recorded")
        raise CommandFailed(ExitCode.UNWRITABLE, error)
    if code is not ExitCode.DONE:
        return code
    tour = command.tour
    order = order.replaced(files=(path,), notes=tuple(tour.notes()), is_tour=True)
    listed = ExitCode.DONE if tour.is_listed else ExitCode.ANSWERED_ERROR
    result = check_recordings(invocation.common, order) or listed
    if tour.has_left and not order.all_tools and command.output.is_terminal:
        before, check, after = _divided(sys.argv[1:])
        line = own_command(*before, check, "--all-tools", *after)
        command.output.text(f"To call all tools: {line}\n")
    return result


def _divided(words: list[str]) -> tuple[list[str], str, list[str]]:
    """Split a command line at the name of the command."""
    place = words.index("check") if "check" in words else 0
    return words[:place], "check", words[place + 1 :]


class _TourCommand(EngineCommand):
    """Connects a server, and runs the tour."""

    def __init__(self, invocation: Invocation, definition: ServerDefinition, order: CheckOrder):
        self.output = StandardOutput(sys.stderr)  # standard output is for the report
        self.level = invocation.common.log_level or "warning"
        self._definition = definition
        given = read_document(order.document)
        for name, arguments in given.items():
            if not isinstance(arguments, dict):
                raise click.UsageError(f"--args: the arguments of {name!r} are not an object.")
        self.tour = Tour(order.tools, given, self._note, takes_all=order.all_tools)

    async def work(self, engine: Engine) -> ExitCode:
        server = await connected(engine, self._definition)
        with failing(ExitCode.NOT_CONNECTED):
            try:
                await self.tour.run(engine, server)
            except WrongTourError as error:
                raise CommandFailed(ExitCode.USAGE, error.details) from error
        return ExitCode.DONE

    def _note(self, text: str) -> None:
        self.output.text(f"{visible(one_line(text))}\n")
