"""Other clients' configurations as text: servers to import, and taps with the next steps."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor.catalogue.reading import ImportStatus
from mcp_progress_monitor.catalogue.secrets import secrets_of
from mcp_progress_monitor.formatting import clock, elide, one_line, visible
from mcp_progress_monitor.protocol.secrets import shown_arguments
from mcp_progress_monitor.snapshots.definitions import HttpDefinition
from mcp_progress_monitor.wording.approval import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.catalogue.catalogue import CatalogueEntry
    from mcp_progress_monitor.catalogue.client_servers import ClientRow
    from mcp_progress_monitor.catalogue.clients import McpClient
    from mcp_progress_monitor.catalogue.reading import FoundServer, ImportRow
    from mcp_progress_monitor.catalogue.tap_install import ClientServer, FileChange
    from mcp_progress_monitor.catalogue.variables import Input
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_LONGEST: Final = 10_000  # characters of one value; the rest is replaced by an ellipsis


class SecretsAs(enum.Enum):
    """Where to save secret inputs and values that look like secrets."""

    KEYRING = "keyring"
    ASK = "ask"
    VARIABLES = "variables"
    TEXT = "text"


class RequiredInput(NamedTuple):
    """A required input, and the servers that need it."""

    input: Input
    servers: tuple[str, ...]


STATUS_TEXTS: Final = {
    ImportStatus.NEW: "new",
    ImportStatus.CHANGED: "changed",
    ImportStatus.SAME: "already here",
    ImportStatus.UNUSABLE: "cannot be used",
}
SECRETS_TEXTS: Final = {
    SecretsAs.KEYRING: "in the system keyring",
    SecretsAs.ASK: "nowhere: ask at each connection, keep in memory",
    SecretsAs.VARIABLES: "in environment variables that you set yourself",
    SecretsAs.TEXT: "as text, readable in the catalogue file",
}


def found_name(row: ImportRow) -> str:
    return row.found.definition.name if row.found is not None else row.name


def address_or_error(row: ImportRow) -> str:
    """The command or URL of a server, or why it cannot be used."""
    if row.found is None:
        return "" if row.error is None else row.error.what
    return row.found.definition.address


def contains_secrets(row: ImportRow) -> bool:
    """Return whether a server has or requires values that should not be stored as plain text."""
    if row.found is None:
        return False
    return any(ask.is_secret for ask in row.found.asks) or bool(secrets_of(row.found.definition))


def detail_lines(row: ImportRow, saved: Mapping[str, CatalogueEntry]) -> list[str]:
    """Details of a server before it is imported, without values of variables."""
    if row.found is None:
        text = "" if row.error is None else row.error.as_text()
        return [visible(elide(text, _LONGEST), keep_line_ends=True)]
    return list(_details(row, row.found, saved.get(row.name)))


def required_inputs(rows: Iterable[ImportRow]) -> list[RequiredInput]:
    """The inputs that the servers of a file require, each once."""
    inputs: dict[str, Input] = {}
    servers: dict[str, list[str]] = {}
    for row in rows:
        for each in row.found.asks if row.found is not None else ():
            inputs.setdefault(each.id, each)
            servers.setdefault(each.id, []).append(found_name(row))
    return [RequiredInput(each, tuple(servers[each.id])) for each in inputs.values()]


def error_lines(errors: Iterable[ErrorDetails]) -> str:
    """The errors in a file, with their positions and lines."""
    return "\n".join(visible(elide(p.as_text(), 2000), keep_line_ends=True) for p in errors)


def _details(row: ImportRow, found: FoundServer, held: CatalogueEntry | None) -> Iterator[str]:
    yield from _compared(found, held)
    if row.changes:
        yield "Changed: {}".format(_shown(", ".join(row.changes)))
    if row.name != found_name(row):
        yield f"Saved as: {_shown(row.name)}"
    if found.is_disabled:
        yield "Disabled in the file: imported as disabled"
    secrets = ", ".join(secrets_of(found.definition))
    if secrets:
        yield f"Contains secrets: {_shown(secrets)}"
    for note in found.notes:
        yield f"Note: {_shown(note)}"
    for each in found.asks:
        yield f"Requires: {_shown(each.description or each.id)}"


def _compared(found: FoundServer, held: CatalogueEntry | None) -> Iterator[str]:
    """The server's properties, beside the saved ones where they differ, except for its name."""
    before = {} if held is None else rows(_bare(held.definition))
    for label, text in rows(_bare(found.definition)).items():
        old = before.get(label, text)
        if old == text or label == next(iter(before)):
            yield f"{label}: {_shown(text)}"
        else:
            yield f"{label}:"
            yield "    " + f"saved:   {_shown(old)}"
            yield "    " + f"in file: {_shown(text)}"


