"""Checks of paths that may be unreadable.

`Path` itself raises if a folder may not be entered; these functions never do.
"""

from __future__ import annotations

import enum
import os
import stat
from pathlib import Path
from typing import Final

from mcp_progress_monitor.errors import ErrorDetails, UserError

_NOWHERE: Final = (FileNotFoundError, NotADirectoryError, ValueError)
"""Errors that mean that nothing exists; `ValueError` for a path that no file can have."""


class PathKind(enum.Enum):
    """Kind of what exists at a path, following links."""

    NOTHING = "does not exist"
    FILE = "is a file"
    FOLDER = "is a folder"
    OTHER = "is a device or a pipe"
    HIDDEN = "cannot be accessed: permission denied for a folder on its path"


def path_kind(path: Path | str) -> PathKind:
    """Return the kind of a path; never raises, and never reports absence without being sure."""
    try:
        mode = Path(path).stat().st_mode
    except _NOWHERE:
        return PathKind.NOTHING
    except PermissionError:
        return PathKind.HIDDEN
    except OSError:  # a link to itself, or a name that is too long: nothing exists there
        return PathKind.NOTHING
    if stat.S_ISDIR(mode):
        return PathKind.FOLDER
    return PathKind.FILE if stat.S_ISREG(mode) else PathKind.OTHER


def is_there(path: Path | str) -> bool:
    return path_kind(path) not in {PathKind.NOTHING, PathKind.HIDDEN}


def is_file(path: Path | str) -> bool:
    return path_kind(path) is PathKind.FILE


def is_folder(path: Path | str) -> bool:
    """Return whether a folder exists at a path, which may be inaccessible."""
    return path_kind(path) is PathKind.FOLDER


def is_closed(folder: Path | str) -> bool:
    """Return whether a folder exists that may not be entered."""
    return is_folder(folder) and not os.access(folder, os.X_OK)


def expanded(path: Path) -> Path:
    """The path with `~` expanded; unchanged if the system knows no such home.

    Without that home `Path.expanduser` raises.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def absolute(path: Path) -> Path:
    """The absolute path, with `~` expanded.

    Raises:
        UserError: the system knows no such home; or the path is relative, and the current
            folder was
            deleted.
    """
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        what, hint = "Unknown home folder", "Enter the full path."
        raise UserError(ErrorDetails(what, str(path), hint)) from error
    except OSError as error:
        what = "Cannot resolve a relative path: the current folder no longer exists"
        hint = "Enter the full path, or start the program in another folder."
        raise UserError(ErrorDetails(what, str(path), hint)) from error


def home() -> Path | None:
    """The user's home; None if the system knows none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def here() -> Path | None:
    """The current folder; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
"""Names that Windows gives to devices, with any suffix."""


def file_name(text: str, most: int = 60) -> str:
    """Make a name that is valid on every system of any text; empty if nothing of it can be kept."""
    kept = "".join(char if char.isalnum() or char in "-_." else "-" for char in text[:most])
    kept = kept.strip("-.")
    return f"_{kept}" if kept.partition(".")[0].casefold() in _RESERVED else kept
