"""Values in columns: texts and tuples as JSON, and rows read as typed tuples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, FiniteFloat, Json, TypeAdapter

from mcp_progress_monitor.validation import violations, without_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

_Value = TypeVar("_Value")


def as_column(value: str | tuple[Any, ...]) -> str:
    """A text of anybody's making, or a tuple's members in order, as JSON."""
    return json.dumps(value)


def _parsed(value: object) -> Any:
    try:
        return json.loads(value)  # type: ignore[arg-type]  # its TypeError becomes a violation
    except (TypeError, RecursionError) as error:
        raise ValueError("not JSON, or nested too deeply") from error


Column: TypeAlias = Annotated[
    Json[_Value] | Annotated[_Value, BeforeValidator(_parsed)], Field(union_mode="left_to_right")
]
"""JSON in a column. Python reads what pydantic does not: halves of surrogate pairs, 200 levels."""
Flag: TypeAlias = Annotated[bool, Field(strict=False)]  # SQLite has numbers only
Moment: TypeAlias = FiniteFloat  # seconds since the epoch


def fault_of(error: ValidationError, kind: type[NamedTuple]) -> str:
    """Why a row was refused, without its values: one may be a token."""
    place, message = next(violations(error))
    return f"{kind._fields[int(place[0])]}: {message}"


_adapters: Final[dict[type, TypeAdapter[Any]]] = {}


def read(kind: type[_Value], columns: Sequence[object]) -> _Value:
    """A row as the named tuple `kind`, whose members are its columns in order.

    Raises:
        ValidationError: it holds what this program never wrote.
    """
    if kind not in _adapters:
        with without_plugins():
            strict = ConfigDict(strict=True, hide_input_in_errors=True)
            _adapters[kind] = TypeAdapter(kind, config=strict)
    row: _Value = _adapters[kind].validate_python(columns)
    return row
