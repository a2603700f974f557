"""What the README and the manual show is what the program does."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import jsonschema_rs
import pytest

from mcp_progress_monitor.catalogue.taps import TapProgram, wrapper
from mcp_progress_monitor.cli.entry import main, program
from mcp_progress_monitor.cli.options import RenamedOption
from mcp_progress_monitor.demo.tools import TOOLS as DEMO_TOOLS
from tests.integration.commands import ROOT, run
from tests.servers.tools import TOOLS

DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
_CODE = re.compile("`([^`]+)`")
_WRITTEN = ("picture.svg", "session.mcprec")
"""Files that the commands of the manual write."""


def _rows(page: str, section: str) -> Iterator[list[str]]:
    """The cells of the tables below a heading of a page, up to the next heading."""
    below = DOCUMENTS[page].partition(f"\n{section}\n")[2]
    text = re.split("^#+ ", below, maxsplit=1, flags=re.MULTILINE)[0]
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (
            ("crash", "--arg", "at_tick=1"),
            {"connected", "request", "progress", "stderr", "closed", "summary"},
        ),
        (("ask_form",), {"question", "answered"}),
        (("task_work", "--task", "--arg", "steps=1"), {"task", "result"}),
        (("resumable_export",), {"resumable"}),
        (("rpc_error",), {"error"}),
        (("no_such_tool",), {"error"}),
        (("log_levels", "--era", "handshake"), {"log"}),
    ],
)
def test_events_fit_the_schema_that_is_published(
    arguments: tuple[str, ...], kinds: set[str], tmp_path: Path
) -> None:
    ran = run(
        "call", "--demo", *arguments, "--json", "--data-dir", str(tmp_path), HOME=str(tmp_path)
    )
    published = ROOT / "docs" / "reference" / "events.schema.json"
    schema = jsonschema_rs.validator_for(json.loads(published.read_text("utf-8")))
    events = ran.events()
    assert [error.message for event in events for error in schema.iter_errors(event)] == []
    assert kinds <= {event["event"] for event in events}


def _listed(section: str) -> set[str]:
    rows = _rows("docs/demo.md", section)
    return {name for row in rows for name in _CODE.findall(row[1])}


def test_every_tool_of_the_demo_is_listed() -> None:
    tools = json.loads(run("tools", "--demo", "--json").out)["tools"]
    names = {tool["name"] for tool in tools}
    assert _listed("## Tools") - names == {"demo://archive", "interview"}
    assert names == {tool.name for tool in DEMO_TOOLS} <= _listed("## Tools")
    more = {tool.name for tool in TOOLS} - names
    assert _listed("## Test servers") == more


def _typed(texts: Iterable[str]) -> dict[tuple[str, ...], str]:
    """The arguments of each command in texts, without the server's command and what explains it.

    Each has the line where it stands, one of them when there are several.
    """
    lines = {line.strip() for text in texts for line in text.replace("\\\n", " ").splitlines()}
    commands = [
        line for line in sorted(lines) if re.match(r"mcp-progress-monitor\b(?!.*\[OPTIONS\])", line)
    ]
    return {tuple(shlex.split(re.split(r" {2,}| \| | -- ", c)[0])[1:]): c for c in commands}


def _epilogs(command: click.Command) -> Iterator[str]:
    yield command.epilog or ""
    for inner in getattr(command, "commands", {}).values():
        yield from _epilogs(inner)


@pytest.mark.parametrize(
    "arguments", _typed((*DOCUMENTS.values(), *_epilogs(program))), ids=" ".join
)
def test_commands_that_are_shown_have_the_options_that_they_name(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    # Options and commands are looked up before help is shown, values are not.
    assert main([*arguments, "--help"]) == 0
    assert "Usage: mcp-progress-monitor" in capsys.readouterr().out


def _shown() -> dict[tuple[str, ...], str]:
    by_hand = [text for name, text in DOCUMENTS.items() if "/reference/" not in name]
    return _typed(by_hand)


def test_every_command_is_shown_by_hand() -> None:
    assert set(program.commands) <= {word for text in _shown() for word in text[:1]}


_QUICK = re.compile(
    r"mcp-progress-monitor (?:(?:tools|call|read|prompts?|resources|request) .*--demo\b"
    r"|resume --list|servers(?: import)?$|servers client-metadata )"
)
_RESUMABLE = 6
"""The exit code of what stopped and can be resumed, as it does where it is shown."""


def _quick() -> list[tuple[str, ...]]:
    return [text for text, line in _shown().items() if _QUICK.match(line)]


@pytest.mark.parametrize("arguments", _quick(), ids=" ".join)
def test_quick_commands_that_are_shown_do_their_work(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(_json_of("docs/questions.md")[0], encoding="utf-8")
    files = {"answers.json": str(answers)} | {name: str(tmp_path / name) for name in _WRITTEN}
    used = [files.get(word, word) for word in arguments]
    ran = run(*used, "--data-dir", str(tmp_path), HOME=str(tmp_path))
    is_stopped = "resumable_export" in arguments and "--auto-resume" not in arguments
    assert ran.code == (_RESUMABLE if is_stopped else 0), ran.err


def _json_of(page: str) -> list[str]:
    return re.findall("```json\n(.*?)```", DOCUMENTS[page], re.DOTALL)


@pytest.mark.parametrize("place", [0, 1])
def test_answer_files_that_are_shown_are_taken(place: int, tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    answers.write_text(_json_of("docs/questions.md")[place], encoding="utf-8")
    ran = run("call", "--demo", "ask_form", "--answer", str(answers), "--data-dir", str(tmp_path))
    assert ran.code == 0, ran.err


def _current(parameter: click.Parameter) -> list[str]:
    """The names of a parameter, without the earlier names that its help does not show."""
    return parameter.opts[:1] if isinstance(parameter, RenamedOption) else parameter.opts


def _options(command: click.Command) -> set[str]:
    own = {name for p in command.params for name in (*_current(p), *p.secondary_opts)}
    return own.union(*map(_options, getattr(command, "commands", {}).values()))


def test_every_option_that_the_text_names_exists() -> None:
    known = _options(program) | {"--help"}
    others = (
        ["-m", "mcp_progress_monitor.demo"],
        ["-m", "tests.servers"],
        ["packaging/dev.py"],
        ["packaging/dev.py", "docs"],
    )
    for arguments in others:
        asked = [sys.executable, *arguments, "--help"]
        shown = subprocess.run(asked, capture_output=True, check=True, cwd=ROOT, text=True).stdout
        known.update(re.findall(r"--[a-z][\w-]*", shown))
    named = {
        (name, option)
        for name, text in DOCUMENTS.items()
        for code in _CODE.findall(re.sub("```.*?```", "", text, flags=re.DOTALL))
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", code)
    }
    assert named
    assert {(name, option) for name, option in named if option not in known} == set()


def test_only_two_pages_install_the_program_from_the_index() -> None:
    pages = DOCUMENTS | {"docs/mcp-check.yml": (ROOT / "docs/mcp-check.yml").read_text("utf-8")}
    by_name = re.compile(r"(?:pipx?|uv tool) install (?:-\S+ )*[\"']?mcp-progress-monitor\b")
    found = {name for name, text in pages.items() if by_name.search(text)}
    assert found == {"README.md", "docs/install.md"}


def test_a_key_has_one_meaning_in_the_panes_that_lead_to_each_other() -> None:
    meanings = {
        row[0]
        for place in ("## Findings", "## Traffic", "## stderr", "## Job")
        for row in _rows("docs/reference/keys.md", place)
        if row[1] == "`Ctrl+G`"
    }
    assert meanings == {"Go to message"}


def test_the_entry_of_a_watched_server_is_the_one_that_is_written() -> None:
    (shown,) = _json_of("docs/watch-your-client.md")
    entry = json.loads(shown)
    home = "/home/me"
    python = f"{home}/.venv/bin/python"
    program = TapProgram(
        (f"{home}/.venv/bin/mcp-progress-monitor",),
        python,
        interpreter=(python, "-I"),
        has_proc=True,
    )
    launch = wrapper(program, "files", "Cursor")
    written = [launch.command, *launch.args]
    assert [entry["command"], *entry["args"]][: len(written)] == written
