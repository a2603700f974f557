"""Values in columns: texts and tuples as JSON, and rows read as typed tuples.

pydantic is imported with the first row: a program with nothing saved starts without it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
    from pydantic_core import CoreSchema

_Value = TypeVar("_Value")


def as_column(value: str | tuple[Any, ...]) -> str:
    """A text of anybody's making, or a tuple's members in order, as JSON."""
    return json.dumps(value)


def _parsed(value: object) -> Any:
    try:
        return json.loads(value)  # type: ignore[arg-type]  # its TypeError becomes a violation
    except (TypeError, RecursionError) as error:
        raise ValueError("not JSON, or nested too deeply") from error


class _AsJson:
    """Python reads what pydantic does not: halves of surrogate pairs, and deep nesting."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        inner = handler(source)
        rest = core_schema.no_info_before_validator_function(_parsed, inner)
        return core_schema.union_schema(
            [core_schema.json_schema(inner), rest], mode="left_to_right"
        )


class _Converted:
    @staticmethod
    def __get_pydantic_core_schema__(source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(source)


class _Finite:
    @staticmethod
    def __get_pydantic_core_schema__(_source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.float_schema(allow_inf_nan=False)


Column: TypeAlias = Annotated[_Value, _AsJson]
"""JSON in a column."""
Converted: TypeAlias = Annotated[_Value, _Converted]
"""A value that SQLite keeps as a number or a text, made by its type."""
Moment: TypeAlias = Annotated[float, _Finite]  # seconds since the epoch
_adapters: Final[dict[type, TypeAdapter[Any]]] = {}


def read(kind: type[_Value], columns: Sequence[object]) -> _Value:
    """A row as the named tuple `kind`, whose members are its columns in order.

    Raises:
        ValueError: pydantic's, it holds what this program never wrote.
    """
    if kind not in _adapters:
        from pydantic import ConfigDict, TypeAdapter

        from mcp_progress_monitor.validation import without_plugins

        with without_plugins():
            strict = ConfigDict(strict=True, hide_input_in_errors=True)
            _adapters[kind] = TypeAdapter(kind, config=strict)
    row: _Value = _adapters[kind].validate_python(columns)
    return row


def fault_of(error: ValueError, kind: type[NamedTuple]) -> str:
    """Say why `read` refused a row, without its values: one may be a token."""
    from mcp_progress_monitor.validation import violations

    place, message = next(violations(cast("ValidationError", error)))
    return f"{kind._fields[int(place[0])]}: {message}"
