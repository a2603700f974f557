"""`servers` as a user sees it: its commands, their options, help with examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcp_progress_monitor.cli.options import (
    Invocation,
    OwnCommand,
    ServerCommand,
    common_options,
    config_options,
    group_options,
    name_values,
    output,
    own_options,
)

CLIENTS = (
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
    "common",
    "mcp-progress-monitor",
)

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
Values that look like secrets go to the system's keyring; where there is none, they
become references to variables of the environment, each of which is told.
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
  mcp-progress-monitor servers export --to vscode -o .vscode/mcp.json
  mcp-progress-monitor servers export files web --to codex
  mcp-progress-monitor servers export --with-secrets -o backup.json

\b
Without --with-secrets, values of variables and headers are references to variables
of the environment; each is told. An existing file keeps its other servers and settings, a
TOML file its comments, too.
"""


_REFUSED = ("demo", "config", "server", "record")
"""Options of those that talk to servers that have no meaning for `add`."""


@click.group(invoke_without_command=True, epilog=_EXAMPLES, subcommand_metavar="[COMMAND [ARG]...]")
@group_options
@click.pass_context
def servers(ctx: click.Context, invocation: Invocation) -> int:
    """The saved servers: import, add, agree to, list, export.

    Without a command, they are listed.
    """
    ctx.obj = invocation
    if ctx.invoked_subcommand is None:
        from mcp_progress_monitor.cli.servers import list_servers

        return list_servers(invocation.common, in_json=False)
    return 0


@servers.command(name="list", short_help="List the saved servers.")
@own_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List the saved servers; values of variables and headers are not shown."""
    from mcp_progress_monitor.cli.servers import list_servers

    return list_servers(invocation.common, in_json=as_json)


@servers.command(
    name="import",
    cls=OwnCommand,
    epilog=_IMPORT_EXAMPLES,
    short_help="Save servers of another client's file.",
)
@own_options
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--client", type=click.Choice(CLIENTS), help="Whose form the file has, if not told.")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Show what there is, save nothing.")
@click.option("--all", "takes_all", is_flag=True, help="Save all that is new or changed.")
@click.option(
    "--input",
    "answers",
    callback=name_values,
    metavar="ID=VALUE",
    multiple=True,
    help="Answer what the file asks for; may be given again. Without, you are asked.",
)
@click.option(
    "--workspace",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="What ${workspaceFolder} stands for.",
)
@click.option("--with-secrets", is_flag=True, help="Save secrets in our file, as text.")
def import_(invocation: Invocation, /, **chosen: Any) -> int:
    """Save servers of another client's configuration FILE: those NAMED, or --all.

    What is new, changed, the same is shown first. Without FILE, the configurations on this machine
    are listed. Nothing runs, now or later, before you agree to it.
    """
    from mcp_progress_monitor.cli.servers_import import ServersImport, import_servers

    return import_servers(invocation.common, ServersImport(**chosen))


@servers.command(
    cls=ServerCommand, hides=_REFUSED, epilog=_ADD_EXAMPLES, short_help="Save a command or a URL."
)
@common_options
@click.argument("name")
@click.option("--connect-at-start", "at_start", is_flag=True, help="Connect with every window.")
def add(invocation: Invocation, name: str, at_start: bool) -> int:
    """Save a server as NAME: the command after two dashes, or a URL.

    What you type is agreed to. It stands in the file as text: refer to secrets, as in the examples.
    """
    from mcp_progress_monitor.cli.servers import add_server

    if invocation.common.record is not None:
        raise click.UsageError("--record has no meaning for 'add', which talks to no server.")
    return add_server(invocation.common, name, connects_at_start=at_start)


@servers.command(cls=OwnCommand, short_help="Forget saved servers.")
@own_options
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--with-secrets/--keep-secrets",
    default=None,
    help="Delete their secrets from the system's keyring too, or not; without, you are asked."
    " What another saved server refers to stays.",
)
def remove(invocation: Invocation, names: tuple[str, ...], with_secrets: bool | None) -> int:
    """Forget the saved servers NAMES, and that you agreed to them."""
    from mcp_progress_monitor.cli.servers import remove_servers

    return remove_servers(invocation.common, names, with_secrets=with_secrets)


@servers.command(cls=OwnCommand, short_help="Let saved servers be used.")
@own_options
@click.argument("names", nargs=-1, required=True)
def enable(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Let the saved servers NAMES be used."""
    from mcp_progress_monitor.cli.servers import enable_servers

    return enable_servers(invocation.common, names, is_disabled=False)


@servers.command(cls=OwnCommand, short_help="Keep saved servers from being used.")
@own_options
@click.argument("names", nargs=-1, required=True)
def disable(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Keep the saved servers NAMES, and never connect to them."""
    from mcp_progress_monitor.cli.servers import enable_servers

    return enable_servers(invocation.common, names, is_disabled=True)


@servers.command(cls=OwnCommand, epilog=_TRUST_EXAMPLES, short_help="Agree that a server may run.")
@config_options
@click.argument("name")
@click.option("--yes", "is_agreed", is_flag=True, help="Agree without being asked.")
def trust(invocation: Invocation, name: str, is_agreed: bool) -> int:
    """Agree that the server NAME may run: a saved one, or one of --config FILE.

    Exactly what would run is shown. A change of it in the file needs your consent again.
    """
    from mcp_progress_monitor.cli.servers_trust import trust_server

    return trust_server(invocation.common, name, is_agreed=is_agreed)


@servers.command(name="sign-out", cls=OwnCommand, short_help="Forget a sign-in in the browser.")
@config_options
@click.argument("name")
def sign_out(invocation: Invocation, name: str) -> int:
    """Forget what signing in at the server NAME in the browser left here.

    A connection that is up keeps what it has. The authorization server is not told.
    """
    from mcp_progress_monitor.cli.servers_sign_out import sign_out_server

    return sign_out_server(invocation.common, name)


@servers.command(
    name="client-metadata", cls=OwnCommand, short_help="Write a client id metadata document."
)
@own_options
@click.argument("url")
def client_metadata(invocation: Invocation, url: str) -> int:
    """Write the OAuth client id metadata document of this program, for you to host at URL.

    Give that URL as the client id of a server: authorization servers that take such documents then
    know this program without registering it. Nothing is sent anywhere.
    """
    from mcp_progress_monitor.cli.servers_client_metadata import print_client_metadata

    return print_client_metadata(url)


@servers.command(
    cls=OwnCommand,
    epilog=_EXPORT_EXAMPLES,
    short_help="Write saved servers for another client.",
)
@own_options
@click.argument("names", nargs=-1)
@click.option(
    "--to",
    type=click.Choice(CLIENTS),
    default="common",
    help="In whose form (default: the one that most clients share).",
)
@click.option("--with-secrets", is_flag=True, help="Leave values as they are.")
@output
def export(invocation: Invocation, /, **chosen: Any) -> int:
    """Write saved servers, all or NAMES, as the configuration of another client."""
    from mcp_progress_monitor.cli.servers_export import ServersExport, export_servers

    return export_servers(invocation.common, ServersExport(**chosen))
