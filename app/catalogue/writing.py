"""The saved servers in the form of any known client, without secrets unless they are wanted."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app import text
from app.catalogue.client_entries import CAN_DISABLE, written_for
from app.catalogue.clients import CLAUDE_DESKTOP, CODEX, GEMINI, INSPECTOR, OURS, ZED
from app.catalogue.documents import is_plain_json, json_text, read_json
from app.catalogue.fields import EXAMPLE
from app.catalogue.own_form import written_entry
from app.catalogue.secrets import (
    bare_url,
    environment_names,
    without_keyring,
    without_secret_members,
    without_values,
)
from app.catalogue.text_file import decoded, read_bytes, write_private
from app.catalogue.toml_text import toml_text
from app.looking import Sight, sight_of
from app.problem import Problem, ProblemError
from app.sessions.definitions import HttpDefinition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from app.catalogue.clients import Client
    from app.catalogue.entry import CatalogueEntry


_LOOK_UP_NOTHING: Final = frozenset({CLAUDE_DESKTOP, ZED, INSPECTOR})
"""Clients in whose files a variable stands for itself."""


class Written(NamedTuple):
    """A configuration, and what is not in it that was in the catalogue, in words.

    `kept` is a copy of the file as it was, where servers in it were written over.
    """

    text: str
    left_out: tuple[str, ...] = ()
    kept: Path | None = None


def write_file(
    entries: Iterable[CatalogueEntry],
    client: Client,
    path: Path | None = None,
    *,
    with_secrets: bool = False,
) -> Written:
    """The servers in a client's form; with `path` they are written there as well.

    Without secrets, values of variables and headers are references to variables of the
    environment, each told in `left_out`. What a JSON file at `path` holds beside stays: servers
    of other names, settings. Before servers of the same names are replaced by others, the file is
    copied: values may be in it that are nowhere else.

    Raises:
        ProblemError: the file cannot be written, or holds what would be lost.
    """
    document, left_out = _document(list(entries), client, with_secrets=with_secrets)
    kept = None
    if path is not None:
        document, replaced = _merged(path, document, client)
        kept = _free_beside(path) if replaced else None
        if kept is not None:
            write_private(kept, replaced)
    words = toml_text(document) if client is CODEX else json_text(document)
    if path is not None:
        write_private(path, words.encode())
    return Written(words, tuple(left_out), kept)


def _document(
    entries: list[CatalogueEntry], client: Client, *, with_secrets: bool
) -> tuple[dict[str, Any], list[str]]:
    servers: dict[str, Any] = {}
    left_out: list[str] = []
    disabled: list[str] = []
    for entry in entries:
        reason = _unwritable(entry, client)
        if reason:
            left_out.append(f"{entry.name}: {reason}")
            continue
        kept = entry if client is OURS else _without_keyring(entry, client, left_out)
        kept = kept if with_secrets else _bare(kept, client, left_out)
        written = written_entry(kept) if client is OURS else written_for(client, kept)
        if client is not OURS and entry.origin.startswith(client.title):
            written = {**kept.unknown, **written}
        servers[entry.name] = written
        left_out += _not_looked_up(entry.name, written, client)
        disabled += [entry.name] if entry.is_disabled else []
    document: dict[str, Any] = {client.container: servers}
    if client is GEMINI and disabled:
        document["mcp"] = {"excluded": disabled}
    return document, left_out


def _unwritable(entry: CatalogueEntry, client: Client) -> str:
    """Why a client's file cannot hold a server; "" if it can."""
    if client is CLAUDE_DESKTOP and isinstance(entry.definition, HttpDefinition):
        return "the file of Claude Desktop has no servers with a URL"
    if entry.is_disabled and client is not OURS and client.key not in CAN_DISABLE:
        return f"it is disabled, which {client.title} would not know"
    return ""


def _without_keyring(entry: CatalogueEntry, client: Client, left_out: list[str]) -> CatalogueEntry:
    definition, variables = without_keyring(entry.definition)
    for variable, name in variables.items():
        left_out.append(f"{entry.name}: {name} of the keyring{_to_set(variable, client)}")
    return dataclasses.replace(entry, definition=definition)


def _to_set(variable: str, client: Client) -> str:
    return "" if client in _LOOK_UP_NOTHING else f"; set {variable} in the environment"


def _not_looked_up(name: str, written: dict[str, Any], client: Client) -> list[str]:
    """References that stay text for a client: the user has to put the values in their places."""
    if client is not CODEX and client not in _LOOK_UP_NOTHING:
        return []
    return [
        f"{name}: {client.title} looks up no variable there; write the value in the place of "
        f"${{env:{variable}}}"
        for variable in sorted(environment_names(written))
    ]


def _bare(entry: CatalogueEntry, client: Client, left_out: list[str]) -> CatalogueEntry:
    """The entry without values; each that is missed is noted."""
    definition, variables = without_values(entry.definition)
    if isinstance(definition, HttpDefinition):
        url, gone = bare_url(definition.url)
        definition = definition.model_copy(update={"url": url})
        left_out += [f"{entry.name}: {part} of the URL" for part in gone]
    for variable, name in variables.items():
        left_out.append(f"{entry.name}: the value of {name}{_to_set(variable, client)}")
    unknown = without_secret_members(entry.unknown)
    return dataclasses.replace(entry, definition=definition, unknown=unknown)


def _merged(path: Path, document: dict[str, Any], client: Client) -> tuple[dict[str, Any], bytes]:
    """What is at `path` already, with our servers put in; a file that is not there is empty.

    And the file's content, if any of its servers is replaced by another.
    """
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        return document, b""
    words = decoded(content, path)
    if not words.strip():
        return document, b""
    if client is CODEX:
        raise ProblemError(_kept(path, "It holds other settings"))
    held, duplicates = read_json(words, str(path), EXAMPLE)
    if not isinstance(held, dict) or not is_plain_json(words):
        raise ProblemError(_kept(path, "Comments in it would be lost"))
    if duplicates:
        reason = (
            f"{text.one_line(duplicates[0].name, 60)!r} is given twice in it: one would be lost"
        )
        raise ProblemError(_kept(path, reason))
    servers = held.get(client.container)
    inside = servers if isinstance(servers, dict) else {}
    ours = document[client.container]
    merged = {**held, client.container: {**inside, **ours}}
    is_changed = any(name in inside and inside[name] != ours[name] for name in ours)
    whole = _excluding(merged, ours, document) if client is GEMINI else merged
    return whole, content if is_changed else b""


def _free_beside(path: Path) -> Path:
    """Where a copy can go that is not there yet: the first of them has what the user wrote."""
    kept, number = path.with_name(f"{path.name}.before"), 2
    while sight_of(kept) is not Sight.NOTHING:
        kept = path.with_name(f"{path.name}.before-{number}")
        number += 1
    return kept


def _excluding(
    held: dict[str, Any], ours: Mapping[str, Any], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings of Gemini CLI that name those of `ours` which are disabled, and no other of them."""
    rules = held.get("mcp")
    rules = rules if isinstance(rules, dict) else {}
    named = rules.get("excluded")
    others = [name for name in named if name not in ours] if isinstance(named, list) else []
    excluded = [*others, *document.get("mcp", {}).get("excluded", ())]
    return {**held, "mcp": {**rules, "excluded": excluded}} if excluded or named else held


def _kept(path: Path, reason: str) -> Problem:
    hint = "Write to another file, and copy the servers from there."
    return Problem("The file is there already, and is not written over", str(path), hint, reason)
