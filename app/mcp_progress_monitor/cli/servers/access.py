"""`servers trust`, `sign-out` and `client-metadata`: approval and sign-in of saved servers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.cli.asking.terminal import terminal_of_user
from mcp_progress_monitor.cli.calls.configured import config_server, placed, saved_servers
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode, failing
from mcp_progress_monitor.cli.output.stdout import print_out, show_warnings
from mcp_progress_monitor.cli.servers.approval import approve, asked, earlier_of, trust_of
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import visible
from mcp_progress_monitor.path_checks import expanded
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, ServerDefinition
from mcp_progress_monitor.wording import approval

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.trust import EarlierApproval
    from mcp_progress_monitor.cli.options import CommonOptions


def trust_server(common: CommonOptions, name: str, *, is_agreed: bool) -> ExitCode:
    """Show a server, ask unless `is_agreed`, and save the approval; `CommandFailed` without one."""
    definition = definition_of(common, name)
    source = "the saved servers" if common.config is None else str(common.config)
    trust = trust_of(common)
    if not is_agreed and trust.is_trusted(definition):
        print_out(f"{visible(name)} is already approved:\n{_shown(definition)}")
        return ExitCode.DONE
    if not is_agreed:
        show_warnings(trust.problem)
        _ask(definition, source, earlier_of(trust, definition))
    approve(trust, definition)
    print_out(f"Approved {visible(name)}:\n{_shown(definition)}")
    return ExitCode.DONE


def definition_of(common: CommonOptions, name: str) -> ServerDefinition:
    """A saved server, also a disabled one, or one of `--config`; `CommandFailed` without it."""
    with failing(ExitCode.USAGE):
        if common.config is None:
            return saved_servers(common).entry(name).definition
        return placed(config_server(read_file(expanded(common.config)), name).definition)


def _ask(definition: ServerDefinition, source: str, earlier: EarlierApproval | None) -> None:
    keyboard = terminal_of_user()
    if keyboard is None:
        problem = ErrorDetails(
            "Cannot ask for approval without a terminal; nothing was approved",
            f"server {definition.name!r}, {source}",
            "To approve it without being asked, add --yes.",
            _shown(definition, earlier).rstrip(),
        )
        raise CommandFailed(ExitCode.USAGE, problem)
    if not asked(definition, source, keyboard, earlier):
        raise CommandFailed(
            ExitCode.USAGE, ErrorDetails("The server was not approved", definition.name)
        )


def _shown(definition: ServerDefinition, earlier: EarlierApproval | None = None) -> str:
    return "".join(f"  {visible(line)}\n" for line in approval.lines(definition, earlier))


def sign_out_server(common: CommonOptions, name: str) -> ExitCode:
    """Delete the credentials of a sign-in; `CommandFailed` for a server that is not HTTP."""
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from mcp_progress_monitor.sessions.transport.http.oauth import sign_out

    definition = definition_of(common, name)
    if not isinstance(definition, HttpDefinition):
        problem = ErrorDetails("Only HTTP servers use sign-in", name)
        raise CommandFailed(ExitCode.USAGE, problem)
    with failing(ExitCode.UNWRITABLE):
        was_signed_in = sign_out(definition, data_dir(common.data_dir))
    said = "Signed out of" if was_signed_in else "You were not signed in to"
    print_out(f"{said} {visible(name)}\n")
    return ExitCode.DONE


def print_client_metadata(url: str) -> ExitCode:
    """Write the client ID metadata document for `url`; `CommandFailed` for an unsuitable URL."""
    # The HTTP client takes 0.2 s to import: only for who needs it.
    from mcp_progress_monitor.sessions.transport.http.oauth import client_metadata

    try:
        parts = urlsplit(url)
        is_possible = parts.scheme == "https" and parts.hostname and parts.path not in {"", "/"}
    except ValueError:
        is_possible = False
    if not is_possible:
        what = "A client ID metadata document needs an https URL with a path"
        hint = "Example: https://example.com/mcp-client.json"
        raise CommandFailed(ExitCode.USAGE, ErrorDetails(what, visible(url), hint))
    print_out(f"{json.dumps(client_metadata(url), indent=2)}\n")
    return ExitCode.DONE
