"""The user's switch for agents: reading is on or off, for all of them or for single ones."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from mcp_progress_monitor import private_file
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.process_lock import process_lock
from mcp_progress_monitor.validation import Validated, described

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

FOLDER: Final = "agents"
"""The subfolder of the data folder with the switch and the logs."""
_OFF: Final = "off"
"""A file that turns reading off for all: it can be created on a full disk."""
_FILE: Final = "access.json"
_MOST_BYTES: Final = 100_000
_PATIENCE_S: Final = 5.0


class AgentAccess(Validated):
    """Reading is off for all agents, or for those of the names in `names_off`."""

    is_off: bool = False
    names_off: tuple[str, ...] = ()

    def refusal(self, names: AbstractSet[str]) -> str:
        """Say why an agent that gave these names may read nothing; empty if it may read."""
        if self.is_off:
            return _sentence("for all agents")
        off = sorted(names & set(self.names_off))
        return _sentence(f"for {one_line(off[0]) or 'agents without a name'}") if off else ""


def _sentence(whom: str) -> str:
    return (
        f"Reading is turned off {whom} in MCP Progress Monitor. Nothing was read. Only the"
        " user can turn it on, in the window under Servers, Agents. Do not ask again until then."
    )


def load_access(data_dir: Path) -> AgentAccess:
    """Read the switch. Agents may read as long as the user has never turned it off.

    Raises:
        UserError: it cannot be read.
    """
    folder = data_dir / FOLDER
    try:
        return _names(folder).model_copy(update={"is_off": _has_mark(folder)})
    except ValidationError as error:
        raise _unreadable(folder, described(error)) from error
    except (OSError, ValueError) as error:
        raise _unreadable(folder, getattr(error, "strerror", None) or str(error)) from error


def _has_mark(folder: Path) -> bool:
    try:
        (folder / _OFF).lstat()
    except FileNotFoundError:
        return False
    return True


def _names(folder: Path) -> AgentAccess:
    """The names that are off. `OSError`, `ValidationError` if they cannot be read."""
    path = folder / _FILE
    if path_kind(path) is PathKind.OTHER:  # reading a pipe would block forever
        raise OSError("It is a device or a pipe, not a file")
    try:
        with path.open("rb") as file:
            return AgentAccess.model_validate_json(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return AgentAccess()


def turn(data_dir: Path, *, is_on: bool, name: str | None = None) -> None:
    """Turn reading on or off, for agents of one name or for all.

    Turned on for all, names that cannot be read are replaced.

    Raises:
        UserError: it cannot be saved.
    """
    folder = data_dir / FOLDER
    try:
        private_file.make_folder(folder)
        if name is None:
            _turn_all(folder, is_on=is_on)
        else:
            with _locked(folder):
                others = [each for each in _names(folder).names_off if each != name]
                _save(folder, others if is_on else [*others, name])
    except (OSError, ValueError) as error:  # a `ValidationError` is a `ValueError`
        what = f"Cannot turn {'on' if is_on else 'off'} reading for agents"
        hint = "Check the folder's permissions and the free disk space, or end the agents."
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(ErrorDetails(what, str(folder), hint, reason)) from error


def _turn_all(folder: Path, *, is_on: bool) -> None:
    if not is_on:
        os.close(os.open(folder / _OFF, os.O_WRONLY | os.O_CREAT, 0o600))
        return
    try:
        _names(folder)
    except (OSError, ValueError):
        _save(folder, ())
    (folder / _OFF).unlink(missing_ok=True)


def _save(folder: Path, names: Iterable[str]) -> None:
    content = AgentAccess(names_off=tuple(names)).model_dump_json(include={"names_off"})
    private_file.put(folder / _FILE, content.encode() + b"\n")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other windows from changing the switch meanwhile, where the file system has locks."""
    lock = process_lock(folder / "access.lock")
    with contextlib.suppress(NotImplementedError):
        lock.acquire(timeout=_PATIENCE_S)
    try:
        yield
    finally:
        lock.release()


def _unreadable(folder: Path, reason: str) -> UserError:
    what = "Cannot read the switch for agents, so no agent may read"
    hint = (
        "The user can tick Agents may read, in the window under Servers, Agents. Agents that were"
        " turned off one by one may then read again."
    )
    return UserError(ErrorDetails(what, str(folder / _FILE), hint, reason))
