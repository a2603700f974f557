"""The commands as a user sees them: names, options, help with examples.

Each command imports its work when it runs, so that help is instant and nothing but the window
needs Qt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mcp_progress_monitor import __version__
from mcp_progress_monitor.cli.options import (
    Invocation,
    OwnCommand,
    Seconds,
    ServerCommand,
    common_options,
    name_values,
    output,
    own_options,
)
from mcp_progress_monitor.cli.order import CallOrder, OpenOrder, ResumeOrder
from mcp_progress_monitor.cli.request_commands import prompt, prompts, read, request, resources
from mcp_progress_monitor.cli.request_options import (
    answer,
    request_options,
    resume_limit,
    server_log,
)
from mcp_progress_monitor.cli.saved_id import saved_ids
from mcp_progress_monitor.cli.servers_commands import servers
from mcp_progress_monitor.cli.tasks_commands import tasks
from mcp_progress_monitor.sessions.limits import TOOL_IDLE_S

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
Exit codes: 0 done, 1 the tool or server answered with an error, 2 wrong usage,
3 could not connect or connection lost, 4 timed out, 5 cancelled, 6 stopped while
resumable, 8 a file cannot be read or written.
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
An answer file is a list; a question takes the first answer that is for it:
  [
    {"message": "your name", "accept": {"name": "Ada"}},
    {"kind": "url", "decline": true},
    {"kind": "sampling", "text": "It is sunny.", "times": 3}
  ]
or an object with one answer for each kind, or values for the fields of forms:
  {"fields": {"name": "Ada", "age": 36}, "sampling": {"text": "It is sunny."}}


Conditions: kind (form, url, sampling, roots), message (a regular expression),
fields (names that the form has), key; times (a count or "any"; 1 without it).
Answers: accept (a form's content, true, or a list of roots), decline, cancel
(true), text (a model's, perhaps with model and stopReason), result (the whole).

Ctrl+C once cancels politely and waits a moment; twice leaves at once. While a question is asked,
it cancels that first.
"""


_RESUME_EXAMPLES = """\b
Examples:
  mcp-progress-monitor resume --list
  mcp-progress-monitor resume 3
  mcp-progress-monitor resume 3 5 --auto-resume --json
  mcp-progress-monitor resume 3 -- python new_server.py
  mcp-progress-monitor resume t2

An ID that begins with t is that of a task, which goes on at its server by itself: resume connects
the server and waits for the task's end. Answer files are described by: call --help

Ctrl+C once cancels politely and waits a moment; what was reached stays resumable.
"""


_OPEN_EXAMPLES = """\b
Examples:
  mcp-progress-monitor open night.mcprec
  mcp-progress-monitor open night.mcprec --filter 'token == "abc" and dt > 2'
  mcp-progress-monitor open night.mcprec --speed 10
"""

