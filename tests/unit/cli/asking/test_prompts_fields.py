"""Fields of forms: what is to be typed for each, and which value that becomes."""

from typing import Any

import pytest

from mcp_progress_monitor.cli.asking.prompts import PromptChoice, PromptField, fields_of
from tests.unit.cli.asking.questions import form


def field(**schema: Any) -> PromptField:
    """The only field of a form, `x`."""
    found = fields_of(form(x=schema))
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, '""', ""),
        ({"type": "integer"}, "5", 5),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"enum": ["S", "M"]}, "2", "M"),
        ({"enum": ["S", "M"]}, "S", "S"),
        ({"enum": ["2", "1"]}, "1", "1"),
        ({"enum": [10, 20]}, "20", 20),
        ({"enum": ["r", "g"], "enumNames": ["Red", "Green"]}, "Green", "g"),
        ({"oneOf": [{"const": "#f00", "title": "Red"}]}, "Red", "#f00"),
        ({"oneOf": [{"const": "#f00", "title": "Red"}]}, "#f00", "#f00"),
        ({"type": "array", "items": {"enum": ["a", "b", "c"]}}, "c, 1", ["c", "a"]),
        ({"type": "array", "items": {"anyOf": [{"const": 1, "title": "One"}]}}, "One", [1]),
        ({"type": "array", "items": {"enum": ["a"]}}, ",", []),
        ({}, '["free"]', ["free"]),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_schema(
    schema: dict[str, Any], text: str, value: Any
) -> None:
    assert field(**schema).read(text) == value


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        ({"type": "integer"}, "many", "'many' is not of type integer"),
        ({"type": "integer", "minimum": 3}, "2", "minimum"),
        ({"type": "string", "minLength": 3}, "ab", "x: "),
        ({"type": "string", "pattern": "^a"}, "b", "match"),
        ({"type": "boolean"}, "maybe", "not yes or no"),
        ({"enum": ["S", "M"]}, "3", "not one of the choices 1 to 2"),
        ({"enum": ["S", "M"]}, "0", "not one of the choices"),
        ({"enum": ["S"]}, "²", "not one of the choices"),
        ({"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}}, "a", "x: "),
    ],
)
def test_what_does_not_fit_is_reported(schema: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        field(**schema).read(text)


def test_references_lead_into_the_form() -> None:
    schema = {**form(x={"$ref": "#/$defs/age"}), "$defs": {"age": {"type": "integer"}}}
    fields = fields_of(schema)
    assert fields is not None
    assert fields[0].read("5") == 5


def test_what_is_to_be_typed_is_reported() -> None:
    schema = form(["n"], n={"type": "integer", "minimum": 1, "maximum": 5, "title": "Count"})
    (only,) = fields_of(schema) or []
    assert only.title == "Count (n)"
    assert only.kind() == "integer, 1 to 5, required"
    assert field(type="boolean", title="x").title == "x"
    assert field(type="boolean").kind() == "yes or no, optional"
    assert field(type="string", format="email").kind() == "text, email address, optional"
    assert field(type="string", format="ipv4").kind() == "text, ipv4, optional"
    assert field(pattern="^a", maxLength=True).kind() == "any value, matching ^a, optional"


def test_choices_are_numbered_and_named() -> None:
    known = field(description="Pick\none", enum=["r", 5], enumNames=["Red"])
    assert known.choices == (PromptChoice("r", "Red"), PromptChoice(5, "5"))
    assert known.notes() == [r"Pick\none", "1) Red", "2) 5"]
    assert known.kind() == "a number or name from above, optional"
    assert field(description=5).notes() == []


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        ({"type": "boolean"}, True, "yes"),
        ({"type": "string"}, "a\x1b", "a\\x1b"),
        ({"type": "number"}, 2.5, "2.5"),
        ({"enum": ["r"], "enumNames": ["Red"]}, "r", "Red"),
        ({"enum": ["r"]}, "other", '"other"'),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, ["b", "a"], "b, a"),
    ],
)
def test_a_default_is_shown_as_it_would_be_typed(
    schema: dict[str, Any], value: Any, written: str
) -> None:
    assert field(**schema).written(value) == written


@pytest.mark.parametrize("schema", [None, {}, {"properties": []}, {"type": "string"}])
def test_a_schema_that_describes_no_form_has_no_fields(schema: dict[str, Any] | None) -> None:
    assert fields_of(schema) is None


def test_fields_of_wrong_schemas_take_any_value() -> None:
    schema = {"properties": {"x": "no schema", "y": {"enum": "no list"}}, "required": "x"}
    fields = fields_of(schema)
    assert fields is not None
    assert [each.is_required for each in fields] == [False, False]
    assert fields[0].read("5") == 5
    assert fields[1].choices == ()
