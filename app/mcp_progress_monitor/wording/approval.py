"""Text of what a server would run or contact, to approve.

A variable's value is shown only if it decides what runs. Of other variables, and of headers, the
name and the source of the value are shown.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.catalogue.trust import (
    has_user,
    passed_values,
    referenced_in_arguments,
    with_visible_gaps,
)
from mcp_progress_monitor.errors import ErrorDetails
from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.secrets.references import names_in
from mcp_progress_monitor.snapshots.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.catalogue.trust import EarlierApproval, PassedValue
    from mcp_progress_monitor.snapshots.definitions import HttpDefinition, ServerDefinition

STARTED_IN: Final = "the folder this program was started in"
CHANGED: Final = "Changed since you approved it"
CHANGED_BEFORE: Final = "You approved a different definition of this server before."
OTHER_DEFINITION: Final = "a different definition"
PROMISE: Final = "An approval holds until the definition changes."
_TRANSPORTS: Final = {"http": "Streamable HTTP", "sse": "HTTP with SSE (2024-11-05)"}
_KINDS: Final = {
    "env": "{} of the environment",
    "keyring": "{} of the keyring",
    "ask": "{}, asked for at each connection",
}
_NAME: Final = 100


def question(definition: ServerDefinition, source: str) -> str:
    """The question asked before a server first runs; `source` is where it is defined."""
    verb = "Run" if definition.transport == "stdio" else "Connect to"
    return f"{verb} this server? It is defined in {source}."


def rows(definition: ServerDefinition) -> dict[str, str]:
    """Labels with values, the name first.

    Values may contain any characters: make control characters and gaps visible to show them.
    """
    if isinstance(definition, StdioDefinition):
        return _command_rows(definition)
    return _url_rows(definition)


def lines(definition: ServerDefinition, earlier: EarlierApproval | None = None) -> list[str]:
    """The rows except the name, aligned for a terminal; first what changed since an approval."""
    shown = list(rows(definition).items())[1:]
    if earlier is not None and earlier.changes:
        shown.insert(0, ("Changed", ", ".join(earlier.changes)))
    width = max(len(label) for label, _ in shown) + 1
    found = [f"{label + ':':{width}} {with_visible_gaps(value)}" for label, value in shown]
    return found if earlier is None else [CHANGED_BEFORE, *found]


def not_approved(name: str, hint: str, where: str = "", detail: str = "") -> ErrorDetails:
    """The error that a server is not approved; `hint` says where to approve it."""
    place = ", ".join(filter(None, (one_line(name, _NAME), where)))
    what = "You have not approved this server, so nothing was run"
    return ErrorDetails(what, place, hint, detail)


def differs_in_values(one: ServerDefinition, other: ServerDefinition) -> bool:
    """Return whether both set a variable or header, to different values."""
    mine, theirs = _values(one), _values(other)
    return any(mine[name] != theirs[name] for name in mine.keys() & theirs.keys())


def _values(definition: ServerDefinition) -> Mapping[str, str]:
    return definition.env if isinstance(definition, StdioDefinition) else definition.headers


def _command_rows(definition: StdioDefinition) -> dict[str, str]:
    sources = _sources(referenced_in_arguments(definition))
    folder = definition.deciding_folder or definition.cwd
    read = {"Values read by arguments": f"{sources}, read at each start"} if sources else {}
    return {
        "Name": definition.name,
        "Command": shlex.join([definition.command, *definition.args]),
        "Folder": folder or STARTED_IN,
        "Variables": _names(definition),
        **read,
        "Protocol": definition.era,
    }


def _url_rows(definition: HttpDefinition) -> dict[str, str]:
    user = "(with a user name and password)" if has_user(definition.url) else ""
    return {
        "Name": definition.name,
        "URL": " ".join(filter(None, [definition.address, user])),
        "Transport": _TRANSPORTS[definition.transport],
        "Headers": _names(definition),
        "Sign-in": _sign_in(definition),
        "Protocol": definition.era,
    }


def _sign_in(definition: HttpDefinition) -> str:
    if definition.auth != "oauth":
        return "none"
    client = definition.oauth
    secret = _sources(tuple(names_in(client.client_secret or ""))) or "a secret that is not shown"
    parts = (
        "OAuth, in the browser",
        f"as {client.client_id}" if client.client_id else "",
        f"with {secret}" if client.client_secret else "",
        f"for {client.scope}" if client.scope else "",
    )
    return ", ".join(filter(None, parts))


def _names(definition: ServerDefinition) -> str:
    return ", ".join(map(_name, passed_values(definition))) or "none"


def _name(given: PassedValue) -> str:
    """A name, with the value or the source of the value that would be passed on."""
    if given.value is not None:
        return f"{given.name}={shlex.quote(given.value)}"
    sources = _sources(given.references)
    return f"{given.name} (from {sources})" if sources else given.name


def _sources(references: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(_KINDS[kind].format(name) for kind, name in references)
