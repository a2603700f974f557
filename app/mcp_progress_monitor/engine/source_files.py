"""The source files of a server: where its author saves, as its command line tells."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.path_checks import is_file, is_folder
from mcp_progress_monitor.sessions.connection.connector import IGNORED, InFolders, watched
from mcp_progress_monitor.snapshots.definitions import FileWatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_progress_monitor.snapshots.definitions import ServerDefinition, StdioDefinition

_ENDS: Final = "py pyi js mjs cjs jsx ts mts cts tsx go rs rb php java kt cs swift"
SOURCES: Final = tuple(f"*.{end}" for end in _ENDS.split())
"""Only what people write: a server that saves its data beside its code would restart for ever."""
UNEDITED: Final = IGNORED | {"build", "dist", "out", "target", ".next", ".cache"}
"""Folders in a folder of sources that are not watched."""
MOST_FILES: Final = 5000
_MOST_NAMES: Final = 20 * MOST_FILES  # of any kind that are looked at to count the files
_FOLDER_OPTIONS: Final = frozenset({"--directory", "--project", "--prefix", "--cwd", "-C"})
"""Options of uv, npm, pnpm, bun and go that name the folder of the server."""


def sources_of(definition: StdioDefinition) -> FileWatch:
    """Return what to watch: what the definition says, or else the folders of its sources.

    These are the folders of the scripts in its arguments, that which it is started in, and that
    which an option such as `--directory` names. Without any of them it is the program itself, if
    that is not an installed one; else there are no paths.
    """
    if definition.watch.is_on and definition.watch.paths:
        return definition.watch
    base = Path(definition.cwd or ".").expanduser().absolute()
    found = tuple(dict.fromkeys((*_paths(definition, base), *_program(definition, base))))
    outer = [each for each in found if not any(_is_within(each, other) for other in found)]
    return FileWatch(is_on=True, paths=tuple(outer), patterns=SOURCES)


def _paths(definition: StdioDefinition, base: Path) -> Iterator[str]:
    if definition.cwd is not None and is_folder(base):
        yield str(base)
    for option, word in zip(("", *definition.args), definition.args, strict=False):
        path = Path(os.path.normpath(base / word))
        if option in _FOLDER_OPTIONS and is_folder(path):
            yield str(path)
        elif is_file(path):
            is_source = any(fnmatch.fnmatch(path.name, pattern) for pattern in SOURCES)
            is_among_all = path.parent in {Path.home(), Path(path.anchor)}
            yield str(path.parent if is_source and not is_among_all else path)


def _program(definition: StdioDefinition, base: Path) -> Iterator[str]:
    """The file of a program that is built here: none that is installed, as interpreters are."""
    path = Path(os.path.normpath(base / definition.command))
    is_installed = str(path.parent) in os.environ.get("PATH", "").split(os.pathsep)
    if is_file(path) and not is_installed and IGNORED.isdisjoint(path.parts):
        yield str(path)


def _is_within(path: str, folder: str) -> bool:
    return path != folder and is_folder(folder) and Path(path).is_relative_to(folder)


def watching(definition: ServerDefinition, files: FileWatch) -> ServerDefinition:
    return definition.model_copy(update={"watch": files})


def count_files(definition: ServerDefinition) -> int:
    """Count the files that a definition watches; more than `MOST_FILES` are not counted further.

    Blocks: call it in a thread.
    """
    found, seen = watched(definition), 0
    files, counts = set(found.files), InFolders(found.folders, definition.watch.patterns, UNEDITED)
    for folder in found.folders:
        for inside, folders, names in os.walk(folder):
            folders[:] = [each for each in folders if each not in UNEDITED]
            seen += len(folders) + len(names)
            paths = (os.path.join(inside, name) for name in names)  # noqa: PTH118  # many
            files.update(path for path in paths if counts.counts(path))
            if len(files) > MOST_FILES or seen > _MOST_NAMES:
                return MOST_FILES + 1
    return len(files)
