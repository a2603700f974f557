"""What of a value breaks a server's schema, found without ever being held up by the schema."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema import ValidationError

_MOST_REFERENCES: Final = 10_000
_LONGEST_MATCHED: Final = 2_000
_RUNS_AWAY: Final = re.compile(r"[+*}]\??\)[+*{]|\|[^)]*\)[+*{]|\\[1-9]")
"""Patterns in which a repetition is repeated: Python may need years for them."""
_BY_NAME: Final = {"patternProperties", "additionalProperties", "unevaluatedProperties"}
"""Keywords that match names of members with the patterns of the first of them."""


def schema_errors(schema: Any, value: object, most: int) -> list[ValidationError]:
    """The first `most` errors of `value` against `schema`; none if all fits.

    A schema that is wrong itself proves nothing against the value, nor does one that refers to
    somewhere else (nothing is ever fetched) or to itself without end. Patterns that could run
    away are not tried.
    """
    import jsonschema  # 50 ms, and most sessions make no use of it
    import referencing

    try:
        chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        chosen.check_schema(schema)
        bounded = jsonschema.validators.extend(chosen, _bounds(chosen.VALIDATORS))
        checker = bounded(_without_runaways(schema), registry=referencing.Registry())
        return list(itertools.islice(checker.iter_errors(value), most))
    except Exception:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return []


def schema_problem(schema: Any) -> str:
    """Why `schema` is no JSON schema, in words; empty when it is one."""
    import jsonschema

    try:
        chosen = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        chosen.check_schema(schema)
    except jsonschema.SchemaError as error:
        path = str(error.json_path).removeprefix("$").removeprefix(".")
        return f"{path}: {error.message}" if path else str(error.message)
    except Exception as error:  # noqa: BLE001  # a server's schema can be wrong in any way there is
        return str(error) or type(error).__name__
    return ""


def _bounds(keywords: Mapping[str, Any]) -> dict[str, Any]:
    followed = itertools.count(1)
    references = {name: keywords[name] for name in ("$ref", "$dynamicRef") if name in keywords}
    return {
        "pattern": _pattern,
        **{name: _bounded(follow, followed) for name, follow in references.items()},
    }


def _bounded(follow: Callable[..., Any], followed: Iterator[int]) -> Callable[..., Iterator[Any]]:
    """Follow references, but not for ever: a few of them can ask for 2 ** 30 checks."""

    def bounded(checker: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if next(followed) > _MOST_REFERENCES:
            raise RecursionError
        yield from follow(checker, reference, instance, schema) or ()

    return bounded


def _pattern(_checker: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Match a pattern from a server, unless that could take for ever."""
    from jsonschema import ValidationError

    if not isinstance(pattern, str) or not isinstance(instance, str):
        return
    if len(instance) > _LONGEST_MATCHED or _RUNS_AWAY.search(pattern):
        return
    if re.search(pattern, instance) is None:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _without_runaways(schema: Any) -> Any:
    """The schema without keywords that match names of members with a pattern that runs away."""
    if isinstance(schema, list):
        return [_without_runaways(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    patterns = schema.get("patternProperties")
    runs_away = isinstance(patterns, dict) and any(map(_RUNS_AWAY.search, patterns))
    left_out = _BY_NAME if runs_away else frozenset[str]()
    return {name: _without_runaways(part) for name, part in schema.items() if name not in left_out}
