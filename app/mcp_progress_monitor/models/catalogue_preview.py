"""What a definition does when it is connected, word by word: shown while it is entered."""

from __future__ import annotations

import os
import shutil
import urllib.parse
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.models.catalogue_values import ValueKind, entered
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.text import elide, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_progress_monitor.sessions.definitions import HttpDefinition, ServerDefinition

_LONGEST: Final = 4000
"""Characters of one value; what is left out is told by an ellipsis."""
_HIDDEN: Final = "••••••"
_LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}


def preview_lines(definition: ServerDefinition, *, shows_values: bool = False) -> list[str]:
    """What is run or asked, a thing a line, in plain text; values are masked unless shown."""
    if isinstance(definition, StdioDefinition):
        return list(_of_command(definition, shows_values=shows_values))
    return list(_of_url(definition, shows_values=shows_values))


def _of_command(definition: StdioDefinition, *, shows_values: bool) -> Iterator[str]:
    yield _tr("Runs      {}").format(_shown(definition.command)) + _found(definition)
    for number, word in enumerate(definition.args, 1):
        yield _tr("  word {}  {}").format(number, _shown(word) or _tr("(empty)"))
    yield _tr("in        {}").format(
        _shown(definition.cwd) if definition.cwd else _tr("the folder this program was started in")
    )
    yield from _values(_tr("sets      "), definition.env, " = ", shows_values=shows_values)


def _found(definition: StdioDefinition) -> str:
    """Where the program is found, as far as that can be said without running it."""
    command = definition.command
    found = shutil.which(command, path=definition.env.get("PATH"))
    if os.path.dirname(command):  # noqa: PTH120  # "./x" has one, which Path forgets
        return ""
    if found is None:
        return "   " + _tr("(not found on PATH)")
    return "" if found == command else "   " + _tr("(found: {})").format(_shown(found))


def _of_url(definition: HttpDefinition, *, shows_values: bool) -> Iterator[str]:
    method = "GET " if definition.transport == "sse" else "POST"
    yield _tr("Asks      {method} {url}").format(method=method, url=_shown(definition.address))
    yield from _values(_tr("sends     "), definition.headers, ": ", shows_values=shows_values)
    if definition.auth == "oauth":
        yield _tr("signs in  with OAuth, in your browser, when the server asks for it")
    parts = urllib.parse.urlsplit(definition.url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        yield _tr("Note      http:// is not encrypted: others on the way can read all of it.")


def _values(
    label: str, values: Mapping[str, str], between: str, *, shows_values: bool
) -> Iterator[str]:
    for name, written in values.items():
        yield label + _shown(name) + between + _value(name, written, shows_values=shows_values)
        label = " " * len(label)


def _value(name: str, written: str, *, shows_values: bool) -> str:
    """A value; where it is a reference, what it refers to."""
    value = entered(name, written)
    scheme = visible(value.scheme)
    if value.kind is ValueKind.ENVIRONMENT:
        return scheme + _tr("(variable {} of your environment)").format(_shown(value.value))
    if value.kind is ValueKind.KEYRING:
        return scheme + _tr("(from the keyring: {})").format(_shown(value.value))
    if not value.value:
        return scheme + _tr("(empty)")
    return scheme + (_shown(value.value) if shows_values else _HIDDEN)


def _shown(words: str) -> str:
    return elide(visible(words), _LONGEST)


def _tr(words: str) -> str:
    return QCoreApplication.translate("Catalogue", words)
