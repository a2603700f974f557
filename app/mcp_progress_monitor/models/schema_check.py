"""What of a value does not fit its schema, each with the path of the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_progress_monitor.sessions.schema_errors import find_errors
from mcp_progress_monitor.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError

    from mcp_progress_monitor.models.schema import Schema
    from mcp_progress_monitor.sessions.stopwatch import Stopwatch

Path: TypeAlias = tuple[str | int, ...]
"""Names and positions from the root down to a field."""

_MOST: Final = 100
_WORDS: Final = 300


class SchemaProblem(NamedTuple):
    """Something wrong at `path`; `is_missing` when a member that must be there is not."""

    path: Path
    message: str
    is_missing: bool = False


class Validation(NamedTuple):
    """What of a value breaks its schema, and what could not be checked."""

    problems: list[SchemaProblem]
    unchecked: tuple[str, ...]


def validate(schema: Schema, value: object, watch: Stopwatch | None = None) -> Validation:
    """Check `value` against `schema`: at most `_MOST` problems, within the time of `watch`."""
    errors, unchecked = find_errors(schema, value, _MOST, watch)
    problems = {problem for error in errors for problem in _problems(error)}
    return Validation(sorted(problems, key=_place), unchecked)


def _problems(error: ValidationError) -> Iterator[SchemaProblem]:
    path: Path = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.instance, dict):
        for name in error.validator_value:
            yield SchemaProblem((*path, name), "this is required", is_missing=True)
    else:
        yield SchemaProblem(path, one_line(str(error.message), _WORDS))


def _place(problem: SchemaProblem) -> tuple[list[str], str]:
    return [str(step) for step in problem.path], problem.message
