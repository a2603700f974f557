"""Tools that a server runs without listing them can be called, but not by a typing error."""

import json
import sys
from pathlib import Path

import pytest

from tests.integration import echoing_server
from tests.integration.commands import Run, run

SERVER = ("--", sys.executable, str(Path(echoing_server.__file__)))
HINT = "To call it anyway, add --unlisted."


def call(*arguments: str) -> Run:
    """Call a tool of the echoing server."""
    return run("call", *arguments, *SERVER)


@pytest.mark.parametrize(
    ("name", "advice"), [("lister", "Did you mean listed?"), ("xyz", "Its tools: listed.")]
)
def test_a_tool_that_is_not_listed_is_refused_with_the_way_to_call_it(
    name: str, advice: str
) -> None:
    ran = call(name)
    assert (ran.code, ran.out) == (2, "")
    assert f"does not list a tool {name!r} (server 'echoing')" in ran.err
    assert advice in ran.err
    assert HINT in ran.err


def test_it_is_called_as_it_is_where_the_user_insists() -> None:
    command_line = (
        "--args",
        '{"c": [1]}',
        "--arg",
        "n=3",
        "--arg",
        "t=text",
        "--arg",
        'o={"a": null}',
    )
    ran = call("hidden", "--unlisted", *command_line)
    assert (ran.code, ran.err.count("does not list a tool")) == (0, 0)
    assert json.loads(ran.out) == {
        "name": "hidden",
        "arguments": {"c": [1], "n": 3, "t": "text", "o": {"a": None}},
    }


def test_a_listed_tool_keeps_its_schema_all_the_same() -> None:
    ran = run("call", "--demo", "burst", "--unlisted", "--arg", "count=0")
    assert ran.code == 2
    assert "violate the tool's schema" in ran.err


def test_a_server_that_does_not_run_it_says_so_itself() -> None:
    ran = run("call", "--demo", "bursst", "--unlisted")
    assert ran.code == 1
    assert "The server answered with error -32602" in ran.err
