"""What an import would do, server by server, before anything is done."""

from __future__ import annotations

import dataclasses
import enum
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple

from app.catalogue.entry import CatalogueEntry
from app.problem import ProblemError
from app.sessions.definitions import HttpDefinition, StdioDefinition
from app.sessions.references import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from app.catalogue.catalogue import Catalogue
    from app.catalogue.entry_reading import Found
    from app.catalogue.reading import ConfigFile
    from app.problem import Problem
    from app.sessions.definitions import ServerDefinition

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


class Standing(enum.Enum):
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

    found: Found | None
    standing: Standing
    name: str
    changes: tuple[str, ...] = ()
    problem: Problem | None = None


def preview(config: ConfigFile, catalogue: Catalogue) -> list[ImportRow]:
    """A row for each server of the file, in its order; those that cannot be used at the end."""
    saved = {entry.name: entry for entry in catalogue.entries()}
    # Each of a file's servers is compared with few of the saved ones: both may be hundreds.
    alike: dict[Hashable, list[CatalogueEntry]] = {}
    for entry in saved.values():
        alike.setdefault(_reached(entry.definition), []).append(entry)
    rows = [_row(found, saved, alike) for found in config.found]
    rows += [
        ImportRow(None, Standing.UNUSABLE, unusable.name, (), unusable.problem)
        for unusable in config.unusable
    ]
    return rows


def rows_named(rows: Sequence[ImportRow], names: Collection[str]) -> list[ImportRow]:
    """The rows of the servers that have these names in the file.

    Raises:
        ProblemError: one of them cannot be used; an answer to what it asks may have come to that.
    """
    named = [row for row in rows if row.found is not None and row.found.definition.name in names]
    there = {row.found.definition.name for row in named if row.found is not None}
    for row in rows:
        if row.problem is not None and row.name in names and row.name not in there:
            raise ProblemError(row.problem)
    return named


def imported_entry(row: ImportRow, config: ConfigFile, catalogue: Catalogue) -> CatalogueEntry:
    """What is saved when a row is imported: what the file says, and what the user has set here.

    Only for rows with a server whose questions are answered.
    """
    if row.found is None:
        raise ValueError("there is nothing to import")
    found = row.found
    definition = found.definition.model_copy(update={"name": row.name})
    entry = CatalogueEntry(
        definition,
        is_disabled=found.is_disabled,
        origin=config.title,
        unknown=found.unknown,
    )
    if row.standing is Standing.NEW:
        return entry
    held = catalogue.entry(row.name)
    kept = {field: getattr(held.definition, field) for field in _OURS}
    return dataclasses.replace(
        entry,
        definition=definition.model_copy(update=kept | _kept_values(definition, held.definition)),
        is_disabled=held.is_disabled,
        connects_at_start=held.connects_at_start,
        unknown={**held.unknown, **found.unknown},
    )


def save_rows(made: Iterable[tuple[ImportRow, CatalogueEntry]], catalogue: Catalogue) -> list[str]:
    """Save what `imported_entry` made of rows, new or in the place of what they change; the names.

    Raises:
        ProblemError: it cannot be written; none of them is saved then.
    """
    return catalogue.save_all(
        (None if row.standing is Standing.NEW else row.name, entry) for row, entry in made
    )


def changes_between(held: ServerDefinition, found: ServerDefinition) -> tuple[str, ...]:
    """What is different, in words; nothing of how the user treats it here.

    A reference of ours is taken for the value in the file that it was put in the place of.
    """
    if held.transport != found.transport and "stdio" in {held.transport, found.transport}:
        return ("how it is reached",)
    mine, theirs = held.model_dump(), found.model_dump()
    changed = [words for field, words in _WORDS.items() if mine.get(field) != theirs.get(field)]
    return (*dict.fromkeys(changed), *_of_values(held, found))


def _reached(definition: ServerDefinition) -> Hashable:
    """What is equal for servers between which there are no changes."""
    if isinstance(definition, StdioDefinition):
        return definition.command, definition.args, definition.cwd
    return definition.transport, definition.url


def _row(
    found: Found,
    saved: Mapping[str, CatalogueEntry],
    alike: Mapping[Hashable, Sequence[CatalogueEntry]],
) -> ImportRow:
    """How a server of a file stands to those `saved`, which `alike` has by `_reached`."""
    name = found.definition.name
    held = saved.get(name)
    if held is not None:
        changes = changes_between(held.definition, found.definition)
        standing = Standing.CHANGED if changes else Standing.SAME
        return ImportRow(found, standing, name, changes)
    for entry in alike.get(_reached(found.definition), ()):
        if not changes_between(entry.definition, found.definition):
            return ImportRow(found, Standing.SAME, entry.name)
    return ImportRow(found, Standing.NEW, name)


def _of_values(held: ServerDefinition, found: ServerDefinition) -> list[str]:
    mine, theirs = values_of(held), values_of(found)
    kind = "variable" if isinstance(found, StdioDefinition) else "header"
    words = [f"{kind} {name} added" for name in sorted(theirs.keys() - mine.keys())]
    words += [f"{kind} {name} removed" for name in sorted(mine.keys() - theirs.keys())]
    return words + [
        f"{kind} {name}"
        for name in sorted(mine.keys() & theirs.keys())
        if mine[name] != theirs[name] and not _is_kept(mine[name], theirs[name])
    ]


def _is_kept(mine: str, theirs: str) -> bool:
    """Whether ours may be the same value, put elsewhere when it was imported."""
    return REFERENCE.search(mine) is not None and REFERENCE.search(theirs) is None


def _kept_values(found: ServerDefinition, held: ServerDefinition) -> dict[str, dict[str, str]]:
    """The file's values, and references of ours in the place of those that they stand for.

    Not for another program or another host: those are not to get the secrets of this one.
    """
    mine = values_of(held) if _who(held) == _who(found) else {}
    theirs = values_of(found)
    values = {
        name: mine[name] if name in mine and _is_kept(mine[name], value) else value
        for name, value in theirs.items()
    }
    return {"env" if isinstance(found, StdioDefinition) else "headers": values}


def _who(definition: ServerDefinition) -> tuple[str, ...]:
    """Who is given a server's values: a program, or a host by whatever way it is reached."""
    if isinstance(definition, HttpDefinition):
        parts = urllib.parse.urlsplit(definition.url)
        return parts.scheme, parts.netloc.rpartition("@")[2].lower()
    return ("", definition.command)


def values_of(definition: ServerDefinition) -> dict[str, str]:
    """A server's variables, or its headers."""
    if isinstance(definition, HttpDefinition):
        return dict(definition.headers)
    return dict(definition.env)
