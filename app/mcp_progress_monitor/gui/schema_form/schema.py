"""Reads JSON Schemas for forms: kinds, choices, variants, references, violations.

A server's schema may be wrong in any way. What is not understood becomes a field for raw JSON;
nothing here raises, fetches, or follows references without end.
"""

from __future__ import annotations

import enum
import itertools
import json
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_progress_monitor.formatting import one_line
from mcp_progress_monitor.gui.common.typed_input import write_json
from mcp_progress_monitor.json_pointer import part_at
from mcp_progress_monitor.json_schema import SchemaError, find_errors
from mcp_progress_monitor.wording.content import schema_limits

Schema: TypeAlias = dict[str, Any]

DEEPEST: Final = 12  # depth of nested fields; deeper values are entered as JSON

_REFERENCES: Final = 32
_OFFERED: Final = 1_000
_MOST_VARIANTS: Final = 50
_MOST_MERGED: Final = 1_000  # members of merged schemas; a form shows far fewer
_TICKED: Final = 40  # values with a check box each; of more, some are added one by one


class Unset(enum.Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""No value: the member is left out, which is neither null nor empty."""


class FieldKind(enum.Enum):
    """The kind of field for a schema."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    CHOICE = "choice"
    SELECTION = "selection"  # any of the listed values, each once, in the order of the list
    VARIANTS = "variants"  # one of several schemas
    ANY = "any"  # raw JSON


_TYPES: Final = {
    kind.value: kind
    for kind in FieldKind
    if kind not in {FieldKind.CHOICE, FieldKind.SELECTION, FieldKind.VARIANTS, FieldKind.ANY}
}


def resolved(schema: object, root: Schema) -> Schema:
    """`schema` with its reference resolved and the parts of `allOf` merged.

    Only references within `root` are resolved (`#/$defs/…`, `#`), at most `_REFERENCES` in a row.
    Members beside a reference override what it refers to.
    """
    found = _as_schema(schema)
    for _ in range(_REFERENCES):
        if "$ref" in found:
            beside = {key: value for key, value in found.items() if key != "$ref"}
            found = {**_target(found["$ref"], root), **beside}
        elif isinstance(found.get("allOf"), list):
            found = _put_together(found, root)
        else:
            return found
    return {key: value for key, value in found.items() if key not in {"$ref", "allOf"}}


def kind_of(schema: Schema) -> FieldKind:
    if _has_choices(schema):
        return FieldKind.CHOICE
    if selectable(schema):
        return FieldKind.SELECTION
    if len(variants(schema)) > 1:
        return FieldKind.VARIANTS
    named = schema.get("type")
    if isinstance(named, list) and len(named) == 1:
        named = named[0]
    if isinstance(named, str):
        return _TYPES.get(named, FieldKind.ANY)
    return FieldKind.OBJECT if isinstance(schema.get("properties"), dict) else FieldKind.ANY


def choices(schema: Schema) -> list[tuple[str, Any]]:
    """The listed values with their titles: of `enum`, `const`, or `oneOf` constants."""
    if "const" in schema:
        return [(title_of_value(schema["const"]), schema["const"])]
    listed = schema.get("enum")
    if isinstance(listed, list) and 0 < len(listed) <= _OFFERED:
        return [(title_of_value(value), value) for value in listed]
    for key in ("oneOf", "anyOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and _are_constants(branches):
            titled = ((string_member(each, "title"), each["const"]) for each in branches)
            return [(title or title_of_value(value), value) for title, value in titled]
    return []


def _has_choices(schema: Schema) -> bool:
    listed = schema.get("enum")
    if "const" in schema or (isinstance(listed, list) and 0 < len(listed) <= _OFFERED):
        return True
    return any(_are_constants(schema.get(key)) for key in ("oneOf", "anyOf"))


def _are_constants(branches: object) -> bool:
    return (
        isinstance(branches, list)
        and 0 < len(branches) <= _OFFERED
        and all(isinstance(branch, dict) and "const" in branch for branch in branches)
    )


def selectable(schema: Schema) -> list[tuple[str, Any]]:
    """The titled values of which an array may have any; else nothing.

    2025-11-25 "Elicitation" has such fields ("multi-select enum").
    """
    items = schema.get("items")
    if schema.get("type") != "array" or not isinstance(items, dict) or "prefixItems" in schema:
        return []
    offered = choices(items)
    return offered if len(offered) <= _TICKED else []


def variants(schema: Schema) -> list[Schema]:
    """The alternative schemas: `oneOf`, `anyOf`, or several types."""
    for key in ("oneOf", "anyOf"):
        branches = schema.get(key)
        if isinstance(branches, list) and 0 < len(branches) <= _MOST_VARIANTS:
            beside = {name: value for name, value in schema.items() if name not in {key, "default"}}
            return [_beside(beside, branch) for branch in branches]
    named = schema.get("type")
    if isinstance(named, list) and 1 < len(named) <= _MOST_VARIANTS:
        beside = {name: value for name, value in schema.items() if name != "default"}
        return [{**beside, "type": each} for each in named]
    return []


def fits_kind(kind: FieldKind, schema: Schema, value: object) -> bool:
    """Return whether a field of `kind` can show `value`, regardless of limits."""
    match kind:
        case FieldKind.ANY | FieldKind.VARIANTS:
            return True
        case FieldKind.CHOICE:
            return any(is_same(value, offered) for _, offered in choices(schema))
        case FieldKind.SELECTION:
            return _is_selection(schema, value)
        case FieldKind.INTEGER:
            is_whole = isinstance(value, float) and value.is_integer()
            return is_whole or (isinstance(value, int) and not isinstance(value, bool))
        case FieldKind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case FieldKind.NULL:
            return value is None
        case _:
            return isinstance(value, _PYTHON[kind])


def _is_selection(schema: Schema, value: object) -> bool:
    """Return whether `value` has only offered values, each once and in their order."""
    if not isinstance(value, list):
        return False
    kept = [each for _, each in selectable(schema) if any(is_same(each, one) for one in value)]
    return len(kept) == len(value) and all(map(is_same, kept, value))


_PYTHON: Final[dict[FieldKind, type]] = {
    FieldKind.OBJECT: dict,
    FieldKind.ARRAY: list,
    FieldKind.STRING: str,
    FieldKind.BOOLEAN: bool,
}


def is_same(one: object, other: object) -> bool:
    """Return whether two JSON values are equal; `1` and `true` are not."""
    return type(one) is type(other) and one == other


def properties_of(schema: Schema) -> dict[str, Any]:
    return _as_schema(schema.get("properties"))


def is_beyond(value: object, most: int) -> bool:
    """Return whether a JSON value has more than `most` characters and parts in all."""
    size, stack = 0, [value]
    while stack and size <= most:
        part = stack.pop()
        size += 1
        if isinstance(part, dict):
            size += sum(map(len, part))
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
        elif isinstance(part, str):
            size += len(part)
    return size > most


def has_large_default(schema: object, most: int) -> bool:
    """Return whether a default anywhere in a schema has more than `most` characters and parts."""
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            if "default" in part and is_beyond(part["default"], most):
                return True
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return False


def required_of(schema: Schema) -> frozenset[str]:
    listed = schema.get("required")
    names = listed if isinstance(listed, list) else []
    return frozenset(name for name in names if isinstance(name, str))


def string_member(schema: Schema, key: str) -> str:
    """The string under `key`, such as the title; empty if there is none."""
    value = schema.get(key)
    return value if isinstance(value, str) else ""


def title_of_value(value: object) -> str:
    """A listed value as text: strings unquoted, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def variant_title(schema: Schema, root: Schema) -> str:
    """The name of a variant: its title, its reference's name, or its type."""
    found = resolved(schema, root)
    title = string_member(found, "title")
    if title:
        return title
    reference = schema.get("$ref")
    if isinstance(reference, str) and "/" in reference:
        return reference.rpartition("/")[2]
    kind = kind_of(found)
    return "JSON" if kind is FieldKind.ANY else kind.value


def _as_schema(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _beside(beside: Schema, branch: object) -> Schema:
    own = _as_schema(branch)
    # The description of the whole is already above the choice.
    kept = {key: value for key, value in beside.items() if key not in {"title", "description"}}
    return {**kept, **own}


def _put_together(schema: Schema, root: Schema) -> Schema:
    whole = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"][:_REFERENCES]:
        found = _as_schema(part)
        if "$ref" in found:
            found = {
                **_target(found["$ref"], root),
                **{k: v for k, v in found.items() if k != "$ref"},
            }
        for key, value in found.items():
            whole[key] = _joined(key, whole[key], value) if key in whole else value
    return whole


def _joined(key: str, one: Any, other: Any) -> Any:
    if not isinstance(one, dict | list) or len(one) > _MOST_MERGED:
        return one
    if key in {"properties", "$defs"} and isinstance(one, dict) and isinstance(other, dict):
        return {**dict(itertools.islice(other.items(), _MOST_MERGED)), **one}
    if key in {"required", "allOf"} and isinstance(one, list) and isinstance(other, list):
        return [*one, *other[:_REFERENCES]] if key == "allOf" else _names_of(one, other)
    return one


def _names_of(*lists: list[Any]) -> list[str]:
    names = (each for each in itertools.chain(*lists) if isinstance(each, str))
    return list(dict.fromkeys(names))


def _target(reference: object, root: Schema) -> Schema:
    """Resolve a reference within `root`; empty if it leads nowhere."""
    is_within = isinstance(reference, str) and reference.startswith("#")
    return _as_schema(part_at(str(reference), root)) if is_within else {}


Path: TypeAlias = tuple[str | int, ...]  # member names and positions from the root

_MOST: Final = 100
_SHORT: Final = 40  # characters of a pattern or a default beside a name
_TEXT_LIMIT: Final = 300


class SchemaViolation(NamedTuple):
    """A violation at `path`; `is_missing` for an absent required member."""

    path: Path
    message: str
    is_missing: bool = False


class Validation(NamedTuple):
    """The violations of a value, and what could not be checked."""

    violations: list[SchemaViolation]
    unchecked: tuple[str, ...]


def validate(schema: Schema, value: object) -> Validation:
    """Check `value` against `schema`: at most `_MOST` violations."""
    errors, unchecked = find_errors(schema, value, _MOST)
    return Validation(list(dict.fromkeys(map(_violation, errors))), unchecked)


def _violation(error: SchemaError) -> SchemaViolation:
    if error.missing is not None:
        return SchemaViolation((*error.path, error.missing), "this is required", is_missing=True)
    return SchemaViolation(error.path, one_line(error.message, _TEXT_LIMIT))


def range_text(schema: Schema) -> str:
    """Return such as `integer, 1 to 500, default 10`; without what the schema does not say."""
    pattern = string_member(schema, "pattern") if kind_of(schema) is FieldKind.STRING else ""
    matches = f"pattern {one_line(pattern, _SHORT)}" if pattern else ""
    parts = [_type(schema), *schema_limits(schema), matches, _default_text(schema)]
    return ", ".join(part for part in parts if part)


def _default_text(schema: Schema) -> str:
    """The default, if it is short enough to stand beside a name."""
    default = schema.get("default", UNSET)
    if default is UNSET or isinstance(default, dict | list):
        return ""
    text = write_json(default)
    return f"default {text}" if len(text) <= _SHORT else ""


def _type(schema: Schema) -> str:
    kind = kind_of(schema)
    if kind is FieldKind.SELECTION:
        return "any of these"
    if kind in {FieldKind.CHOICE, FieldKind.VARIANTS, FieldKind.ANY}:
        return ""
    wanted = string_member(schema, "format") if kind is FieldKind.STRING else ""
    return one_line(wanted, 30) or kind.value
