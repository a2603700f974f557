"""`mcp`: the MCP server for agents, and its entry in a client's configuration."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from typing import TYPE_CHECKING, Final

import anyio
import click

from mcp_progress_monitor import paths
from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
from mcp_progress_monitor.catalogue.client_files import found_files
from mcp_progress_monitor.catalogue.clients import client_of
from mcp_progress_monitor.catalogue.writing import write_file
from mcp_progress_monitor.cli.asking.terminal import confirm, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import print_out
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.path_checks import absolute, home
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.wording.clients import added_text

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import AgentInstallOrder, AgentsOrder

_ENTRY: Final = "mcp-progress-monitor"


def print_skill() -> int:
    """Print the instructions for agents, to be saved as a skill."""
    print_out(paths.resource("skill/SKILL.md").read_text(encoding="utf-8"))
    return ExitCode.DONE


def serve_agents(common: CommonOptions, order: AgentsOrder) -> int:
    """Answer an agent on standard input and output until it closes them.

    `CommandFailed` with code 2 if the official SDK is not installed.
    """
    try:
        import mcp.server  # noqa: F401  # takes a second; an extra
    except ImportError as error:
        what = "The official MCP SDK is not installed"
        hint = "Install this program with the extra agents, or the package mcp beside it."
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, "", hint, str(error))) from error
    from mcp_progress_monitor.agents.auditing import Auditing
    from mcp_progress_monitor.agents.server import made
    from mcp_progress_monitor.agents.sources import Sources

    with failing(ExitCode.USAGE):
        folder = paths.chosen_data_dir(common.data_dir)
    servers = frozenset(order.servers)
    sources, add = Sources(folder, servers), None
    if order.acts:
        from mcp_progress_monitor.agents.action_tools import add_actions  # with the engine

        add = functools.partial(add_actions, sources)
    anyio.run(made(sources, Auditing(folder, servers), add).run_stdio_async)
    return ExitCode.DONE


def install_agents(common: CommonOptions, order: AgentInstallOrder) -> int:
    """Add the server to a client's configuration; asks if neither servers nor --all are given.

    `CommandFailed` with code 2 if the client is not on this computer, with code 8 if its file
    cannot be written. A usage error without a terminal to ask on.
    """
    client = client_of(order.client)
    command, *arguments = [*paths.program_command(), *_arguments(common, order)]
    found = found_files(home(), os.environ, sys.platform)
    path = next((e.path for e in found if e.client.key == client.key and not e.is_shared), None)
    if path is None:
        what = f"No configuration of {client.title} was found on this computer"
        hint = f"Start {client.title} once, or add this server by hand: "
        details = ErrorDetails(what, "", hint + shlex.join([command, *arguments]))
        raise CommandFailed(ExitCode.USAGE, details)
    which = ", ".join(map(one_line, order.names)) or "all servers"
    acts = ", and act on those you approved," if order.acts else ""
    title = f"Let {client.title} read the recorded traffic{acts} of {which}?"
    shown = (f"File: {visible(str(path))}", f"Server: {shlex.join([command, *arguments])}")
    if order.is_dry_run:
        print_out("\n".join((title, *shown, "")))
        return ExitCode.DONE
    if not (order.names or order.takes_all):
        keyboard = terminal_of_user()
        if keyboard is None:
            raise click.UsageError("No servers chosen. Give their names, or --all.")
        if not confirm(keyboard, title, shown, "Add it?"):
            return ExitCode.CANCELLED
    entry = CatalogueEntry(StdioDefinition(name=_ENTRY, command=command, args=tuple(arguments)))
    with failing(ExitCode.UNWRITABLE):
        written = write_file([entry], client, path)
    print_out(f"{added_text(_ENTRY, client, path, written.kept)}\n")
    return ExitCode.DONE


def _arguments(common: CommonOptions, order: AgentInstallOrder) -> list[str]:
    folder = common.data_dir
    own = [] if folder is None else ["--data-dir", str(absolute(folder))]
    own += ["--allow-actions"] if order.acts else []
    return ["mcp", *own, *(word for name in order.names for word in ("--server", name))]
