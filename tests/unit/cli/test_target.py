"""The options name one server, or the refusal says how to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from app.cli.exits import CommandFailed, ExitCode
from app.cli.options import CommonOptions
from app.cli.target import named_servers, one_server

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "mcp.json"
    servers = {
        "a": {"command": "one", "env": {"KEPT": "1", "CHANGED": "1"}, "cwd": "/a"},
        "b": {"command": "two", "args": ["x"]},
        "web": {"url": "http://localhost"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_a_command_is_a_server_named_after_its_program() -> None:
    found = one_server(CommonOptions(command=("/usr/bin/python", "server.py", "--fast")))
    assert (found.name, found.command) == ("python", "/usr/bin/python")
    assert found.args == ("server.py", "--fast")


@pytest.mark.parametrize(
    ("command", "name"),
    [("npx", "npx"), (r"C:\tools\node.EXE", "node"), ("./server/", "server"), ("/", "/")],
)
def test_any_command_has_a_name(command: str, name: str) -> None:
    assert one_server(CommonOptions(command=(command,))).name == name


@pytest.mark.announces_log("left out: .*'web'")
def test_a_configuration_names_all_its_servers_or_one(config: Path) -> None:
    assert [found.name for found in named_servers(CommonOptions(config=config))] == ["a", "b"]
    assert one_server(CommonOptions(config=config, server="b")).args == ("x",)


def test_starting_options_come_on_top_of_the_configuration(config: Path, tmp_path: Path) -> None:
    common = CommonOptions(
        config=config,
        server="a",
        cwd=tmp_path,
        env=(("CHANGED", "2"), ("NEW", "=")),
        era="handshake",
        connect_timeout=3.0,
    )
    found = one_server(common)
    assert found.env == {"KEPT": "1", "CHANGED": "2", "NEW": "="}
    assert (found.cwd, found.era, found.connect_timeout_s) == (str(tmp_path), "handshake", 3.0)


def test_the_demo_is_a_server() -> None:
    assert one_server(CommonOptions(demo=True)).args == ("-m", "app.demo")


def test_nothing_named_is_no_server() -> None:
    assert named_servers(CommonOptions()) == ()


@pytest.mark.parametrize(
    ("common", "advice"),
    [
        (CommonOptions(), "Which server"),
        (CommonOptions(demo=True, command=("x",)), "one way only"),
        (CommonOptions(server="a"), "--config FILE"),
        (CommonOptions(env=(("A", "1"),)), "how to start a server"),
    ],
)
def test_a_wrong_choice_is_a_usage_error(common: CommonOptions, advice: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        one_server(common)
    assert advice in caught.value.message


@pytest.mark.announces_log("left out: .*'web'")
def test_several_servers_have_to_be_chosen_from(config: Path) -> None:
    with pytest.raises(click.UsageError) as caught:
        one_server(CommonOptions(config=config))
    assert "a, b" in caught.value.message


@pytest.mark.parametrize(("name", "advice"), [("c", "a, b"), ("web", "URL")])
def test_a_server_that_cannot_be_had_says_why(config: Path, name: str, advice: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(config=config, server=name))
    assert caught.value.code is ExitCode.USAGE
    assert advice in caught.value.as_text()


@pytest.mark.parametrize("content", [None, "{", "[]", '{"mcpServers": 3}'])
def test_an_unreadable_configuration_is_told_with_its_place(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "mcp.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandFailed) as caught:
        named_servers(CommonOptions(config=file))
    assert caught.value.code is ExitCode.USAGE
    assert str(file) in caught.value.as_text()


@pytest.mark.parametrize("server", [None, "a"])
@pytest.mark.parametrize("content", ['{"mcpServers": {}}', '{"servers": {}}'])
def test_a_configuration_without_servers_says_so_and_what_it_should_look_like(
    tmp_path: Path, content: str, server: str | None
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(content)
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(config=file, server=server))
    assert caught.value.code is ExitCode.USAGE
    assert caught.value.problem[:2] == ("The file names no servers", str(file))
    assert '{"mcpServers": {"files": {"command"' in caught.value.problem.hint


def test_what_no_system_can_start_is_refused() -> None:
    with pytest.raises(CommandFailed) as caught:
        one_server(CommonOptions(command=("a\0b",)))
    assert caught.value.code is ExitCode.USAGE
