"""The entry of the command line, and its commands: names, options, help with examples.

Loaded by `--help`: what a command does is imported when it runs.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcp_progress_monitor import __version__
from mcp_progress_monitor.cli.commands import (
    prompt,
    prompts,
    read,
    request,
    resources,
    servers,
    tap,
    tasks,
)
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.exits import ExitCode, exit_code_of
from mcp_progress_monitor.cli.options import (
    A_PATH,
    DELAY_ALONE,
    Invocation,
    OwnCommand,
    RenamedOption,
    Seconds,
    ServerCommand,
    answer,
    common_options,
    name_values,
    output,
    own_options,
    request_options,
    resume_limit,
    saved_ids,
    server_log,
)
from mcp_progress_monitor.exports.formats import FORMATS
from mcp_progress_monitor.snapshots.limits import TOOL_IDLE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP_EXAMPLES = """\b
Examples:
  mcp-progress-monitor --demo
  mcp-progress-monitor -- python my_server.py
  mcp-progress-monitor --url https://example.com/mcp
  mcp-progress-monitor --config ~/.cursor/mcp.json
  mcp-progress-monitor tools --demo
  mcp-progress-monitor call --demo burst --arg count=1000
  mcp-progress-monitor read --demo demo://report
  mcp-progress-monitor request --demo tools/list
  mcp-progress-monitor servers import

\b
Exit codes: 0 success, 1 the tool or server returned an error, 2 usage error,
3 connection failed or lost, 4 timed out, 5 cancelled, 6 stopped but resumable,
7 check has findings, 8 a file could not be read or written.
"""

_TOOLS_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tools --demo
  mcp-progress-monitor tools --json -- npx -y @modelcontextprotocol/server-everything
  mcp-progress-monitor tools --config mcp.json --server local-db
  mcp-progress-monitor tools --server files
  mcp-progress-monitor tools --url http://localhost:8000/mcp --header 'X-Tenant: acme'
"""

_CALL_EXAMPLES = """\b
Examples:
  mcp-progress-monitor call --demo burst --arg count=1000
  mcp-progress-monitor call export --arg city=Oslo --arg limit=3 -- python server.py
  mcp-progress-monitor call --config mcp.json export --args @arguments.json --json
  mcp-progress-monitor call --demo burst --int-token 0 --repeat 5
  mcp-progress-monitor call --demo resumable_export --auto-resume
  mcp-progress-monitor call hidden_tool --unlisted --arg n=3 -- python server.py
  mcp-progress-monitor call --demo task_work --task
  mcp-progress-monitor call --demo ask_form --answer answers.json


An answer file is a list. Each question takes the first answer that matches:
  [
    {"message": "your name", "accept": {"name": "Ada"}},
    {"kind": "url", "decline": true},
    {"kind": "sampling", "text": "It is sunny.", "times": 3}
  ]
or an object with one answer per kind of question, or with values for form fields:
  {"fields": {"name": "Ada", "age": 36}, "sampling": {"text": "It is sunny."}}


Conditions: kind (form, url, sampling, roots), message (a regular expression),
fields (names of form fields), key, times (a number or "any"; default 1).
Answers: accept (form content, true, or a list of roots), decline (true or a
reason), cancel (true), text (a model's reply; optional: model, stopReason),
result (a complete result).

Press Ctrl+C once to cancel the call and wait briefly for the server, twice to exit immediately.
While a question is open, the first Ctrl+C cancels the question.
"""


_RESUME_EXAMPLES = """\b
Examples:
  mcp-progress-monitor resume --list
  mcp-progress-monitor resume 3
  mcp-progress-monitor resume 3 5 --auto-resume --json
  mcp-progress-monitor resume 3 -- python new_server.py
  mcp-progress-monitor resume t2

An ID that starts with t is a task. Tasks keep running on the server: resume connects to the server
and waits for the result. For the format of answer files, see: call --help

Press Ctrl+C once to cancel the jobs and wait briefly for the server. They stay resumable.
"""


_OPEN_EXAMPLES = """\b
Examples:
  mcp-progress-monitor open night.mcprec
  mcp-progress-monitor open night.mcprec --filter 'token == "abc" and dt > 2'
  mcp-progress-monitor open night.mcprec --speed 10
  ssh build cat night.mcprec | mcp-progress-monitor open --follow -
  mcp-progress-monitor open ~/Library/Logs/Claude/mcp-server-files.log
"""

_EXPORT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor export night.mcprec --format jsonl --filter 'kind == error'
  mcp-progress-monitor export night.mcprec --format csv --job 3 -o ticks.csv
  mcp-progress-monitor export night.mcprec --format html -o report.html
  mcp-progress-monitor export browser.har --format mcprec -o browser.mcprec

