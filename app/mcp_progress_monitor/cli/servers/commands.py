"""`servers`: its commands, their options and help.

Loaded by `--help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcp_progress_monitor.cli.options import (
    Invocation,
    OwnCommand,
    RenamedOption,
    ServerCommand,
    common_options,
    config_options,
    group_options,
    name_values,
    output,
    own_options,
)

KNOWN_CLIENTS = (
    "claude-desktop",
    "claude-code",
    "vscode",
    "cursor",
    "windsurf",
    "cline",
    "gemini",
    "codex",
    "zed",
    "inspector",
)
"""Clients whose files are looked for on this computer."""
CLIENTS = (*KNOWN_CLIENTS, "common", "mcp-progress-monitor")

_EXAMPLES = """\b
Examples:
  mcp-progress-monitor servers import
  mcp-progress-monitor servers import ~/.cursor/mcp.json --all
  mcp-progress-monitor servers trust files
  mcp-progress-monitor call --server files list_directory --arg path=/tmp
"""
_IMPORT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor servers import
  mcp-progress-monitor servers import .vscode/mcp.json --dry-run
  mcp-progress-monitor servers import ~/.codex/config.toml figma context7
  mcp-progress-monitor servers import mcp.json --all --input api-key=1234

\b
Values that look like secrets are stored in the system keyring. Without a keyring, they
are replaced by references to environment variables, which are listed.
"""
_ADD_EXAMPLES = """\b
Examples:
  mcp-progress-monitor servers add files -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcp-progress-monitor servers add db --env 'PASSWORD=${env:DB_PASSWORD}' -- ./db-server
  mcp-progress-monitor servers add web --url https://example.com/mcp --oauth
  mcp-progress-monitor servers add api --url http://localhost:8000/mcp \\
      --header 'Authorization: Bearer ${env:API_TOKEN}'
"""
_TRUST_EXAMPLES = """\b
Examples:
  mcp-progress-monitor servers trust files
  mcp-progress-monitor servers trust db --config .mcp.json
  mcp-progress-monitor servers trust db --config .mcp.json --yes
"""
_EXPORT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor servers export --client vscode -o .vscode/mcp.json
  mcp-progress-monitor servers export files web --client codex
  mcp-progress-monitor servers export --with-secrets -o backup.json

\b
Without --with-secrets, the values of variables and headers are replaced by references
to environment variables, which are listed. An existing file keeps its other servers and
settings, and a TOML file its comments.
"""


_REFUSED = ("demo", "config", "server", "record")
"""Options of commands that connect to servers, which `add` rejects."""


@click.group(invoke_without_command=True, epilog=_EXAMPLES, subcommand_metavar="[COMMAND [ARG]...]")
@group_options
@click.pass_context
def servers(ctx: click.Context, invocation: Invocation) -> int:
    """Manage saved servers: add, import, approve, export.

    Without a command, this lists them.
    """
    ctx.obj = invocation
    if ctx.invoked_subcommand is None:
        from mcp_progress_monitor.cli.servers.saved import list_servers

        return list_servers(invocation.common, in_json=False)
    return 0


@servers.command(name="list", short_help="List the saved servers.")
@own_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List the saved servers. The values of variables and headers are not shown."""
    from mcp_progress_monitor.cli.servers.saved import list_servers

    return list_servers(invocation.common, in_json=as_json)


@servers.command(
    name="import",
    cls=OwnCommand,
    epilog=_IMPORT_EXAMPLES,
    short_help="Import servers from another client.",
)
@own_options
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.argument("names", nargs=-1)
@click.option(
    "--client",
    type=click.Choice(CLIENTS),
    help="Read the file in this client's format (default: detected).",
)
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show the servers without saving them.")
@click.option("--all", "takes_all", is_flag=True, help="Import all new and changed servers.")
@click.option(
    "--input",
    "answers",
    callback=name_values,
    metavar="ID=VALUE",
    multiple=True,
    help="Set an input that the file asks for. Repeatable. Default: ask on the terminal.",
)
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Use this folder for ${workspaceFolder}.",
)
@click.option("--with-secrets", is_flag=True, help="Save secrets as plain text.")
def import_(invocation: Invocation, /, **chosen: Any) -> int:
    """Import servers from another client's configuration FILE: those in NAMES, or --all.

    First shows which servers are new, changed or the same. Without FILE, lists the configuration
    files on this computer. No server runs before you approve it.
    """
    from mcp_progress_monitor.cli.servers.import_export import ServersImport, import_servers

    return import_servers(invocation.common, ServersImport(**chosen))


