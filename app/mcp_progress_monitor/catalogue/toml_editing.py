"""Edits TOML documents in place, keeping comments, order and spelling of everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from mcp_progress_monitor.catalogue.documents import UneditableError

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence


_PLACEHOLDER: Final = "a-value-7c1f0d6e2b"


def toml_value(value: Any) -> Any:
    """A JSON value without what TOML cannot represent: null, and lone surrogates."""
    if isinstance(value, dict):
        held = {key: inner for key, inner in value.items() if inner is not None}
        return {toml_value(key): toml_value(inner) for key, inner in held.items()}
    if isinstance(value, list | tuple):
        return [toml_value(inner) for inner in value if inner is not None]
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def with_entries(text: str, container: str, entries: Mapping[str, Any]) -> str:
    """Put the tables `entries` into the table `container` of a document.

    An existing table of the same name gets exactly the new members. Line ends are those of the
    document. The caller must verify the result: tomlkit has known bugs with tables that are
    defined in several places.

    Raises:
        UneditableError: tomlkit cannot edit the document.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    try:
        held = f"{text.rstrip()}\n" if text.strip() else ""
        document = tomlkit.parse(held.replace("\r\n", "\n"))
        if container not in document:
            if held:
                document.add(tomlkit.nl())
            document[container] = tomlkit.table(is_super_table=True)
        tables: Any = document[container]
        for name, entry in entries.items():
            _put(tables, name, entry)
        written = document.as_string().rstrip("\n") + "\n"
        return written.replace("\n", line_end)
    except (TOMLKitError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UneditableError(str(error)) from error


def string_literal(word: str) -> str:
    """A TOML string on one line."""
    return tomlkit.string(word).as_string()


def value_place(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """The start and end of the value at `path` in a document; None if there is none.

    Raises:
        UneditableError: tomlkit does not reproduce the document, or cannot set the value.
    """
    held = text.replace("\r\n", " \n")  # with the same positions
    try:
        document = tomlkit.parse(held)
        table: Any = document
        for name in path[:-1]:
            table = table[name]
        if path[-1] not in table:
            return None
        literal = table[path[-1]].as_string()
        is_the_same = document.as_string() == held
        table[path[-1]] = _PLACEHOLDER
        start = document.as_string().find(f'"{_PLACEHOLDER}"')
    except (TOMLKitError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UneditableError(str(error)) from error
    end = start + len(literal)
    if not is_the_same or start < 0 or held[start:end] != literal:
        raise UneditableError("the TOML library cannot locate a value")
    return start, end


def _put(table: MutableMapping[str, Any], key: str, value: Any) -> None:
    held = table.get(key)
    # An emptied table is replaced: one with only subtables has no line of its own.
    if isinstance(held, dict) and isinstance(value, dict) and value:
        for removed in [name for name in held if name not in value]:
            del held[removed]
        for name, inner in value.items():
            _put(held, name, inner)
    elif held != value:
        table[key] = value
        if held is None and isinstance(table[key], Table):
            table[key].add(tomlkit.nl())
