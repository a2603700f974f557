"""The entry of the command line, and its commands: names, options, help with examples.

Loaded by `--help`: what a command does is imported when it runs.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from mcp_progress_monitor import __version__
from mcp_progress_monitor.cli.commands import (
    agents,
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
from mcp_progress_monitor.cli.declared_options import takes
from mcp_progress_monitor.cli.exits import ExitCode, exit_code_of
from mcp_progress_monitor.cli.options import (
    Invocation,
    OwnCommand,
    ServerCommand,
    common_options,
    own_options,
)
from mcp_progress_monitor.cli.orders import (
    CallOrder,
    CheckOrder,
    ListOrder,
    OpenOrder,
    ProgramOrder,
    ResumeOrder,
    ServeOrder,
    WatchOrder,
)
from mcp_progress_monitor.cli.recording_orders import DiffOrder, ExportOrder, StatsOrder
from mcp_progress_monitor.exports.formats import FORMATS, PARQUET

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

_WATCH_EXAMPLES = """\b
Examples:
  mcp-progress-monitor watch
  mcp-progress-monitor watch --json | jq -r 'select(.event == "error") | .message'
  mcp-progress-monitor watch night.mcprec
  ssh build.example cat night.mcprec | mcp-progress-monitor watch -
  mcp-progress-monitor watch --otlp 127.0.0.1:4318

\b
On a terminal: arrow keys to select, Enter for details, / to filter, s to sort, e to hide
ended jobs, q to quit. In a pipe, on a terminal that cannot move its cursor, or without
UTF-8: one line for each change. Set NO_COLOR for a screen without colours.
"""
_SERVE_EXAMPLES = """\b
Examples:
  mcp-progress-monitor serve night.mcprec
  mcp-progress-monitor serve night.mcprec --speed max --strict
  mcp-progress-monitor serve night.mcprec --http 8123
  mcp-progress-monitor tools -- mcp-progress-monitor serve night.mcprec

\b
The entry of a client's configuration:
  {"command": "mcp-progress-monitor", "args": ["serve", "/path/to/night.mcprec"]}
"""

_EXPORT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor export night.mcprec --format jsonl --filter 'kind == error'
  mcp-progress-monitor export night.mcprec --format csv --job 3 -o ticks.csv
  mcp-progress-monitor export night.mcprec --format html -o report.html
  mcp-progress-monitor export recordings night.mcprec --format parquet --out tables
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
  mcp-progress-monitor check --report sarif=findings.sarif --source src -- python server.py
  mcp-progress-monitor check night.mcprec --format json -o baseline.json
  mcp-progress-monitor check night.mcprec --baseline baseline.json
  mcp-progress-monitor check night.mcprec --expect 'method == "notifications/progress"'
  mcp-progress-monitor check -- python server.py
  mcp-progress-monitor check --all-tools --fail-on note -- python server.py
  mcp-progress-monitor check --tool export --args '{"export": {"city": "Oslo"}}' -- python server.py
"""

_STATS_EXAMPLES = """\b
Examples:
  mcp-progress-monitor stats night.mcprec
  mcp-progress-monitor stats recordings --json | jq '.calls[0]'
"""

_DIFF_EXAMPLES = """\b
Examples:
  mcp-progress-monitor diff before.mcprec after.mcprec
  mcp-progress-monitor diff release-1 release-2 --json | jq '.tools_changed'
"""

_ASSOCIATE_EXAMPLES = """\b
Examples:
  mcp-progress-monitor associate
  mcp-progress-monitor associate --remove
"""


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
@takes(ProgramOrder)
@click.version_option(__version__, prog_name="mcp-progress-monitor")
def program(invocation: Invocation, order: ProgramOrder) -> int:
    """Watch the progress of long-running MCP calls.

    Without a command, this opens the window. Use --demo, --url, --server, --config or
    "-- SERVER_COMMAND" to connect it to a server.
    """
    ctx = click.get_current_context()
    ctx.obj = invocation
    if ctx.invoked_subcommand is None:
        from mcp_progress_monitor.cli.desktop import open_window

        if order.is_safe and invocation.common.names_server:
            raise click.UsageError("--safe-mode connects no servers: omit the server.")
        return open_window(
            invocation.common,
            order.screenshot,
            order.after_s,
            is_safe=order.is_safe,
            resets_layout=order.resets_layout,
            otel=order.otel,
        )
    for name, each in ProgramOrder.declared():
        if getattr(order, name):
            option = each.parameter(name).opts[0]
            raise click.UsageError(f"{option} cannot be used with {ctx.invoked_subcommand!r}.")
    return 0


@program.command(cls=ServerCommand, epilog=_TOOLS_EXAMPLES, short_help="List a server's tools.")
@common_options
@takes(ListOrder)
def tools(invocation: Invocation, order: ListOrder) -> int:
    """List a server's tools and their arguments."""
    from mcp_progress_monitor.cli.calls.listings import list_tools

    return list_tools(invocation, in_json=order.as_json)


@program.command(
    cls=ServerCommand,
    epilog=_CALL_EXAMPLES,
    short_help="Call a tool and show its progress and result.",
)
@common_options
@takes(CallOrder)
def call(invocation: Invocation, order: CallOrder) -> int:
    """Call TOOL. Progress goes to standard error, the result to standard output."""
    from mcp_progress_monitor.cli.calls.call import call_tool

    return call_tool(invocation, order)


