"""`servers client-metadata`: the document to host, so that its URL can be our client id."""

from __future__ import annotations

import json
import sys
from urllib.parse import urlsplit

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.text import visible


def print_client_metadata(url: str) -> ExitCode:
    """Write the client id metadata document for `url`; `CommandFailed` where it cannot be one."""
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from mcp_progress_monitor.sessions.http.sign_in import client_metadata

    try:
        parts = urlsplit(url)
        is_possible = parts.scheme == "https" and parts.hostname and parts.path not in {"", "/"}
    except ValueError:
        is_possible = False
    if not is_possible:
        what = "A client id metadata document needs an https URL with a path"
        hint = "For example: https://example.com/mcp-client.json"
        raise CommandFailed(ExitCode.USAGE, Problem(what, visible(url), hint))
    output = Output(sys.stdout)
    output.text(f"{json.dumps(client_metadata(url), indent=2)}\n")
    output.check()
    return ExitCode.DONE
