"""The user's repository: its paths in a report, and the places of tools in its code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.checking.report import SourcePlace
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.protocol.messages import CALL_TOOL
from mcp_progress_monitor.sources.definitions import find_definitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.checking.report import CheckedFile
    from mcp_progress_monitor.cli.common import CommonOptions

_GIT: Final = ".git"
_MANIFESTS: Final = ("pyproject.toml", "package.json", "go.mod")
_NAMES: Final = 300  # characters of a list of tools


class Repository:
    """The folder that paths in a report are relative to: code hosts know no others.

    It is the one with `.git` around `source` or the current folder; without, one of these.
    """

    def __init__(self, source: Path | None = None) -> None:
        here = Path.cwd()
        start = here if source is None else source.resolve()
        outside = here if start.is_relative_to(here) else start
        around = (folder for folder in (start, *start.parents) if (folder / _GIT).exists())
        self._root = next(around, outside)
        self._source = source

    def path_of(self, file: Path) -> str:
        """The path relative to the repository, with forward slashes; empty if it is not in it."""
        found = file.resolve()
        if not found.is_relative_to(self._root):
            return ""
        return found.relative_to(self._root).as_posix()

    def artifact(self, file: Path) -> str:
        """As `path_of`, but the name of a file that lies elsewhere: never an absolute path."""
        return self.path_of(file) or file.name

    def script_of(self, common: CommonOptions) -> str:
        """The file that the server is started from: the configuration, or one of the command.

        Else the manifest of its package, as for `npx .`; empty if there is none in the repository,
        and for recordings whose code is unknown.
        """
        if self._source is None and not common.names_server:
            return ""
        folder = common.cwd or Path.cwd()
        command = common.command or ()
        around = (self._source or folder).resolve()
        files = [
            *filter(None, (common.config,)),
            *(folder / word for word in (*command[1:], *command[:1]) if word),
            *(place / name for place in (around, *around.parents) for name in _MANIFESTS),
        ]
        return next((self.path_of(file) for file in files if self._has(file)), "")

    def _has(self, file: Path) -> bool:
        try:
            return file.is_file() and bool(self.path_of(file))
        except (OSError, ValueError):  # a word that can be no path
            return False

    def located(self, files: Sequence[CheckedFile]) -> list[CheckedFile]:
        """The files with the definitions of the tools that their results are about."""
        tools = {
            result.title
            for file in files
            for result in file.results
            if result.method == CALL_TOOL and result.title
        }
        if self._source is None or not tools:
            return list(files)
        found, is_whole = find_definitions(self._source.resolve(), tools)
        places = {
            tool: SourcePlace(path, each.line)
            for tool, each in found.items()
            if (path := self.path_of(each.path))
        }
        notes = []
        offered = {tool for file in files for server in file.servers for tool in server.tools}
        if unknown := sorted(tools & (offered or tools) - places.keys()):
            listed = one_line(", ".join(unknown), _NAMES)
            notes.append(f"No definition was found in {self._source} of: {listed}")
        if not is_whole:
            notes.append(f"Only a part of {self._source} was read, because it is too large")
        return [
            file._replace(
                results=tuple(
                    result._replace(definition=places.get(result.title))
                    if result.method == CALL_TOOL
                    else result
                    for result in file.results
                ),
                notes=(*file.notes, *notes),
            )
            for file in files
        ]
