"""Filters made by the program: from a click on a value, or from following a token or a job."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from mcp_progress_monitor.filtering.errors import FilterError
from mcp_progress_monitor.filtering.expression import And, Or, Text, path_text, quoted, value_text
from mcp_progress_monitor.filtering.fields import FIELDS, Type
from mcp_progress_monitor.filtering.meaning import is_typed_word
from mcp_progress_monitor.filtering.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_progress_monitor.filtering.expression import Expression

    Value = str | int | float | bool | None
__all__ = ["path_text", "term", "text_term", "with_term", "written"]

_LONGEST: Final = 2_000
_BARE: Final = re.compile(
    r"""[^\s"'()=<>!,\\\x00-\x20\ud800-\udfff][^\s"(),\x00-\x20\ud800-\udfff]*"""
)
_TEXTS: Final = frozenset(
    name for name, field in FIELDS.items() if field.type in (Type.TEXT, Type.CHOICE)
)


def term(field: str, op: str, value: Value | Sequence[Value]) -> str:
    """A comparison as text; `field` may have a path (see `path_text`).

    Texts are quoted only where they would mean something else without. For `in` the value is a
    sequence. A text longer than a filter should be is cut, and searched instead of compared.
    """
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{field} contains {quoted(value[:_LONGEST])}"
    if value is None or isinstance(value, str | bool | int | float):
        return f"{field} {op} {written(field, value)}"
    return f"{field} {op} {value_text(tuple(value))}"


def text_term(text: str) -> str:
    """A search for a text, in quotes if it needs them."""
    return text if _reads_as(text, Text(text)) else quoted(text[:_LONGEST])


def written(field: str, value: Value) -> str:
    """A value as it is compared with a field: a text without quotes if it is read the same."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_typed = field.partition(".")[0].partition("[")[0] not in _TEXTS
    if _BARE.fullmatch(value) is None or (is_typed and is_typed_word(value)):
        return quoted(value)
    return value


def _reads_as(text: str, wanted: Expression) -> bool:
    try:
        found = parse(text)
    except FilterError:
        return False
    return found == wanted


def with_term(text: str, term: str, *, exclude: bool = False) -> str:
    """The filter `text` narrowed by a term, or by its contrary; a term it has is not repeated.

    A text that cannot be read is replaced: there is nothing to narrow.
    """
    added = f"not {term}" if exclude else term
    try:
        there = parse(text)
        wanted = parse(added)
    except FilterError:
        return added
    if there is None:
        return added
    if wanted == there or (isinstance(there, And) and wanted in there.parts):
        return text
    kept = f"({text.strip()})" if isinstance(there, Or) else text.strip()
    return f"{kept} and {added}"
