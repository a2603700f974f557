"""Whether what a file has is what we put elsewhere when it was imported, and have references to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_progress_monitor.catalogue.secrets import keyring_name
from mcp_progress_monitor.problem import ProblemError
from mcp_progress_monitor.sessions.definitions import HttpDefinition, StdioDefinition
from mcp_progress_monitor.sessions.references import REFERENCE, names_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from mcp_progress_monitor.sessions.definitions import ServerDefinition
    from mcp_progress_monitor.sessions.references import Keyring


class Kept(NamedTuple):
    """Compares our values with those of a file.

    A reference of ours stands for the literal in the file that it was put in the place of. `known`
    are secrets of the keyring by name, None for one that is gone: another value in the file is a
    change. What is not known cannot be told apart, and counts as the same. With `brought_as` only
    references count to what an import put into the keyring for a server of that name: two accounts
    at one service are two servers.
    """

    known: Mapping[str, str | None]
    brought_as: str | None = None

    def is_same(self, mine: str, theirs: str) -> bool:
        """Whether our value, which has references, may be that of the file."""
        references = names_in(mine)
        if not references or REFERENCE.search(theirs) is not None:
            return False
        if all(kind == "keyring" and name in self.known for kind, name in references):
            now = REFERENCE.sub(lambda found: self.known[found[2]] or "", mine)
            if now != theirs:
                return False
        if self.brought_as is None:
            return True
        begin = keyring_name(self.brought_as, "")
        return all(kind == "keyring" and name.startswith(begin) for kind, name in references)

    def are_same_words(self, mine: Sequence[str], theirs: Sequence[str]) -> bool:
        """Whether arguments are equal but for secrets of the file that we have references to."""
        return len(mine) == len(theirs) and all(
            one == other or (self.is_same(one, other) and fitting(one, other) is not None)
            for one, other in zip(mine, theirs, strict=True)
        )


def fitting(mine: str, theirs: str) -> re.Match[str] | None:
    """A word that is ours with something in the places of the references, which are its groups."""
    parts, end = list[str](), 0
    for found in REFERENCE.finditer(mine):
        parts.append(re.escape(mine[end : found.start()]))
        end = found.end()
    return re.fullmatch("(.+)".join([*parts, re.escape(mine[end:])]), theirs, re.DOTALL)


def in_question(
    held: ServerDefinition, found: ServerDefinition, brought_as: str | None
) -> frozenset[str]:
    """Secrets in the keyring by name that stand for what is a literal in the file, see `Kept`."""
    kept = Kept({}, brought_as)
    return frozenset(
        name
        for mine, theirs in _pairs(held, found)
        if kept.is_same(mine, theirs)
        for kind, name in names_in(mine)
        if kind == "keyring"
    )


def looked_up(names: Iterable[str], keyring: Keyring) -> dict[str, str | None]:
    """What the keyring has for these; nothing where it cannot be used. Takes long: in a thread."""
    try:
        return {name: keyring.get(name) for name in names}
    except ProblemError:
        return {}


def renewed(
    held: ServerDefinition,
    found: ServerDefinition,
    known: Mapping[str, str | None],
    alone: Collection[str],
) -> dict[str, str]:
    """What the file has now for secrets in the keyring, by their names there.

    Only for those that nothing else refers to (`alone`), and that one value is given for.
    """
    values: dict[str, set[str]] = {}
    for mine, theirs in _pairs(held, found):
        references, fits = names_in(mine), fitting(mine, theirs)
        if len(references) == 1 and fits is not None and REFERENCE.search(theirs) is None:
            values.setdefault(references[0][1], set()).add(fits[1])
    return {
        name: next(iter(secrets))
        for name, secrets in values.items()
        if name in alone and name in known and len(secrets) == 1 and known[name] not in secrets
    }


def _pairs(held: ServerDefinition, found: ServerDefinition) -> Iterator[tuple[str, str]]:
    """Our values and those of the file in the same places."""
    mine, theirs = values_of(held), values_of(found)
    yield from ((mine[name], theirs[name]) for name in mine.keys() & theirs.keys())
    if isinstance(held, StdioDefinition) and isinstance(found, StdioDefinition):
        if len(held.args) == len(found.args):
            yield from zip(held.args, found.args, strict=True)
    elif isinstance(held, HttpDefinition) and isinstance(found, HttpDefinition):
        yield held.oauth.client_secret or "", found.oauth.client_secret or ""


def values_of(definition: ServerDefinition) -> dict[str, str]:
    """A server's variables, or its headers."""
    if isinstance(definition, HttpDefinition):
        return dict(definition.headers)
    return dict(definition.env)
