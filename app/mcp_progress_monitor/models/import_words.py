"""An import in words: what each server of a file is, and what it would change."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QCoreApplication

from mcp_progress_monitor.catalogue.preview import Standing
from mcp_progress_monitor.catalogue.secrets import secrets_of
from mcp_progress_monitor.models.definition_words import words_of
from mcp_progress_monitor.protocol.secret_arguments import shown_arguments
from mcp_progress_monitor.text import elide, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mcp_progress_monitor.catalogue.entry import CatalogueEntry
    from mcp_progress_monitor.catalogue.entry_reading import Found
    from mcp_progress_monitor.catalogue.preview import ImportRow
    from mcp_progress_monitor.catalogue.variables import Input
    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.sessions.definitions import ServerDefinition

_LONGEST: Final = 10_000
"""Characters of one value; what is left out is told by an ellipsis."""


class SecretsAs(enum.Enum):
    """What becomes of values that look like secrets, and of secret answers."""

    KEYRING = "keyring"
    VARIABLES = "variables"
    TEXT = "text"


class ImportWish(NamedTuple):
    """What is to be imported: the servers of a file by their names in it, with the answers."""

    path: Path
    names: tuple[str, ...]
    answers: dict[str, str]
    secrets: SecretsAs = SecretsAs.KEYRING


class Asked(NamedTuple):
    """What has to be answered, and for which servers."""

    input: Input
    servers: tuple[str, ...]


def standing_word(standing: Standing) -> str:
    """How a server of a file stands to the saved ones, in the user's language."""
    words = {
        Standing.NEW: "new",
        Standing.CHANGED: "changed",
        Standing.SAME: "same",
        Standing.UNUSABLE: "cannot be used",
    }
    return _tr(words[standing])


def found_name(row: ImportRow) -> str:
    """The name that a server has in the file."""
    return row.found.definition.name if row.found is not None else row.name


def what_it_is(row: ImportRow) -> str:
    """Command or URL of a server in short, else why there is none."""
    if row.found is None:
        return "" if row.problem is None else row.problem.what
    return row.found.definition.address


def secrets_words(choice: SecretsAs) -> str:
    """What becomes of secrets, to be chosen."""
    words = {
        SecretsAs.KEYRING: "in the system's keyring",
        SecretsAs.VARIABLES: "as variables of the environment, which you set yourself",
        SecretsAs.TEXT: "as text, readable in the catalogue's file",
    }
    return _tr(words[choice])


def holds_secrets(row: ImportRow) -> bool:
    """Whether a server has, or asks for, what is not to stand in a file as text."""
    if row.found is None:
        return False
    return any(ask.is_secret for ask in row.found.asks) or bool(secrets_of(row.found.definition))


def detail_lines(row: ImportRow, saved: Mapping[str, CatalogueEntry]) -> list[str]:
    """All that is to be known of a server before it is imported; values of variables are not."""
    if row.found is None:
        words = "" if row.problem is None else row.problem.as_text()
        return [visible(elide(words, _LONGEST), keep_line_ends=True)]
    return list(_details(row, row.found, saved.get(row.name)))


def asked_in(rows: Iterable[ImportRow]) -> list[Asked]:
    """What the servers of a file ask for, each thing once."""
    inputs: dict[str, Input] = {}
    servers: dict[str, list[str]] = {}
    for row in rows:
        for each in row.found.asks if row.found is not None else ():
            inputs.setdefault(each.id, each)
            servers.setdefault(each.id, []).append(found_name(row))
    return [Asked(each, tuple(servers[each.id])) for each in inputs.values()]


def problem_lines(problems: Iterable[Problem]) -> str:
    """What is wrong with a file, with places and the lines in question."""
    return "\n".join(visible(elide(p.as_text(), 2000), keep_line_ends=True) for p in problems)


def _details(row: ImportRow, found: Found, held: CatalogueEntry | None) -> Iterator[str]:
    yield from _compared(found, held)
    if row.changes:
        yield _tr("Changed: {}").format(_shown(", ".join(row.changes)))
    if row.name != found_name(row):
        yield _tr("Saved as: {}").format(_shown(row.name))
    if found.is_disabled:
        yield _tr("Switched off in the file: it is imported as disabled")
    secrets = ", ".join(secrets_of(found.definition))
    if secrets:
        yield _tr("Holds secrets: {}").format(_shown(secrets))
    for note in found.notes:
        yield _tr("Note: {}").format(_shown(note))
    for each in found.asks:
        yield _tr("Asks for: {}").format(_shown(each.description or each.id))


def _compared(found: Found, held: CatalogueEntry | None) -> Iterator[str]:
    """What the server is, and what it was where that differs; its name is not compared."""
    before = {} if held is None else words_of(_bare(held.definition))
    for label, words in words_of(_bare(found.definition)).items():
        old = before.get(label, words)
        if old == words or label == next(iter(before)):
            yield f"{label}: {_shown(words)}"
        else:
            yield f"{label}:"
            yield "    " + _tr("saved:   {}").format(_shown(old))
            yield "    " + _tr("in file: {}").format(_shown(words))


def _bare(definition: ServerDefinition) -> ServerDefinition:
    """The server without secrets in its arguments; they are shown whole before it first runs."""
    if definition.transport != "stdio":
        return definition
    return definition.model_copy(update={"args": shown_arguments(definition.args)})


def _shown(words: str) -> str:
    return visible(elide(words, _LONGEST))


def _tr(words: str) -> str:
    return QCoreApplication.translate("Import", words)
