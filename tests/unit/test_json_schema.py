"""A server's schema finds errors in a value, and never holds the program up."""

import functools
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.json_schema import (
    PATIENT,
    Findings,
    SchemaError,
    find_errors,
    schema_error,
)
from tests.hostile_checks import CASES, HostileCase
from tests.hostile_schemas import hostile_schemas

BACKTRACKING = [("^(?:(x)|(xx))+\\1y$", "x" * 60), ("(?=x)(x+x+)+(?!z)y", "x" * 1_500)]


def check(schema: Any, value: object) -> Findings:
    return find_errors(schema, value, 100, PATIENT)


def messages(schema: Any, value: object) -> list[str]:
    return [error.message for error in check(schema, value).errors]


EARLIER = [
    HostileCase(each.name, functools.partial(lambda *pair: pair, each.schema, each.value))
    for each in hostile_schemas()
]


@pytest.mark.parametrize("case", [*CASES, *EARLIER], ids=str)
def test_a_hostile_schema_holds_the_thread_for_less_than_a_tenth_of_a_second(
    case: HostileCase,
) -> None:
    schema, value = case.make()
    began = time.thread_time()
    found = find_errors(schema, value, 100)
    took_s = time.thread_time() - began
    assert took_s < 0.1 * 5, took_s  # on a machine five times slower
    if case.is_fine:
        assert found == Findings([])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a|aa)+$", "a" * 60 + "!"),
        ("(x+x+)+y", "x" * 3_000),
        ("^(a+b?)+$", "a" * 40 + "!"),
        (r"^(\w+\s?)*$", "a" * 40 + "!"),
        ("a*a*a*a*a*a*b", "a" * 200),
    ],
)
def test_patterns_that_others_run_away_with_are_decided(pattern: str, text: str) -> None:
    assert [
        error.path for error in check({"properties": {"a": {"pattern": pattern}}}, {"a": text})[0]
    ] == [("a",)]


@pytest.mark.parametrize(("pattern", "text"), BACKTRACKING)
def test_a_pattern_that_would_backtrack_for_long_is_reported_as_unchecked(
    pattern: str, text: str
) -> None:
    schema = {"properties": {"a": {"pattern": pattern}, "b": {"type": "null"}}}
    errors, unchecked = check(schema, {"a": text, "b": None})
    assert errors == []
    assert unchecked == ("matching a pattern took too long",)
    assert messages(schema, {"a": text, "b": 1}) == [
        '1 is not of type "null"'
    ]  # certain errors first


@pytest.mark.parametrize(("pattern", "text"), BACKTRACKING)
def test_an_alternative_that_was_not_decided_proves_nothing(pattern: str, text: str) -> None:
    errors, unchecked = check({"anyOf": [{"pattern": pattern}, {"type": "null"}]}, text)
    assert errors == []
    assert unchecked


def test_look_around_and_back_references_work() -> None:
    assert messages({"pattern": "^(?=.*[A-Z])(?=.*[0-9]).{4,}$"}, "abC4") == []
    assert messages({"pattern": "^(?!x)(.)\\1$"}, "ab") == ['"ab" does not match "^(?!x)(.)\\1$"']


def test_ordinary_patterns_are_matched() -> None:
    assert messages({"properties": {"a": {"pattern": "^[0-9]{4}$"}}}, {"a": "20x6"}) == [
        '"20x6" does not match "^[0-9]{4}$"'
    ]
    schema = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert messages(schema, {"x-a": 1}) == []
    assert len(messages(schema, {"x-a": "1", "y": 1})) == 2


@pytest.mark.parametrize("pattern", ["(", "x{1000000}", "(?<n>a"])
def test_an_unusable_pattern_is_said_to_be_unchecked(pattern: str) -> None:
    errors, unchecked = check({"pattern": pattern}, "x")
    assert errors == []
    assert unchecked


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_reference_to_itself_proves_nothing(keyword: str) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", keyword: "#"}
    errors, unchecked = check(schema, 1)
    assert errors == []
    assert "form a loop" in unchecked[0]


def test_no_more_than_so_many_errors_are_listed() -> None:
    assert len(find_errors({"items": {"type": "integer"}}, ["x"] * 50, 7).errors) == 7


@pytest.mark.parametrize(
    "reference", ["https://json-schema.org/draft/2020-12/schema", "http://127.0.0.1:9/x", "other"]
)
def test_a_schema_elsewhere_is_not_used(reference: str) -> None:
    errors, unchecked = check({"$ref": reference}, {"type": 7})
    assert errors == []
    assert reference in unchecked[0]


