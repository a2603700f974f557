"""The arguments that a tour makes from a schema."""

from typing import Any

import pytest

from mcp_progress_monitor.engine.tour import sample


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "default": "d", "enum": ["e"]}, "d"),
        ({"enum": ["first", "second"]}, "first"),
        ({"const": 3}, 3),
        ({"examples": [7]}, 7),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": ["boolean", "null"]}, True),
        ({"type": "array"}, []),
        ({"type": "object", "required": ["n"], "properties": {"n": {"type": "null"}}}, {"n": None}),
        ({"type": {"odd": 1}}, "text"),
        ({}, "text"),
    ],
)
def test_a_required_argument_has_the_first_value_that_its_schema_names(
    schema: dict[str, Any], value: object
) -> None:
    whole = {"type": "object", "required": ["x"], "properties": {"x": schema, "other": {}}}
    assert sample(whole) == {"x": value}


def test_schemas_without_end_end() -> None:
    loop: dict[str, Any] = {"type": "object", "required": ["x"]}
    loop["properties"] = {"x": loop}
    made, depth = sample(loop), 0
    while made.get("x"):
        made, depth = made["x"], depth + 1
    assert 0 < depth < 10


@pytest.mark.parametrize("schema", [{}, {"required": 3}, {"required": [1], "properties": []}])
def test_schemas_that_are_none_ask_for_nothing(schema: dict[str, Any]) -> None:
    assert sample(schema) == {}
