"""`tap install`, `tap remove` and `tap list`: their options and help.

Loaded by `--help`.
"""

from __future__ import annotations

from typing import Any

import click

from mcp_progress_monitor.cli.options import Invocation, OwnCommand, own_options
from mcp_progress_monitor.cli.servers.commands import KNOWN_CLIENTS

_CLIENTS = f"""\b
Clients:
  {", ".join(KNOWN_CLIENTS[:6])},
  {", ".join(KNOWN_CLIENTS[6:])}
"""
_INSTALL_EXAMPLES = f"""{_CLIENTS}
\b
Examples:
  mcp-progress-monitor tap install
  mcp-progress-monitor tap install cursor --all --dry-run
  mcp-progress-monitor tap install claude-code files github

\b
The server keeps working if this program is uninstalled. The first time a file is
changed, a copy of it is kept beside it, as FILE.before.
"""
_REMOVE_EXAMPLES = f"""{_CLIENTS}
\b
Examples:
  mcp-progress-monitor tap remove cursor files
  mcp-progress-monitor tap remove --all
"""
_client = click.argument(
    "client", metavar="[CLIENT]", required=False, type=click.Choice(KNOWN_CLIENTS)
)
_names = click.argument("names", metavar="[SERVER]...", nargs=-1)
_all = click.option(
    "--all", "takes_all", is_flag=True, help="Choose all servers of the client, or of every client."
)
_dry_run = click.option(
    "--dry-run", "is_dry_run", is_flag=True, help="Show what would change, and change nothing."
)


@click.command(
    cls=OwnCommand,
    epilog=_INSTALL_EXAMPLES,
    short_help="Watch servers that another client starts.",
)
@own_options
@_client
@_names
@_all
@_dry_run
def install(invocation: Invocation, /, **chosen: Any) -> int:
    """Watch the servers that CLIENT starts: those named, or --all.

    Changes their commands in the client's configuration file so that this program records what
    client and server say. Shows the change first. Without CLIENT, lists the servers of all clients
    on this computer.
    """
    from mcp_progress_monitor.cli.servers.taps import TapsOrder, install_taps

    return install_taps(invocation.common, TapsOrder(**chosen))


@click.command(
    cls=OwnCommand,
    epilog=_REMOVE_EXAMPLES,
    short_help="Stop watching servers that another client starts.",
)
@own_options
@_client
@_names
@_all
@_dry_run
def remove(invocation: Invocation, /, **chosen: Any) -> int:
    """Stop watching the servers that CLIENT starts: those named, or --all.

    Restores their commands in the client's configuration file. Without CLIENT, --all does so for
    every client. Recordings are kept.
    """
    from mcp_progress_monitor.cli.servers.taps import TapsOrder, remove_taps

    return remove_taps(invocation.common, TapsOrder(**chosen))


@click.command(name="list", cls=OwnCommand, short_help="List the servers that are watched.")
@own_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List the servers that are watched: in which client and file, and whether they run now."""
    from mcp_progress_monitor.cli.servers.taps import list_taps

    return list_taps(invocation.common, in_json=as_json)


COMMANDS = (install, remove, list_)
"""The commands of the group `tap` that change or show clients' configurations."""
