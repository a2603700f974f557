"""Entries of our own file: the form that most clients share, our extras under one key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.catalogue.entry import CatalogueEntry
from mcp_progress_monitor.catalogue.fields import EXAMPLE, definition_of, transport_of
from mcp_progress_monitor.problem import Problem, ProblemError
from mcp_progress_monitor.sessions.definitions import StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.definitions import ServerDefinition

EXTRAS: Final = "mcpProgressMonitor"
"""The key of what other clients know nothing of."""

_RESTART: Final = {
    "on": "is_on",
    "firstDelay": "first_delay_s",
    "longestDelay": "longest_delay_s",
    "limit": "limit",
    "calm": "calm_s",
}
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
_OF_HTTP: Final = frozenset({"auth", "oauth"})
"""What a server that is a process has no use for."""
_EARLIER: Final = ("idle_timeout_s", "total_timeout_s")
"""Limits as they stood beside the command before there were extras."""

_KNOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("type", "command", "args", "env", "cwd", "url", "headers", *_EARLIER)),
    EXTRAS: {
        **dict.fromkeys(("disabled", "connectAtStart", "origin", *_PLAIN)),
        **{group: dict.fromkeys(names) for group, names in _GROUPS.items()},
    },
}
"""What we make something of, with what we make something of inside."""


def read_entry(name: str, entry: object, where: str) -> CatalogueEntry:
    """An entry of our file; `ProblemError` when it cannot be used. What is unknown is kept."""
    if not isinstance(entry, dict):
        raise ProblemError(Problem("A server's entry is not an object", where, EXAMPLE))
    extras = _object(entry, EXTRAS, where)
    fields = {"name": name, **basic_fields(entry, where), **extra_fields(extras, where)}
    if fields["transport"] == "stdio":
        fields = {key: value for key, value in fields.items() if key not in _OF_HTTP}
    return CatalogueEntry(
        definition_of(fields, where),
        is_disabled=_flag(extras, "disabled", where),
        connects_at_start=_flag(extras, "connectAtStart", where),
        origin=str(extras.get("origin", "")),
        unknown=unknown_members(entry),
    )


def basic_fields(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """How the server is reached, and the limits that stood beside that earlier."""
    try:
        transport = transport_of(entry, str(entry.get("url") or ""), without_type="http")
    except ProblemError as error:
        raise ProblemError(error.problem._replace(where=where, hint=EXAMPLE)) from error
    names = ("command", "args", "env", "cwd") if transport == "stdio" else ("url", "headers")
    fields = {name: entry[name] for name in (*names, *_EARLIER) if entry.get(name) is not None}
    return {"transport": transport, **fields}


def extra_fields(extras: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of a definition that stand among our extras."""
    fields = {ours: extras[key] for key, ours in _PLAIN.items() if extras.get(key) is not None}
    for group, names in _GROUPS.items():
        inside = _object(extras, group, where)
        if inside:
            fields[group] = {ours: inside[key] for key, ours in names.items() if key in inside}
    return fields


def unknown_members(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What of an entry means nothing to us, at every level."""
    return _unknown(entry, _KNOWN)


def written_entry(entry: CatalogueEntry) -> dict[str, Any]:
    """An entry as it stands in the file; what is as usual is left out."""
    written = written_definition(entry.definition)
    extras = written_extras(entry)
    if extras:
        written[EXTRAS] = extras
    return _merged(written, entry.unknown)


def written_definition(definition: ServerDefinition) -> dict[str, Any]:
    """How a server is reached, in the form that most clients share."""
    if isinstance(definition, StdioDefinition):
        written: dict[str, Any] = {"command": definition.command, "args": list(definition.args)}
        if definition.env:
            written["env"] = dict(definition.env)
        return written if definition.cwd is None else {**written, "cwd": definition.cwd}
    written = {"type": definition.transport, "url": definition.url}
    return {**written, "headers": dict(definition.headers)} if definition.headers else written


def written_extras(entry: CatalogueEntry) -> dict[str, Any]:
    """What we keep of a server beside how it is reached."""
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
        raise ProblemError(Problem(f"{key}: it is not an object", where, EXAMPLE))
    return found


def _flag(extras: Mapping[str, Any], key: str, where: str) -> bool:
    found = extras.get(key, False)
    if not isinstance(found, bool):
        raise ProblemError(Problem(f"{key}: it is neither true nor false", where))
    return found
