"""A server in words for a terminal: what would run, or be asked, before anybody agrees to it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from mcp_progress_monitor.catalogue.handed_on import handed_on, has_user, taken_in, without_gaps
from mcp_progress_monitor.catalogue.secrets import bare_url, replaced
from mcp_progress_monitor.protocol.secret_names import is_secret_setting
from mcp_progress_monitor.sessions.definitions import StdioDefinition
from mcp_progress_monitor.sessions.references import names_in

if TYPE_CHECKING:
    from mcp_progress_monitor.catalogue.consent_parts import Earlier
    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.catalogue.handed_on import HandedOn
    from mcp_progress_monitor.sessions.definitions import HttpDefinition, ServerDefinition

_HIDDEN = "(hidden)"


def consent_lines(definition: ServerDefinition) -> list[str]:
    """Exactly what would run, or be asked; of variables and headers the names, and references.

    Values stand with those variables that have a say in what runs. The lines may hold anything:
    make what cannot be seen visible to show them.
    """
    return [without_gaps(line) for line in _consent_lines(definition)]


def earlier_lines(earlier: Earlier | None) -> list[str]:
    """That a definition is a change of what was agreed to before, and of which parts."""
    if earlier is None:
        return []
    changes = ", ".join(map(without_gaps, earlier.changes))
    said = f"changed:   {changes}" if changes else ""
    return list(filter(None, ["You agreed to another definition of this name before.", said]))


def _consent_lines(definition: ServerDefinition) -> list[str]:
    given = ", ".join(map(_name, handed_on(definition))) or "none"
    if isinstance(definition, StdioDefinition):
        sources = _sources(taken_in(definition))
        return [
            f"command:   {shlex.join([definition.command, *definition.args])}",
            f"folder:    {_folder(definition)}",
            f"variables: {given}",
            *([f"takes in:  {sources}, as it is at each start"] if sources else []),
        ]
    user = " (with a user's name and password)" if has_user(definition.url) else ""
    return [
        f"URL:       {definition.address}{user}",
        f"headers:   {given}",
        f"signs in:  {_signing_in(definition)}",
    ]


def _folder(definition: StdioDefinition) -> str:
    return definition.deciding_folder or definition.cwd or "where this program is started"


def _signing_in(definition: HttpDefinition) -> str:
    if definition.auth != "oauth":
        return "no"
    client = definition.oauth
    words = [
        "in the browser, when asked to",
        f"as {client.client_id}" if client.client_id else "",
        f"with {_secret(client.client_secret)}" if client.client_secret else "",
        f"for {client.scope}" if client.scope else "",
    ]
    return ", ".join(filter(None, words))


def _secret(value: str) -> str:
    """What an authorization server is handed as the client's secret."""
    return _sources(tuple(names_in(value))) or "a secret of the file"


def address(definition: ServerDefinition) -> str:
    """The command or the URL on one line, without the secrets that its options name."""
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return shlex.join([definition.command, *getattr(shown, "args", ())])
    return bare_url(definition.url)[0]


def document(entry: CatalogueEntry, *, is_trusted: bool) -> dict[str, Any]:
    """A saved server as JSON: everything but values."""
    definition = entry.definition
    return {
        "name": entry.name,
        "transport": definition.transport,
        **_reached(definition),
        "era": definition.era,
        "disabled": entry.is_disabled,
        "connectAtStart": entry.connects_at_start,
        "trusted": is_trusted,
        "origin": entry.origin or None,
    }


def _reached(definition: ServerDefinition) -> dict[str, Any]:
    if isinstance(definition, StdioDefinition):
        shown = replaced(definition, _hide, is_secret_setting)
        return {
            "command": definition.command,
            "args": list(getattr(shown, "args", ())),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
        }
    return _of_url(definition)


def _of_url(definition: HttpDefinition) -> dict[str, Any]:
    return {
        "url": bare_url(definition.url)[0],
        "headers": sorted(definition.headers),
        "auth": definition.auth,
    }


def _hide(_name: str, _value: str) -> str:
    return _HIDDEN


def _name(given: HandedOn) -> str:
    """A name, with what its value refers to: a secret of the user's that would be handed on."""
    if given.value is not None:
        return f"{given.name}={shlex.quote(given.value)}"
    sources = _sources(given.references)
    return f"{given.name} (from {sources})" if sources else given.name


def _sources(references: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(
        f"{name} of the {'environment' if kind == 'env' else 'keyring'}"
        for kind, name in references
    )
