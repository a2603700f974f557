"""The recordings that a command names: files, and all those in folders and below them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_HINT: Final = f"Recordings have the suffix {SUFFIX}."


def recordings_in(places: Sequence[Path]) -> list[Path]:
    """The recordings of files and folders, each by its oldest part, in the order of their begin.

    `CommandFailed` with code 8 if a folder has none.
    """
    found: dict[Path, None] = {}
    for place in places:
        if not place.is_dir():
            found[place] = None
            continue
        folders = {path.parent for path in place.rglob(f"*{SUFFIX}")}
        entries = {each.path: each for at in folders for each in RecordingsFolder(at).entries()}
        if not entries:
            error = ErrorDetails("The folder has no recordings", str(place), _HINT)
            raise CommandFailed(ExitCode.UNWRITABLE, error)
        begun = sorted(entries.values(), key=lambda each: (each.begun_when, each.path))
        found.update(dict.fromkeys(each.path for each in begun))
    return list(found)
