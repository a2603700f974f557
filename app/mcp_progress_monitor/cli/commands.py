"""The groups of commands and the smaller commands: names, options, help with examples.

Loaded by `--help`: what each needs is imported when it runs. `tap -- COMMAND` itself is run without
this module (`cli.tapping`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mcp_progress_monitor.catalogue.clients import KNOWN
from mcp_progress_monitor.cli.declared_options import takes
from mcp_progress_monitor.cli.options import (
    Invocation,
    OwnCommand,
    ServerCommand,
    common_options,
    config_options,
    group_options,
    own_options,
)
from mcp_progress_monitor.cli.orders import (
    AgentInstallOrder,
    AgentsOrder,
    FollowOrder,
    ImportOrder,
    ListOrder,
    PromptOrder,
    RawOrder,
    ReadOrder,
    ServersExportOrder,
    StreamOrder,
    TapRemoveOrder,
    TapSessionOrder,
    TapsOrder,
    TaskOrder,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.common import CommonOptions
    from mcp_progress_monitor.tap.script import Script

_RESOURCES_EXAMPLES = """\b
Examples:
  mcp-progress-monitor resources --demo
  mcp-progress-monitor resources --json -- npx -y @modelcontextprotocol/server-everything
"""
_READ_EXAMPLES = """\b
Examples:
  mcp-progress-monitor read --demo demo://welcome
  mcp-progress-monitor read --demo demo://report --json
  mcp-progress-monitor read --demo demo://picture -o picture.svg
  mcp-progress-monitor read file:///srv/notes.txt --server files

Press Ctrl+C once to cancel the request and wait briefly for the server, twice to exit immediately.
"""
_PROMPTS_EXAMPLES = """\b
Examples:
  mcp-progress-monitor prompts --demo
  mcp-progress-monitor prompts --json --url http://localhost:8000/mcp
"""
_PROMPT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor prompt --demo greet --arg name=Ada
  mcp-progress-monitor prompt --demo explain --arg topic=tides --json
  mcp-progress-monitor prompt review --arg file=main.py -- python server.py

Press Ctrl+C once to cancel the request and wait briefly for the server, twice to exit immediately.
"""
_REQUEST_EXAMPLES = """\b
Examples:
  mcp-progress-monitor request --demo tools/list
  mcp-progress-monitor request --demo tools/list | jq '.tools[].name'
  mcp-progress-monitor request completion/complete --params @complete.json -- python server.py
  mcp-progress-monitor request --demo tools/call --params '{"name": "burst"}' --json
  mcp-progress-monitor request events/stream --params '{"name": "build.finished"}' --server ci

\b
--params is not validated, and its "_meta" is sent unchanged. With --no-token, a method that
does not create a job has no "request" event, and "job" is null.

Press Ctrl+C once to cancel the request and wait briefly for the server, twice to exit immediately.
"""


@click.command(
    cls=ServerCommand, epilog=_RESOURCES_EXAMPLES, short_help="List a server's resources."
)
@common_options
@takes(ListOrder)
def resources(invocation: Invocation, order: ListOrder) -> int:
    """List a server's resources and resource templates."""
    from mcp_progress_monitor.cli.calls.listings import list_resources

    return list_resources(invocation, in_json=order.as_json)


@click.command(cls=ServerCommand, epilog=_READ_EXAMPLES, short_help="Read a resource.")
@common_options
@takes(ReadOrder)
def read(invocation: Invocation, order: ReadOrder) -> int:
    """Read the resource URI. Progress goes to standard error, the text to standard output.

    The server need not list the URI. Binary data is not printed; save it with -o.
    """
    from mcp_progress_monitor.cli.calls.call import read_resource

    return read_resource(invocation, order)


@click.command(cls=ServerCommand, epilog=_PROMPTS_EXAMPLES, short_help="List a server's prompts.")
@common_options
@takes(ListOrder)
def prompts(invocation: Invocation, order: ListOrder) -> int:
    """List a server's prompts and their arguments."""
    from mcp_progress_monitor.cli.calls.listings import list_prompts

    return list_prompts(invocation, in_json=order.as_json)


@click.command(cls=ServerCommand, epilog=_PROMPT_EXAMPLES, short_help="Get a prompt.")
@common_options
@takes(PromptOrder)
def prompt(invocation: Invocation, order: PromptOrder) -> int:
    """Get the prompt NAME and print its messages, each below its role."""
    from mcp_progress_monitor.cli.calls.call import get_prompt

    return get_prompt(invocation, order)


