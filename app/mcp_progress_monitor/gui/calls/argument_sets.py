"""Argument sets: a file with the arguments of many calls of one tool."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import number, one_line, size
from mcp_progress_monitor.protocol.lenient_json import NotJsonError, TooDeepError, read_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_progress_monitor.protocol.facts import JsonObject

MOST_SETS: Final = 10_000
_LARGEST: Final = 64 * 1024 * 1024
_HINT: Final = (
    "Choose a JSON array of objects, JSON Lines with one object on each line, or a CSV file with "
    "the arguments' names in its first row."
)


def read_argument_sets(path: Path, schema: JsonObject) -> list[JsonObject]:
    """Read a file of argument sets, CSV by its name, else JSON or JSON Lines.

    Cells of a CSV file are converted by `schema`: a string stays text, everything else is read as
    JSON; empty cells are left out. Raises `UserError`, with the line, for a file that cannot be
    read or used.
    """
    try:
        too_large = path.stat().st_size > _LARGEST
        text = "" if too_large else path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, str(error)) from error
    if too_large:
        raise _refused(path, f"larger than {size(_LARGEST)}")
    is_table = path.suffix.casefold() in {".csv", ".tsv"}
    try:
        sets = list(_of_table(text, schema, path) if is_table else _of_json(text))
    except (NotJsonError, TooDeepError, ValueError, csv.Error) as error:
        raise _refused(path, str(error)) from error
    if not sets:
        raise _refused(path, "no argument sets in it")
    if len(sets) > MOST_SETS:
        raise _refused(path, f"{number(len(sets))} argument sets, at most {number(MOST_SETS)}")
    return sets


def _of_json(text: str) -> Iterator[JsonObject]:
    if text.lstrip().startswith("["):
        for position, value in enumerate(_value(text), 1):
            yield _object(value, f"set {number(position)}")
        return
    for position, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"line {number(position)}"
            try:
                value = _value(line)
            except NotJsonError as error:
                raise ValueError(f"{where}: {error}") from error
            yield _object(value, where)


def _value(text: str) -> Any:
    return read_value(text.encode()).value


def _object(value: object, where: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: not a JSON object")  # noqa: TRY004 - of a file, not of code
    return value


def _of_table(text: str, schema: JsonObject, path: Path) -> Iterator[JsonObject]:
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter="\t" if path.suffix.casefold() == ".tsv" else ",",
        strict=True,
    )
    names = next(rows, [])
    for row in rows:
        if len(row) > len(names):
            raise ValueError(f"line {number(rows.line_num)}: more cells than the header")
        cells = {name: cell for name, cell in zip(names, row, strict=False) if cell}
        if cells:
            yield {name: _cell(cell, _types(schema, name)) for name, cell in cells.items()}


def _cell(text: str, types: list[object]) -> object:
    """The value of a cell: text if the schema wants text, or if it is not valid JSON."""
    if types and set(types) <= {"string", "null"}:
        return text
    try:
        return _value(text if text not in {"TRUE", "FALSE"} else text.lower())
    except (NotJsonError, TooDeepError, json.JSONDecodeError):
        return text


def _types(schema: JsonObject, name: str) -> list[object]:
    properties = schema.get("properties")
    member = properties.get(name) if isinstance(properties, dict) else None
    found = member.get("type") if isinstance(member, dict) else None
    return found if isinstance(found, list) else [found] if found else []


def _refused(path: Path, why: str) -> UserError:
    what = f"Cannot read argument sets from this file: {one_line(why, 300)}"
    return UserError(ErrorDetails(what, str(path), _HINT))
