"""The marks for headers: which arguments they name, and which rules they may break."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_progress_monitor.protocol.header_marks import marked_arguments, marks_problem


def marked(name: object, kind: object = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_marked_arguments_are_found_below_objects_too() -> None:
    deep = {"type": "object", "properties": {"n": marked("Deep", "integer")}}
    found = schema(region=marked("Region"), inner=deep, plain={"type": "string"})
    assert marks_problem(found) == ""
    arguments = {"region": "north", "inner": {"n": 7}, "plain": "x"}
    assert marked_arguments(found, arguments) == {"Region": "north", "Deep": 7}
    assert marked_arguments(found, {"inner": 5}) == {"Region": None, "Deep": None}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"a": marked("")}, '"x-mcp-header" of "a" is "", which is no name of a header'),
        ({"a": marked("two words")}, "no name of a header"),
        ({"a": marked("line\r\nbreak")}, "no name of a header"),
        ({"a": marked(5)}, "is 5, which is no name"),
        ({"a": marked("A", "number")}, 'of "a" stands where neither a string'),
        ({"a": marked("A", ["string"])}, "stands where neither"),
        ({"a": {"properties": {"b": marked("A", "object")}}}, 'of "a.b" stands'),
        ({"a": marked("Same"), "b": marked("same")}, 'has "same" twice'),
        ({"a": {"items": marked("A")}}, 'of "a.items" stands below "items", where it means no'),
        ({"a": {"oneOf": [{}, schema(b=marked("A"))]}}, 'of "a.oneOf[1].b" stands below "oneOf"'),
        ({"a": {"anyOf": [marked("A")]}}, 'stands below "anyOf"'),
        ({"a": {"not": schema(b={"allOf": [marked("A")]})}}, 'stands below "not"'),
    ],
)
def test_marks_that_break_a_rule_are_told_and_name_no_argument(
    properties: dict[str, Any], words: str
) -> None:
    assert words in marks_problem(schema(**properties))
    assert marked_arguments(schema(**properties), {"a": "1", "b": "2"}) == {}


@pytest.mark.parametrize("odd", [{}, {"properties": 5}, {"properties": {"a": True}}])
def test_a_schema_without_marks_breaks_none(odd: dict[str, Any]) -> None:
    assert marks_problem(odd) == ""
    assert marked_arguments(odd, {"a": 1}) == {}


def test_a_schema_of_any_depth_is_read() -> None:
    part: dict[str, Any] = marked("X")
    for _ in range(500):
        part = schema(a=part)
    assert marks_problem(part) == ""
    arguments: Any = "deep"
    for _ in range(500):
        arguments = {"a": arguments}
    assert marked_arguments(part, arguments) == {"X": "deep"}


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ({"$defs": {"Shared": schema(b=marked("A"))}}, '"$defs.Shared.b" stands below "$defs"'),
        ({"if": {}, "then": schema(b=marked("A"))}, 'of "then.b" stands below "then"'),
        ({"oneOf": [schema(a=marked("A")), schema(a=marked("B"))]}, 'of "oneOf[0].a" stands'),
        ({"items": [marked("A")]}, 'of "items[0]" stands below "items"'),
        (marked("A"), "of the schema itself means no argument"),
    ],
)
def test_marks_where_no_argument_is_meant_are_told(odd: dict[str, Any], words: str) -> None:
    assert words in marks_problem({**schema(z=marked("Fine")), **odd})
    assert marked_arguments({**schema(z=marked("Fine")), **odd}, {"z": "1"}) == {}


def test_what_only_looks_like_a_mark_is_none() -> None:
    data = {"x-mcp-header": "no name"}
    found = schema(
        a={"type": "string", "default": data, "enum": [data], "const": data}, b=marked("B")
    )
    assert marks_problem(found) == ""
    assert marked_arguments(found, {"b": 1}) == {"B": 1}
    named = schema(**{"x-mcp-header": {"type": "string"}, "items": marked("I"), "oneOf": {}})
    assert marked_arguments(named, {"items": "x"}) == {"I": "x"}
