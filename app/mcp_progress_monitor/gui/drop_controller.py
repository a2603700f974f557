"""Handles drops on the window: recordings, configurations, programs and addresses.

Nothing is run: recordings are opened read-only, the import dialog shows configurations, and
programs and addresses are filled in for review.
"""

from __future__ import annotations

import enum
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from PySide6.QtCore import QObject, Signal, Slot

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.gui.dropped import ADDRESSES
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.recording.format import HEADER, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_progress_monitor.gui.aio import BackgroundTasks

_CONFIGURATIONS: Final = frozenset({".json", ".jsonc", ".json5", ".toml", ".code-workspace"})
_INTERPRETERS: Final = {
    ".py": "python3" if sys.platform != "win32" else "py",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
}
"""The programs that run scripts which cannot be executed directly."""


class DropKind(enum.Enum):
    """Kind that a dropped file is treated as."""

    RECORDING = "recording"
    CONFIGURATION = "configuration"
    PROGRAM = "program"
    FOLDER = "folder"
    UNKNOWN = "unknown"


def kind_of(path: Path) -> DropKind:
    """The kind of a file, by content and name; another program's recording counts as one."""
    kind = path_kind(path)
    if kind is PathKind.FOLDER:
        return DropKind.FOLDER
    if kind is not PathKind.FILE:
        return DropKind.UNKNOWN
    if _is_recording(path):
        return DropKind.RECORDING
    if path.suffix.lower() in _CONFIGURATIONS:
        return DropKind.CONFIGURATION
    is_program = path.suffix.lower() in _INTERPRETERS or _is_executable(path)
    return DropKind.PROGRAM if is_program else DropKind.UNKNOWN


def _is_recording(path: Path) -> bool:
    from mcp_progress_monitor.imports.convert import form_of

    if path.suffix == SUFFIX:
        return True
    try:
        with path.open("rb") as file:
            if file.read(len(HEADER)) == HEADER:
                return True
    except OSError:
        return False
    return form_of(path) is not None


def _is_executable(path: Path) -> bool:
    if sys.platform == "win32":
        endings = os.environ.get("PATHEXT", ".EXE;.CMD;.BAT").casefold().split(";")
        return path.suffix.casefold() in endings
    return os.access(path, os.X_OK)


def command_of(path: Path) -> tuple[str, ...]:
    interpreter = _INTERPRETERS.get(path.suffix.lower())
    if interpreter is None or (sys.platform != "win32" and os.access(path, os.X_OK)):
        return (str(path),)
    return (interpreter, str(path))


class Drops(QObject):
    """Decides what to do with a drop; disks are read in threads."""

    recording_dropped = Signal(object)  # `Path`
    configuration_dropped = Signal(object)  # `Path`
    program_dropped = Signal(object)  # its command line, as `tuple[str, ...]`
    address_dropped = Signal(str)

    def __init__(
        self,
        parent: QObject,
        tasks: BackgroundTasks,
        report: Callable[[ErrorDetails], None],
        *,
        is_live: bool = True,
    ) -> None:
        """Without live servers, only recordings can be opened."""
        super().__init__(parent)
        self._tasks = tasks
        self._report = report
        self._is_live = is_live

    @Slot(object)
    def take(self, names: Sequence[str]) -> None:
        """Handle a drop: see `MainWindow.dropped`."""
        self._tasks.start("look at what was dropped", self._look, tuple(names))

    async def _look(self, names: Sequence[str]) -> None:
        for name in names:
            if name.startswith(ADDRESSES):
                self._open(DropKind.UNKNOWN, name)
            else:
                self._open(await anyio.to_thread.run_sync(kind_of, Path(name)), name)

    def _open(self, kind: DropKind, name: str) -> None:
        path = Path(name)
        if kind is DropKind.RECORDING:
            self.recording_dropped.emit(path)
        elif not self._is_live:
            what = "Only recordings can be opened here"
            hint = "Drop servers and configurations on the window with live servers."
            self._report(ErrorDetails(what, name, hint))
        elif name.startswith(ADDRESSES):
            self.address_dropped.emit(name)
        elif kind is DropKind.CONFIGURATION:
            self.configuration_dropped.emit(path)
        elif kind is DropKind.PROGRAM:
            self.program_dropped.emit(command_of(path))
        else:
            what = "Not a recording, configuration or program"
            hint = f"Drop a {SUFFIX} file, another client's configuration, or a server's program."
            self._report(ErrorDetails(what, name, hint))
