"""Arguments are checked against schemas that are not to be trusted."""

import pytest

from mcp_progress_monitor.gui.schema_form.schema import SchemaViolation, validate

_SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
}


def test_each_violation_has_the_path_of_its_field() -> None:
    violations = validate(_SCHEMA, {"rows": 0, "tags": ["a", 7]}).violations
    assert {violation.path for violation in violations} == {("path",), ("rows",), ("tags", 1)}


def test_what_is_missing_is_reported_at_the_field_that_is_missing() -> None:
    assert validate(_SCHEMA, {}).violations == [
        SchemaViolation(("path",), "this is required", is_missing=True)
    ]


def test_what_fits_has_no_violations() -> None:
    assert validate(_SCHEMA, {"path": "x", "rows": 10**30}).violations == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 7},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#/$defs/none"},
        {"properties": {"a": {"pattern": "("}}},
        {"$schema": "no such dialect", "type": []},
    ],
)
def test_a_schema_that_is_wrong_proves_nothing(schema: dict[str, object]) -> None:
    assert validate(schema, {"a": "b"}).violations == []


@pytest.mark.timeout(20)
def test_what_cannot_be_checked_in_time_is_said_to_be_unchecked() -> None:
    schema = {"properties": {"a": {"pattern": "(?=x)(x+x+)+y"}}}
    violations, unchecked = validate(schema, {"a": "x" * 1_000})
    assert violations == []
    assert unchecked == ("matching a pattern took too long",)


def test_an_ordinary_pattern_is_matched() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"}}}
    assert validate(schema, {"a": "2026-11"}).violations == []
    assert [violation.path for violation in validate(schema, {"a": "x"}).violations] == [("a",)]


def test_messages_are_bounded_and_safe_to_show() -> None:
    (violation,) = validate(
        {"properties": {"a": {"type": "integer"}}}, {"a": "\u202e" + "x" * 9_000}
    ).violations
    assert len(violation.message) <= 300
    assert "\u202e" not in violation.message