@click.command(cls=ServerCommand, epilog=_REQUEST_EXAMPLES, short_help="Send any request.")
@common_options
@takes(RawOrder)
def request(invocation: Invocation, order: RawOrder) -> int:
    """Send a request with any METHOD and print its result as JSON."""
    from mcp_progress_monitor.cli.calls.call import send_request

    return send_request(invocation, order)


_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tasks list --server builds
  mcp-progress-monitor tasks get 786512e2 --server builds
  mcp-progress-monitor tasks follow 786512e2 --server builds --json
  mcp-progress-monitor tasks cancel 786512e2 --url http://localhost:8000/mcp

\b
These commands need a server that outlives them: one with a URL, or one that keeps tasks
on disk. Some servers know a task only in the session that created it. Tasks created by
`call` are also saved on this computer: see resume --list. Revision 2026-07-28 cannot
list tasks.
"""
_FOLLOW_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tasks follow 786512e2 --url http://localhost:8000/mcp
  mcp-progress-monitor tasks follow 786512e2 --server builds --answers answers.json --json

Ctrl+C stops following the task, but does not cancel it. To cancel it, use: tasks cancel
"""


@click.group(epilog=_EXAMPLES, subcommand_metavar="COMMAND [ARG]...")
@common_options
@click.pass_context
def tasks(ctx: click.Context, invocation: Invocation) -> int:
    """List, show, follow and cancel a server's tasks."""
    ctx.obj = invocation
    return 0


@tasks.command(name="list", cls=ServerCommand, short_help="List a server's tasks.")
@common_options
@takes(ListOrder)
def list_tasks_(invocation: Invocation, order: ListOrder) -> int:
    """List a server's tasks, including those of other clients (2025-11-25 only)."""
    from mcp_progress_monitor.cli.calls.call import list_tasks

    return list_tasks(invocation, in_json=order.as_json)


@tasks.command(cls=ServerCommand, short_help="Show the status of a task.")
@common_options
@takes(TaskOrder)
def get(invocation: Invocation, order: TaskOrder) -> int:
    """Show the status of a task, as the server reports it."""
    from mcp_progress_monitor.cli.calls.call import get_task

    return get_task(invocation, order)


@tasks.command(cls=ServerCommand, epilog=_FOLLOW_EXAMPLES, short_help="Wait for a task's result.")
@common_options
@takes(FollowOrder)
def follow(invocation: Invocation, order: FollowOrder) -> int:
    """Follow a task until it ends and print its result.

    Questions of the task are asked on the terminal, or answered by --answers.
    """
    from mcp_progress_monitor.cli.calls.call import follow_task

    return follow_task(invocation, order)


@tasks.command(cls=ServerCommand, short_help="Cancel a task.")
@common_options
@takes(TaskOrder)
def cancel(invocation: Invocation, order: TaskOrder) -> int:
    """Ask the server to cancel a task. In 2026-07-28, the task may keep running for a while."""
    from mcp_progress_monitor.cli.calls.call import cancel_task

    return cancel_task(invocation, order)


_KNOWN_CLIENTS = [client.key for client in KNOWN]

_SERVERS_EXAMPLES = """\b
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


@click.group(
    invoke_without_command=True, epilog=_SERVERS_EXAMPLES, subcommand_metavar="[COMMAND [ARG]...]"
)
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
@takes(ListOrder)
def list_(invocation: Invocation, order: ListOrder) -> int:
    """List the saved servers. The values of variables and headers are not shown."""
    from mcp_progress_monitor.cli.servers.saved import list_servers

    return list_servers(invocation.common, in_json=order.as_json)


@servers.command(
    name="import",
    cls=OwnCommand,
    epilog=_IMPORT_EXAMPLES,
    short_help="Import servers from another client.",
)
@own_options
@takes(ImportOrder)
def import_(invocation: Invocation, order: ImportOrder) -> int:
    """Import servers from another client's configuration FILE: those in NAMES, or --all.

    First shows which servers are new, changed or the same. Without FILE, lists the configuration
    files on this computer. No server runs before you approve it.
    """
    from mcp_progress_monitor.cli.servers.clients import import_servers

    return import_servers(invocation.common, order)


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
@click.argument("name", metavar="NAME|URL")
def sign_out(invocation: Invocation, name: str) -> int:
    """Delete the tokens from signing in to the server NAME with the browser.

    URL is that of a sign-in without a saved server, as with tools --url URL --oauth. Open
    connections keep their tokens. The authorization server is not notified.
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
@takes(ServersExportOrder)
def export(invocation: Invocation, order: ServersExportOrder) -> int:
    """Export all saved servers, or those in NAMES, as the configuration of another client."""
    from mcp_progress_monitor.cli.servers.clients import export_servers

    return export_servers(invocation.common, order)


