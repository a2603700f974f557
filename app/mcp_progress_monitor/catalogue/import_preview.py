"""What an import would change, server by server, before anything is changed."""

from __future__ import annotations

import dataclasses
import enum
import types
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.catalogue.entry import CatalogueEntry
from mcp_progress_monitor.catalogue.secrets import (
    KeptSecrets,
    candidate_secrets,
    looked_up,
    renewed,
    values_of,
)
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.protocol.secrets import HIDDEN_VALUE, shown_arguments
from mcp_progress_monitor.secrets.references import REFERENCE, Keyring
from mcp_progress_monitor.snapshots.definitions import HttpDefinition, StdioDefinition

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from mcp_progress_monitor.catalogue.catalogue import Catalogue
    from mcp_progress_monitor.catalogue.reading import ConfigFile, FoundServer
    from mcp_progress_monitor.snapshots.definitions import ServerDefinition

_TEXTS: Final = {
    "transport": "transport",
    "command": "command",
    "args": "arguments",
    "cwd": "folder",
    "url": "URL",
    "auth": "sign-in",
    "oauth": "sign-in",
    "era": "protocol",
}
_OURS: Final = ("restart", "watch", "ping_interval_s", "idle_timeout_s", "total_timeout_s")
"""Settings of this program, which an import leaves unchanged."""

Known: TypeAlias = "Mapping[str, str | None]"
"""Keyring secrets by name, None for one that no longer exists."""
_NOTHING_KNOWN: Final[Known] = types.MappingProxyType({})
_SAME: Final = KeptSecrets(_NOTHING_KNOWN)  # accepts any literal for a reference


