"""What the README tells those who write scripts is what the program does."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from app.cli import main
from app.cli.commands import program
from app.cli.exits import ExitCode
from tests.integration.commands import ROOT, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import click

README = (ROOT / "README.md").read_text("utf-8")
_CODE = re.compile("`([^`]+)`")
_REMARKS = {"event", "t", "late", "problems"}


def _rows(section: str) -> Iterator[list[str]]:
    """The cells of the tables below a heading, up to the next one."""
    text = re.split("^#+ ", README.partition(f"\n{section}\n")[2], maxsplit=1, flags=re.MULTILINE)[
        0
    ]
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _events() -> dict[str, set[str]]:
    """The fields of each event as the README lists them; what stands in parentheses is remarks."""
    rows = _rows("### For scripts: events and exit codes")
    found = [(_CODE.match(row[0]), row) for row in rows]
    return {
        name[1]: set(_CODE.findall(re.sub(r"\(.*?\)", "", row[1]))) for name, row in found if name
    }


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (
            ("chatty_stderr", "--arg", "lines=2"),
            {"connected", "request", "progress", "stderr", "result", "closed", "summary"},
        ),
        (("ask_form",), {"question", "answered"}),
        (("task_work", "--task", "--arg", "steps=1"), {"task"}),
        (("resumable_export",), {"resumable"}),
        (("rpc_error",), {"error"}),
        (("no_such_tool",), {"error"}),
        (("log_levels", "--era", "handshake"), {"log"}),
    ],
)
def test_events_have_the_fields_that_the_readme_lists(
    words: tuple[str, ...], kinds: set[str], tmp_path: Path
) -> None:
    ran = run("call", "--demo", *words, "--json", "--data-dir", str(tmp_path), HOME=str(tmp_path))
    events = [json.loads(line) for line in ran.out.splitlines()]
    listed = _events()
    for event in events:
        assert set(event) - _REMARKS == listed[event["event"]], event
    assert kinds <= {event["event"] for event in events}


def test_every_exit_code_is_listed() -> None:
    rows = _rows("### For scripts: events and exit codes")
    assert [int(row[0]) for row in rows if row[0].isdigit()] == sorted(ExitCode)


def test_every_tool_of_the_demo_is_listed() -> None:
    listed = {name for row in _rows("## The demo server") for name in _CODE.findall(row[1])}
    tools = json.loads(run("tools", "--demo", "--json").out)["tools"]
    names = {tool["name"] for tool in tools}
    assert names <= listed
    assert listed - names == {"demo://archive", "interview"}


def _typed(text: str) -> list[list[str]]:
    """The words of each command in a text, without the server's command and what explains it."""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line.startswith("mcp-progress-monitor")]
    return [shlex.split(re.split(r" {2,}| \| | -- ", line)[0])[1:] for line in commands]


def _epilogs(command: click.Command) -> Iterator[str]:
    yield command.epilog or ""
    for inner in getattr(command, "commands", {}).values():
        yield from _epilogs(inner)


@pytest.mark.parametrize("words", _typed("\n".join((README, *_epilogs(program)))), ids=" ".join)
def test_commands_that_are_shown_have_the_options_that_they_name(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    # Options and commands are looked up before help is shown, values are not.
    assert main([*words, "--help"]) == 0
    assert "Usage: mcp-progress-monitor" in capsys.readouterr().out


def test_every_command_is_shown_in_the_readme() -> None:
    shown = {word for words in _typed(README) for word in words[:1]}
    assert set(program.commands) <= shown | {"associate"}
