"""`tasks` as a user sees it: its commands, their options, help with examples."""

from __future__ import annotations

from typing import Any

import click

from mcp_progress_monitor.cli.options import Invocation, ServerCommand, common_options
from mcp_progress_monitor.cli.order import TaskOrder
from mcp_progress_monitor.cli.request_options import answer, json_events, limits, server_log
from mcp_progress_monitor.sessions.limits import OTHER_IDLE_S, TOOL_IDLE_S

_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tasks list --server builds
  mcp-progress-monitor tasks get 786512e2 --server builds
  mcp-progress-monitor tasks follow 786512e2 --server builds --json
  mcp-progress-monitor tasks cancel 786512e2 --url http://localhost:8000/mcp

\b
Tasks live at servers that outlive a command: those with a URL, or that keep them on
disk; some know a task only in the session that began it. Tasks begun by `call` are
also saved here: see resume --list. In 2026-07-28 tasks cannot be listed.
"""
_FOLLOW_EXAMPLES = """\b
Examples:
  mcp-progress-monitor tasks follow 786512e2 --url http://localhost:8000/mcp
  mcp-progress-monitor tasks follow 786512e2 --server builds --answer answers.json --json

Ctrl+C stops following and leaves the task as it is: to stop it, use tasks cancel.
"""
_one_task = click.argument("task", metavar="TASK_ID")


@click.group(epilog=_EXAMPLES, subcommand_metavar="COMMAND [ARG]...")
@common_options
@click.pass_context
def tasks(ctx: click.Context, invocation: Invocation) -> int:
    """The tasks at a server: list, look at, follow and cancel them."""
    ctx.obj = invocation
    return 0


@tasks.command(name="list", cls=ServerCommand, short_help="List the tasks that a server knows.")
@common_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")
def list_(invocation: Invocation, as_json: bool) -> int:
    """List the tasks that a server knows, also those of other clients (2025-11-25 only)."""
    from mcp_progress_monitor.cli.tasks import list_tasks

    return list_tasks(invocation, in_json=as_json)


@tasks.command(cls=ServerCommand, short_help="Show the status of a task.")
@common_options
@_one_task
@limits(OTHER_IDLE_S)
@json_events
def get(invocation: Invocation, /, **chosen: Any) -> int:
    """Show the status of a task, as its server states it."""
    from mcp_progress_monitor.cli.tasks import get_task

    return get_task(invocation, TaskOrder(no_token=True, **chosen))


@tasks.command(
    cls=ServerCommand, epilog=_FOLLOW_EXAMPLES, short_help="Wait for a task's end and result."
)
@common_options
@_one_task
@limits(TOOL_IDLE_S)
@answer
@server_log
@json_events
def follow(invocation: Invocation, /, **chosen: Any) -> int:
    """Follow a task to its end and write its result to standard output.

    What the task asks is asked of you, or answered by --answer.
    """
    from mcp_progress_monitor.cli.tasks import follow_task

    return follow_task(invocation, TaskOrder(no_token=True, **chosen))


@tasks.command(cls=ServerCommand, short_help="Ask a server to cancel a task.")
@common_options
@_one_task
@limits(OTHER_IDLE_S)
@json_events
def cancel(invocation: Invocation, /, **chosen: Any) -> int:
    """Ask a server to cancel a task; in 2026-07-28 the task may go on for a while."""
    from mcp_progress_monitor.cli.tasks import cancel_task

    return cancel_task(invocation, TaskOrder(no_token=True, **chosen))
