"""Writes the saved servers in the format of any known client, without secrets unless requested."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_progress_monitor import formatting
from mcp_progress_monitor.catalogue.catalogue import EXAMPLE, CatalogueEntry, written_entry
from mcp_progress_monitor.catalogue.client_files import written_for
from mcp_progress_monitor.catalogue.clients import OURS, Syntax
from mcp_progress_monitor.catalogue.documents import (
    UneditableError,
    decoded,
    exclusive_lock,
    is_plain_json,
    json_text,
    read_bytes,
    read_json,
    read_toml,
    write_private,
)
from mcp_progress_monitor.catalogue.secrets import (
    bare_url,
    environment_names,
    in_environment_alone,
    without_secret_members,
    without_values,
)
from mcp_progress_monitor.catalogue.taps import wrapped_like
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.paths import default_data_dir
from mcp_progress_monitor.protocol.eras import as_object
from mcp_progress_monitor.snapshots.definitions import HttpDefinition

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mcp_progress_monitor.catalogue.clients import McpClient


class Written(NamedTuple):
    """A configuration, and descriptions of what could not be written.

    `kept` is a backup of the file, made if servers in it were replaced.
    """

    text: str
    left_out: tuple[str, ...] = ()
    kept: Path | None = None


def write_file(
    entries: Iterable[CatalogueEntry],
    client: McpClient,
    path: Path | None = None,
    *,
    with_secrets: bool = False,
) -> Written:
    """Format servers for a client; with `path`, write them there as well.

    Without secrets, values of variables and headers become references to environment variables,
    each listed in `left_out`. Everything else in an existing file is kept: other servers, settings,
    and in TOML also comments and order. Before servers of the same names are replaced, the file is
    copied, since it may have values that exist nowhere else.

    Raises:
        UserError: the file cannot be written, or has content that would be lost.
    """
    document, left_out = _document(list(entries), client, with_secrets=with_secrets)
    merged = _merged_toml if client.is_toml else _merged_json
    if path is None:
        return Written(merged("", "", document, client).text, tuple(left_out))
    with lock_of_clients():
        try:
            content = read_bytes(path)
        except FileNotFoundError:
            content = b""
        text, is_replaced = merged(decoded(content, path), str(path), document, client)
        kept = free_beside(path) if is_replaced else None
        if kept is not None:
            write_private(kept, content)
        write_private(path, text.encode())
    return Written(text, tuple(left_out), kept)


def _document(
    entries: list[CatalogueEntry], client: McpClient, *, with_secrets: bool
) -> tuple[dict[str, Any], list[str]]:
    servers: dict[str, Any] = {}
    left_out: list[str] = []
    disabled: list[str] = []
    for entry in entries:
        reason = _unwritable(entry, client)
        if reason:
            left_out.append(f"{entry.name}: {reason}")
            continue
        kept = entry if client is OURS else _in_environment(entry, client, left_out)
        kept = kept if with_secrets else _bare(kept, client, left_out)
        written = written_entry(kept) if client is OURS else written_for(client, kept)
        if client is not OURS and entry.origin.startswith(client.title):
            written = {**kept.unknown, **written}
        servers[entry.name] = written
        left_out += _unexpanded(entry.name, written, client)
        disabled += [entry.name] if entry.is_disabled else []
    document: dict[str, Any] = {client.container: servers}
    if client.rules and disabled:
        document[client.rules] = {"excluded": disabled}
    return document, left_out


def _unwritable(entry: CatalogueEntry, client: McpClient) -> str:
    """Say why a client's file cannot contain a server; empty if it can."""
    if not client.has_urls and isinstance(entry.definition, HttpDefinition):
        return f"{client.title}'s file does not support servers with a URL"
    can_disable = client is OURS or client.rules or client.disabled is not None
    if entry.is_disabled and not can_disable:
        return f"it is disabled, which {client.title} does not support"
    return ""


def _in_environment(
    entry: CatalogueEntry, client: McpClient, left_out: list[str]
) -> CatalogueEntry:
    definition, variables = in_environment_alone(entry.definition)
    for variable, secret in variables.items():
        left_out.append(f"{entry.name}: {secret}{_to_set(variable, client)}")
    return dataclasses.replace(entry, definition=definition)


def _to_set(variable: str, client: McpClient) -> str:
    is_used = _expands_variables(client) or client.names_variables
    return f"; set {variable} in the environment" if is_used else ""


def _expands_variables(client: McpClient) -> bool:
    return client is OURS or client.syntax is not Syntax.NONE


def _unexpanded(name: str, written: dict[str, Any], client: McpClient) -> list[str]:
    """References that a client does not expand, so that the user has to insert the values."""
    if _expands_variables(client):
        return []
    return [
        f"{name}: {client.title} does not expand variables here; replace ${{env:{variable}}} "
        "with the value"
        for variable in sorted(environment_names(written))
    ]


