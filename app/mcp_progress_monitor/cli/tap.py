"""`tap`: its commands, their options and help.

Loaded by `--help`. `tap -- COMMAND` itself is run without this module (`cli.tapping`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mcp_progress_monitor.cli.options import Invocation, OwnCommand, group_options, own_options
from mcp_progress_monitor.cli.servers.commands import KNOWN_CLIENTS

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.cli.common import CommonOptions

_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tap -- npx -y @modelcontextprotocol/server-everything
  mcp-progress-monitor tap --name files -- python my_server.py
  mcp-progress-monitor tap --to https://example.com/mcp
  mcp-progress-monitor tap --script faults.txt -- python my_server.py
  mcp-progress-monitor tap --script faults.txt --to https://example.com/mcp

\b
In an MCP client's configuration, put the program's full path in place of the
server's command, and "tap", "--" and that command before its arguments. With
--to, give the client the URL that is printed in place of the server's.

\b
Exit codes: those of the command; 128 and more if a signal ended it; 127 if it
was not found. If it cannot be recorded, one line on standard error says why, and
the command runs as usual. With --to: 0 when it was stopped, 2 if it cannot start.
"""

_MISSING = (
    "No server command. Put -- before it. Example: mcp-progress-monitor tap -- python server.py"
)


@click.group(
    invoke_without_command=True,
    epilog=_EXAMPLES,
    subcommand_metavar="[-- COMMAND [ARG]... | --to URL]",
    short_help="Record the traffic between another client and its server.",
)
@group_options
@click.option(
    "--name",
    metavar="NAME",
    help="Show the server under this name (default: the name of the command's file).",
)
@click.option(
    "--client", metavar="NAME", help="Show the client under this name until it sends its own."
)
@click.option(
    "--to",
    metavar="URL",
    help="Forward requests to the server at URL (Streamable HTTP or HTTP+SSE).",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="With --to: listen on this local address. By default, the port is derived from URL and"
    " stays the same.",
)
@click.option(
    "--script",
    metavar="FILE",
    help="Change messages by the rules in FILE, one per line: delay, drop, duplicate, reorder,"
    " corrupt, cut, kill, close. For testing; the recording is marked.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="With --script: seed the random numbers, to repeat a run.",
)
@click.pass_context
def tap(
    ctx: click.Context,
    invocation: Invocation,
    name: str | None,
    client: str | None,
    to: str | None,
    listen: str | None,
    script: str | None,
    seed: int | None,
) -> int:
    """Run an MCP server for another client, and record their messages.

    Run this in place of the server's command. Bytes pass unchanged in both directions, whatever
    happens to the recording. The window shows the session while it runs, and "open" shows its
    recording, which is in recordings/live in the data folder.

    For a server with a URL, use --to: it passes HTTP on until Ctrl+C, and prints the URL for the
    client. Credentials pass and are not recorded. Servers that need OAuth sign-in cannot be
    watched this way.
    """
    ctx.obj = invocation
    if ctx.invoked_subcommand is not None:
        return 0
    common = invocation.common
    if to is not None:
        if common.command is not None:
            raise click.UsageError("Use either --to URL or -- COMMAND.")
        _refuse_others(common)
        _check_seed(script, seed)
        return _tap_url(to, listen, name, client, common.data_dir, script, seed)
    if listen is not None:
        raise click.UsageError("--listen needs --to URL.")
    if common.command is None:
        raise click.UsageError(_MISSING)
    _refuse_others(common)
    _check_seed(script, seed)
    from mcp_progress_monitor.cli.exits import ExitCode, failing
    from mcp_progress_monitor.cli.tapping import TapOrder, load_script, run_tap

    folder = None if common.data_dir is None else str(common.data_dir)
    with failing(ExitCode.USAGE):
        rules = None if script is None else load_script(script, seed)
    return run_tap(TapOrder(common.command, name, client, folder, rules))


def _tap_url(
    to: str,
    listen: str | None,
    name: str | None,
    client: str | None,
    data_dir: Path | None,
    script: str | None,
    seed: int | None,
) -> int:
    """Run a tap until a signal ends it; `CommandFailed` with code 2 if it cannot start."""
    from mcp_progress_monitor.cli.exits import ExitCode, failing
    from mcp_progress_monitor.cli.tapping import load_script
    from mcp_progress_monitor.tap_http.program import TapOptions, run_tap

    with failing(ExitCode.USAGE):
        rules = None if script is None else load_script(script, seed, is_http=True)
        return run_tap(TapOptions(to, listen, name, client, data_dir, rules))


def _check_seed(script: str | None, seed: int | None) -> None:
    if seed is not None and script is None:
        raise click.UsageError("--seed needs --script FILE.")


def _refuse_others(common: CommonOptions) -> None:
    """Refuse options given before `tap` that do not apply to it."""
    for name, value in common._asdict().items():
        is_own = name in {"command", "data_dir", "log_level"}
        if not is_own and value:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} cannot be used with 'tap', which runs its command.")


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


@tap.command(
    cls=OwnCommand, epilog=_INSTALL_EXAMPLES, short_help="Watch servers that another client starts."
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


@tap.command(
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


@tap.command(name="list", cls=OwnCommand, short_help="List the servers that are watched.")
@own_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List the servers that are watched: in which client and file, and whether they run now."""
    from mcp_progress_monitor.cli.servers.taps import list_taps

    return list_taps(invocation.common, in_json=as_json)
