"""`servers export`: saved servers in the form of another client."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.catalogue.clients import client_of
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.saved_servers import saved_servers
from mcp_progress_monitor.looking import expanded
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.options import CommonOptions


class ServersExport(NamedTuple):
    """What the options of the command said; without `names`, all servers."""

    to: str
    names: tuple[str, ...] = ()
    output: Path | None = None
    with_secrets: bool = False


def export_servers(common: CommonOptions, order: ServersExport) -> ExitCode:
    """Write the servers to the file, or to standard output; tell what is left out of them."""
    catalogue = saved_servers(common)
    try:
        entries = [catalogue.entry(name) for name in order.names] or list(catalogue.entries())
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error
    client = client_of(order.to)
    try:
        path = None if order.output is None else expanded(order.output)
        written = write_file(entries, client, path, with_secrets=order.with_secrets)
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
    errors = Output(sys.stderr)
    for words in written.left_out:
        errors.text(f"left out: {visible(words)}\n")
    if written.kept is not None:
        errors.text(f"servers were replaced; the file as it was: {visible(str(written.kept))}\n")
    if order.output is None:
        output = Output(sys.stdout)
        output.write(written.text.encode())
        output.check()
    return ExitCode.DONE
