"""A schema's requirements in brief, and the violations of a value, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.schema_form.schema import FieldKind, kind_of, string_member
from mcp_progress_monitor.json_schema import find_errors
from mcp_progress_monitor.wording.json_values import schema_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError

    from mcp_progress_monitor.gui.schema_form.schema import Schema
    from mcp_progress_monitor.json_schema import Stopwatch

Path: TypeAlias = tuple[str | int, ...]  # names and positions from the root down to a field

_MOST: Final = 100
_WORDS: Final = 300


class SchemaViolation(NamedTuple):
    """A violation at `path`; `is_missing` for an absent required member."""

    path: Path
    message: str
    is_missing: bool = False


class Validation(NamedTuple):
    """The violations of a value's schema, and what could not be checked."""

    problems: list[SchemaViolation]
    unchecked: tuple[str, ...]


def validate(schema: Schema, value: object, watch: Stopwatch | None = None) -> Validation:
    """Check `value` against `schema`: at most `_MOST` problems, within the time of `watch`."""
    errors, unchecked = find_errors(schema, value, _MOST, watch)
    problems = {problem for error in errors for problem in _problems(error)}
    return Validation(sorted(problems, key=_place), unchecked)


def _problems(error: ValidationError) -> Iterator[SchemaViolation]:
    path: Path = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.instance, dict):
        for name in error.validator_value:
            yield SchemaViolation((*path, name), "this is required", is_missing=True)
    else:
        yield SchemaViolation(path, one_line(str(error.message), _WORDS))


def _place(problem: SchemaViolation) -> tuple[list[str], str]:
    return [str(step) for step in problem.path], problem.message


def range_text(schema: Schema) -> str:
    """Return such as `integer, 1 to 500, default 10`; without what the schema does not say."""
    parts = [_type(schema), *schema_limits(schema)]
    return ", ".join(part for part in parts if part)


def _type(schema: Schema) -> str:
    kind = kind_of(schema)
    if kind is FieldKind.SELECTION:
        return "any of these"
    if kind in {FieldKind.CHOICE, FieldKind.VARIANTS, FieldKind.ANY}:
        return ""
    wanted = string_member(schema, "format") if kind is FieldKind.STRING else ""
    return one_line(wanted, 30) or kind.value
