"""Configuration files of other clients: what is read, and what is said of files that are wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from app.problem import Problem, ProblemError
from app.sessions.config_file import load_config, read_config

if TYPE_CHECKING:
    from pathlib import Path

    from app.sessions.definitions import ServerDefinition


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def read(file: Path, content: object) -> list[ServerDefinition]:
    file.write_text(json.dumps(content))
    return read_config(file)


def problem_of(file: Path) -> Problem:
    with pytest.raises(ProblemError) as caught:
        read_config(file)
    return caught.value.problem


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_both_known_layouts_are_read_in_their_order(key: str, file: Path) -> None:
    entry = {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "cwd": "/srv"}
    found = read(file, {key: {"b": entry, "a": {"command": "uvx"}}})
    assert [definition.name for definition in found] == ["b", "a"]
    assert found[0].command == "npx"
    assert found[0].args == ("-y", "x")
    assert found[0].env == {"A": "1"}
    assert found[0].cwd == "/srv"


def test_members_of_other_clients_are_ignored(file: Path) -> None:
    entry = {"command": "c", "type": "stdio", "disabled": False, "autoApprove": ["x"]}
    assert read(file, {"mcpServers": {"a": entry}, "theme": "dark"})[0].command == "c"


def test_a_byte_order_mark_is_skipped(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"mcpServers":{"a":{"command":"c"}}}')
    assert len(read_config(file)) == 1


def test_a_file_that_is_no_json_is_shown_by_line_and_column(file: Path) -> None:
    file.write_text('{\n  "mcpServers": {\n    "a": {"command": "c",}\n  }\n}\n')
    problem = problem_of(file)
    assert "not JSON" in problem.what
    assert f"{file}, line 3, column" in problem.where
    line, mark = problem.detail.split("\n")
    assert line == '    "a": {"command": "c",}'
    assert line[mark.index("^")] in ",}"
    assert "mcpServers" in problem.hint


def test_a_mistake_far_inside_a_long_line_is_quoted_with_its_surroundings(file: Path) -> None:
    file.write_text('{"a": "' + "x" * 5000 + '", oops}' + " " * 5000)
    detail = problem_of(file).detail
    assert "oops" in detail
    assert len(detail) < 200


@pytest.mark.parametrize("text", ["", "nonsense", "[" * 100_000])
def test_no_json_at_all_is_a_problem_too(text: str, file: Path) -> None:
    file.write_text(text)
    assert str(file) in problem_of(file).where


def test_a_file_in_another_encoding_is_said_to_be_so(file: Path) -> None:
    file.write_bytes('{"mcpServers": {"é": {}}}'.encode("latin-1"))
    assert "UTF-8" in problem_of(file).what


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    problem = problem_of(file)
    assert problem.where == str(file)
    assert "No such file" in problem.detail


@pytest.mark.parametrize(
    ("content", "says"),
    [([], "missing"), ({"mcp": {}}, "missing"), ({"mcpServers": []}, "not an object")],
)
def test_a_file_without_servers_says_what_it_should_hold(
    content: Any, says: str, file: Path
) -> None:
    file.write_text(json.dumps(content))
    problem = problem_of(file)
    assert says in problem.what
    assert "mcpServers" in problem.hint


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("npx", "not an object"),
        ({}, "command"),
        ({"command": 3}, "command"),
        ({"command": "c", "args": "-y"}, "args"),
        ({"command": "c", "env": {"PORT": 80}}, "env.PORT"),
        ({"url": "https://example.com/mcp"}, "URL"),
        ({"command": "c", "idle_timeout_s": -1}, "idle_timeout_s"),
        ({"command": "c", "total_timeout_s": "soon"}, "total_timeout_s"),
    ],
)
def test_an_entry_that_cannot_be_used_costs_the_others_nothing(
    entry: Any, says: str, file: Path
) -> None:
    file.write_text(json.dumps({"mcpServers": {"bad": entry, "good": {"command": "c"}}}))
    config = load_config(file)
    assert [definition.name for definition in config.definitions] == ["good"]
    assert says in config.problems[0].what
    assert "'bad'" in config.problems[0].where


def test_the_limits_of_a_servers_calls_are_read(file: Path) -> None:
    entry = {"command": "c", "idle_timeout_s": 90, "total_timeout_s": 0}
    file.write_text(json.dumps({"mcpServers": {"a": entry, "b": {"command": "c"}}}))
    found = [(one.idle_timeout_s, one.total_timeout_s) for one in read_config(file)]
    assert found == [(90, 0), (None, None)]


@pytest.mark.parametrize("key", ["mcpServers", "servers"])
def test_a_file_that_names_no_server_says_so_and_shows_how(key: str, file: Path) -> None:
    file.write_text(json.dumps({key: {}}))
    problem = problem_of(file)
    assert problem.what == "The file names no servers"
    assert problem.where == str(file)
    assert '"command"' in problem.hint


def test_a_file_with_nothing_to_use_is_a_problem(file: Path) -> None:
    file.write_text(json.dumps({"mcpServers": {"bad": {}}}))
    assert "'bad'" in problem_of(file).where
