"""Locations: the user's data, and the resources that ship with the program."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from mcp_progress_monitor import bundle, private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import absolute, home, is_closed

APPLICATION = "mcp-progress-monitor"  # the name of the data folder, and of the command

SERVER_SETTINGS: Final = "server-settings.json"
"""The file, in the data folder, with the user's settings of servers."""
DEMO: Final = "serve-demo"
WATCHDOG: Final = "watch-servers"
"""Hidden commands of the program in a bundle, which has no separate Python."""

_PACKAGE = Path(__file__).resolve().parent
_SCRIPTS: Final = {
    DEMO: ("-I", str(_PACKAGE / "demo" / "__main__.py")),
    WATCHDOG: ("-I", "-S", str(_PACKAGE / "sessions" / "transport" / "watchdog.py")),
}


def default_data_dir() -> Path:
    """The platform's usual folder for the user's data; it need not exist.

    `$XDG_DATA_HOME` (Linux, by default `~/.local/share`), `~/Library/Application Support` (macOS),
    `%LOCALAPPDATA%` (Windows).
    """
    return data_home() / APPLICATION


def data_dir(chosen: Path | None = None) -> Path:
    """Create the data folder if needed, readable only by its owner, and return it.

    `chosen` is the user's `--data-dir`. An existing folder keeps its permissions. `UserError` if it
    cannot be created or entered.
    """
    folder = chosen_data_dir(chosen)
    try:
        private_file.make_folder(folder)
    except FileExistsError as error:
        raise _no_data_dir("The data folder is a file", folder) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _no_data_dir("Cannot create the data folder", folder, reason) from error
    if is_closed(folder):
        raise _no_data_dir("No permission to access the data folder", folder)
    return folder


def unwritable(folder: Path) -> ErrorDetails | None:
    """Say why nothing can be saved in the data folder; None if it can."""
    import tempfile  # a tap imports this module, and its client is waiting

    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        what = (
            "The data folder cannot be written. Settings, saved servers, approvals, recordings and "
            "resume tokens of this session are not kept"
        )
        hint = "Check its permissions and the free disk space, or choose another with --data-dir."
        return ErrorDetails(what, str(folder), hint, error.strerror or str(error))


def chosen_data_dir(chosen: Path | None = None) -> Path:
    """The location of that folder, existing or not; `UserError` if it is unknown."""
    return absolute(chosen or default_data_dir())


def _no_data_dir(what: str, folder: Path, reason: str = "") -> UserError:
    hint = "Check its permissions, or choose another folder with --data-dir."
    return UserError(ErrorDetails(what, str(folder), hint, reason))


def resource(name: str) -> Path:
    """A shipped file such as `"icons/app.svg"`: inside the package once installed, else beside it.

    `FileNotFoundError` names the file: a missing resource is an error of the build.
    """
    for folder in (_PACKAGE / "resources", _PACKAGE.parents[1] / "resources"):
        found = folder / name
        if found.exists():
            return found
    raise FileNotFoundError(f"the resource {name!r} is missing beside {_PACKAGE}")


def manual() -> Path:
    """The folder of the manual's pages: with the resources once installed, else `docs`."""
    shipped = _PACKAGE / "resources" / "manual"
    return shipped if shipped.exists() else _PACKAGE.parents[1] / "docs"


def import_root() -> Path:
    return _PACKAGE.parent


def program_command() -> list[str]:
    """The command that starts this program again, from any folder; its arguments follow.

    The installed command if it is beside this Python; else this Python with the running code,
    whatever folders named `app` are around.
    """
    if bundle.is_bundled():
        return [sys.executable]
    name = f"{APPLICATION}.exe" if sys.platform == "win32" else APPLICATION
    beside = Path(sys.executable).with_name(name)
    if beside.is_file():
        return [str(beside)]
    return [sys.executable, "-I", str(_PACKAGE / "__main__.py")]


def internal_command(name: str) -> list[str]:
    """The command that starts a part of this program as a separate process.

    `name` is `DEMO` or `WATCHDOG`; arguments follow. Python runs isolated: neither the current
    folder nor PYTHONPATH decides what is imported.
    """
    if bundle.is_bundled():
        return [sys.executable, name]
    return [sys.executable, *_SCRIPTS[name]]


def data_home() -> Path:
    """The platform's folder for programs' data; an empty or relative variable counts as unset.

    platformdirs would name other folders: it reads `$XDG_DATA_HOME` on macOS, too, and does not
    read `%LOCALAPPDATA%` on Windows, so that data of users who set them would not be found.

    `UserError` if it is in the user's home, and the system knows none.
    """
    if sys.platform == "win32":
        variable, fallback = "LOCALAPPDATA", Path("AppData", "Local")
    elif sys.platform == "darwin":
        variable, fallback = "", Path("Library", "Application Support")
    else:
        variable, fallback = "XDG_DATA_HOME", Path(".local", "share")
    configured = Path(os.environ.get(variable, ""))
    if configured.is_absolute():
        return configured
    own = home()
    if own is None:
        what, hint = "Cannot determine your home folder", "Set HOME, or pass --data-dir."
        raise UserError(ErrorDetails(what, hint=hint))
    return own / fallback
