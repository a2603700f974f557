"""A server's schema finds errors in a value, and holds nobody up."""

from __future__ import annotations

import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.json_schema import (
    TOOK_TOO_LONG,
    Findings,
    Stopwatch,
    find_errors,
    holds_plainly,
)

RUNAWAYS = [("^(a|aa)+$", "a" * 60 + "!"), ("(x+x+)+y", "x" * 3_000)]
DRAFTS = ["draft/2020-12", "draft/2019-09", "draft-07"]


def check(schema: Any, value: object, limit_s: float = 60) -> Findings:
    return find_errors(schema, value, 100, Stopwatch(limit_s))


def found(schema: Any, value: object) -> list[str]:
    return [error.message for error in check(schema, value).errors]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("pattern", "text"), RUNAWAYS)
def test_a_pattern_that_takes_too_long_is_reported_as_unchecked(pattern: str, text: str) -> None:
    errors, unchecked = check({"properties": {"a": {"pattern": pattern}}}, {"a": text})
    assert errors == []
    assert unchecked == (f"matching the pattern {pattern!r} took too long",)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+b?)+$", "a" * 40 + "!"),
        ("^((a+))+$", "a" * 40 + "!"),
        (r"^(\w+\s?)*$", "a" * 40 + "!"),
        ("a*a*a*a*a*a*b", "a" * 200),
    ],
)
def test_patterns_that_others_run_away_with_end_in_time(pattern: str, text: str) -> None:
    before = time.thread_time()
    errors, unchecked = check({"properties": {"a": {"pattern": pattern}}}, {"a": text})
    assert len(errors) + len(unchecked) == 1
    assert time.thread_time() - before < 5


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("pattern", "text"), RUNAWAYS)
@pytest.mark.parametrize("draft", DRAFTS)
def test_a_pattern_for_names_that_runs_away_is_given_up_as_well(
    pattern: str, text: str, draft: str
) -> None:
    schema = {
        "$schema": f"https://json-schema.org/{draft}/schema",
        "patternProperties": {pattern: {"type": "integer"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
        "required": ["b"],
    }
    errors, unchecked = check({"properties": {"p": schema}}, {"p": {text: 1}})
    assert [error.message for error in errors] == ["'b' is a required property"]
    assert f"matching the pattern {pattern!r} took too long" in unchecked


def test_many_patterns_share_the_time() -> None:
    pattern, text = RUNAWAYS[1]
    schema = {"properties": {f"f{n}": {"pattern": pattern} for n in range(100)}}
    before = time.thread_time()
    errors, unchecked = check(schema, dict.fromkeys(schema["properties"], text), 0.05)
    assert time.thread_time() - before < 0.1
    assert errors == []
    assert TOOK_TOO_LONG in unchecked


def test_ordinary_patterns_are_matched() -> None:
    assert found({"properties": {"a": {"pattern": "^[0-9]{4}$"}}}, {"a": "20x6"}) == [
        "'20x6' does not match '^[0-9]{4}$'"
    ]
    schema = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert found(schema, {"x-a": 1}) == []
    assert len(found(schema, {"x-a": "1", "y": 1})) == 2


def test_a_reference_to_itself_proves_nothing() -> None:
    assert found({"$ref": "#"}, 1) == []


def test_no_more_than_so_many_errors_are_looked_for() -> None:
    schema = {"items": {"type": "integer"}}
    assert len(find_errors(schema, ["x"] * 50, 7).errors) == 7


def test_an_unusable_pattern_is_said_to_be_unchecked() -> None:
    for pattern in ("(", "x{1000000}"):
        (words,) = check({"pattern": pattern}, "x").unchecked
        assert pattern in words


def test_references_that_never_end_do_not_reach_pythons_limit() -> None:
    """There the library that keeps references ends the program, and no `except` holds it."""
    for keyword in ("$ref", "$dynamicRef"):
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", keyword: "#"}
        errors, unchecked = check(schema, 1)
        assert errors == []
        assert "form a loop" in unchecked[0]


@pytest.mark.timeout(30)
def test_references_that_multiply_end_at_the_limit() -> None:
    defs: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": defs | {"d40": {"type": "string"}}}
    for more in ({}, {"unevaluatedProperties": False}, {"unevaluatedItems": False}):
        assert TOOK_TOO_LONG in check({**schema, **more}, "x", 0.05).unchecked


@pytest.mark.timeout(20)
def test_a_part_with_a_dialect_of_its_own_has_the_same_limits() -> None:
    pattern, text = RUNAWAYS[1]
    for dialect in ("http://json-schema.org/draft-07/schema#", "no such"):
        part = {"$schema": dialect, "pattern": pattern}
        assert check({"properties": {"a": part}}, {"a": text}).unchecked
        assert check({"$ref": "#/x", "x": part}, text).unchecked


def test_a_schema_elsewhere_is_not_used() -> None:
    for reference in ("https://json-schema.org/draft/2020-12/schema", "http://127.0.0.1:9/x"):
        errors, unchecked = check({"$ref": reference}, {"type": 7})
        assert errors == []
        assert reference in unchecked[0]


def test_a_schema_that_is_none_is_said_to_be_unchecked() -> None:
    (words,) = check({"properties": {"a": {"type": "integr"}}}, {"a": 1}).unchecked
    assert words.startswith("the schema is not valid JSON Schema: properties.a.type")


def test_a_value_nested_without_end_is_said_to_be_unchecked() -> None:
    value: Any = 1
    for _ in range(5_000):
        value = [value]
    schema = {"items": {"$ref": "#"}}
    assert "nested too deep" in check(schema, value).unchecked[0]


def test_a_large_value_is_not_checked() -> None:
    assert check({"type": "object"}, "x" * 3_000_000).unchecked == ("the value is too large",)


def test_each_missing_member_is_an_error_of_its_own() -> None:
    errors = check({"required": ["a", "b"]}, {}).errors
    assert [error.validator_value for error in errors] == [["a"], ["b"]]


def test_a_large_schema_of_ordinary_fields_is_checked() -> None:
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(1_000)}}
    values: dict[str, object] = dict.fromkeys(schema["properties"], 1)
    assert check(schema, values) == ([], ())
    assert [error.message for error in check(schema, {**values, "f7": "x"}).errors] == [
        "'x' is not of type 'integer'"
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([1.0, 0.5, "", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "x-a"]), inner, max_size=2)
    ),
    max_leaves=6,
)
_PARTS: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object"]),
            "enum": st.lists(_JSON, max_size=3),
            "const": _JSON,
            "pattern": st.sampled_from(["^a", "b$", "^$"]),
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
            "minLength": st.integers(0, 2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^x-", "a$"]), inner),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "unevaluatedProperties": st.booleans(),
        },
    ),
    max_leaves=6,
)


