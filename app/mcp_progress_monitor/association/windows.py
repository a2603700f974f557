r"""Windows: the user's own part of the registry, `HKEY_CURRENT_USER\Software\Classes`.

Needs no administrator. See "File Types and File Associations" in Microsoft's documentation.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from mcp_progress_monitor.association.outcome import Outcome
from mcp_progress_monitor.paths import resource
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.recording.format import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLASSES: Final = "Software\\Classes"
_OURS: Final = "McpProgressMonitor.Recording"
_TYPE: Final = f"{_CLASSES}\\{_OURS}"
_ENDING: Final = f"{_CLASSES}\\{SUFFIX}"


class Registry(Protocol):
    """The little that is asked of the registry, below `HKEY_CURRENT_USER`. `OSError` on refusal."""

    def value(self, key: str) -> str | None:
        """The default value of a key; None when there is none."""

    def set_value(self, key: str, name: str, value: str) -> None:
        """Make a key, and give it a value; with the empty name its default one."""

    def delete(self, key: str) -> bool:
        """Delete a key with all below it; False when there was none."""

    def delete_value(self, key: str, name: str) -> bool:
        """Delete one value of a key; False when there was none."""

    def announce(self) -> None:
        """Tell the desktop that associations changed."""


class WindowsAssociation:
    """`command` are the words that start this program without a console."""

    def __init__(self, registry: Registry, command: Sequence[str]) -> None:
        self._registry = registry
        self._command = command

    def add(self) -> Outcome:
        """Name our type for the ending, and what opens it; `ProblemError` when that fails."""
        command = subprocess.list2cmdline([*self._command, "open"]) + ' "%1"'
        icon = str(resource("association/mcp-recording.ico"))
        try:
            self._registry.set_value(_TYPE, "", "MCP recording")
            self._registry.set_value(f"{_TYPE}\\DefaultIcon", "", icon)
            self._registry.set_value(f"{_TYPE}\\shell\\open\\command", "", command)
            self._registry.set_value(f"{_ENDING}\\OpenWithProgids", _OURS, "")
            self._registry.set_value(_ENDING, "", _OURS)
            self._registry.announce()
        except OSError as error:
            raise _refused(error) from error
        return Outcome(
            (
                f"Written below HKEY_CURRENT_USER: {_TYPE}",
                f"Written below HKEY_CURRENT_USER: {_ENDING}",
            ),
            ("If another program opens them, choose this one in Settings, Default apps.",),
        )

    def remove(self) -> Outcome:
        """Delete what is ours; an ending that is another program's by now stays its."""
        try:
            keys = [key for key in (_TYPE, self._ending()) if key and self._registry.delete(key)]
            self._registry.delete_value(f"{_ENDING}\\OpenWithProgids", _OURS)
            self._registry.announce()
        except OSError as error:
            raise _refused(error) from error
        done = tuple(f"Removed below HKEY_CURRENT_USER: {key}" for key in keys)
        return Outcome(done or ("There was no association to remove.",))

    def _ending(self) -> str:
        return _ENDING if self._registry.value(_ENDING) == _OURS else ""


def windowless(command: Sequence[str]) -> list[str]:
    """The same command by the Python that opens no console, where there is one."""
    python, *arguments = command
    quiet = Path(python).with_name("pythonw.exe")
    return [str(quiet), *arguments] if arguments and quiet.is_file() else list(command)


def _refused(error: OSError) -> ProblemError:
    what = "Recordings cannot be associated: the registry refuses"
    hint = "Ask whoever administers this computer, or open recordings from within the program."
    return ProblemError(Problem(what, f"HKEY_CURRENT_USER\\{_CLASSES}", hint, str(error)))