def test_references_by_anchor_and_through_lists_are_followed() -> None:
    schema = {
        "$ref": "#n",
        "$defs": {"a": {"$anchor": "n", "$ref": "#/allOf/0"}},
        "allOf": [{"type": "null"}],
    }
    assert {error.message for error in check(schema, 1).errors} == {'1 is not of type "null"'}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "integr"}, "type"),
        ({"type": []}, "type"),
        ({"properties": {"a": {"type": 7}}}, "properties.a.type"),
        ({"properties": []}, "properties"),
        ({"properties": {"a": 1}}, "properties.a"),
        ({"required": "a"}, "required"),
        ({"required": [1]}, "required[0]"),
        ({"anyOf": []}, "anyOf"),
        ({"anyOf": [{}, {"minimum": "1"}]}, "anyOf[1].minimum"),
        ({"items": {"minLength": -1}}, "items.minLength"),
        ({"items": {"minLength": 0.5}}, "items.minLength"),
        ({"$defs": {"x": {"pattern": 1}}}, "$defs.x.pattern"),
        ({"additionalProperties": 7}, "additionalProperties"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"uniqueItems": 1}, "uniqueItems"),
    ],
)
def test_a_fault_of_a_schema_is_named_by_its_path(schema: Any, path: str) -> None:
    assert schema_error(schema).startswith(f"{path}: ")
    errors, (unchecked,) = check(schema, {"a": 1})
    assert errors == []
    assert unchecked.startswith(f"the schema is not valid JSON Schema: {path}: ")


def test_a_schema_that_is_no_object_has_a_fault() -> None:
    assert schema_error(7)
    assert schema_error({"pattern": "("}) == ""  # our limit, not its fault


def test_half_a_surrogate_pair_counts_as_one_character() -> None:
    schema = {"properties": {"a": {"maxLength": 1}, "b": {"type": "integer"}}}
    assert messages(schema, {"a": "\ud83d", "b": "x"}) == ['"x" is not of type "integer"']


def test_each_missing_member_is_an_error_of_its_own() -> None:
    errors = check({"required": ["a", "b"]}, {}).errors
    assert [error.missing for error in errors] == ["a", "b"]


def test_errors_come_in_the_order_of_their_places() -> None:
    schema = {"properties": {"b": {"type": "null"}, "a": {"items": {"type": "null"}}}}
    assert [error.place for error in check(schema, {"b": 1, "a": [1, 2]}).errors] == [
        "a[0]",
        "a[1]",
        "b",
    ]


def test_of_thousands_of_missing_members_the_first_is_explained() -> None:
    schema = {"required": [f"name {n}" for n in range(8_000)]}
    (error,) = check(schema, {"a": [*range(160)]}).errors  # each error copies the value
    assert error.missing in schema["required"]


def test_one_pattern_with_look_around_does_not_limit_the_others() -> None:
    schema = {"properties": {"a": {"pattern": "^(?=.*b)"}, "b": {"pattern": "^x+$"}}}
    assert check(schema, {"a": "ab", "b": "x" * 50_000}) == Findings([])


def test_an_undecided_pattern_among_many_alternatives_proves_nothing() -> None:
    pattern, text = BACKTRACKING[0]
    schema = {"items": {"anyOf": [{"pattern": pattern}, {"type": "null"}]}}
    errors, unchecked = check(schema, [text] * 5)
    assert errors == []
    assert unchecked


def test_of_very_many_errors_the_first_is_explained() -> None:
    errors, unchecked = check({"items": {"type": "integer"}}, ["x"] * 5_000)
    assert errors == [SchemaError((0,), '"x" is not of type "integer"')]
    assert unchecked == ()


def test_a_large_value_that_fits_no_alternative_is_an_error_without_reason() -> None:
    schema = {"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
    assert messages(schema, [f"x{n}" for n in range(3_000)]) == ["it does not match the schema"]


def test_a_large_schema_of_ordinary_fields_is_checked() -> None:
    schema = {"properties": {f"f{n}": {"type": "integer"} for n in range(1_000)}}
    values: dict[str, object] = dict.fromkeys(schema["properties"], 1)
    assert check(schema, values) == Findings([])
    assert messages(schema, {**values, "f7": "x"}) == ['"x" is not of type "integer"']


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
