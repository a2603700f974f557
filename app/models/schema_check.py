"""What of a value does not fit its schema, each with the path of the field."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from app.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import ValidationError

    from app.models.schema import Schema

Path: TypeAlias = tuple[str | int, ...]
"""Names and positions from the root down to a field."""

_MOST: Final = 100
_WORDS: Final = 300
_LONGEST_MATCHED: Final = 2_000
_RUNS_AWAY: Final = re.compile(r"[+*}]\??\)[+*{]|\|[^)]*\)[+*{]|\\[1-9]")
"""Patterns in which a repetition is repeated: Python may need years for them."""


class SchemaProblem(NamedTuple):
    """Something wrong at `path`; `is_missing` when a member that must be there is not."""

    path: Path
    message: str
    is_missing: bool = False


def validate(schema: Schema, value: object) -> list[SchemaProblem]:
    """Return what of `value` breaks `schema`, at most `_MOST`; empty when all of it fits.

    A schema that is wrong itself proves nothing against the value. Nothing it refers to is ever
    fetched, and patterns that could run away are not tried.
    """
    import jsonschema  # 50 ms, and not every session fills in a form
    import referencing

    try:
        chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        chosen.check_schema(schema)
        bounded = jsonschema.validators.extend(chosen, {"pattern": _pattern})
        checker = bounded(schema, registry=referencing.Registry())
        errors = [error for error, _ in zip(checker.iter_errors(value), range(_MOST), strict=False)]
    except Exception:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return []
    problems = [problem for error in errors for problem in _problems(error)]
    return sorted(set(problems), key=_place)


def _problems(error: ValidationError) -> Iterator[SchemaProblem]:
    path: Path = tuple(error.absolute_path)
    if error.validator == "required" and isinstance(error.instance, dict):
        for name in error.validator_value:
            if name not in error.instance:
                yield SchemaProblem((*path, name), "this is required", is_missing=True)
    else:
        yield SchemaProblem(path, one_line(str(error.message), _WORDS))


def _place(problem: SchemaProblem) -> tuple[list[str], str]:
    return [str(step) for step in problem.path], problem.message


def _pattern(_checker: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Match a pattern from a server, unless that could take for ever."""
    from jsonschema import ValidationError

    if not isinstance(pattern, str) or not isinstance(instance, str):
        return
    if len(instance) > _LONGEST_MATCHED or _RUNS_AWAY.search(pattern):
        return
    if re.search(pattern, instance) is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")
