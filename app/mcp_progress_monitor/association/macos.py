"""macOS: only application bundles open files there, so the user is told what to do by hand."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mcp_progress_monitor.association.outcome import Outcome
from mcp_progress_monitor.recording.format import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence


class MacosAssociation:
    """Changes nothing; `command` are the words that start this program."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command

    def add(self) -> Outcome:
        """Tell the way by Automator and Finder."""
        line = f'exec {shlex.join([*self._command, "open"])} "$1"'
        return Outcome(
            to_do=(
                (
                    "macOS opens files with application bundles, and this program is a command."
                    " Nothing was changed. By hand:"
                ),
                (
                    "1. In Automator, make a new Application with the action Run Shell Script;"
                    f" choose to pass input as arguments, and let it run: {line}"
                ),
                "2. Save it in Applications, for example as MCP Recording.",
                (
                    f"3. In Finder, choose a file that ends in {SUFFIX}, then File, Get Info, Open"
                    " with; choose that application, then Change All."
                ),
            )
        )

    def remove(self) -> Outcome:
        """Tell how to undo it."""
        return Outcome(
            to_do=(
                (
                    "Nothing was changed. By hand: move the application that you made with"
                    " Automator to the Trash."
                ),
            )
        )