_TAP_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tap -- npx -y @modelcontextprotocol/server-everything
  mcp-progress-monitor tap --name files -- python my_server.py
  mcp-progress-monitor tap --to https://example.com/mcp
  mcp-progress-monitor tap --to https://example.com/mcp --oauth
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
    epilog=_TAP_EXAMPLES,
    subcommand_metavar="[-- COMMAND [ARG]... | --to URL]",
    short_help="Record the traffic between another client and its server.",
)
@group_options
@takes(TapSessionOrder)
def tap(invocation: Invocation, order: TapSessionOrder) -> int:
    """Run an MCP server for another client, and record their messages.

    Run this in place of the server's command. Bytes pass unchanged in both directions, whatever
    happens to the recording. The window shows the session while it runs, and "open" shows its
    recording, which is in recordings/live in the data folder.

    For a server with a URL, use --to: it passes HTTP on until Ctrl+C, and prints the URL for the
    client. Credentials pass and are not recorded. If the server needs a sign-in with OAuth, add
    --oauth: you sign in here, and clients need no sign-in. To watch a client's own sign-in, use
    --rewrite-auth instead.
    """
    ctx = click.get_current_context()
    ctx.obj = invocation
    if ctx.invoked_subcommand is not None:
        return 0
    common, to = invocation.common, order.to
    _check_tap(common, order)
    from mcp_progress_monitor.cli.exits import ExitCode, failing
    from mcp_progress_monitor.cli.tapping import TapOrder, load_script, run_tap

    with failing(ExitCode.USAGE):
        rules = None
        if order.script is not None:
            rules = load_script(order.script, order.seed, is_http=to is not None)
        if to is not None:
            return _run_url_tap(common, order, to, rules)
    folder = None if common.data_dir is None else str(common.data_dir)
    return run_tap(
        TapOrder(
            common.command or (),
            order.name,
            order.client,
            folder,
            rules,
            requests_progress=order.requests_progress,
        )
    )


def _check_tap(common: CommonOptions, order: TapSessionOrder) -> None:
    """Refuse options of a tap that do not go together."""
    to = order.to
    if to is not None and common.command is not None:
        raise click.UsageError("Use either --to URL or -- COMMAND.")
    for name, is_given in (
        ("--listen", order.listen is not None),
        ("--oauth", order.needs_sign_in),
        ("--rewrite-auth", order.rewrites_auth),
    ):
        if to is None and is_given:
            raise click.UsageError(f"{name} needs --to URL.")
    if order.rewrites_auth and order.needs_sign_in:
        raise click.UsageError("Use either --oauth or --rewrite-auth.")
    if to is None and common.command is None:
        raise click.UsageError(_MISSING)
    _refuse_others(common)
    if order.seed is not None and order.script is None:
        raise click.UsageError("--seed needs --script FILE.")
    if order.requests_progress and order.script is not None:
        raise click.UsageError("Use either --request-progress or --script FILE.")


def _run_url_tap(
    common: CommonOptions, order: TapSessionOrder, to: str, rules: Script | None
) -> int:
    from mcp_progress_monitor.tap_http.program import SignInOptions, TapOptions, run_tap

    sign_in = None
    if order.needs_sign_in:
        from mcp_progress_monitor.cli.calls.configured import oauth_client
        from mcp_progress_monitor.cli.output.text_front import sign_in_lines

        client = oauth_client(common, to, order.oauth_client_id)
        sign_in = SignInOptions(client, sign_in_lines)
    return run_tap(
        TapOptions(
            to,
            order.listen,
            order.name,
            order.client,
            common.data_dir,
            rules,
            requests_progress=order.requests_progress,
            sign_in=sign_in,
            rewrites_auth=order.rewrites_auth,
        )
    )


def _refuse_others(common: CommonOptions) -> None:
    """Refuse options given before `tap` that do not apply to it."""
    for name, value in common._asdict().items():
        is_own = name in {"command", "data_dir", "log_level"}
        if not is_own and value:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} cannot be used with 'tap', which runs its command.")


_CLIENT_LIST = f"""\b
Clients:
  {", ".join(_KNOWN_CLIENTS[:6])},
  {", ".join(_KNOWN_CLIENTS[6:])}
"""
_INSTALL_EXAMPLES = f"""{_CLIENT_LIST}
\b
Examples:
  mcp-progress-monitor tap install
  mcp-progress-monitor tap install cursor --all --dry-run
  mcp-progress-monitor tap install claude-code files github

\b
The server keeps working if this program is uninstalled. The first time a file is
changed, a copy of it is kept beside it, as FILE.before.
"""
_REMOVE_EXAMPLES = f"""{_CLIENT_LIST}
\b
Examples:
  mcp-progress-monitor tap remove cursor files
  mcp-progress-monitor tap remove --all
"""