_EXPORT_EXAMPLES = """\b
Examples:
  mcp-progress-monitor export night.mcprec --to jsonl --where 'kind == error'
  mcp-progress-monitor export night.mcprec --to csv --job 3 -o ticks.csv
  mcp-progress-monitor export night.mcprec --to html -o report.html

\b
Secrets, resume tokens, values of headers and of environment variables are taken out
unless --with-secrets is given. Files are readable by you alone.
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
    help="Save a picture of the window as FILE (PNG) and quit.",
)
_after = click.option(
    "--after",
    type=Seconds(min=0),
    metavar="S",
    help="Take the picture after S seconds (default 5).",
)


class _Group(click.Group):
    """Tells those who mistyped a command, or forgot the two dashes, what to write instead."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named first in `args`, or say what to write instead."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # seldom needed
            import shlex

            near = difflib.get_close_matches(args[0], self.commands, 1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            advice = f"To open a server, write two dashes first: -- {shlex.join(args)}"
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
@click.version_option(__version__, prog_name="mcp-progress-monitor")
@click.pass_context
def program(
    ctx: click.Context, invocation: Invocation, screenshot: Path | None, after: float | None
) -> int:
    """Watch the progress of long-running MCP calls.

    Without a command, the window opens; with the server that --demo, --url, --server, --config
    or "-- SERVER_COMMAND" names, if any.
    """
    ctx.obj = invocation
    if after is not None and screenshot is None:
        raise click.UsageError("--after says when to take a picture: add --screenshot FILE.")
    if ctx.invoked_subcommand is None:
        from mcp_progress_monitor.cli.window import open_window

        return open_window(invocation.common, screenshot, 5.0 if after is None else after)
    if screenshot is not None:
        raise click.UsageError(f"--screenshot has no meaning for {ctx.invoked_subcommand!r}.")
    return 0


@program.command(cls=ServerCommand, epilog=_TOOLS_EXAMPLES, short_help="List a server's tools.")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def tools(invocation: Invocation, as_json: bool) -> int:
    """List a server's tools with their arguments.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    from mcp_progress_monitor.cli.tools import list_tools

    return list_tools(invocation, in_json=as_json)


@program.command(
    cls=ServerCommand,
    epilog=_CALL_EXAMPLES,
    short_help="Call a tool, show its progress and result.",
)
@common_options
@click.argument("tool")
@click.option(
    "--arg",
    "pairs",
    callback=name_values,
    metavar="NAME=VALUE",
    multiple=True,
    help="One argument, converted by the tool's schema; JSON is accepted. May be given again.",
)
@click.option(
    "--args",
    "document",
    metavar="JSON|@FILE",
    help="All arguments as one JSON object, or a file holding it; --arg adds to them.",
)
@request_options(TOOL_IDLE_S)
@click.option(
    "--task",
    "as_task",
    is_flag=True,
    help="Run it as a task of the server's; refused where the tool does not allow that. Without,"
    " only tools that require it are.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Call the tool N times at once.",
)
@click.option(
    "--unlisted",
    "is_unlisted",
    is_flag=True,
    help="Call TOOL even if the server does not list it: nothing is checked, and VALUE is sent as"
    " JSON where it is JSON, as text elsewhere.",
)
@click.option(
    "--no-validate",
    is_flag=True,
    help="Send the arguments as they are, even if they break the tool's schema.",
)
def call(invocation: Invocation, /, **chosen: Any) -> int:
    """Call TOOL, show its progress on standard error and its result on standard output.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    order = CallOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.call import call_tool

    return call_tool(invocation, order)


@program.command(
    cls=ServerCommand, epilog=_RESUME_EXAMPLES, short_help="Go on with jobs that were saved."
)
@common_options
@click.argument("ids", metavar="[ID]...", nargs=-1, callback=saved_ids)
@click.option("--list", "is_list", is_flag=True, help="List the saved jobs and their IDs.")
@click.option(
    "--auto-resume",
    is_flag=True,
    help="Resume again and again, for as long as the server hands out tokens.",
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
    """Go on with saved jobs whose servers handed out a token for that, and with tasks.

    Each job's server is started as it was; "-- SERVER_COMMAND [ARG]...", --url, --server, --config
    or --demo name another one. Several jobs are resumed at once.
    """
    order = ResumeOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.resume import resume_jobs

    return resume_jobs(invocation, order)


@program.command(
    name="open",
    cls=OwnCommand,
    epilog=_OPEN_EXAMPLES,
    short_help="Look at a recording in a window.",
)
@own_options
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--speed",
    type=click.Choice(("1", "10", "100", "max")),
    default="max",
    help="Replay it as fast as it happened, 10 or 100 times faster, or show all at once (default).",
)
@click.option(
    "--filter",
    "filter_text",
    metavar="TEXT",
    default="",
    help="Begin with this filter in the log.",
)
@_screenshot
@_after
def open_(invocation: Invocation, /, **chosen: Any) -> int:
    """Look at the recording FILE in a window: jobs, marks and log as they were, read only.

    It can be replayed at the pace that it happened, faster, or message by message. Ends with code 8
    when FILE is no recording or cannot be read.
    """
    order = OpenOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.open import open_recording

    return open_recording(invocation.common, order)


@program.command(epilog=_ASSOCIATE_EXAMPLES, short_help="Open recordings by a double click.")
@own_options
@click.option("--remove", "removes", is_flag=True, help="Take the association back.")
def associate(invocation: Invocation, removes: bool) -> int:
    """Have recordings open with this program when they are double-clicked.

    For your user account alone; what is written is told.
    """
    from mcp_progress_monitor.cli.associate import associate_recordings

    return associate_recordings(removes=removes)


@program.command(
    cls=OwnCommand, epilog=_EXPORT_EXAMPLES, short_help="Write a recording in other forms."
)
@own_options
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Choice(("jsonl", "csv", "html", "har")),
    required=True,
    help="All messages as JSON Lines, the ticks as a table, a report to be read, or HTTP as HAR.",
)
@click.option(
    "--where",
    metavar="FILTER",
    default="",
    help="Only messages that the filter shows; of a report, their jobs, of HAR, their exchanges.",
)
@click.option("--job", type=click.IntRange(min=1), metavar="N", help="Only the job of that number.")
@click.option("--with-secrets", is_flag=True, help="Take nothing out.")
@output
def export(invocation: Invocation, /, **chosen: Any) -> int:
    """Write the recording FILE as something that other programs, or people, can read."""
    from mcp_progress_monitor.cli.export import ExportOrder, export_recording

    order = ExportOrder(**chosen)
    order.check()
    return export_recording(invocation.common, order)


for _command in (resources, read, prompts, prompt, request, tasks, servers):
    program.add_command(_command)
