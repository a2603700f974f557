"""Why a server cannot be started, explained."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.path_checks import PathKind, here, is_closed, is_file, path_kind
from mcp_progress_monitor.sessions.transport import base

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.snapshots.definitions import StdioDefinition


def folder_error(definition: StdioDefinition) -> ErrorDetails | None:
    """The error of the working folder; None if it can be used."""
    if definition.cwd is None:
        return None
    seen = path_kind(definition.cwd)
    if seen is not PathKind.FOLDER:
        what = f"The working folder {seen.value}"
    elif is_closed(definition.cwd):
        what = "No permission to access the working folder"
    else:
        return None
    return ErrorDetails(what, definition.cwd, "Check the folder in the server's definition.")


def start_error(
    definition: StdioDefinition, environment: Mapping[str, str], error: OSError
) -> ErrorDetails:
    """The operating system's refusal to start `definition`'s command, explained."""
    command = definition.command
    path = Path(here() or "", definition.cwd or "", command)
    is_path = os.sep in command or bool(os.altsep and os.altsep in command)
    if isinstance(error, FileNotFoundError) and is_path and is_file(path):
        return _missing_interpreter(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _not_found(command, path if is_path else None, environment)
    if isinstance(error, PermissionError):
        return _not_executable(command, path)
    if error.errno == errno.ENOEXEC:
        hint = (
            "Use its interpreter as the command, or give it a first line such as "
            "#!/usr/bin/env python3."
        )
        return ErrorDetails("Cannot start the server: the file is not a program", command, hint)
    return base.open_files_error(error, command) or ErrorDetails(
        "Cannot start the server", command, "Try it in a terminal.", error.strerror or ""
    )


def _missing_interpreter(path: Path) -> ErrorDetails:
    with path.open("rb") as script:
        first = script.readline(200).decode(errors="replace").strip()
    hint = "Install the interpreter named in its first line, or fix that line."
    return ErrorDetails(
        "Cannot start the server: the script's interpreter does not exist", str(path), hint, first
    )


def _not_found(command: str, path: Path | None, environment: Mapping[str, str]) -> ErrorDetails:
    if path is not None:
        near = _close(path.name, _names(path.parent))
        return ErrorDetails(
            "Cannot start the server: file not found", str(path), _advice(near, "Check the path.")
        )
    search_path = environment.get("PATH", "")
    names = {name for folder in os.get_exec_path(environment) for name in _names(Path(folder))}
    advice = "Install it, or use its full path."
    return ErrorDetails(
        "Cannot start the server: command not found",
        command,
        _advice(_close(command, names), advice),
        f"Searched PATH: {search_path}",
    )


def _not_executable(command: str, path: Path) -> ErrorDetails:
    seen = path_kind(path)
    if seen is PathKind.FOLDER:
        return ErrorDetails(
            "Cannot start the server: the command is a folder",
            str(path),
            "Choose a program inside it.",
        )
    if seen is PathKind.HIDDEN:
        hint = "Check the path, and the permissions of its folders."
        return ErrorDetails(f"Cannot start the server: the command {seen.value}", str(path), hint)
    hint = f"Make it executable (chmod +x {command}), or start it with its interpreter."
    return ErrorDetails("Cannot start the server: the file is not executable", command, hint)


def _names(folder: Path) -> Iterator[str]:
    try:
        yield from os.listdir(folder)  # noqa: PTH208  # names, thousands of them: no Path each
    except OSError:
        return


def _close(name: str, names: Iterator[str] | set[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, list(names), n=3, cutoff=0.75)


def _advice(near: list[str], otherwise: str) -> str:
    return f"Did you mean {' or '.join(near)}? {otherwise}" if near else otherwise
