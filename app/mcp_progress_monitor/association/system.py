"""Which system this is, and so how recordings are associated with this program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from mcp_progress_monitor.paths import program_command

if TYPE_CHECKING:
    from mcp_progress_monitor.association.outcome import Outcome


class Association(Protocol):
    """Has recordings open with this program, or no more; each `ProblemError` when it is refused."""

    def add(self) -> Outcome:
        """Have them open with this program, in place of whatever an earlier `add` said."""

    def remove(self) -> Outcome:
        """Take back all that `add` did; nothing to do is no error."""


def association_here() -> Association:
    """The association of the system that this program runs on."""
    command = program_command()
    if sys.platform == "win32":
        from mcp_progress_monitor.association.registry import WindowsRegistry
        from mcp_progress_monitor.association.windows import WindowsAssociation, windowless

        return WindowsAssociation(WindowsRegistry(), windowless(command))
    if sys.platform == "darwin":
        from mcp_progress_monitor.association.macos import MacosAssociation

        return MacosAssociation(command)
    from mcp_progress_monitor.association.linux import LinuxAssociation
    from mcp_progress_monitor.paths import data_home

    return LinuxAssociation(data_home(), command)
