"""Whether a server's schema is a JSON schema: in one pass, whatever its size, depth and cycles.

`jsonschema` checks a schema by the schema of schemas, which takes half a millisecond for each
property. This reads the keywords that decide what fits, as every draft from 4 on has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_progress_monitor.sessions.stopwatch import Stopwatch

_TYPES: Final = frozenset(
    {"array", "boolean", "integer", "null", "number", "object", "string", "any"}
)
_WORDS: Final = 80


class Shape(NamedTuple):
    """What a schema is like. `fault` says why it is no JSON schema, empty when it is one."""

    fault: str
    has_inner_dialect: bool = False
    """A part names a dialect of its own, or says that it is the schema of one."""
    has_references: bool = False
    has_name_patterns: bool = False


class _Part(NamedTuple):
    """A value in a schema, with the path to it."""

    value: Any
    path: str

    def below(self, step: str) -> str:
        return f"{self.path}.{step}" if self.path else step


def shape_of(schema: Any, watch: Stopwatch) -> Shape:
    """Read a schema. `TimeUpError` when `watch` runs out."""
    return Shape(_fault(schema, watch), *_flags(schema, watch))


def names_dialect(member: tuple[str, Any]) -> bool:
    """Whether a member of a schema would have `jsonschema` choose another validator for it."""
    name, value = member
    if not isinstance(value, str):
        return False
    return name == "$schema" or (name in {"$id", "id"} and "json-schema.org" in value)


def _flags(schema: Any, watch: Stopwatch) -> tuple[bool, bool, bool]:
    dialect = references = patterns = False
    stack = [*_parts(schema)] if isinstance(schema, dict) else []
    if isinstance(schema, dict):
        references = "$ref" in schema or "$dynamicRef" in schema
        patterns = "patternProperties" in schema
    while stack:
        watch.tick()
        part = stack.pop()
        if isinstance(part, dict):
            dialect = dialect or any(map(names_dialect, part.items()))
            references = references or "$ref" in part or "$dynamicRef" in part
            patterns = patterns or "patternProperties" in part
        stack.extend(_parts(part))
    return dialect, references, patterns


def _parts(value: Any) -> Iterator[Any]:
    """The containers in a container."""
    members = value.values() if isinstance(value, dict) else value
    return (each for each in members if isinstance(each, dict | list))


def _fault(schema: Any, watch: Stopwatch) -> str:
    """What is wrong with the first faulty keyword that is found; empty when none is."""
    stack = [_Part(schema, "")]
    while stack:
        watch.tick()
        part = stack.pop()
        if isinstance(part.value, bool):
            continue
        if not isinstance(part.value, dict):
            return f"{part.path}: {_brief(part.value)} is no schema".removeprefix(": ")
        for keyword, value in part.value.items():
            rule = _RULES.get(keyword)
            if rule is None:
                continue
            if not rule.fits(value):
                return f"{part.below(keyword)}: {_brief(value)} is not {rule.due}"
            stack.extend(_Part(each, part.below(step)) for step, each in rule.parts(keyword, value))
    return ""


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value[:_WORDS] if isinstance(value, str) else value)
    return text if len(text) <= _WORDS else f"{text[:_WORDS]}…"


def _no_parts(_keyword: str, _value: Any) -> Iterator[tuple[str, Any]]:
    return iter(())


def _itself(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield keyword, value


def _listed(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{keyword}[{index}]", each) for index, each in enumerate(value))


def _members(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return ((f"{keyword}.{name}", each) for name, each in value.items())


def _one_or_listed(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return _listed(keyword, value) if isinstance(value, list) else _itself(keyword, value)


def _dependent(keyword: str, value: Any) -> Iterator[tuple[str, Any]]:
    return (each for each in _members(keyword, value) if not isinstance(each[1], list))


def _is_any(_value: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_bound(value: Any) -> bool:
    return isinstance(value, int | float)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and float(value).is_integer()


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and each in _TYPES for each in value)
    return isinstance(value, str) and value in _TYPES


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


class _Rule(NamedTuple):
    """What the value of a keyword has to be, and which schemas are in it."""

    fits: Callable[[Any], bool]
    due: str
    parts: Callable[[str, Any], Iterator[tuple[str, Any]]] = _no_parts


_KINDS: Final = (
    (_Rule(_is_type, "a type of JSON Schema, or a list of them"), ("type",)),
    (_Rule(_is_list, "a list"), ("enum",)),
    (_Rule(_is_names, "a list of names"), ("required",)),
    (_Rule(_is_truth, "true or false"), ("uniqueItems",)),
    (_Rule(_is_number, "a number"), ("minimum", "maximum")),
    # True and false in draft 4.
    (_Rule(_is_bound, "a number"), ("exclusiveMinimum", "exclusiveMaximum")),
    (_Rule(_is_positive, "a number above 0"), ("multipleOf",)),
    (
        _Rule(_is_count, "a whole number from 0 on"),
        ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
    ),
    (_Rule(_is_count, "a whole number from 0 on"), ("minProperties", "maxProperties")),
    (_Rule(_is_text, "a text"), ("pattern", "$ref", "$id", "$schema", "$anchor", "$dynamicRef")),
    (_Rule(_is_text, "a text"), ("title", "description", "format")),
    (
        _Rule(_is_object, "an object of schemas", _members),
        ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
    ),
    (_Rule(_is_object, "an object", _dependent), ("dependencies",)),
    (_Rule(_is_object, "an object"), ("dependentRequired",)),
    (
        _Rule(_is_schemas, "a list of schemas", _listed),
        ("allOf", "anyOf", "oneOf", "prefixItems"),
    ),
    (_Rule(_is_any, "a schema", _one_or_listed), ("items",)),
    (
        _Rule(_is_any, "a schema", _itself),
        ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"),
    ),
    (
        _Rule(_is_any, "a schema", _itself),
        ("additionalItems", "unevaluatedItems", "unevaluatedProperties"),
    ),
)
_RULES: Final = {name: rule for rule, names in _KINDS for name in names}
