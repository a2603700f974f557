"""Why a command could not be started, in words, with what to try."""

from __future__ import annotations

import difflib
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_progress_monitor.looking import Sight, here, is_closed, is_file, sight_of
from mcp_progress_monitor.problem import Problem
from mcp_progress_monitor.sessions import open_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.sessions.definitions import StdioDefinition


def folder_problem(definition: StdioDefinition) -> Problem | None:
    """What is wrong with the folder to start in, None when nothing is."""
    if definition.cwd is None:
        return None
    seen = sight_of(definition.cwd)
    if seen is not Sight.FOLDER:
        what = f"The folder to start the server in {seen.value}"
    elif is_closed(definition.cwd):
        what = "The folder to start the server in may not be entered"
    else:
        return None
    return Problem(what, definition.cwd, "Check the folder in the server's definition.")


def start_problem(
    definition: StdioDefinition, environment: Mapping[str, str], error: OSError
) -> Problem:
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
        hint = "Name its interpreter, or give it a first line such as #!/usr/bin/env python3."
        return Problem("The file is no program", command, hint)
    return open_files.problem(error, command) or Problem(
        "The command cannot be started", command, "Try it in a terminal.", error.strerror or ""
    )


def _missing_interpreter(path: Path) -> Problem:
    with path.open("rb") as script:
        first = script.readline(200).decode(errors="replace").strip()
    hint = "Install the interpreter that its first line names, or correct that line."
    return Problem("The script's interpreter does not exist", str(path), hint, first)


def _not_found(command: str, path: Path | None, environment: Mapping[str, str]) -> Problem:
    if path is not None:
        near = _close(path.name, _names(path.parent))
        return Problem("There is no such file", str(path), _advice(near, "Check the path."))
    search_path = environment.get("PATH", "")
    names = {name for folder in os.get_exec_path(environment) for name in _names(Path(folder))}
    advice = "Install it, or give its whole path."
    return Problem(
        "The command was not found",
        command,
        _advice(_close(command, names), advice),
        f"Looked in PATH: {search_path}",
    )


def _not_executable(command: str, path: Path) -> Problem:
    seen = sight_of(path)
    if seen is Sight.FOLDER:
        return Problem("The command is a folder", str(path), "Name a program inside it.")
    if seen is Sight.HIDDEN:
        hint = "Check the path, or let yourself into the folders that it names."
        return Problem(f"The command {seen.value}", str(path), hint)
    hint = f"Make it executable (chmod +x {command}), or start it with its interpreter."
    return Problem("The file may not be executed", command, hint)


def _names(folder: Path) -> Iterator[str]:
    try:
        yield from os.listdir(folder)  # noqa: PTH208  # names, thousands of them: no Path each
    except OSError:
        return


def _close(name: str, names: Iterator[str] | set[str]) -> list[str]:
    return difflib.get_close_matches(name, list(names), n=3, cutoff=0.75)


def _advice(near: list[str], otherwise: str) -> str:
    return f"Did you mean {' or '.join(near)}? {otherwise}" if near else otherwise
