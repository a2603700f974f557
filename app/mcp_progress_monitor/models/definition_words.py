"""A server's definition in words: what would run, or be reached, before the user agrees to it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.catalogue.handed_on import handed_on, has_user, taken_in
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.sessions.references import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.catalogue.handed_on import HandedOn
    from mcp_progress_monitor.sessions.definitions import HttpDefinition, ServerDefinition

_CONTEXT: Final = "Servers"


def words_of(definition: ServerDefinition) -> dict[str, str]:
    """Labels and what they are for one definition; of variables and headers names and references.

    Values stand with those variables that have a say in what runs. Servers' and files' words stand
    as they came: make control characters visible to show them.
    """
    if isinstance(definition, StdioDefinition):
        return _of_command(definition)
    return _of_url(definition)


def differs_in_values(one: ServerDefinition, other: ServerDefinition) -> bool:
    """Whether a variable, or a header, that both set has two values."""
    mine, theirs = _values(one), _values(other)
    return any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def _values(definition: ServerDefinition) -> Mapping[str, str]:
    return definition.env if isinstance(definition, StdioDefinition) else definition.headers


def _of_command(definition: StdioDefinition) -> dict[str, str]:
    sources = _sources(taken_in(definition))
    words = _tr("{}, as it is at each start").format(sources) if sources else _tr("nothing")
    return {
        _tr("Name"): definition.name,
        _tr("Command"): shlex.join([definition.command, *definition.args]),
        _tr("Folder"): _folder(definition),
        _tr("Sets variables"): _names(definition),
        _tr("Arguments take in"): words,
        _tr("Protocol"): definition.era,
    }


def _folder(definition: StdioDefinition) -> str:
    folder = definition.deciding_folder or definition.cwd
    return folder or _tr("where this program was started")


def _of_url(definition: HttpDefinition) -> dict[str, str]:
    kinds = {"http": _tr("Streamable HTTP"), "sse": _tr("HTTP with SSE (2024-11-05)")}
    user = _tr("(with a user's name and password)") if has_user(definition.url) else ""
    return {
        _tr("Name"): definition.name,
        _tr("URL"): " ".join(filter(None, [definition.address, user])),
        _tr("Transport"): kinds[definition.transport],
        _tr("Sends headers"): _names(definition),
        _tr("Signs in"): _signing_in(definition),
        _tr("Protocol"): definition.era,
    }


def _signing_in(definition: HttpDefinition) -> str:
    if definition.auth != "oauth":
        return _tr("no")
    client = definition.oauth
    words = [
        _tr("with OAuth, in the browser"),
        _tr("as {}").format(client.client_id) if client.client_id else "",
        _tr("with {}").format(_secret(client.client_secret)) if client.client_secret else "",
        _tr("for {}").format(client.scope) if client.scope else "",
    ]
    return ", ".join(filter(None, words))


def _secret(value: str) -> str:
    """What an authorization server is handed as the client's secret."""
    return _sources(tuple(names_in(value))) or _tr("a secret of its own")


def _names(definition: ServerDefinition) -> str:
    return ", ".join(map(_name, handed_on(definition))) or _tr("none")


def _name(given: HandedOn) -> str:
    """A name, with what its value refers to: a secret of the user's that would be handed on."""
    if given.value is not None:
        return f"{given.name}={shlex.quote(given.value)}"
    sources = _sources(given.references)
    return _tr("{} (from {})").format(given.name, sources) if sources else given.name


def _sources(references: tuple[tuple[str, str], ...]) -> str:
    of = {"env": _tr("{} of the environment"), "keyring": _tr("{} of the keyring")}
    return _tr(" and ").join(of[kind].format(name) for kind, name in references)


def _tr(words: str) -> str:
    return QCoreApplication.translate(_CONTEXT, words)
