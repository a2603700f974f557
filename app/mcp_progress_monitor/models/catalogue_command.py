"""Command lines as they are typed, and what a server may be called."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.models.json_input import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

_RUNNERS: Final = {"python", "pythonw", "py", "node", "npx", "uvx", "uv", "bun", "bunx", "deno"}
"""Programs that run what is named after them, which is a better name."""


def split_command(line: str) -> list[str]:
    """The words of a command line, quoted as in a shell (on Windows: backslashes stay).

    Raises:
        InputError: the line is empty or a quote is not closed.
    """
    try:
        words = shlex.split(line, posix=os.name == "posix")
    except ValueError as error:
        raise InputError(_tr("This command line cannot be read: {}").format(error)) from error
    if os.name != "posix":
        words = [word.strip('"') for word in words]
    if not words or not words[0]:
        raise InputError(_tr("Enter the command that starts the server."))
    return words


def joined_command(words: Iterable[str]) -> str:
    """A command line that `split_command` reads as `words`."""
    if os.name == "posix":
        return shlex.join(words)
    return " ".join(f'"{word}"' if not word or " " in word else word for word in words)


def usual_name(line: str, url: str, *, is_url: bool) -> str:
    """What a server is called that was given no name; empty while that cannot be said."""
    if is_url:
        return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
    try:
        words = split_command(line)
    except InputError:
        return ""
    program = Path(words[0]).stem
    if program.rstrip("0123456789.") in _RUNNERS:
        return next(filter(None, map(_said, words[1:])), program)
    return program


def _said(word: str) -> str:
    """`my_server` of `my_server`, `server-files` of `@scope/server-files@2`; none of options."""
    if word.startswith("-") or word in {"run", "x", "tool"}:
        return ""
    package = word.rpartition("@")[0] or word
    return Path(package).stem


def _tr(words: str) -> str:
    return QCoreApplication.translate("Catalogue", words)
