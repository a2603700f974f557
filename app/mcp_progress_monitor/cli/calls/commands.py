"""Commands for requests other than tool calls, and `tasks`: their options and help.

Loaded by `--help`.
"""

from __future__ import annotations

from typing import Any

import click

from mcp_progress_monitor.cli.options import (
    Invocation,
    ServerCommand,
    answer,
    common_options,
    json_events,
    limits,
    name_values,
    output,
    request_options,
    server_log,
)
from mcp_progress_monitor.snapshots.limits import OTHER_IDLE_S, TOOL_IDLE_S

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

\b
--params is not validated, and its "_meta" is sent unchanged. With --no-token, a method that
does not create a job has no "request" event, and "job" is null.

Press Ctrl+C once to cancel the request and wait briefly for the server, twice to exit immediately.
"""
_json_document = click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")


@click.command(
    cls=ServerCommand, epilog=_RESOURCES_EXAMPLES, short_help="List a server's resources."
)
@common_options
@_json_document
def resources(invocation: Invocation, as_json: bool) -> int:
    """List a server's resources and resource templates."""
    from mcp_progress_monitor.cli.calls.listings import list_resources

    return list_resources(invocation, in_json=as_json)


@click.command(cls=ServerCommand, epilog=_READ_EXAMPLES, short_help="Read a resource.")
@common_options
@click.argument("uri")
@output
@request_options()
def read(invocation: Invocation, /, **chosen: Any) -> int:
    """Read the resource URI. Progress goes to standard error, the text to standard output.

    The server need not list the URI. Binary data is not printed; save it with -o.
    """
    from mcp_progress_monitor.cli.orders import ReadOrder

    order = ReadOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.calls.call import read_resource

    return read_resource(invocation, order)


@click.command(cls=ServerCommand, epilog=_PROMPTS_EXAMPLES, short_help="List a server's prompts.")
@common_options
@_json_document
def prompts(invocation: Invocation, as_json: bool) -> int:
    """List a server's prompts and their arguments."""
    from mcp_progress_monitor.cli.calls.listings import list_prompts

    return list_prompts(invocation, in_json=as_json)


@click.command(cls=ServerCommand, epilog=_PROMPT_EXAMPLES, short_help="Get a prompt.")
@common_options
@click.argument("name")
@click.option(
    "--arg",
    "pairs",
    callback=name_values,
    metavar="NAME=VALUE",
    multiple=True,
    help="Set an argument of the prompt. Values are always strings. Repeatable.",
)
@request_options()
def prompt(invocation: Invocation, /, **chosen: Any) -> int:
    """Get the prompt NAME and print its messages, each below its role."""
    from mcp_progress_monitor.cli.orders import PromptOrder

    order = PromptOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.calls.call import get_prompt

    return get_prompt(invocation, order)


@click.command(cls=ServerCommand, epilog=_REQUEST_EXAMPLES, short_help="Send any request.")
@common_options
@click.argument("method")
@click.option(
    "--params",
    metavar="JSON|@FILE",
    help="Set the parameters from a JSON object or from a file that contains one.",
)
@request_options()
def request(invocation: Invocation, /, **chosen: Any) -> int:
    """Send a request with any METHOD and print its result as JSON."""
    from mcp_progress_monitor.cli.orders import RawOrder

    order = RawOrder(**chosen)
    order.check()
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
_one_task = click.argument("task", metavar="TASK_ID")


@click.group(epilog=_EXAMPLES, subcommand_metavar="COMMAND [ARG]...")
@common_options
@click.pass_context
def tasks(ctx: click.Context, invocation: Invocation) -> int:
    """List, show, follow and cancel a server's tasks."""
    ctx.obj = invocation
    return 0


@tasks.command(name="list", cls=ServerCommand, short_help="List a server's tasks.")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List a server's tasks, including those of other clients (2025-11-25 only)."""
    from mcp_progress_monitor.cli.calls.call import list_tasks

    return list_tasks(invocation, in_json=as_json)


@tasks.command(cls=ServerCommand, short_help="Show the status of a task.")
@common_options
@_one_task
@limits(OTHER_IDLE_S)
@json_events
def get(invocation: Invocation, /, **chosen: Any) -> int:
    """Show the status of a task, as the server reports it."""
    from mcp_progress_monitor.cli.calls.call import get_task
    from mcp_progress_monitor.cli.orders import TaskOrder

    return get_task(invocation, TaskOrder(no_token=True, **chosen))


@tasks.command(cls=ServerCommand, epilog=_FOLLOW_EXAMPLES, short_help="Wait for a task's result.")
@common_options
@_one_task
@limits(TOOL_IDLE_S)
@answer
@server_log
@json_events
def follow(invocation: Invocation, /, **chosen: Any) -> int:
    """Follow a task until it ends and print its result.

    Questions of the task are asked on the terminal, or answered by --answers.
    """
    from mcp_progress_monitor.cli.calls.call import follow_task
    from mcp_progress_monitor.cli.orders import TaskOrder

    return follow_task(invocation, TaskOrder(no_token=True, **chosen))


@tasks.command(cls=ServerCommand, short_help="Cancel a task.")
@common_options
@_one_task
@limits(OTHER_IDLE_S)
@json_events
def cancel(invocation: Invocation, /, **chosen: Any) -> int:
    """Ask the server to cancel a task. In 2026-07-28, the task may keep running for a while."""
    from mcp_progress_monitor.cli.calls.call import cancel_task
    from mcp_progress_monitor.cli.orders import TaskOrder

    return cancel_task(invocation, TaskOrder(no_token=True, **chosen))