def _bare(entry: CatalogueEntry, client: McpClient, left_out: list[str]) -> CatalogueEntry:
    """The entry without values; each removed value is added to `left_out`."""
    definition, variables = without_values(entry.definition)
    if isinstance(definition, HttpDefinition):
        url, removed = bare_url(definition.url)
        definition = definition.model_copy(update={"url": url})
        left_out += [f"{entry.name}: {part} of the URL" for part in removed]
    for variable, name in variables.items():
        left_out.append(f"{entry.name}: the value of {name}{_to_set(variable, client)}")
    unknown = without_secret_members(entry.unknown)
    return dataclasses.replace(entry, definition=definition, unknown=unknown)


class _Merged(NamedTuple):
    """The new content of a file, and whether it replaces one of its servers."""

    text: str
    is_replaced: bool


def _merged_json(text: str, where: str, document: dict[str, Any], client: McpClient) -> _Merged:
    if not text.strip():
        return _Merged(json_text(document), False)
    held, duplicates = read_json(text, where, EXAMPLE)
    if not isinstance(held, dict) or not is_plain_json(text):
        raise UserError(_kept(where, "Comments in it would be lost"))
    if duplicates:
        name = formatting.one_line(duplicates[0].name, 60)
        raise UserError(_kept(where, f"It contains {name!r} twice: one would be lost"))
    merged, is_replaced = _with_servers(held, document, client)
    if client.rules:
        merged = _excluding(merged, document[client.container], document, client.rules)
    return _Merged(json_text(merged), is_replaced)


def _merged_toml(text: str, where: str, document: dict[str, Any], client: McpClient) -> _Merged:
    from mcp_progress_monitor.catalogue.toml_editing import toml_value, with_entries

    document = toml_value(document)
    wanted, is_replaced = _with_servers(_read_toml(text, where), document, client)
    try:
        written = with_entries(text, client.container, document[client.container])
        is_right = _read_toml(written, where) == wanted
    except (UneditableError, UserError):
        is_right = False
    if not is_right:
        reason = f"Its table {client.container!r} is written in a form that cannot be edited"
        raise UserError(_kept(where, reason))
    return _Merged(written, is_replaced)


def _read_toml(text: str, where: str) -> dict[str, Any]:
    held: dict[str, Any] = read_toml(text, where, "Fix the file, or write to another one.").value
    return held


def _with_servers(
    held: dict[str, Any], document: dict[str, Any], client: McpClient
) -> tuple[dict[str, Any], bool]:
    """A configuration with our servers added, and whether that replaces one of its own.

    Servers that are tapped there stay tapped, in `document` as well.
    """
    servers = held.get(client.container)
    inside = servers if isinstance(servers, dict) else {}
    written = document[client.container]
    ours = {name: wrapped_like(inside.get(name), written[name]) for name in written}
    document[client.container] = ours
    merged = {**held, client.container: {**inside, **ours}}
    return merged, any(name in inside and inside[name] != ours[name] for name in ours)


def lock_of_clients() -> contextlib.AbstractContextManager[None]:
    """Keep other instances of this program from changing clients' files.

    The lock is in the user's own folder: beside a client's file it would stay there.
    """
    return exclusive_lock(default_data_dir() / "clients", "clients' configuration files")


def free_beside(path: Path) -> Path:
    """An unused path for a backup; the first backup has what the user wrote."""
    kept, number = path.with_name(f"{path.name}.before"), 2
    while path_kind(kept) is not PathKind.NOTHING:
        kept = path.with_name(f"{path.name}.before-{number}")
        number += 1
    return kept


def latest_beside(path: Path) -> Path:
    """The newest backup that `free_beside` has named; the first name if there is none."""
    kept, number = path.with_name(f"{path.name}.before"), 2
    while path_kind(later := path.with_name(f"{path.name}.before-{number}")) is PathKind.FILE:
        kept, number = later, number + 1
    return kept


def _excluding(
    held: dict[str, Any], ours: Mapping[str, Any], document: Mapping[str, Any], member: str
) -> dict[str, Any]:
    """Update the list of excluded servers in the rules: of `ours`, exactly the disabled ones."""
    rules = as_object(held.get(member))
    named = rules.get("excluded")
    others = [name for name in named if name not in ours] if isinstance(named, list) else []
    excluded = [*others, *document.get(member, {}).get("excluded", ())]
    return {**held, member: {**rules, "excluded": excluded}} if excluded or named else held


def _kept(where: str, reason: str) -> ErrorDetails:
    hint = "Write to another file and copy the servers from it."
    return ErrorDetails("The file already exists and is not overwritten", where, hint, reason)
