"""JSON as its standard has it."""

import pytest

from mcp_progress_monitor.cli.calls.arguments import strict_json


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), ("[1e3]", [1000.0]), ('"a"', "a")])
def test_json_is_read(text: str, value: object) -> None:
    assert strict_json(text) == value


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "-1e999", "{'a': 1}", ""])
def test_what_only_python_takes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        strict_json(text)