@tap.command(
    cls=OwnCommand, epilog=_INSTALL_EXAMPLES, short_help="Watch servers that another client starts."
)
@own_options
@takes(TapsOrder)
def install(invocation: Invocation, order: TapsOrder) -> int:
    """Watch the servers that CLIENT starts: those named, or --all.

    Changes their commands in the client's configuration file so that this program records what
    client and server say. Shows the change first. Without CLIENT, lists the servers of all clients
    on this computer.
    """
    from mcp_progress_monitor.cli.servers.clients import install_taps

    return install_taps(invocation.common, order)


@tap.command(
    name="remove",
    cls=OwnCommand,
    epilog=_REMOVE_EXAMPLES,
    short_help="Stop watching servers that another client starts.",
)
@own_options
@takes(TapRemoveOrder)
def tap_remove(invocation: Invocation, order: TapsOrder) -> int:
    """Stop watching the servers that CLIENT starts: those named, or --all.

    Restores their commands in the client's configuration file. Without CLIENT, --all does so for
    every client. Recordings are kept.
    """
    from mcp_progress_monitor.cli.servers.clients import remove_taps

    return remove_taps(invocation.common, order)


@tap.command(name="list", cls=OwnCommand, short_help="List the servers that are watched.")
@own_options
@takes(ListOrder)
def tap_list(invocation: Invocation, order: ListOrder) -> int:
    """List the servers that are watched: in which client and file, and whether they run now.

    Servers that a client left running when it ended are listed with their age and memory.
    """
    from mcp_progress_monitor.cli.servers.clients import list_taps

    return list_taps(invocation.common, in_json=order.as_json)


_STREAM_EXAMPLES = """\b
Examples:
  ssh build.example mcp-progress-monitor tap stream | mcp-progress-monitor watch -
  docker exec agent mcp-progress-monitor tap stream | mcp-progress-monitor open --follow -
  mcp-progress-monitor tap stream /shared/recordings | gzip > evening.mcprec.gz
"""


@tap.command(
    name="stream",
    cls=OwnCommand,
    epilog=_STREAM_EXAMPLES,
    short_help="Print all live recordings as one, for another machine.",
)
@own_options
@takes(StreamOrder)
def tap_stream(invocation: Invocation, order: StreamOrder) -> int:
    """Print all live recordings of this machine as one, as they grow.

    Standard output is a recording, for "watch -" and "open --follow -" on another machine. It
    begins with what the recordings have so far, and includes those that begin later. DIR is a
    folder of recordings (default: this user's). Nothing is changed or sent to a server.
    """
    from mcp_progress_monitor.cli.stream import print_stream

    return print_stream(invocation.common, order)


_AGENTS_EXAMPLES = """\b
Examples:
  claude mcp add monitor -- mcp-progress-monitor mcp
  mcp-progress-monitor mcp install cursor local-db files
  mcp-progress-monitor mcp install claude-code --allow-actions local-db
  mcp-progress-monitor mcp --skill
"""


@click.group(
    name="mcp",
    invoke_without_command=True,
    epilog=_AGENTS_EXAMPLES,
    subcommand_metavar="[COMMAND]",
    short_help="Let an agent read jobs, messages and findings.",
)
@group_options
@takes(AgentsOrder)
def agents(invocation: Invocation, order: AgentsOrder) -> int:
    """Run an MCP server on standard input and output, for an agent that debugs a server.

    It reads the recordings of the window, of the command line and of taps, those being written
    included, and answers with jobs, messages, and findings with advice. Answers are bounded, and
    secrets are removed. Nothing is started, sent or changed, unless --allow-actions is given.
    """
    ctx = click.get_current_context()
    ctx.obj = invocation
    if ctx.invoked_subcommand is not None:
        return 0
    from mcp_progress_monitor.cli.agents import print_skill, serve_agents

    return print_skill() if order.prints_skill else serve_agents(invocation.common, order)


@agents.command(
    name="install", cls=OwnCommand, short_help="Add this to the configuration of a client."
)
@own_options
@takes(AgentInstallOrder)
def agents_install(invocation: Invocation, order: AgentInstallOrder) -> int:
    """Let CLIENT read the recorded traffic of the servers named, or of --all.

    Adds an entry to the client's configuration file. Without servers, asks first.
    """
    from mcp_progress_monitor.cli.agents import install_agents

    return install_agents(invocation.common, order)
