"""The commands of a room that is not there, for tests of what is made from them."""

from collections.abc import Iterable
from operator import attrgetter

from PySide6.QtWidgets import QWidget

from mcp_progress_monitor.gui.common.commands import Command, CommandActions, Commands
from mcp_progress_monitor.gui.theme import Appearance


def lone_actions(
    declared: Iterable[Command], appearance: Appearance, why_read_only: str = ""
) -> CommandActions:
    """The commands `declared`, on rows that have an id."""
    view = QWidget()
    commands = Commands(why_read_only)
    made = CommandActions(declared, commands, view, appearance, id_of=attrgetter("id"))
    vars(made)["view"] = view  # which owns it
    return made


def asked(commands: Commands, command: Command) -> list[object]:
    """Carry out `command` from now on by noting what it is to act on."""
    said: list[object] = []

    def note(*arguments: object) -> None:
        said.append(arguments[0] if len(arguments) == 1 else arguments)

    commands.carry_out(command, note)
    return said
