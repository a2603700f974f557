"""`associate`: have recordings open with this program when they are double-clicked."""

from __future__ import annotations

import click

from mcp_progress_monitor.association.system import association_here
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.text import visible


def associate_recordings(*, removes: bool) -> int:
    """Associate, or take that back; says what was done, and on standard error what is left to do.

    `CommandFailed` with code 8 when the system refuses.
    """
    association = association_here()
    try:
        outcome = association.remove() if removes else association.add()
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
    for line in outcome.done:
        click.echo(visible(line))
    for line in outcome.to_do:
        click.echo(visible(line), err=True)
    return ExitCode.DONE
