"""A saved server: its definition and settings, and its format in our own file."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor import formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.snapshots.definitions import StdioDefinition, made_definition
from mcp_progress_monitor.snapshots.validated import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.snapshots.definitions import ServerDefinition


@dataclasses.dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One saved server.

    A disabled server is kept and shown, but never connected. `origin` describes where it was
    imported from, and is empty for one made here. `unknown` are members of its entry that this
    program does not use, and keeps.
    """

    definition: ServerDefinition
    is_disabled: bool = False
    connects_at_start: bool = False
    origin: str = ""
    unknown: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.definition.name


EXAMPLE: Final = (
    'Example configuration: {"mcpServers": {"files": {"command": "npx", "args": ["-y", '
    '"some-server"]}, "web": {"url": "https://example.com/mcp"}}}.'
)
TRANSPORTS: Final = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
"""Clients' names of transports, in lower case, and ours."""
LONGEST: Final = 100_000
"""Characters of a command with its arguments and variables, or of a URL with its headers."""
_LONGEST_WORD: Final = 60


def place(where: str, name: str) -> str:
    """The place of an error in a server's entry."""
    return f"{where}, server {formatting.elide(name, _LONGEST_WORD)!r}"


def transport_of(entry: Mapping[str, Any], url: str, without_type: str) -> str:
    """The transport of an entry, from its `type` or else from its members.

    `url` is the URL that was found, or empty; `without_type` is its transport if it has no type.
    `UserError`, without a place, for an unknown type.
    """
    named = entry.get("type", entry.get("transportType", entry.get("transport")))
    if named is None:
        return without_type if url and "command" not in entry else "stdio"
    known = TRANSPORTS.get(named.lower()) if isinstance(named, str) else None
    if known is None:
        shown = formatting.one_line(str(named), _LONGEST_WORD)
        kinds = "stdio, http or sse"
        raise UserError(ErrorDetails(f"type: unknown transport {shown!r} (expected {kinds})"))
    return known


def definition_of(fields: Mapping[str, Any], where: str) -> ServerDefinition:
    """The definition with these fields; `UserError` for the first invalid one.

    A definition that is too large to review before approving it is rejected as well.
    """
    try:
        definition = made_definition(fields)
    except InvalidValueError as error:
        first = error.errors[0]
        field = formatting.one_line(".".join(first.place), _LONGEST_WORD) or "entry"
        raise UserError(ErrorDetails(f"{field}: {first.message}", where, EXAMPLE)) from error
    if _length(definition) > LONGEST:
        what = f"The definition is longer than {formatting.number(LONGEST)} characters"
        raise UserError(
            ErrorDetails(what, where, "Pass long values to the server in a file instead.")
        )
    return definition


def _length(definition: ServerDefinition) -> int:
    if isinstance(definition, StdioDefinition):
        parts, values = (definition.command, *definition.args), definition.env
    else:
        parts, values = (definition.url,), definition.headers
    return sum(map(len, parts)) + len(parts) + sum(map(len, (*values, *values.values())))


EXTRAS: Final = "mcpProgressMonitor"  # the member for settings that only this program has

_RESTART: Final = {
    "on": "is_on",
    "firstDelay": "first_delay_s",
    "maxDelay": "longest_delay_s",
    "limit": "limit",
    "stableAfter": "calm_s",
}
_RENAMED: Final = {"restart": {"longestDelay": "maxDelay", "calm": "stableAfter"}}
"""Names that earlier versions wrote, by group; read, and written with the new name."""
_WATCH: Final = {"on": "is_on", "paths": "paths", "patterns": "patterns"}
_OAUTH: Final = {"clientId": "client_id", "clientSecret": "client_secret", "scope": "scope"}
_PLAIN: Final = {
    "era": "era",
    "connectTimeout": "connect_timeout_s",
    "idleTimeout": "idle_timeout_s",
    "totalTimeout": "total_timeout_s",
    "pingInterval": "ping_interval_s",
    "auth": "auth",
}
_GROUPS: Final = {"restart": _RESTART, "watch": _WATCH, "oauth": _OAUTH}
_HTTP_FIELDS: Final = frozenset({"auth", "oauth"})
_EARLIER: Final = ("idle_timeout_s", "total_timeout_s")
"""Limits that earlier versions wrote beside the command."""

_KNOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("type", "command", "args", "env", "cwd", "url", "headers", *_EARLIER)),
    EXTRAS: {
        **dict.fromkeys(("disabled", "connectAtStart", "origin", *_PLAIN)),
        **{
            group: dict.fromkeys((*names, *_RENAMED.get(group, ())))
            for group, names in _GROUPS.items()
        },
    },
}
"""All known members, with the known members of objects."""


def read_entry(name: str, entry: object, where: str) -> CatalogueEntry:
    """Parse an entry of our file, keeping unknown members; `UserError` if it cannot be used."""
    if not isinstance(entry, dict):
        raise UserError(ErrorDetails("The server's entry is not an object", where, EXAMPLE))
    extras = _object(entry, EXTRAS, where)
    fields = {"name": name, **basic_fields(entry, where), **extra_fields(extras, where)}
    if fields["transport"] == "stdio":
        fields = {key: value for key, value in fields.items() if key not in _HTTP_FIELDS}
    return CatalogueEntry(
        definition_of(fields, where),
        is_disabled=_flag(extras, "disabled", where),
        connects_at_start=_flag(extras, "connectAtStart", where),
        origin=str(extras.get("origin", "")),
        unknown=unknown_members(entry),
    )


def basic_fields(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of the command or URL, and limits that earlier versions wrote beside it."""
    try:
        transport = transport_of(entry, str(entry.get("url") or ""), without_type="http")
    except UserError as error:
        raise UserError(error.details._replace(where=where, hint=EXAMPLE)) from error
    names = ("command", "args", "env", "cwd") if transport == "stdio" else ("url", "headers")
    fields = {name: entry[name] for name in (*names, *_EARLIER) if entry.get(name) is not None}
    return {"transport": transport, **fields}


def extra_fields(extras: Mapping[str, Any], where: str) -> dict[str, Any]:
    fields = {ours: extras[key] for key, ours in _PLAIN.items() if extras.get(key) is not None}
    for group, names in _GROUPS.items():
        found = _object(extras, group, where)
        renamed = _RENAMED.get(group, {})
        old = {new: found[key] for key, new in renamed.items() if key in found}
        inside = {**old, **found}
        if inside:
            fields[group] = {ours: inside[key] for key, ours in names.items() if key in inside}
    return fields


def unknown_members(entry: Mapping[str, Any]) -> dict[str, Any]:
    return _unknown(entry, _KNOWN)


def written_entry(entry: CatalogueEntry) -> dict[str, Any]:
    """The entry for the file, without default values."""
    written = written_definition(entry.definition)
    extras = _written_extras(entry)
    return _merged({**written, EXTRAS: extras} if extras else written, entry.unknown)


def written_definition(definition: ServerDefinition) -> dict[str, Any]:
    """The command or URL of a server, in the format that most clients share."""
    if isinstance(definition, StdioDefinition):
        written: dict[str, Any] = {"command": definition.command, "args": list(definition.args)}
        if definition.env:
            written["env"] = dict(definition.env)
        return written if definition.cwd is None else {**written, "cwd": definition.cwd}
    written = {"type": definition.transport, "url": definition.url}
    return {**written, "headers": dict(definition.headers)} if definition.headers else written


def _written_extras(entry: CatalogueEntry) -> dict[str, Any]:
    chosen = entry.definition.model_dump(mode="json", exclude_defaults=True)
    extras: dict[str, Any] = {}
    if entry.is_disabled:
        extras["disabled"] = True
    if entry.connects_at_start:
        extras["connectAtStart"] = True
    extras.update({key: chosen[ours] for key, ours in _PLAIN.items() if ours in chosen})
    for group, names in _GROUPS.items():
        inside = chosen.get(group, {})
        if inside:
            extras[group] = {key: inside[ours] for key, ours in names.items() if ours in inside}
    if entry.origin:
        extras["origin"] = entry.origin
    return extras


def _unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            kept[key] = value
        elif isinstance(known[key], dict) and isinstance(value, dict):
            inside = _unknown(value, known[key])
            if inside:
                kept[key] = inside
    return kept


def _merged(ours: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(ours)
    for key, value in unknown.items():
        mine = merged.get(key)
        if isinstance(mine, dict) and isinstance(value, dict):
            merged[key] = _merged(mine, value)
        else:
            merged.setdefault(key, value)
    return merged


def _object(around: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = around.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UserError(ErrorDetails(f"{key}: must be an object", where, EXAMPLE))
    return found


def _flag(extras: Mapping[str, Any], key: str, where: str) -> bool:
    found = extras.get(key, False)
    if not isinstance(found, bool):
        raise UserError(ErrorDetails(f"{key}: must be true or false", where))
    return found
