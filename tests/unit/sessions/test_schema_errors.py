"""A server's schema finds errors in a value, and holds nobody up."""

from __future__ import annotations

from typing import Any

import pytest

from app.sessions.schema_errors import schema_errors

RUNAWAYS = ["^(a+)+$", "^(a|aa)+$", r"^(a*)*b", "(x+x+)+y"]
NAME = "a" * 60 + "!"


def found(schema: dict[str, Any], value: object) -> list[str]:
    return [error.message for error in schema_errors(schema, value, 100)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", RUNAWAYS)
def test_a_pattern_that_could_run_away_is_not_tried(pattern: str) -> None:
    assert found({"properties": {"a": {"pattern": pattern}}}, {"a": NAME}) == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", RUNAWAYS)
@pytest.mark.parametrize("draft", ["draft/2020-12", "draft/2019-09", "draft-07"])
def test_a_pattern_for_names_that_could_run_away_is_not_tried_either(
    pattern: str, draft: str
) -> None:
    schema = {
        "$schema": f"https://json-schema.org/{draft}/schema",
        "patternProperties": {pattern: {"type": "integer"}},
        "additionalProperties": False,
        "unevaluatedProperties": False,
        "required": ["b"],
    }
    assert found({"properties": {"p": schema}}, {"p": {NAME: 1}}) == ["'b' is a required property"]


def test_ordinary_patterns_are_matched() -> None:
    assert found({"properties": {"a": {"pattern": "^[0-9]{4}$"}}}, {"a": "20x6"}) == [
        "'20x6' does not match '^[0-9]{4}$'"
    ]
    schema = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert found(schema, {"x-a": 1}) == []
    assert len(found(schema, {"x-a": "1", "y": 1})) == 2


@pytest.mark.timeout(20)
def test_references_that_multiply_prove_nothing() -> None:
    defs: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": defs | {"d40": {"type": "integer"}}}
    assert found(schema, 1) == []


def test_a_reference_to_itself_proves_nothing() -> None:
    assert found({"$ref": "#"}, 1) == []


def test_no_more_than_so_many_errors_are_looked_for() -> None:
    schema = {"items": {"type": "integer"}}
    assert len(schema_errors(schema, ["x"] * 50, 7)) == 7