@program.command(
    cls=ServerCommand,
    needs_server=False,
    epilog=_RESUME_EXAMPLES,
    short_help="Resume saved jobs and tasks.",
)
@common_options
@takes(ResumeOrder)
def resume(invocation: Invocation, order: ResumeOrder) -> int:
    """Resume saved jobs: calls whose server returned a resume token, and tasks.

    Each job's server is started the same way as before. To use another server, add
    "-- SERVER_COMMAND [ARG]...", --url, --server, --config or --demo. Several IDs are resumed at
    the same time.
    """
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
@takes(OpenOrder)
def open_(invocation: Invocation, order: OpenOrder) -> int:
    """Open the recording FILE in a window, read-only, with its jobs, findings and traffic.

    A recording can be replayed at its original speed, faster, or message by message, and followed
    while another program writes it. Exits with code 8 if FILE cannot be read or is not a recording.

    FILE can also be a HAR file, OpenTelemetry's data (OTLP in JSON), a session log of mcpsnoop or
    mcp-rec (JSON Lines), or a log of Claude Desktop (mcp*.log). The window says what such a file
    does not have.
    """
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


@program.command(cls=OwnCommand, epilog=_WATCH_EXAMPLES, short_help="Watch jobs on a terminal.")
@own_options
@takes(WatchOrder)
def watch(invocation: Invocation, order: WatchOrder) -> int:
    """Show the jobs of all live taps and recordings of this user, one row for each.

    With FILE, the jobs of that recording; it is followed while it grows. - reads a recording from
    standard input. FILE can be another program's file as well, see "open --help".
    """
    from mcp_progress_monitor.cli.watch import watch_jobs

    return watch_jobs(invocation.common, order)


@program.command(cls=OwnCommand, epilog=_SERVE_EXAMPLES, short_help="Replay a recorded server.")
@own_options
@takes(ServeOrder)
def serve(invocation: Invocation, order: ServeOrder) -> int:
    """Answer a client as the server in the recording FILE answered, without that server.

    A request is matched by its method and parameters. Equal requests get the recorded answers in
    turn, then the last one again. Progress, log messages, questions of the server, tasks and the
    reply follow at their recorded pace, with the ids and tokens of the client.

    FILE can be another program's file as well, see "open --help".
    """
    from mcp_progress_monitor.cli.serve import serve_recording

    return serve_recording(order)


_FIRST_FORMATS = ", ".join(form.what for form in FORMATS[:-1])


@program.command(
    cls=OwnCommand,
    epilog=_EXPORT_EXAMPLES,
    short_help="Export recordings to other formats.",
    help=f"""Export the recording FILE as {_FIRST_FORMATS} or {FORMATS[-1].what}.

    FILE can be another program's file as well, see "open --help". As {PARQUET.what}, several files
    and folders of recordings can be exported. A recording that is exported again replaces its rows.
    """,
)
@own_options
@takes(ExportOrder)
def export(invocation: Invocation, order: ExportOrder) -> int:
    if order.to == PARQUET.key:
        from mcp_progress_monitor.cli.tables import export_tables

        return export_tables(invocation.common, order)
    from mcp_progress_monitor.cli.export import export_recording

    return export_recording(invocation.common, order)


@program.command(
    cls=ServerCommand,
    epilog=_CHECK_EXAMPLES,
    short_help="Check recordings, or a server, against the rules of MCP.",
)
@common_options
@takes(CheckOrder)
def check(invocation: Invocation, order: CheckOrder) -> int:
    """Check the recordings FILE... against the rules of MCP.

    Each finding says which rule was violated, by the server or the client, in which messages, what
    the rule requires, and how to fix it with the official SDKs.

    With "-- SERVER_COMMAND [ARG]...", --url, --server, --config or --demo, a scripted tour of that
    server is recorded and then checked: calls with each kind of token, a cancel, an unknown tool,
    wrong arguments.
    """
    if invocation.common.names_server:
        if order.files:
            raise click.UsageError("FILE cannot be used with a server: choose one of the two.")
        from mcp_progress_monitor.cli.tour import check_server

        return check_server(invocation, order)
    if not order.files:
        message = "Missing argument 'FILE...', or a server. Example: check night.mcprec"
        raise click.UsageError(message)
    if order.tools or order.document:
        raise click.UsageError("--tool and --args need a server, for example -- python server.py")
    from mcp_progress_monitor.cli.check import check_recordings

    return check_recordings(invocation.common, order)


@program.command(cls=OwnCommand, epilog=_STATS_EXAMPLES, short_help="Add up recordings.")
@own_options
@takes(StatsOrder)
def stats(invocation: Invocation, order: StatsOrder) -> int:
    """Add up recordings: calls, stalls, errors, findings, and what tools cost in a context.

    A folder means all recordings in it and below it. Recordings are only read. If one cannot be
    read, the others are added up and the exit code is 8.
    """
    from mcp_progress_monitor.cli.stats import print_stats

    return print_stats(invocation.common, order)


@program.command(cls=OwnCommand, epilog=_DIFF_EXAMPLES, short_help="Compare recordings.")
@own_options
@takes(DiffOrder)
def diff(invocation: Invocation, order: DiffOrder) -> int:
    """Compare two recordings, or two folders of recordings.

    Shows tools that were added, removed or changed, the durations and failures of calls, findings
    that are new or gone, and results that differ for the same arguments.
    """
    from mcp_progress_monitor.cli.stats import print_diff

    return print_diff(invocation.common, order)


for _command in (resources, read, prompts, prompt, request, tasks, servers, tap, agents):
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