@given(_PARTS, _JSON)
def test_it_finds_errors_exactly_where_jsonschema_does(schema: Any, value: object) -> None:
    errors, unchecked = check(schema, value)
    if not unchecked:
        assert bool(errors) != jsonschema.Draft202012Validator(schema).is_valid(value)


_NAMES = st.sampled_from(["a", "b", "c"])
_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | _NAMES
_VALUES = st.recursive(
    _SCALARS, lambda part: st.lists(part, max_size=2) | st.dictionaries(_NAMES, part, max_size=3)
)
_KINDS = ["string", "integer", "number", "boolean", "object", "array", "null"]


def _plain_schemas(part: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of the keywords that are read without the library, and of some that are not."""
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(_KINDS) | st.just(["string", "null"]),
        "properties": st.dictionaries(_NAMES, part, max_size=3),
        "required": st.lists(_NAMES, max_size=2, unique=True),
        "additionalProperties": st.booleans() | part,
        "minimum": st.integers(-2, 2),
        "maximum": st.floats(-2, 2),
        "enum": st.lists(_NAMES, min_size=1, max_size=2, unique=True),
        "title": _NAMES,
        "minLength": st.integers(0, 2),
        "items": part,
    }
    return st.fixed_dictionaries({}, optional=keywords)


@given(st.recursive(_plain_schemas(st.just({})), _plain_schemas, max_leaves=4), _VALUES)
def test_what_holds_plainly_holds_by_the_library_in_every_dialect(schema: Any, value: Any) -> None:
    if holds_plainly(schema, value):
        assert jsonschema.Draft202012Validator(schema).is_valid(value)
        assert jsonschema.Draft7Validator(schema).is_valid(value)
        assert find_errors(schema, value, 5) == Findings([])


_USUAL = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"city": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ({"city": "Oslo"}, True),
        ({"city": "Oslo", "limit": 3}, True),
        ({"city": "Oslo", "limit": 0}, False),
        ({"city": "Oslo", "limit": True}, False),
        ({"limit": 3}, False),
        ({"city": "Oslo", "town": "Oslo"}, False),
        ("Oslo", False),
    ],
)
def test_arguments_of_a_usual_tool_are_checked_without_the_library(
    value: object, holds: bool
) -> None:
    assert holds_plainly(_USUAL, value) is holds
    assert bool(find_errors(_USUAL, value, 5).errors) is not holds


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {"required": "a"},
        {"enum": []},
        True,
    ],
)
def test_what_is_not_plain_is_left_to_the_library(schema: Any) -> None:
    assert not holds_plainly(schema, {})
