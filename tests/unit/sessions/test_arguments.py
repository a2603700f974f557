"""Checking arguments against a tool's schema."""

import subprocess
import sys
from typing import Any

import pytest

from mcp_progress_monitor import paths
from mcp_progress_monitor.sessions.arguments import check_value

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1},
        "names": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["count"],
    "additionalProperties": False,
}


def test_arguments_that_fit_have_no_violations() -> None:
    assert check_value(SCHEMA, {"count": 1, "names": ["a"]}).violations == []


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        ({}, "count: a value is required"),
        ({"count": "x"}, "count: "),
        ({"count": 0}, "count: "),
        ({"count": True}, "count: "),
        ({"count": 1, "names": ["a", 2]}, "names[1]: "),
        ({"count": 1, "other": 1}, "Additional properties"),
    ],
)
def test_each_violation_names_its_field(arguments: dict[str, Any], begins: str) -> None:
    (violation,) = check_value(SCHEMA, arguments).violations
    assert violation.startswith(begins)


def test_all_violations_are_reported_at_once() -> None:
    assert len(check_value(SCHEMA, {"count": 0, "names": 1, "x": 1}).violations) == 3


def test_a_long_value_is_not_quoted_whole() -> None:
    (violation,) = check_value(SCHEMA, {"count": "x" * 10_000}).violations
    assert len(violation) < 400


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": 7},
        {"$schema": "http://example.com/unknown", "type": "object"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "#/nowhere"},
        {"properties": {"count": {"type": "string", "pattern": "("}}},
    ],
)
def test_a_schema_that_is_wrong_itself_is_in_nobodys_way(schema: dict[str, Any]) -> None:
    assert check_value(schema, {"count": "1"}).violations == []


def test_a_schema_that_refers_to_its_own_parts_is_followed() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
    assert check_value(schema, {"a": "x"}).violations == ['a: "x" is not of type "integer"']


def test_the_validator_is_imported_only_when_it_is_used() -> None:
    late = "sys.exit('jsonschema_rs' in sys.modules)"
    code = f"import sys, mcp_progress_monitor.engine.engine; {late}"
    subprocess.run([sys.executable, "-c", code], cwd=paths.import_root(), check=True)
