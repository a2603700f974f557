"""Whatever is written as JSON is valid JSON in ASCII."""

import json

from mcp_progress_monitor.cli.output.stdout import as_json


def test_what_json_cannot_express_becomes_text() -> None:
    value = {"a": float("nan"), "b": [float("-inf")], "c": 10**5000}
    assert json.loads(as_json({"a": value["a"], "b": value["b"]})) == {
        "a": "NaN",
        "b": ["-Infinity"],
    }
    assert as_json("é\x1b") == r'"\u00e9\u001b"'


def test_an_object_of_another_kind_becomes_its_text() -> None:
    assert as_json({"at": 1 + 2j}) == '{"at":"(1+2j)"}'


def test_a_document_may_be_indented() -> None:
    assert as_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'
