"""`servers trust`: what would run is shown, and the user's consent kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mcp_progress_monitor.catalogue.reading import read_file
from mcp_progress_monitor.cli.asking.keyboard import terminal_of_user
from mcp_progress_monitor.cli.consent import agree, asked, earlier_of, tell_unusable, trust_of
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.saved_servers import saved_servers
from mcp_progress_monitor.cli.server_words import consent_lines, earlier_lines
from mcp_progress_monitor.cli.target import config_server, placed
from mcp_progress_monitor.looking import expanded
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.text import visible

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.consent_parts import Earlier
    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.sessions.definitions import ServerDefinition


def trust_server(common: CommonOptions, name: str, *, is_agreed: bool) -> ExitCode:
    """Show a server, ask unless `is_agreed`, and remember; `CommandFailed` without consent."""
    definition = definition_of(common, name)
    source = "the saved servers" if common.config is None else str(common.config)
    trust = trust_of(common)
    output = Output(sys.stdout)
    if not is_agreed and trust.is_trusted(definition):
        output.text(f"You have agreed to {visible(name)} already:\n{_shown(definition)}")
        return ExitCode.DONE
    if not is_agreed:
        tell_unusable(trust)
        _ask(definition, source, earlier_of(trust, definition))
    agree(trust, definition)
    output.text(f"You have agreed to {visible(name)}:\n{_shown(definition)}")
    output.check()
    return ExitCode.DONE


def definition_of(common: CommonOptions, name: str) -> ServerDefinition:
    """A saved server, also a disabled one, or one of `--config`; `CommandFailed` without it."""
    try:
        if common.config is None:
            return saved_servers(common).entry(name).definition
        return placed(config_server(read_file(expanded(common.config)), name).definition)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error


def _ask(definition: ServerDefinition, source: str, earlier: Earlier | None) -> None:
    keyboard = terminal_of_user()
    if keyboard is None:
        problem = Problem(
            "There is nobody to ask; nothing was agreed to",
            f"server {definition.name!r}, {source}",
            "If this is what you want, give the command again with --yes.",
            _shown(definition, earlier).rstrip(),
        )
        raise CommandFailed(ExitCode.USAGE, problem)
    if not asked(definition, source, keyboard, earlier):
        raise CommandFailed(ExitCode.USAGE, Problem("Nothing was agreed to", definition.name))


def _shown(definition: ServerDefinition, earlier: Earlier | None = None) -> str:
    lines = (*earlier_lines(earlier), *consent_lines(definition))
    return "".join(f"  {visible(line)}\n" for line in lines)
