"""Arguments become what the tool's schema wants, or a refusal that says what would fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.cli.calls.arguments import convert, example, property_types, read_document
from mcp_progress_monitor.cli.exits import CommandFailed, ExitCode


def converted(text: str, part: object, **root: Any) -> Any:
    return convert([("x", text)], {"type": "object", "properties": {"x": part}, **root})["x"]


@pytest.mark.parametrize("text", ["3", "true", "null", '"quoted"', "[1]", "", "a=b"])
def test_text_stays_text_where_the_schema_says_string(text: str) -> None:
    assert converted(text, {"type": "string"}) == text


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3", "integer", 3),
        ("3", "number", 3),
        ("0.1", "number", 0.1),
        ("true", "boolean", True),
        ("null", "null", None),
        ('["a", 1]', "array", ["a", 1]),
        ('{"a": 1}', "object", {"a": 1}),
    ],
)
def test_other_types_are_read_as_json(text: str, kind: str, value: object) -> None:
    found = converted(text, {"type": kind})
    assert found == value
    assert type(found) is type(value)


def test_long_integers_keep_their_digits() -> None:
    assert converted("12345678901234567890123", {"type": "integer"}) == 12345678901234567890123


@pytest.mark.parametrize(
    ("text", "kind", "sample"),
    [
        ("three", "integer", "--arg x=3"),
        ("0.5", "integer", "--arg x=3"),
        ("yes", "boolean", "--arg x=true"),
        ("NaN", "number", "--arg x=0.5"),
        ("1e400", "number", "--arg x=0.5"),
        ("1", "array", """--arg x='["a", "b"]'"""),
        ("[" * 100_000, "object", """--arg x='{"key": "value"}'"""),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_field_type_and_example(
    text: str, kind: str, sample: str
) -> None:
    with pytest.raises(CommandFailed) as caught:
        converted(text, {"type": kind})
    message = caught.value.as_text()
    assert caught.value.code is ExitCode.USAGE
    assert "'x'" in message
    assert kind in message
    assert sample in message


@pytest.mark.parametrize(
    ("text", "value"), [("null", None), ("3", "3"), ("abc", "abc"), ('"null"', "null")]
)
def test_a_type_besides_text_wins_where_its_json_fits(text: str, value: object) -> None:
    assert converted(text, {"anyOf": [{"type": "string"}, {"type": "null"}]}) == value
    assert converted(text, {"type": ["string", "null"]}) == value


@pytest.mark.parametrize("part", [{}, True, {"type": "nonsense"}, {"$ref": "#/nowhere"}, None])
@pytest.mark.parametrize(("text", "value"), [("3", 3), ("abc", "abc"), ('{"a":1}', {"a": 1})])
def test_without_a_known_type_json_is_json_and_the_rest_is_text(
    part: object, text: str, value: object
) -> None:
    assert converted(text, part) == value


def test_enums_and_constants_tell_the_type() -> None:
    assert converted("3", {"enum": ["1", "3"]}) == "3"
    assert converted("3", {"enum": [1, 3]}) == 3
    assert converted("3", {"const": "3"}) == "3"


def test_references_within_the_schema_are_followed() -> None:
    definitions = {"a/b": {"type": "string"}}
    assert converted("3", {"$ref": "#/$defs/a~1b"}, **{"$defs": definitions}) == "3"


def test_references_in_a_circle_end() -> None:
    circle = {"loop": {"$ref": "#/$defs/loop"}}
    assert converted("3", {"$ref": "#/$defs/loop"}, **{"$defs": circle}) == 3


def test_unnamed_arguments_take_the_type_of_additional_properties() -> None:
    assert convert([("y", "3")], {"additionalProperties": {"type": "string"}}) == {"y": "3"}


def test_types_are_reported_once_and_in_order() -> None:
    part = {"anyOf": [{"type": "null"}, {"enum": ["a", "b", None]}]}
    assert property_types("x", {"properties": {"x": part}}) == ["null", "string"]


def test_a_document_is_an_object_on_the_command_line() -> None:
    assert read_document('{"a": 0.1}') == {"a": 0.1}
    assert read_document(None) == {}


def test_a_document_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_text('\ufeff{"a": "ä"}', "utf-8")
    assert read_document(f"@{file}") == {"a": "ä"}


@pytest.mark.parametrize(
    "document", ["{", "[1]", "3", '{"a": NaN}', '{"a": 1e400}', "@/no/such/file", "@\0"]
)
def test_a_bad_document_is_a_usage_error_with_an_example(document: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        read_document(document)
    assert caught.value.code is ExitCode.USAGE
    assert "Example: --args" in caught.value.as_text()


def test_why_a_file_cannot_be_read_is_reported_with_a_message_alone(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as caught:
        read_document(f"@{tmp_path / 'none'}")
    assert caught.value.details.detail == "No such file or directory"


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(CommandFailed, match="Cannot read"):
        read_document(f"@{file}")


def test_the_example_gives_every_required_argument_a_fitting_value() -> None:
    schema = {
        "required": ["n", "city", "mode", "deep"],
        "properties": {
            "n": {"type": "integer"},
            "city": {"type": "string", "examples": ["New York"]},
            "mode": {"enum": ["fast", "slow"]},
            "deep": {"type": "boolean", "default": False},
            "extra": {"type": "string"},
        },
    }
    assert example(schema) == "--arg n=3 --arg city='New York' --arg mode=fast --arg deep=false"
    assert example({}) == ""


def test_the_example_can_be_converted_again() -> None:
    schema = {"required": ["a"], "properties": {"a": {"type": "array"}}}
    text = example(schema).partition("=")[2].strip("'")
    assert convert([("a", text)], schema) == {"a": json.loads(text)}