class ImportStatus(enum.Enum):
    """How a server of a file compares with the saved ones."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    UNUSABLE = "unusable"


class ImportRow(NamedTuple):
    """One server of a file.

    `name` is the name of the saved server that it is or would become. `changes` describe how they
    differ, without values of variables and headers.
    """

    found: FoundServer | None
    standing: ImportStatus
    name: str
    changes: tuple[str, ...] = ()
    error: ErrorDetails | None = None


def preview(
    config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> list[ImportRow]:
    """A row for each server of the file, in order, with unusable ones at the end.

    `known` are the `candidate_keyring_secrets`.
    """
    saved, alike = _saved(catalogue)
    rows = [_row(found, saved, alike, known) for found in config.found]
    rows += [
        ImportRow(None, ImportStatus.UNUSABLE, unusable.name, (), unusable.error)
        for unusable in config.unusable
    ]
    return rows


def candidate_keyring_secrets(config: ConfigFile, catalogue: Catalogue, keyring: Keyring) -> Known:
    """The keyring secrets that literals in the file may correspond to, by name.

    The value is None for a secret that no longer exists. Empty if there is no usable keyring.
    Blocks until the user has unlocked the keyring: call it in a thread.
    """
    saved, alike = _saved(catalogue)
    names = set[str]()
    for found in config.found:
        definition = found.definition
        held = saved.get(definition.name)
        if held is not None:
            names |= candidate_secrets(held.definition, definition, None)
            continue
        for entry in alike.get(_target(definition), ()):
            names |= candidate_secrets(entry.definition, definition, definition.name)
    return looked_up(sorted(names), keyring)


def _saved(
    catalogue: Catalogue,
) -> tuple[dict[str, CatalogueEntry], dict[Hashable, list[CatalogueEntry]]]:
    """The saved servers by name, and by `_target`, so that few have to be compared."""
    saved = {entry.name: entry for entry in catalogue.entries()}
    alike: dict[Hashable, list[CatalogueEntry]] = {}
    for entry in saved.values():
        alike.setdefault(_target(entry.definition), []).append(entry)
    return saved, alike


def rows_named(rows: Sequence[ImportRow], names: Collection[str]) -> list[ImportRow]:
    """The rows of the servers with these names in the file.

    Raises:
        UserError: one of them cannot be used, perhaps because of an answer to its inputs.
    """
    named = [row for row in rows if row.found is not None and row.found.definition.name in names]
    there = {row.found.definition.name for row in named if row.found is not None}
    for row in rows:
        if row.error is not None and row.name in names and row.name not in there:
            raise UserError(row.error)
    return named


def renewed_secrets(row: ImportRow, catalogue: Catalogue, known: Known) -> dict[str, str]:
    """Secrets to store in the keyring, by name, before a row is saved.

    A secret that has changed in the file replaces ours; the saved server keeps its reference.
    """
    if row.found is None or row.found.asks or row.standing is not ImportStatus.CHANGED:
        return {}
    held = catalogue.entry(row.name).definition
    if not _is_same_server(held, row.found.definition):
        return {}
    return renewed(held, row.found.definition, known, catalogue.unshared_secrets([row.name]))


def imported_entry(
    row: ImportRow, config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> CatalogueEntry:
    """The entry to save for a row: the server of the file, with the settings made here.

    The row must have a server, all its inputs answered, and its `renewed_secrets` stored.
    """
    if row.found is None:
        raise ValueError("nothing to import")
    found = row.found
    definition = found.definition.model_copy(update={"name": row.name})
    entry = CatalogueEntry(
        definition, is_disabled=found.is_disabled, origin=config.title, unknown=found.unknown
    )
    if row.standing is ImportStatus.NEW:
        return entry
    held = catalogue.entry(row.name)
    kept = {field: getattr(held.definition, field) for field in _OURS}
    if _is_same_server(held.definition, definition):
        renewals = renewed_secrets(row, catalogue, known)
        others = {name: secret for name, secret in known.items() if name not in renewals}
        definition = _with_references(definition, held.definition, KeptSecrets(others))
    return dataclasses.replace(
        entry,
        definition=definition.model_copy(update=kept),
        is_disabled=held.is_disabled,
        connects_at_start=held.connects_at_start,
        unknown={**held.unknown, **found.unknown},
    )


def save_rows(made: Iterable[tuple[ImportRow, CatalogueEntry]], catalogue: Catalogue) -> list[str]:
    """Save entries made by `imported_entry`, adding or replacing servers; returns their names.

    Raises:
        UserError: the file cannot be written; then none is saved.
    """
    return catalogue.save_all(
        (None if row.standing is ImportStatus.NEW else row.name, entry) for row, entry in made
    )


def changes_between(
    held: ServerDefinition, found: ServerDefinition, kept: KeptSecrets = _SAME
) -> tuple[str, ...]:
    """The differences as text, except for settings of this program.

    A reference of ours equals a literal if `kept` says so.
    """
    if held.transport != found.transport and "stdio" in {held.transport, found.transport}:
        return ("transport",)
    found = _with_references(found, held, kept)
    mine, theirs = held.model_dump(), found.model_dump()
    changed = [text for field, text in _TEXTS.items() if mine.get(field) != theirs.get(field)]
    return (*dict.fromkeys(changed), *_of_values(held, found))


def _target(definition: ServerDefinition) -> Hashable:
    """A key that is equal for servers without differences between them."""
    if isinstance(definition, StdioDefinition):
        arguments = [REFERENCE.sub(HIDDEN_VALUE, word) for word in shown_arguments(definition.args)]
        return definition.command, tuple(arguments), definition.cwd
    return definition.transport, definition.url


def _row(
    found: FoundServer,
    saved: Mapping[str, CatalogueEntry],
    alike: Mapping[Hashable, Sequence[CatalogueEntry]],
    known: Known,
) -> ImportRow:
    """Compare a server of a file with the `saved` ones, which `alike` has by `_target`."""
    name = found.definition.name
    known = _NOTHING_KNOWN if found.asks else known  # its inputs have no answers yet
    held = saved.get(name)
    if held is not None:
        changes = changes_between(held.definition, found.definition, KeptSecrets(known))
        standing = ImportStatus.CHANGED if changes else ImportStatus.SAME
        return ImportRow(found, standing, name, changes)
    for entry in alike.get(_target(found.definition), ()):
        other = entry.definition
        changes = changes_between(other, found.definition, KeptSecrets(known, name))
        if not changes:
            return ImportRow(found, ImportStatus.SAME, entry.name)
        # A server that differs only in a secret is the same server.
        lenient = KeptSecrets(_NOTHING_KNOWN, name)
        if known and not changes_between(other, found.definition, lenient):
            return ImportRow(found, ImportStatus.CHANGED, entry.name, changes)
    return ImportRow(found, ImportStatus.NEW, name)


def _of_values(held: ServerDefinition, found: ServerDefinition) -> list[str]:
    mine, theirs = values_of(held), values_of(found)
    kind = "variable" if isinstance(found, StdioDefinition) else "header"
    lines = [f"{kind} {name} added" for name in sorted(theirs.keys() - mine.keys())]
    lines += [f"{kind} {name} removed" for name in sorted(mine.keys() - theirs.keys())]
    return lines + [
        f"{kind} {name}"
        for name in sorted(mine.keys() & theirs.keys())
        if mine[name] != theirs[name]
    ]


def _with_references(
    found: ServerDefinition, held: ServerDefinition, kept: KeptSecrets
) -> ServerDefinition:
    """The definition of a file, with our references in place of the literals that they equal."""
    mine = values_of(held)
    values = {name: _kept(mine.get(name), value, kept) for name, value in values_of(found).items()}
    if isinstance(found, HttpDefinition) and isinstance(held, HttpDefinition):
        secret = found.oauth.client_secret
        if secret is not None:
            secret = _kept(held.oauth.client_secret, secret, kept)
        oauth = found.oauth.model_copy(update={"client_secret": secret})
        return found.model_copy(update={"headers": values, "oauth": oauth})
    if isinstance(found, StdioDefinition) and isinstance(held, StdioDefinition):
        is_same = kept.are_same_arguments(held.args, found.args)
        args = held.args if is_same else found.args
        return found.model_copy(update={"env": values, "args": args})
    return found


def _kept(mine: str | None, theirs: str, kept: KeptSecrets) -> str:
    return mine if mine is not None and kept.is_same(mine, theirs) else theirs


def _is_same_server(held: ServerDefinition, found: ServerDefinition) -> bool:
    """Whether both are the same program or have the same host, so that they may share secrets.

    Arguments count, since they name what `npx` runs.
    """
    if isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        return _host(held) == _host(found)
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        return held.command == found.command and _SAME.are_same_arguments(held.args, found.args)
    return False


def _host(definition: HttpDefinition) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(definition.url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()
