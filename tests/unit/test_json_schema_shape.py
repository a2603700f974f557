"""A schema is read in one pass, and what is wrong with it has its path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.json_schema import Stopwatch, TimeUpError, shape_of
from tests.growth import is_linear


def fault(schema: Any) -> str:
    return shape_of(schema, Stopwatch(60)).fault


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "integr"}, "type"),
        ({"type": []}, "type"),
        ({"properties": {"a": {"type": 7}}}, "properties.a.type"),
        ({"properties": []}, "properties"),
        ({"properties": {"a": 1}}, "properties.a"),
        ({"required": "a"}, "required"),
        ({"required": [1]}, "required"),
        ({"anyOf": []}, "anyOf"),
        ({"anyOf": [{}, {"minimum": "1"}]}, "anyOf[1].minimum"),
        ({"items": {"minLength": -1}}, "items.minLength"),
        ({"items": [{"minLength": 0.5}]}, "items[0].minLength"),
        ({"$defs": {"x": {"pattern": 1}}}, "$defs.x.pattern"),
        ({"additionalProperties": 7}, "additionalProperties"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"dependencies": {"a": {"enum": {}}}}, "dependencies.a.enum"),
        ({"uniqueItems": 1}, "uniqueItems"),
    ],
)
def test_a_fault_is_named_by_its_path(schema: Any, path: str) -> None:
    assert fault(schema).startswith(f"{path}: ")


def test_what_jsonschema_takes_has_no_fault() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": ["object", "null"],
        "properties": {"$schema": {"type": "string"}, "type": {}, "a": True},
        "required": ["a"],
        "dependencies": {"a": ["b"], "b": {"type": "object"}},
        "enum": [{"type": 7}],
        "default": {"type": 7},
        "minLength": 2.0,
        "exclusiveMinimum": 1,
    }
    assert fault(schema) == ""


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["string", "object", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "required",
                    "enum",
                    "minLength",
                    "not",
                    "x",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "not"]), _VALUES))
def test_a_schema_that_is_valid_by_the_meta_schema_is_accepted(schema: dict[str, Any]) -> None:
    import jsonschema

    is_schema = True
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        is_schema = False
    if is_schema:
        assert fault(schema) == ""
    # Lists of schemas under "items", and "dependencies", are of older drafts: let through here.
    elif "items" not in str(schema) and "required" not in str(schema):
        assert fault(schema) != ""


def test_a_part_with_a_dialect_of_its_own_is_seen_and_a_member_of_that_name_is_not() -> None:
    inner = {"$schema": "http://json-schema.org/draft-07/schema#"}
    assert shape_of({"properties": {"a": inner}}, Stopwatch()).has_inner_dialect
    assert shape_of({"allOf": [{"$id": "http://json-schema.org/x"}]}, Stopwatch()).has_inner_dialect
    named = {"properties": {"$schema": {"type": "string"}}}
    assert not shape_of({**inner, **named}, Stopwatch()).has_inner_dialect


def test_depth_is_no_matter() -> None:
    schema: dict[str, Any] = {"type": 7}
    for _ in range(20_000):
        schema = {"not": schema}
    assert fault(schema).endswith("type: 7 is not a JSON Schema type, or a list of them")


def test_a_stopwatch_ends_it() -> None:
    with pytest.raises(TimeUpError):
        shape_of({}, Stopwatch(-1))


def _read(count: int) -> None:
    fault({"properties": {f"f{n}": {"type": "string", "title": "x"} for n in range(count)}})


def test_twice_the_properties_take_twice_the_time() -> None:
    assert is_linear(_read, 8_000)