\b
Secrets, resume tokens and the values of headers and environment variables are
redacted unless --with-secrets is given. Only you can read the files.
"""

_CHECK_EXAMPLES = """\b
Examples:
  mcp-progress-monitor check night.mcprec
  mcp-progress-monitor check night.mcprec --fail-on warning --max-duration 60
  mcp-progress-monitor check *.mcprec --format sarif -o findings.sarif
  mcp-progress-monitor check night.mcprec --format json -o baseline.json
  mcp-progress-monitor check night.mcprec --baseline baseline.json
  mcp-progress-monitor check night.mcprec --expect 'method == "notifications/progress"'
  mcp-progress-monitor check -- python server.py
  mcp-progress-monitor check --tool export --args '{"export": {"city": "Oslo"}}' -- python server.py
"""

_ASSOCIATE_EXAMPLES = """\b
Examples:
  mcp-progress-monitor associate
  mcp-progress-monitor associate --remove
"""


_screenshot = click.option(
    "--screenshot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save a screenshot of the window to FILE (PNG) and quit.",
)
_after = click.option(
    "--screenshot-delay",
    "--after",
    "after",
    cls=RenamedOption,
    type=Seconds(min=0),
    metavar="SECONDS",
    help="Wait this long before taking the screenshot (default 5).",
)


class _Group(click.Group):
    """Suggests the right command after a typing error or a forgotten `--`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named first in `args`, or suggest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # seldom needed
            import shlex

            near = difflib.get_close_matches(args[0], self.commands, 1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            advice = f"To run it as a server command, put -- before it: -- {shlex.join(args)}"
            raise click.UsageError(f"{error.message}{guess} {advice}", ctx) from error


@click.group(
    cls=_Group,
    invoke_without_command=True,
    epilog=_GROUP_EXAMPLES,
    subcommand_metavar="[COMMAND [ARG]... | -- SERVER_COMMAND [ARG]...]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@common_options
@_screenshot
@_after
@click.option(
    "--safe-mode",
    "is_safe",
    is_flag=True,
    help="Open the window without connecting servers or watching other clients, with the"
    " default layout. For when it fails otherwise.",
)
@click.option("--reset-layout", "resets_layout", is_flag=True, help="Reset the window's layout.")
@click.version_option(__version__, prog_name="mcp-progress-monitor")
@click.pass_context
def program(
    ctx: click.Context,
    invocation: Invocation,
    screenshot: Path | None,
    after: float | None,
    is_safe: bool,
    resets_layout: bool,
) -> int:
    """Watch the progress of long-running MCP calls.

    Without a command, this opens the window. Use --demo, --url, --server, --config or
    "-- SERVER_COMMAND" to connect it to a server.
    """
    ctx.obj = invocation
    if after is not None and screenshot is None:
        raise click.UsageError(DELAY_ALONE)
    if ctx.invoked_subcommand is None:
        from mcp_progress_monitor.cli.desktop import open_window

        if is_safe and invocation.common.names_server:
            raise click.UsageError("--safe-mode connects no servers: omit the server.")
        return open_window(
            invocation.common,
            screenshot,
            5.0 if after is None else after,
            is_safe=is_safe,
            resets_layout=resets_layout,
        )
    given = {
        "--screenshot": screenshot is not None,
        "--safe-mode": is_safe,
        "--reset-layout": resets_layout,
    }
    for option in (name for name, is_given in given.items() if is_given):
        raise click.UsageError(f"{option} cannot be used with {ctx.invoked_subcommand!r}.")
    return 0


@program.command(cls=ServerCommand, epilog=_TOOLS_EXAMPLES, short_help="List a server's tools.")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def tools(invocation: Invocation, as_json: bool) -> int:
    """List a server's tools and their arguments."""
    from mcp_progress_monitor.cli.calls.listings import list_tools

    return list_tools(invocation, in_json=as_json)


@program.command(
    cls=ServerCommand,
    epilog=_CALL_EXAMPLES,
    short_help="Call a tool and show its progress and result.",
)
@common_options
@click.argument("tool")
@click.option(
    "--arg",
    "pairs",
    callback=name_values,
    metavar="NAME=VALUE",
    multiple=True,
    help="Set an argument, converted to the type in the tool's schema. VALUE may be JSON."
    " Repeatable.",
)
@click.option(
    "--args",
    "document",
    metavar="JSON|@FILE",
    help="Set all arguments from a JSON object or a file that contains one. --arg adds to them.",
)
@request_options(TOOL_IDLE_S)
@click.option(
    "--task",
    "as_task",
    is_flag=True,
    help="Run the call as a task. Fails if the tool does not support tasks. Tools that require"
    " tasks always run as one.",
)
@click.option(
    "--repeat", type=click.IntRange(min=1), default=1, metavar="N", help="Make N concurrent calls."
)
@click.option(
    "--unlisted",
    "is_unlisted",
    is_flag=True,
    help="Call TOOL even if the server does not list it. Arguments are not validated; a VALUE that"
    " is not JSON is sent as a string.",
)
@click.option(
    "--no-validate", is_flag=True, help="Send the arguments even if they violate the tool's schema."
)
def call(invocation: Invocation, /, **chosen: Any) -> int:
    """Call TOOL. Progress goes to standard error, the result to standard output."""
    from mcp_progress_monitor.cli.orders import CallOrder

    order = CallOrder(**chosen)
    from mcp_progress_monitor.cli.calls.call import call_tool

    return call_tool(invocation, order)


@program.command(
    cls=ServerCommand,
    needs_server=False,
    epilog=_RESUME_EXAMPLES,
    short_help="Resume saved jobs and tasks.",
)
@common_options
@click.argument("ids", metavar="[ID]...", nargs=-1, callback=saved_ids)
@click.option(
    "--list",
    "is_list",
    is_flag=True,
    help="List the saved jobs and their IDs, as does the command alone.",
)
@click.option(
    "--auto-resume",
    is_flag=True,
    help="Keep resuming for as long as the server returns resume tokens.",
)
@resume_limit
@answer
@server_log
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write one JSON event per line; with --list, one JSON document.",
)
def resume(invocation: Invocation, /, **chosen: Any) -> int:
    """Resume saved jobs: calls whose server returned a resume token, and tasks.

    Each job's server is started the same way as before. To use another server, add
    "-- SERVER_COMMAND [ARG]...", --url, --server, --config or --demo. Several IDs are resumed at
    the same time.
    """
    from mcp_progress_monitor.cli.orders import ResumeOrder

    order = ResumeOrder(**chosen)
    asks_more = order.ids or order.auto_resume or order.as_json or invocation.common.names_server
    if order.is_list or not asks_more:
        from mcp_progress_monitor.cli.calls.saved_jobs import list_saved

        return list_saved(invocation.common, in_json=order.as_json)
    from mcp_progress_monitor.cli.calls.resume import resume_jobs

    return resume_jobs(invocation, order)


@program.command(
    name="open", cls=OwnCommand, epilog=_OPEN_EXAMPLES, short_help="Open a recording in a window."
)
@own_options
@click.argument("file", type=A_PATH)
@click.option(
    "--speed",
    type=click.Choice(("1", "10", "100", "max")),
    default="max",
    help="Replay at the original speed, 10 or 100 times faster, or show everything at once (max,"
    " the default).",
)
@click.option(
    "--filter",
    "filter_text",
    metavar="TEXT",
    default="",
    help="Filter the Traffic pane by this expression.",
)
@click.option("--follow", is_flag=True, help="Follow FILE as it grows; - reads standard input.")
@_screenshot
@_after
def open_(invocation: Invocation, /, **chosen: Any) -> int:
    """Open the recording FILE in a window, read-only, with its jobs, findings and traffic.

    A recording can be replayed at its original speed, faster, or message by message, and followed
    while another program writes it. Exits with code 8 if FILE cannot be read or is not a recording.

    FILE can also be a HAR file, a session log of mcpsnoop or mcp-rec (JSON Lines), or a log of
    Claude Desktop (mcp*.log). The window says what such a file does not have.
    """
    from mcp_progress_monitor.cli.orders import OpenOrder

    order = OpenOrder(**chosen)
    from mcp_progress_monitor.cli.open import open_recording

    return open_recording(invocation.common, order)


@program.command(epilog=_ASSOCIATE_EXAMPLES, short_help="Open recordings with a double-click.")
@own_options
@click.option("--remove", "removes", is_flag=True, help="Remove the association.")
def associate(invocation: Invocation, removes: bool) -> int:
    """Associate recordings with this program, so that a double-click opens them.

    Applies to your user account only. Lists every file and setting that it changes.
    """
    from mcp_progress_monitor.cli.desktop import associate_recordings

    return associate_recordings(removes=removes)


_CHOICES = ", ".join(f"{f.what} ({f.contains})" if f.contains else f.what for f in FORMATS)
_FIRST_FORMATS = ", ".join(form.what for form in FORMATS[:-1])


@program.command(
    cls=OwnCommand,
    epilog=_EXPORT_EXAMPLES,
    short_help="Export a recording to another format.",
    help=f"""Export the recording FILE as {_FIRST_FORMATS} or {FORMATS[-1].what}.

    FILE can be another program's file as well, see "open --help".
    """,
)
@own_options
@click.argument("file", type=A_PATH)
@click.option(
    "--format",
    "--to",
    "to",
    cls=RenamedOption,
    type=click.Choice((*(form.key for form in FORMATS), "mcprec")),
    required=True,
    help=f"Choose {_CHOICES}, or mcprec (a recording of another program's file).",
)
@click.option(
    "--filter",
    "--where",
    "where",
    cls=RenamedOption,
    metavar="FILTER",
    default="",
    help="Export only messages that match the filter; in a report, their jobs; in HAR, their"
    " exchanges.",
)
@click.option("--job", type=click.IntRange(min=1), metavar="N", help="Export only job number N.")
@click.option("--with-secrets", is_flag=True, help="Do not redact secrets.")
@output
def export(invocation: Invocation, /, **chosen: Any) -> int:
    from mcp_progress_monitor.cli.export import ExportOrder, export_recording

    order = ExportOrder(**chosen)
    return export_recording(invocation.common, order)


@program.command(
    cls=ServerCommand,
    epilog=_CHECK_EXAMPLES,
    short_help="Check recordings, or a server, against the rules of MCP.",
)
@common_options
@click.argument("files", metavar="[FILE]...", nargs=-1, type=A_PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "sarif", "junit")),
    default="text",
    help="Write text (the default), JSON, SARIF 2.1.0 for code hosts, or JUnit XML for CI servers.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("error", "warning", "note", "never")),
    default="error",
    help="Exit with code 7 if there are new findings of this level or above (default error).",
)
@click.option(
    "--filter",
    "--where",
    "where",
    cls=RenamedOption,
    metavar="FILTER",
    default="",
    help="Report only findings about messages that match the filter.",
)
@click.option(
    "--baseline",
    type=A_PATH,
    metavar="FILE",
    help="Fail only on findings that are not in this earlier report (--format json), and report"
    " tools whose definition differs from it.",
)
@click.option(
    "--max-duration",
    type=Seconds(min=0, min_open=True),
    metavar="SECONDS",
    help="Report client requests that took longer than this.",
)
@click.option(
    "--expect",
    metavar="FILTER",
    multiple=True,
    help="Report an error if no message matches the filter. Repeatable.",
)
@click.option(
    "--tool",
    "tools",
    metavar="NAME",
    multiple=True,
    help="Also call this tool when checking a server. By default, only tools marked as read-only"
    " are called. Repeatable.",
)
@click.option(
    "--args",
    "document",
    metavar="JSON|@FILE",
    help="Arguments for the tools of a tour, as {NAME: {ARGUMENT: VALUE}}. Other arguments are"
    " generated from the tools' schemas.",
)
@output
def check(invocation: Invocation, /, **chosen: Any) -> int:
    """Check the recordings FILE... against the rules of MCP.

    Each finding says which rule was violated, by the server or the client, in which messages, what
    the rule requires, and how to fix it with the official SDKs.

    With "-- SERVER_COMMAND [ARG]...", --url, --server, --config or --demo, a scripted tour of that
    server is recorded and then checked: calls with each kind of token, a cancel, an unknown tool,
    wrong arguments.
    """
    from mcp_progress_monitor.cli.check import CheckOrder, check_recordings

    tour = {name: chosen.pop(name) for name in ("tools", "document")}
    order = CheckOrder(**chosen)
    if invocation.common.names_server:
        if order.files:
            raise click.UsageError("FILE cannot be used with a server: choose one of the two.")
        from mcp_progress_monitor.cli.tour import TourOrder, check_server

        return check_server(invocation, TourOrder(**tour), order)
    if not order.files:
        message = "Missing argument 'FILE...', or a server. Example: check night.mcprec"
        raise click.UsageError(message)
    if any(tour.values()):
        raise click.UsageError("--tool and --args need a server, for example -- python server.py")
    return check_recordings(invocation.common, order)


for _command in (resources, read, prompts, prompt, request, tasks, servers, tap):
    program.add_command(_command)


_SEPARATOR = "--"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` are `sys.argv[1:]` by default."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code_of(lambda: _run(given, Invocation()), given)


def _run(arguments: list[str], invocation: Invocation) -> int:
    try:
        return _parsed(arguments, invocation)
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
        return ExitCode.USAGE
    except click.Abort:
        return ExitCode.CANCELLED


def _parsed(arguments: list[str], invocation: Invocation) -> int:
    """Split off the server's command after `--`; click parses the rest."""
    if _SEPARATOR in arguments:
        place = arguments.index(_SEPARATOR)
        arguments, command = arguments[:place], tuple(arguments[place + 1 :])
        if not command:
            raise click.UsageError("No server command after --. Example: -- python server.py")
        invocation.common = CommonOptions(command=command)
    code = program.main(
        arguments, prog_name="mcp-progress-monitor", standalone_mode=False, obj=invocation
    )
    return int(code or ExitCode.DONE)
