"""What removed servers leave in the system's keyring: deleted if the user wants that."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor.cli.asking.dialogue import Dialogue
from mcp_progress_monitor.cli.asking.keyboard import HungUpError, terminal_of_user
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.keyring_system import SERVICE, SystemKeyring
from mcp_progress_monitor.text import count, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.cli.asking.keyboard import Keyboard

_NAME: Final = 200


def settle_secrets(names: Sequence[str], *, are_unwanted: bool | None) -> None:
    """Delete the secrets of those names, or tell that they stay; None asks whoever is there.

    `CommandFailed` when the keyring deletes one of them not.
    """
    if not names:
        return
    if are_unwanted is None:
        keyboard = terminal_of_user()
        are_unwanted = keyboard is not None and _asked(names, keyboard)
    if are_unwanted:
        _delete(names)
        return
    errors = Output(sys.stderr)
    errors.text(f"No saved server refers any more to {count(len(names), 'secret')} that")
    errors.text(f" the system's keyring has under {SERVICE}:\n")
    for name in names:
        errors.text(f"  {one_line(name, _NAME)}\n")


def _asked(names: Sequence[str], keyboard: Keyboard) -> bool:
    """What the user says to it; whoever hangs up wants nothing deleted."""
    try:
        return anyio.run(_answer, Dialogue(Output(sys.stderr), keyboard), names)
    except HungUpError:
        return False


async def _answer(dialogue: Dialogue, names: Sequence[str]) -> bool:
    dialogue.begin("Delete its secrets from the system's keyring? Nothing saved refers to them.")
    for name in names:
        dialogue.say_whole(one_line(name, _NAME))
    return await dialogue.choose("Delete", ("yes", "no"), default="no") == "yes"


def _delete(names: Sequence[str]) -> None:
    keyring, output = SystemKeyring(), Output(sys.stdout)
    for name in names:
        try:
            keyring.forget(name)
        except ProblemError as error:
            raise CommandFailed(ExitCode.UNWRITABLE, error.problem) from error
        output.text(f"The secret {one_line(name, _NAME)} is deleted.\n")
    output.check()
