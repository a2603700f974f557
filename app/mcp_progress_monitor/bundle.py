"""What differs when the program runs from a PyInstaller bundle, with a Python and Qt of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SAVED: Final = "_ORIG"
"""Ends the name that keeps a variable's own value where the bundle has set another."""
_SEARCH: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LIBPATH")
"""Where a system's loader looks for libraries."""
_OWN: Final = ("_PYI_", "_MEIPASS")
"""How the names begin that PyInstaller's start leaves for processes of the same bundle."""


def is_bundled() -> bool:
    """Whether this is a bundle's own program, and `sys.executable` no Python."""
    return bool(getattr(sys, "frozen", False))


def user_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment as the user has it, for programs that are not of the bundle.

    The bundle's start sets variables such as LD_LIBRARY_PATH and QT_PLUGIN_PATH to folders of its
    own, which break other programs; the user's values are in LD_LIBRARY_PATH_ORIG and the like.
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
    """Have programs that others start for us, as a browser, find their own libraries.

    The system has read the bundle's value when this process began, and needs it no more. The
    variables of Qt stay: it reads them later.
    """
    if is_bundled():
        users = user_environment()
        for name in _SEARCH:
            os.environ.pop(name, None)
            if name in users:
                os.environ[name] = users[name]


def _without(folder: Path, value: str) -> str:
    """A list of paths without those in `folder`; anything else as it is."""
    if str(folder) not in value:
        return value
    paths = value.split(os.pathsep)
    return os.pathsep.join(path for path in paths if not Path(path).is_relative_to(folder))
