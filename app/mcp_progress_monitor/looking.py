"""Looking at the paths of other people: `Path` itself raises where a folder may not be entered."""

from __future__ import annotations

import enum
import os
import stat
from pathlib import Path
from typing import Final

from mcp_progress_monitor.problem import Problem, ProblemError

_NOWHERE: Final = (FileNotFoundError, NotADirectoryError, ValueError)
"""How the system says that nothing is there; `ValueError` of a path that no file can have."""


class Sight(enum.Enum):
    """What is to be seen at a path, links followed."""

    NOTHING = "does not exist"
    FILE = "is a file"
    FOLDER = "is a folder"
    OTHER = "is a device or a pipe"
    HIDDEN = "cannot be looked at: a folder on the way to it may not be entered"


def sight_of(path: Path | str) -> Sight:
    """What is there; never raises, and never says that nothing is there without knowing it."""
    try:
        mode = Path(path).stat().st_mode
    except _NOWHERE:
        return Sight.NOTHING
    except PermissionError:
        return Sight.HIDDEN
    except OSError:  # a link to itself, a name too long: the system finds nothing there either
        return Sight.NOTHING
    if stat.S_ISDIR(mode):
        return Sight.FOLDER
    return Sight.FILE if stat.S_ISREG(mode) else Sight.OTHER


def is_there(path: Path | str) -> bool:
    """Whether anything is to be seen there."""
    return sight_of(path) not in {Sight.NOTHING, Sight.HIDDEN}


def is_file(path: Path | str) -> bool:
    """Whether an ordinary file is to be seen there."""
    return sight_of(path) is Sight.FILE


def is_folder(path: Path | str) -> bool:
    """Whether a folder is to be seen there; whether it may be entered is another matter."""
    return sight_of(path) is Sight.FOLDER


def is_closed(folder: Path | str) -> bool:
    """Whether a folder is there that we may not enter."""
    return is_folder(folder) and not os.access(folder, os.X_OK)


def expanded(path: Path) -> Path:
    """The path with a home in the place of its `~`; as it is where the system knows no such home.

    Without that home `Path.expanduser` raises.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def absolute(path: Path) -> Path:
    """The whole path, with a home in the place of its `~`.

    Raises:
        ProblemError: the system knows no such home; or it is a relative path, and the folder that
            we are in was deleted.
    """
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        what, hint = "The system knows no such home folder", "Give the whole path."
        raise ProblemError(Problem(what, str(path), hint)) from error
    except OSError as error:
        what = "A relative path leads nowhere: the folder that the program was started in is gone"
        hint = "Give the whole path, or start the program in another folder."
        raise ProblemError(Problem(what, str(path), hint)) from error


def home() -> Path | None:
    """The user's home; None where the system knows none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def here() -> Path | None:
    """The folder that we are in; None where it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