def _bare(definition: ServerDefinition) -> ServerDefinition:
    """The server without secrets in its arguments, which are shown in full before it first runs."""
    if definition.transport != "stdio":
        return definition
    return definition.model_copy(update={"args": shown_arguments(definition.args)})


def _shown(text: str) -> str:
    return visible(elide(text, _LONGEST))


_NAME: Final = 60
_NAMES: Final = 10  # servers that are named; more are counted
RECORDING_IS_OFF: Final = (
    "Recording is turned off: watched sessions pass through unrecorded, and the window does not"
    " show them. Turn it on in Settings, under Recordings."
)


def next_step(client: McpClient) -> str:
    """Say how to make a client use its changed configuration."""
    return client.next_step or f"Restart {client.title}."


def added_text(name: str, client: McpClient, path: Path, kept: Path | None) -> str:
    """Say where the entry `name` was added, and what to do next."""
    backup = "" if kept is None else f" The file as it was: {visible(str(kept))}"
    return f"Added {name} to {visible(str(path))}.{backup}\n{next_step(client)}"


def next_steps(changes: Iterable[FileChange]) -> list[str]:
    """The next steps after changes, one per client."""
    return list(dict.fromkeys(next_step(change.client) for change in changes))


def server_title(server: ClientServer) -> str:
    """A server's name, with the project that it belongs to."""
    name = one_line(server.name, _NAME)
    return name if server.project is None else f"{name} ({one_line(str(server.project), _NAME)})"


def state_text(server: ClientServer, live: Sequence[float] = ()) -> str:
    """Say whether a server is watched and since when, or why it cannot be."""
    if server.tap is None:
        return f"cannot be watched: {server.why_not}" if server.why_not else "not watched"
    if not server.tap.is_there:
        return f"program not found: {visible(server.tap.program)}; the server runs unwatched"
    watched = "watched with requested progress" if server.tap.requests_progress else "watched"
    if not live:
        return f"{watched}, not running"
    number = f"{len(live)} running" if live[1:] else "running"
    return f"{watched}, {number} since {clock(min(live))[:8]}"


def has_url(row: ClientRow) -> bool:
    """Return whether a tap can stand between a client and this server's URL."""
    found = row.found.found
    return (
        row.tap is not None
        and found is not None
        and isinstance(found.definition, HttpDefinition)
        and found.definition.auth != "oauth"
        and not found.asks
    )


def url_state_text(address: str | None) -> str:
    """The state of a URL's tap: it has no `address` yet while it starts, None if there is none."""
    if address is None:
        return "not watched"
    return "watched" if address else "starting…"


def address_text(client: McpClient, address: str) -> str:
    """Say what to do with the address of a server's tap; without one, that none runs."""
    if address:
        return (
            f"Give {client.title} this address in place of the server's: {address} (it works while"
            " this window is open; then give the client the server's own address again)"
        )
    return "No tap runs for this server. Tick it to get an address for the client."


def shared_hint(server: ClientServer) -> str:
    """Advise about a server in a project's file, which taps leave unchanged."""
    where = server.client.own_file or f"your own configuration of {server.client.title}"
    return (
        f"{visible(str(server.path))} may be shared with others, so the path of a program on this"
        f" computer is not written there. Copy the server to {where}, and watch it there."
    )


def done_text(change: FileChange, kept: Path | None, *, by_command: bool) -> str:
    """Say what was changed, the path of the backup, and the next step."""
    title = change.client.title
    lines = [
        f"{done} in {title}: {_names(servers)}."
        for done, servers in (
            ("Watched from now on", change.watched),
            ("No longer watched", change.released),
        )
        if servers
    ]
    if by_command:
        lines.append("Changed by claude mcp, because Claude Code is running.")
    if kept is not None:
        lines.append(f"Backup of the file: {visible(str(kept))}")
    return "\n".join([*lines, next_step(change.client)])


def _names(servers: Sequence[ClientServer]) -> str:
    names = ", ".join(map(server_title, servers[:_NAMES]))
    more = len(servers) - _NAMES
    return f"{names} and {more} more" if more > 0 else names


def refusal_text(server: ClientServer) -> str:
    """Say why a server is skipped, and what to do about it."""
    hint = shared_hint(server) if server.is_shared else f"{server.why_not}."
    return f"{server_title(server)}: {hint}"