@servers.command(
    cls=ServerCommand,
    hides=_REFUSED,
    needs_server=False,
    epilog=_ADD_EXAMPLES,
    short_help="Save a command or a URL.",
)
@common_options
@click.argument("name")
@click.option(
    "--connect-at-start", "at_start", is_flag=True, help="Connect whenever the window opens."
)
def add(invocation: Invocation, name: str, at_start: bool) -> int:
    """Save a server as NAME: the command after --, or a URL.

    Adding a server approves it. Values are saved as plain text: for secrets, use references such as
    ${env:API_TOKEN}.
    """
    from mcp_progress_monitor.cli.servers.saved import add_server

    if invocation.common.record is not None:
        raise click.UsageError("--record cannot be used with 'add', which connects to no server.")
    return add_server(invocation.common, name, connects_at_start=at_start)


@servers.command(cls=OwnCommand, short_help="Remove saved servers.")
@own_options
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--with-secrets/--keep-secrets",
    default=None,
    help="Delete or keep their secrets in the system keyring (default: ask). Secrets that another"
    " saved server uses are kept.",
)
def remove(invocation: Invocation, names: tuple[str, ...], with_secrets: bool | None) -> int:
    """Remove the saved servers NAMES and their approvals."""
    from mcp_progress_monitor.cli.servers.saved import remove_servers

    return remove_servers(invocation.common, names, with_secrets=with_secrets)


@servers.command(cls=OwnCommand, short_help="Enable saved servers.")
@own_options
@click.argument("names", nargs=-1, required=True)
def enable(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Enable the saved servers NAMES."""
    from mcp_progress_monitor.cli.servers.saved import enable_servers

    return enable_servers(invocation.common, names, is_disabled=False)


@servers.command(cls=OwnCommand, short_help="Disable saved servers.")
@own_options
@click.argument("names", nargs=-1, required=True)
def disable(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Disable the saved servers NAMES: keep them, but never connect to them."""
    from mcp_progress_monitor.cli.servers.saved import enable_servers

    return enable_servers(invocation.common, names, is_disabled=True)


@servers.command(cls=OwnCommand, epilog=_TRUST_EXAMPLES, short_help="Approve a server.")
@config_options
@click.argument("name")
@click.option("--yes", "is_agreed", is_flag=True, help="Approve without asking.")
def trust(invocation: Invocation, name: str, is_agreed: bool) -> int:
    """Approve the server NAME: a saved server, or one in --config FILE.

    Shows exactly what would run. If the file changes it later, you must approve it again.
    """
    from mcp_progress_monitor.cli.servers.saved import trust_server

    return trust_server(invocation.common, name, is_agreed=is_agreed)


@servers.command(name="sign-out", cls=OwnCommand, short_help="Sign out of a server.")
@config_options
@click.argument("name")
def sign_out(invocation: Invocation, name: str) -> int:
    """Delete the tokens from signing in to the server NAME with the browser.

    Open connections keep theirs. The authorization server is not notified.
    """
    from mcp_progress_monitor.cli.servers.saved import sign_out_server

    return sign_out_server(invocation.common, name)


@servers.command(
    name="client-metadata", cls=OwnCommand, short_help="Print a client ID metadata document."
)
@own_options
@click.argument("url")
def client_metadata(invocation: Invocation, url: str) -> int:
    """Print this program's OAuth client ID metadata document, for you to host at URL.

    Use that URL as a server's client ID. Authorization servers that support such documents then
    identify this program without registration. This command sends nothing.
    """
    from mcp_progress_monitor.cli.servers.saved import print_client_metadata

    return print_client_metadata(url)


@servers.command(
    cls=OwnCommand, epilog=_EXPORT_EXAMPLES, short_help="Export saved servers to another client."
)
@own_options
@click.argument("names", nargs=-1)
@click.option(
    "--client",
    "--to",
    "to",
    cls=RenamedOption,
    type=click.Choice(CLIENTS),
    default="common",
    help="Write the format of this client (default: common, which most clients read).",
)
@click.option("--with-secrets", is_flag=True, help="Write the values of secrets.")
@output
def export(invocation: Invocation, /, **chosen: Any) -> int:
    """Export all saved servers, or those in NAMES, as the configuration of another client."""
    from mcp_progress_monitor.cli.servers.import_export import ServersExport, export_servers

    return export_servers(invocation.common, ServersExport(**chosen))
