"""Schemas, however odd, lead to a field."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.schema_form.schema import (
    FieldKind,
    choices,
    fits_kind,
    kind_of,
    range_text,
    required_of,
    resolved,
    variant_title,
    variants,
)


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, FieldKind.STRING),
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": ["number"]}, FieldKind.NUMBER),
        ({"type": ["string", "null"]}, FieldKind.VARIANTS),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, FieldKind.VARIANTS),
        ({"enum": [1, "a", None]}, FieldKind.CHOICE),
        ({"const": 1}, FieldKind.CHOICE),
        ({"oneOf": [{"const": 1}, {"const": 2}]}, FieldKind.CHOICE),
        ({"properties": {}}, FieldKind.OBJECT),
        ({}, FieldKind.ANY),
        ({"type": "date"}, FieldKind.ANY),
        ({"type": 7}, FieldKind.ANY),
    ],
)
def test_every_schema_has_a_kind_of_field(schema: dict[str, Any], kind: FieldKind) -> None:
    assert kind_of(schema) is kind


def test_references_are_followed_and_what_stands_beside_them_wins() -> None:
    root = {"$defs": {"a/b": {"type": "string", "title": "A"}}}
    found = resolved({"$ref": "#/$defs/a~1b", "title": "B"}, root)
    assert found == {"type": "string", "title": "B"}


@pytest.mark.parametrize("reference", ["#/$defs/none", "https://example.org/x", 7, "#/$defs/loop"])
def test_references_that_lead_nowhere_end(reference: object) -> None:
    root = {"$defs": {"loop": {"$ref": "#/$defs/loop"}}}
    assert resolved({"$ref": reference, "title": "x"}, root) == {"title": "x"}


def test_a_reference_to_the_root_is_the_root() -> None:
    root = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    assert resolved(root["properties"]["child"], root) == root  # type: ignore[index]


def test_all_parts_are_put_together() -> None:
    root = {"$defs": {"a": {"properties": {"x": {}}, "required": ["x"]}}}
    schema = {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"y": {}}, "required": ["y"]}]}
    found = resolved(schema, root)
    assert set(found["properties"]) == {"x", "y"}
    assert required_of(found) == {"x", "y"}


def test_choices_have_titles() -> None:
    assert choices({"oneOf": [{"const": 1, "title": "One"}, {"const": "b"}]}) == [
        ("One", 1),
        ("b", "b"),
    ]


def test_variants_keep_what_stands_beside_them() -> None:
    found = variants({"minimum": 1, "title": "T", "anyOf": [{"type": "integer"}, {"type": "null"}]})
    assert found == [{"minimum": 1, "type": "integer"}, {"minimum": 1, "type": "null"}]


def test_variants_are_named_by_title_reference_or_type() -> None:
    root = {"$defs": {"Table": {"type": "object"}}}
    schemas = [{"title": "Name"}, {"$ref": "#/$defs/Table"}, {"type": "null"}, {}]
    assert [variant_title(each, root) for each in schemas] == ["Name", "Table", "null", "JSON"]


def test_true_is_no_integer() -> None:
    assert not fits_kind(FieldKind.INTEGER, {}, value=True)
    assert not fits_kind(FieldKind.CHOICE, {"enum": [1]}, value=True)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 500}, "integer, 1 to 500"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, more than 0"),
        ({"type": "string", "format": "date", "maxLength": 10}, "date, at most 10 characters"),
        ({"type": "array", "minItems": 1}, "array, at least 1 item"),
        ({"type": "integer", "minimum": "x", "maximum": True}, "integer"),
        ({"enum": [1, 2]}, ""),
        ({"enum": [1, 2], "default": 2}, "default 2"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "string, pattern ^[a-z]+$"),
        ({"type": "string", "pattern": "a" * 90}, f"string, pattern {'a' * 39}…"),
        ({"type": "integer", "minimum": 1, "default": 10}, "integer, at least 1, default 10"),
        ({"type": "string", "default": "x" * 90}, "string"),
        ({"type": "object", "default": {}}, "object"),
        ({"type": "integer", "pattern": "^1"}, "integer"),
    ],
)
def test_types_and_limits_are_worded(schema: dict[str, Any], text: str) -> None:
    assert range_text(schema) == text


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("#/a"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "$ref", "allOf", "anyOf", "oneOf", "enum", "properties", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_json)
def test_no_schema_breaks_reading_it(schema: Any) -> None:
    root = schema if isinstance(schema, dict) else {}
    found = resolved(schema, root)
    assert kind_of(found) in FieldKind
    for each in variants(found):
        variant_title(each, root)
    range_text(found)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (["a"], True),
        (["a", "c"], True),
        ([], True),
        (["c", "a"], False),
        (["a", "a"], False),
        (["x"], False),
        ("a", False),
    ],
)
def test_a_selection_holds_listed_values_once_in_their_order(value: object, fits: object) -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b", "c"]}}
    assert kind_of(schema) is FieldKind.SELECTION
    assert fits_kind(FieldKind.SELECTION, schema, value) is fits


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"enum": list(range(41))}},
        {"type": "array", "items": {"enum": ["a"]}, "prefixItems": [{"type": "string"}]},
        {"type": "array", "items": True},
    ],
)
def test_other_arrays_are_filled_in_item_by_item(schema: dict[str, Any]) -> None:
    assert kind_of(schema) is FieldKind.ARRAY
