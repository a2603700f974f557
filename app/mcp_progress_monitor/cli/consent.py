"""What the user agrees to before it first runs: asked at a terminal, remembered on disk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anyio

from mcp_progress_monitor.catalogue.trust import FILE_NAME, Trust
from mcp_progress_monitor.cli.asking.dialogue import Dialogue
from mcp_progress_monitor.cli.asking.keyboard import HungUpError, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.own_command import own_command
from mcp_progress_monitor.cli.server_words import consent_lines, earlier_lines
from mcp_progress_monitor.paths import data_dir
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.text import one_line, visible

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.consent_parts import Earlier
    from mcp_progress_monitor.cli.asking.keyboard import Keyboard
    from mcp_progress_monitor.cli.options import CommonOptions
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

_LONGEST_NAME = 100


def trust_of(common: CommonOptions) -> Trust:
    """The consents in the data folder; `CommandFailed` when there can be no such folder."""
    try:
        return Trust(data_dir(common.data_dir) / FILE_NAME)
    except ProblemError as error:
        raise CommandFailed(ExitCode.USAGE, error.problem) from error


def require_consent(definition: ServerDefinition, common: CommonOptions, source: str) -> None:
    """See that the user has agreed to exactly this; asked now where somebody can answer.

    `source` tells where it stands. `CommandFailed` without consent: nothing may run then.
    """
    trust = trust_of(common)
    if trust.is_trusted(definition):
        return
    tell_unusable(trust)
    keyboard = terminal_of_user()
    earlier = earlier_of(trust, definition)
    if keyboard is None:
        raise CommandFailed(ExitCode.USAGE, _not_agreed(definition, common, source, earlier))
    if not asked(definition, source, keyboard, earlier):
        problem = Problem("You have not agreed to this server; nothing was run", definition.name)
        raise CommandFailed(ExitCode.USAGE, problem)
    agree(trust, definition)


def tell_unusable(trust: Trust) -> None:
    """Write to standard error why earlier consents count no more, if that is so."""
    if trust.problem is not None:
        Output(sys.stderr).text(f"{visible(trust.problem.as_text(), keep_line_ends=True)}\n")


def earlier_of(trust: Trust, definition: ServerDefinition) -> Earlier | None:
    """What the user agreed to before under the definition's name, if it was another one."""
    return trust.earlier([definition])[0]


def asked(
    definition: ServerDefinition, source: str, keyboard: Keyboard, earlier: Earlier | None
) -> bool:
    """What the user says to it; whoever hangs up has not agreed."""
    dialogue = Dialogue(Output(sys.stderr), keyboard)
    try:
        return anyio.run(_answer, dialogue, definition, source, earlier)
    except HungUpError:
        return False


async def _answer(
    dialogue: Dialogue, definition: ServerDefinition, source: str, earlier: Earlier | None
) -> bool:
    is_process = definition.transport == "stdio"
    dialogue.begin(f"May this server {'run' if is_process else 'be asked'}? It stands in {source}.")
    dialogue.say_whole(f"server:    {one_line(definition.name, _LONGEST_NAME)}")
    for line in (*earlier_lines(earlier), *consent_lines(definition)):
        dialogue.say_whole(line)
    words = f"{'Run' if is_process else 'Ask'} it, now and later"
    return await dialogue.choose(words, ("yes", "no")) == "yes"


def agree(trust: Trust, definition: ServerDefinition) -> None:
    """Remember that the user agreed; `CommandFailed` when that cannot be written."""
    try:
        trust.agree(definition)
    except ProblemError as error:
        raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error


def _not_agreed(
    definition: ServerDefinition, common: CommonOptions, source: str, earlier: Earlier | None
) -> Problem:
    command = trusting_command(definition.name, common)
    lines = (*earlier_lines(earlier), *consent_lines(definition))
    return Problem(
        "You have not agreed to this server yet, so nothing was run",
        f"server {one_line(definition.name, _LONGEST_NAME)!r}, {source}",
        f"Look at it, and agree: {command}",
        "\n".join(f"  {line}" for line in lines),
    )


def trusting_command(name: str, common: CommonOptions) -> str:
    """The command that shows a server and asks for consent, to be typed as it stands."""
    is_like_option = name.startswith("-")
    words = ["servers", "trust", *([] if is_like_option else [name])]
    if common.config is not None:
        words += ["--config", str(common.config)]
    if common.data_dir is not None:
        words += ["--data-dir", str(common.data_dir)]
    return own_command(*words, *(["--", name] if is_like_option else []))
