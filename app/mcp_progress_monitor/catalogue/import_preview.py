"""What an import would do, server by server, before anything is done."""

from __future__ import annotations

import dataclasses
import enum
import types
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.catalogue.entry import CatalogueEntry
from mcp_progress_monitor.catalogue.secrets import (
    KeptSecrets,
    in_question,
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

_WORDS: Final = {
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
"""What the user has set here for a server, which an import leaves alone."""


Known: TypeAlias = "Mapping[str, str | None]"
"""Secrets of the keyring by name, None for one that is gone."""
_NOTHING_KNOWN: Final[Known] = types.MappingProxyType({})
_SAME: Final = KeptSecrets(_NOTHING_KNOWN)  # takes every literal for what our reference stands for


class ImportStatus(enum.Enum):
    """How a server of a file stands to the saved ones."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    UNUSABLE = "unusable"


class ImportRow(NamedTuple):
    """One server of a file.

    `name` is that of the saved server which it is, or would be. `changes` tell what differs from
    it, never a value of a variable or a header.
    """

    found: FoundServer | None
    standing: ImportStatus
    name: str
    changes: tuple[str, ...] = ()
    problem: ErrorDetails | None = None


def preview(
    config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> list[ImportRow]:
    """A row for each server of the file, in its order; those that cannot be used at the end.

    `known` are the `secrets_in_question`.
    """
    saved, alike = _saved(catalogue)
    rows = [_row(found, saved, alike, known) for found in config.found]
    rows += [
        ImportRow(None, ImportStatus.UNUSABLE, unusable.name, (), unusable.problem)
        for unusable in config.unusable
    ]
    return rows


def secrets_in_question(config: ConfigFile, catalogue: Catalogue, keyring: Keyring) -> Known:
    """What the keyring has, by name, for what stands in the file itself; None where it is gone.

    The keyring is asked for nothing else, and may take until the user has unlocked it: to be called
    in a thread. Nothing where it cannot be used.
    """
    saved, alike = _saved(catalogue)
    names = set[str]()
    for found in config.found:
        definition = found.definition
        held = saved.get(definition.name)
        if held is not None:
            names |= in_question(held.definition, definition, None)
            continue
        for entry in alike.get(_reached(definition), ()):
            names |= in_question(entry.definition, definition, definition.name)
    return looked_up(sorted(names), keyring)


def _saved(
    catalogue: Catalogue,
) -> tuple[dict[str, CatalogueEntry], dict[Hashable, list[CatalogueEntry]]]:
    """The saved servers by name, and by `_reached`.

    Each of a file's servers is compared with few of the saved ones: both may be hundreds.
    """
    saved = {entry.name: entry for entry in catalogue.entries()}
    alike: dict[Hashable, list[CatalogueEntry]] = {}
    for entry in saved.values():
        alike.setdefault(_reached(entry.definition), []).append(entry)
    return saved, alike


def rows_named(rows: Sequence[ImportRow], names: Collection[str]) -> list[ImportRow]:
    """The rows of the servers that have these names in the file.

    Raises:
        UserError: one of them cannot be used; an answer to what it asks may have come to that.
    """
    named = [row for row in rows if row.found is not None and row.found.definition.name in names]
    there = {row.found.definition.name for row in named if row.found is not None}
    for row in rows:
        if row.problem is not None and row.name in names and row.name not in there:
            raise UserError(row.problem)
    return named


def renewed_secrets(row: ImportRow, catalogue: Catalogue, known: Known) -> dict[str, str]:
    """What has to be put into the keyring, by name, before a row is saved.

    A secret that is another one in the file by now takes the place of ours, to which the saved
    server goes on referring.
    """
    if row.found is None or row.found.asks or row.standing is not ImportStatus.CHANGED:
        return {}
    held = catalogue.entry(row.name).definition
    if not _is_same_who(held, row.found.definition):
        return {}
    return renewed(held, row.found.definition, known, catalogue.secrets_of_alone([row.name]))


def imported_entry(
    row: ImportRow, config: ConfigFile, catalogue: Catalogue, known: Known = _NOTHING_KNOWN
) -> CatalogueEntry:
    """What is saved when a row is imported: what the file says, and what the user has set here.

    Only for rows with a server whose questions are answered, and whose `renewed_secrets` are put
    into the keyring.
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
    if _is_same_who(held.definition, definition):
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
    """Save what `imported_entry` made of rows, new or in the place of what they change; the names.

    Raises:
        UserError: it cannot be written; none of them is saved then.
    """
    return catalogue.save_all(
        (None if row.standing is ImportStatus.NEW else row.name, entry) for row, entry in made
    )


def changes_between(
    held: ServerDefinition, found: ServerDefinition, kept: KeptSecrets = _SAME
) -> tuple[str, ...]:
    """What is different, in words; nothing of how the user treats it here.

    A reference of ours is taken for the value that `kept` takes for the same.
    """
    if held.transport != found.transport and "stdio" in {held.transport, found.transport}:
        return ("transport",)
    found = _with_references(found, held, kept)
    mine, theirs = held.model_dump(), found.model_dump()
    changed = [text for field, text in _WORDS.items() if mine.get(field) != theirs.get(field)]
    return (*dict.fromkeys(changed), *_of_values(held, found))


def _reached(definition: ServerDefinition) -> Hashable:
    """What is equal for servers between which there are no changes."""
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
    """How a server of a file stands to those `saved`, which `alike` has by `_reached`."""
    name = found.definition.name
    known = _NOTHING_KNOWN if found.asks else known  # the answers are not in it yet
    held = saved.get(name)
    if held is not None:
        changes = changes_between(held.definition, found.definition, KeptSecrets(known))
        standing = ImportStatus.CHANGED if changes else ImportStatus.SAME
        return ImportRow(found, standing, name, changes)
    for entry in alike.get(_reached(found.definition), ()):
        other = entry.definition
        changes = changes_between(other, found.definition, KeptSecrets(known, name))
        if not changes:
            return ImportRow(found, ImportStatus.SAME, entry.name)
        # With another secret it is the same server still, unless more than that is different.
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
    """What a file has, with references of ours in the place of the values they stand for."""
    mine = values_of(held)
    values = {name: _kept(mine.get(name), value, kept) for name, value in values_of(found).items()}
    if isinstance(found, HttpDefinition) and isinstance(held, HttpDefinition):
        secret = found.oauth.client_secret
        if secret is not None:
            secret = _kept(held.oauth.client_secret, secret, kept)
        oauth = found.oauth.model_copy(update={"client_secret": secret})
        return found.model_copy(update={"headers": values, "oauth": oauth})
    if isinstance(found, StdioDefinition) and isinstance(held, StdioDefinition):
        is_same = kept.are_same_words(held.args, found.args)
        args = held.args if is_same else found.args
        return found.model_copy(update={"env": values, "args": args})
    return found


def _kept(mine: str | None, theirs: str, kept: KeptSecrets) -> str:
    return mine if mine is not None and kept.is_same(mine, theirs) else theirs


def _is_same_who(held: ServerDefinition, found: ServerDefinition) -> bool:
    """Whether both are the same program, or at the same host by whatever way it is reached.

    Another one is not to get the secrets of this one. Arguments tell programs apart: what is run
    by `npx` is named there.
    """
    if isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        return _host(held) == _host(found)
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        return held.command == found.command and _SAME.are_same_words(held.args, found.args)
    return False


def _host(definition: HttpDefinition) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(definition.url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()
