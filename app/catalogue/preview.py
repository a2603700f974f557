"""What an import would do, server by server, before anything is done."""

from __future__ import annotations

import dataclasses
import enum
import re
import urllib.parse
from typing import TYPE_CHECKING, Final, NamedTuple

from app.catalogue.entry import CatalogueEntry
from app.catalogue.secrets import keyring_name
from app.problem import ProblemError
from app.protocol.secret_arguments import shown_arguments
from app.protocol.secret_names import HIDDEN_VALUE
from app.sessions.definitions import HttpDefinition, StdioDefinition
from app.sessions.references import REFERENCE, names_in

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
    if _is_same_who(held.definition, definition):
        definition = _with_references(definition, held.definition)
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
        ProblemError: it cannot be written; none of them is saved then.
    """
    return catalogue.save_all(
        (None if row.standing is Standing.NEW else row.name, entry) for row, entry in made
    )


def changes_between(
    held: ServerDefinition, found: ServerDefinition, brought_as: str | None = None
) -> tuple[str, ...]:
    """What is different, in words; nothing of how the user treats it here.

    A reference of ours is taken for the value in the file that it was put in the place of. With
    `brought_as` only one to what an import put into the keyring for a server of that name: two
    accounts at one service are two servers.
    """
    if held.transport != found.transport and "stdio" in {held.transport, found.transport}:
        return ("how it is reached",)
    found = _with_references(found, held, brought_as)
    mine, theirs = held.model_dump(), found.model_dump()
    changed = [words for field, words in _WORDS.items() if mine.get(field) != theirs.get(field)]
    return (*dict.fromkeys(changed), *_of_values(held, found))


def _reached(definition: ServerDefinition) -> Hashable:
    """What is equal for servers between which there are no changes."""
    if isinstance(definition, StdioDefinition):
        words = [REFERENCE.sub(HIDDEN_VALUE, word) for word in shown_arguments(definition.args)]
        return definition.command, tuple(words), definition.cwd
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
        if not changes_between(entry.definition, found.definition, brought_as=name):
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
        if mine[name] != theirs[name]
    ]


def _with_references(
    found: ServerDefinition, held: ServerDefinition, brought_as: str | None = None
) -> ServerDefinition:
    """What a file has, with references of ours in the place of the values they stand for."""
    mine = values_of(held)
    values = {
        name: _kept(mine.get(name), value, brought_as) for name, value in values_of(found).items()
    }
    if isinstance(found, HttpDefinition) and isinstance(held, HttpDefinition):
        secret = found.oauth.client_secret
        if secret is not None:
            secret = _kept(held.oauth.client_secret, secret, brought_as)
        oauth = found.oauth.model_copy(update={"client_secret": secret})
        return found.model_copy(update={"headers": values, "oauth": oauth})
    if isinstance(found, StdioDefinition) and isinstance(held, StdioDefinition):
        is_same = _are_same_words(held.args, found.args, brought_as)
        args = held.args if is_same else found.args
        return found.model_copy(update={"env": values, "args": args})
    return found


def _kept(mine: str | None, theirs: str, brought_as: str | None) -> str:
    return mine if mine is not None and _is_kept(mine, theirs, brought_as) else theirs


def _is_kept(mine: str, theirs: str, brought_as: str | None) -> bool:
    """Whether ours may be the same value, put elsewhere when it was imported."""
    references = names_in(mine)
    if not references or REFERENCE.search(theirs) is not None:
        return False
    if brought_as is None:
        return True
    begin = keyring_name(brought_as, "")
    return all(kind == "keyring" and name.startswith(begin) for kind, name in references)


def _are_same_words(mine: Sequence[str], theirs: Sequence[str], brought_as: str | None) -> bool:
    """Whether arguments are equal but for secrets of the file that we have references to."""
    return len(mine) == len(theirs) and all(
        one == other or (_is_kept(one, other, brought_as) and _fits(one, other))
        for one, other in zip(mine, theirs, strict=True)
    )


def _fits(mine: str, theirs: str) -> bool:
    """Whether a word is ours with something in the places of the references."""
    parts, end = list[str](), 0
    for found in REFERENCE.finditer(mine):
        parts.append(re.escape(mine[end : found.start()]))
        end = found.end()
    return re.fullmatch(".+".join([*parts, re.escape(mine[end:])]), theirs, re.DOTALL) is not None


def _is_same_who(held: ServerDefinition, found: ServerDefinition) -> bool:
    """Whether both are the same program, or at the same host by whatever way it is reached.

    Another one is not to get the secrets of this one. Arguments tell programs apart: what is run
    by `npx` is named there.
    """
    if isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        return _host(held) == _host(found)
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        return held.command == found.command and _are_same_words(held.args, found.args, None)
    return False


def _host(definition: HttpDefinition) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(definition.url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def values_of(definition: ServerDefinition) -> dict[str, str]:
    """A server's variables, or its headers."""
    if isinstance(definition, HttpDefinition):
        return dict(definition.headers)
    return dict(definition.env)
