"""The commands that make requests other than calls of tools, as a user sees them."""

from __future__ import annotations

from typing import Any

import click

from mcp_progress_monitor.cli.options import (
    Invocation,
    ServerCommand,
    common_options,
    name_values,
    output,
)
from mcp_progress_monitor.cli.order import PromptOrder, RawOrder, ReadOrder
from mcp_progress_monitor.cli.request_options import request_options

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

Ctrl+C once cancels politely and waits a moment; twice leaves at once.
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

Ctrl+C once cancels politely and waits a moment; twice leaves at once.
"""
_REQUEST_EXAMPLES = """\b
Examples:
  mcp-progress-monitor request --demo tools/list
  mcp-progress-monitor request --demo tools/list | jq '.tools[].name'
  mcp-progress-monitor request completion/complete --params @complete.json -- python server.py
  mcp-progress-monitor request --demo tools/call --params '{"name": "burst"}' --json

\b
--params is not validated; its "_meta" is sent unchanged. With --no-token, a method that
does not create a job has no "request" event, and "job" is null.

Ctrl+C once cancels politely and waits a moment; twice leaves at once.
"""
_json_document = click.option("--json", "as_json", is_flag=True, help="Write one JSON document.")


@click.command(
    cls=ServerCommand, epilog=_RESOURCES_EXAMPLES, short_help="List a server's resources."
)
@common_options
@_json_document
def resources(invocation: Invocation, as_json: bool) -> int:
    """List a server's resources, and the templates of further ones.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    from mcp_progress_monitor.cli.listings import list_resources

    return list_resources(invocation, in_json=as_json)


@click.command(cls=ServerCommand, epilog=_READ_EXAMPLES, short_help="Read a resource.")
@common_options
@click.argument("uri")
@output
@request_options()
def read(invocation: Invocation, /, **chosen: Any) -> int:
    """Read the resource URI, show its progress on standard error and its text on standard output.

    The URI need not be in the server's list. Binary data is not printed: save it with -o. The
    server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    order = ReadOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.requests import read_resource

    return read_resource(invocation, order)


@click.command(cls=ServerCommand, epilog=_PROMPTS_EXAMPLES, short_help="List a server's prompts.")
@common_options
@_json_document
def prompts(invocation: Invocation, as_json: bool) -> int:
    """List a server's prompts with their arguments.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    from mcp_progress_monitor.cli.listings import list_prompts

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
    help="One argument of the prompt, which is always text. May be given again.",
)
@request_options()
def prompt(invocation: Invocation, /, **chosen: Any) -> int:
    """Get the prompt NAME and write its messages, each below its role, to standard output.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    order = PromptOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.requests import get_prompt

    return get_prompt(invocation, order)


@click.command(cls=ServerCommand, epilog=_REQUEST_EXAMPLES, short_help="Send any request.")
@common_options
@click.argument("method")
@click.option(
    "--params",
    metavar="JSON|@FILE",
    help="The parameters as one JSON object, or a file holding it.",
)
@request_options()
def request(invocation: Invocation, /, **chosen: Any) -> int:
    """Send a request with any METHOD and write its result, as JSON, to standard output.

    The server is named by "-- SERVER_COMMAND [ARG]...", --url URL, --server NAME (a saved one),
    --config FILE [--server NAME] or --demo.
    """
    order = RawOrder(**chosen)
    order.check()
    from mcp_progress_monitor.cli.requests import send_request

    return send_request(invocation, order)
