"""The marks for headers: which arguments they name, and which rules they may break."""

from typing import Any

import pytest

from mcp_progress_monitor.protocol.header_parameters import (
    header_parameters_error,
    marked_arguments,
)


def marked(name: object, kind: object = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_marked_arguments_are_found_below_objects_too() -> None:
    deep = {"type": "object", "properties": {"n": marked("Deep", "integer")}}
    found = schema(region=marked("Region"), inner=deep, plain={"type": "string"})
    assert header_parameters_error(found) == ""
    arguments = {"region": "north", "inner": {"n": 7}, "plain": "x"}
    assert marked_arguments(found, arguments) == {"Region": "north", "Deep": 7}
    assert marked_arguments(found, {"inner": 5}) == {"Region": None, "Deep": None}


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"a": marked("")}, '"x-mcp-header" of "a" is "", not a valid header name'),
        ({"a": marked("two words")}, "not a valid header name"),
        ({"a": marked("line\r\nbreak")}, "not a valid header name"),
        ({"a": marked(5)}, "is 5, not a valid header name"),
        ({"a": marked("A", "number")}, 'of "a" is on a value'),
        ({"a": marked("A", ["string"])}, "is on a value that is not"),
        ({"a": {"properties": {"b": marked("A", "object")}}}, 'of "a.b" is'),
        ({"a": marked("Same"), "b": marked("same")}, 'uses "same" twice'),
        ({"a": {"items": marked("A")}}, 'of "a.items" is inside "items", where it does not name'),
        ({"a": {"oneOf": [{}, schema(b=marked("A"))]}}, 'of "a.oneOf[1].b" is inside "oneOf"'),
        ({"a": {"anyOf": [marked("A")]}}, 'is inside "anyOf"'),
        ({"a": {"not": schema(b={"allOf": [marked("A")]})}}, 'is inside "not"'),
    ],
)
def test_marks_that_break_a_rule_are_reported_and_name_no_argument(
    properties: dict[str, Any], text: str
) -> None:
    assert text in header_parameters_error(schema(**properties))
    assert marked_arguments(schema(**properties), {"a": "1", "b": "2"}) == {}


@pytest.mark.parametrize("odd", [{}, {"properties": 5}, {"properties": {"a": True}}])
def test_a_schema_without_marks_breaks_none(odd: dict[str, Any]) -> None:
    assert header_parameters_error(odd) == ""
    assert marked_arguments(odd, {"a": 1}) == {}


def test_a_schema_of_any_depth_is_read() -> None:
    part: dict[str, Any] = marked("X")
    for _ in range(500):
        part = schema(a=part)
    assert header_parameters_error(part) == ""
    arguments: Any = "deep"
    for _ in range(500):
        arguments = {"a": arguments}
    assert marked_arguments(part, arguments) == {"X": "deep"}


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        ({"$defs": {"Shared": schema(b=marked("A"))}}, '"$defs.Shared.b" is inside "$defs"'),
        ({"if": {}, "then": schema(b=marked("A"))}, 'of "then.b" is inside "then"'),
        ({"oneOf": [schema(a=marked("A")), schema(a=marked("B"))]}, 'of "oneOf[0].a" is'),
        ({"items": [marked("A")]}, 'of "items[0]" is inside "items"'),
        (marked("A"), "on the schema itself does not name an argument"),
    ],
)
def test_marks_where_no_argument_is_meant_are_reported(odd: dict[str, Any], text: str) -> None:
    assert text in header_parameters_error({**schema(z=marked("Fine")), **odd})
    assert marked_arguments({**schema(z=marked("Fine")), **odd}, {"z": "1"}) == {}


def test_what_only_looks_like_a_mark_is_none() -> None:
    data = {"x-mcp-header": "no name"}
    found = schema(
        a={"type": "string", "default": data, "enum": [data], "const": data}, b=marked("B")
    )
    assert header_parameters_error(found) == ""
    assert marked_arguments(found, {"b": 1}) == {"B": 1}
    named = schema(**{"x-mcp-header": {"type": "string"}, "items": marked("I"), "oneOf": {}})
    assert marked_arguments(named, {"items": "x"}) == {"I": "x"}
