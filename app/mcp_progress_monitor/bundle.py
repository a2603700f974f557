"""Differences when the program runs from a PyInstaller bundle, with its own Python and Qt."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAVED: Final = "_ORIG"
"""Suffix of the variable with the user's value, where the bundle has set another."""
_SEARCH: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")
"""Variables with the loader's search path for libraries."""
_OWN: Final = ("_PYI_", "_MEIPASS")
"""Prefixes of variables that PyInstaller's start leaves for processes of the same bundle."""


def is_bundled() -> bool:
    """Return whether this runs from a bundle, so that `sys.executable` is not a Python."""
    return bool(getattr(sys, "frozen", False))


def user_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The user's original environment, for programs outside of the bundle.

    The bundle's start sets variables such as LD_LIBRARY_PATH and QT_PLUGIN_PATH to its own folders,
    which break other programs; the user's values are in LD_LIBRARY_PATH_ORIG and the like.
    """
    found = dict(os.environ if environment is None else environment)
    if not is_bundled():
        return found
    saved = {name: found.pop(name) for name in list(found) if name.endswith(_SAVED)}
    folder = Path(getattr(sys, "_MEIPASS", Path(sys.executable).parent))
    kept = {name: _without(folder, value) for name, value in found.items()}
    cleaned = {
        name: value
        for name, value in kept.items()
        if (value or not found[name]) and not name.startswith(_OWN)
    }
    return cleaned | {name.removesuffix(_SAVED): value for name, value in saved.items()}


def restore_search_path() -> None:
    """Restore the search path for programs that others start for us, such as a browser.

    The system has read the bundle's value when this process began, and no longer needs it. The
    variables of Qt stay: it reads them later.
    """
    if is_bundled():
        users = user_environment()
        for name in _SEARCH:
            os.environ.pop(name, None)
            if name in users:
                os.environ[name] = users[name]


def _without(folder: Path, value: str) -> str:
    """A list of paths without those in `folder`; anything else unchanged."""
    if str(folder) not in value:
        return value
    paths = value.split(os.pathsep)
    return os.pathsep.join(path for path in paths if not Path(path).is_relative_to(folder))
