"""`mcp`: the MCP server for agents, and its entry in a client's configuration."""

from __future__ import annotations

import functools
import shlex
from itertools import count, filterfalse
from typing import TYPE_CHECKING

import anyio
import click

from mcp_progress_monitor import paths
from mcp_progress_monitor.catalogue.clients import client_of
from mcp_progress_monitor.cli.asking.terminal import ask_line, confirm, terminal_of_user
from mcp_progress_monitor.cli.calls.configured import saved_servers
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import print_out
from mcp_progress_monitor.engine.agent_entry import NAME, AgentEntry, client_files, readable_servers
from mcp_progress_monitor.engine.client_taps import find_servers
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line, visible
from mcp_progress_monitor.path_checks import absolute, here
from mcp_progress_monitor.wording.clients import added_text

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from mcp_progress_monitor.cli.asking.terminal import Keyboard
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.cli.orders import AgentInstallOrder, AgentsOrder


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
    auditing = Auditing(folder, servers, acts=order.acts)
    try:
        anyio.run(made(sources, auditing, add).run_stdio_async)
    except* (BrokenPipeError, ConnectionResetError):  # the client was killed during an answer
        pass
    return ExitCode.DONE


def install_agents(common: CommonOptions, order: AgentInstallOrder) -> int:
    """Add the server to a client's configuration; asks for servers if there is no choice yet.

    `CommandFailed` with code 2 if the client is not on this computer, with code 8 if its file
    cannot be written. A usage error without a terminal to ask on.
    """
    client = client_of(order.client)
    path = client_files().get(client.key)
    folder = None if common.data_dir is None else absolute(common.data_dir)
    entry = AgentEntry(order.names, folder, order.acts)
    if path is None:
        what = f"No configuration of {client.title} was found on this computer"
        hint = f"Start {client.title} once, or add this server by hand: "
        details = ErrorDetails(what, "", hint + shlex.join(entry.command))
        raise CommandFailed(ExitCode.USAGE, details)
    keyboard = None
    if not (order.names or order.takes_all or order.is_dry_run):
        keyboard = terminal_of_user()
        if keyboard is None:
            raise click.UsageError("No servers chosen. Give their names, or --all.")
        chosen = _chosen(keyboard, common)
        if chosen is None:
            return ExitCode.CANCELLED
        entry = entry._replace(servers=chosen)
    which = ", ".join(map(one_line, entry.servers)) or "all servers"
    acts = ", and act on those you approved," if order.acts else ""
    title = f"Let {client.title} read the recorded traffic{acts} of {which}?"
    shown = (f"File: {visible(str(path))}", f"Server: {shlex.join(entry.command)}")
    if order.is_dry_run:
        print_out("\n".join((title, *shown, "")))
        return ExitCode.DONE
    if keyboard is not None and not confirm(keyboard, title, shown, "Add it?"):
        return ExitCode.CANCELLED
    with failing(ExitCode.UNWRITABLE):
        written = entry.write(client, path)
    print_out(f"{added_text(NAME, client, path, written.kept)}\n")
    return ExitCode.DONE


def _chosen(keyboard: Keyboard, common: CommonOptions) -> tuple[str, ...] | None:
    """Ask which servers the agent may read: none named means all, None that none was chosen."""
    saved = [entry.name for entry in saved_servers(common).entries()]
    servers = readable_servers(saved, (), find_servers(here()).servers, here())
    usual = tuple(server.name for server in servers if server.is_here)
    names = {server.name for server in servers}
    # A server may have a number as its name: nothing else has that number.
    numbers = filterfalse(names.__contains__, map(str, count(1)))
    by_number = {number: server.name for number, server in zip(numbers, servers, strict=False)}
    lines = [
        f"{number}. {server.name}, {server.where}{', of this project' if server.is_here else ''}"
        for number, server in zip(by_number, servers, strict=True)
    ]
    default = f" [{', '.join(usual)}]" if usual else ""
    title, prompt = "Which servers may the agent read?", f"Numbers or names, or all{default}"
    typed = ask_line(keyboard, title, lines, prompt)
    parts = [part.strip() for part in (typed or "").split(",") if part.strip()]
    if parts == ["all"]:
        return ()
    if not parts:
        return (usual or None) if typed is not None else None
    known = names | by_number.keys()
    chosen = dict.fromkeys(word for part in parts for word in _words(part, known))
    return tuple(dict.fromkeys(by_number.get(word, word) for word in chosen))


def _words(part: str, known: AbstractSet[str]) -> list[str]:
    """Divide what was typed between commas; names may contain spaces."""
    return [part] if part in known else part.split()
