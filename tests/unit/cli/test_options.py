"""Options stand anywhere before the two dashes, and contradictions are refused."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from mcp_progress_monitor import __version__
from mcp_progress_monitor.cli.common import CommonOptions
from mcp_progress_monitor.cli.entry import main, program
from mcp_progress_monitor.cli.options import SavedId
from mcp_progress_monitor.engine.call import AutoResume


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each command was handed, with its work left out."""
    seen: list[Any] = []

    def note(*args: Any, **kwargs: Any) -> int:
        seen.append((*args, *kwargs.values()))
        return 0

    monkeypatch.setitem(sys.modules, "mcp_progress_monitor.cli.calls.call", _Module(call_tool=note))
    monkeypatch.setitem(
        sys.modules, "mcp_progress_monitor.cli.calls.resume", _Module(resume_jobs=note)
    )
    monkeypatch.setitem(
        sys.modules, "mcp_progress_monitor.cli.calls.saved_jobs", _Module(list_saved=note)
    )
    monkeypatch.setitem(
        sys.modules, "mcp_progress_monitor.cli.calls.listings", _Module(list_tools=note)
    )
    monkeypatch.setitem(sys.modules, "mcp_progress_monitor.cli.desktop", _Module(open_window=note))
    return seen


class _Module:
    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


@pytest.mark.parametrize(
    "arguments",
    [
        ["call", "burst", "--demo", "--data-dir", "d", "--arg", "n=3", "--json"],
        ["--data-dir", "d", "call", "--json", "--arg", "n=3", "--demo", "burst"],
        ["--demo", "--data-dir=d", "call", "burst", "--json", "--arg=n=3"],
    ],
)
def test_options_may_stand_anywhere(seen: list[Any], arguments: list[str]) -> None:
    assert main(arguments) == 0
    invocation, order = seen[0]
    assert invocation.common.demo
    assert invocation.common.data_dir == Path("d")
    assert (order.tool, order.pairs, order.as_json) == ("burst", (("n", "3"),), True)


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        ([], (None, None)),
        (["--idle-timeout", "0"], (0.0, None)),
        (["--idle-timeout", "2.5", "--total-timeout", "0"], (2.5, 0.0)),
    ],
)
def test_a_limit_of_zero_is_another_thing_than_none_given(
    seen: list[Any], arguments: list[str], limits: tuple[float | None, float | None]
) -> None:
    assert main(["call", "t", "--demo", *arguments]) == 0
    _, order = seen[0]
    assert (order.idle_timeout, order.total_timeout) == limits


def test_everything_after_the_dashes_is_the_servers(seen: list[Any]) -> None:
    assert main(["call", "t", "--json", "--", "python", "--json", "--", "-h"]) == 0
    invocation, order = seen[0]
    assert invocation.common.command == ("python", "--json", "--", "-h")
    assert order.as_json


def test_the_window_opens_without_a_command(seen: list[Any]) -> None:
    assert main(["--screenshot", "a.png", "--after", "2", "--", "server"]) == 0
    common, screenshot, after_s, *_ = seen[0]
    assert common.command == ("server",)
    assert (screenshot, after_s) == (Path("a.png"), 2.0)
    main([])
    assert seen[1] == (CommonOptions(), None, 5.0, False, False, False)


def test_variables_given_before_and_after_the_command_add_up(seen: list[Any]) -> None:
    main(["--env", "A=1", "tools", "--env", "B=x=y", "--env", "C="])
    assert seen[0][0].common.env == (("A", "1"), ("B", "x=y"), ("C", ""))


def test_the_option_nearest_to_the_command_counts(seen: list[Any]) -> None:
    main(["--era", "handshake", "--connect-timeout", "3", "tools", "--era", "per-request"])
    common = seen[0][0].common
    assert (common.era, common.connect_timeout) == ("per-request", 3.0)


def test_an_empty_text_is_given_and_not_left_out(seen: list[Any]) -> None:
    main(["--server", "files", "tools", "--server", "", "--url="])
    common = seen[0][0].common
    assert (common.server, common.url) == ("", "")


def test_two_dashes_end_the_options_of_commands_that_start_no_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["open", "--", "-night.mcprec"]) == 8
    assert "(-night.mcprec)" in capsys.readouterr().err
    assert main(["servers", "remove", "--", "-x", "--help"]) == 2
    assert "Saved server '-x' not found" in capsys.readouterr().err
    assert main(["associate", "--", "-x"]) == 2
    assert "A server command cannot be used" in capsys.readouterr().err


def test_help_shows_no_option_that_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["servers", "add", "--help"]) == 0
    said = capsys.readouterr().out
    assert "[-- SERVER_COMMAND" in said
    assert not {"--demo", "--config", "--server", "--record"} & set(said.split())
    assert {"--url", "--cwd", "--data-dir"} <= set(said.split())


@pytest.mark.parametrize("arguments", [["--help"], ["servers", "--help"]])
def test_each_command_is_listed_with_a_whole_sentence(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    listed = capsys.readouterr().out.partition("Commands:")[2].partition("Examples:")[0]
    lines = listed.split("\n")
    assert sum(line.endswith(".") for line in lines) > 5
    assert not any(line.endswith("...") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["call", "t", "--token", "a", "--int-token", "0"], "only one of"),
        (["call", "t", "--no-token", "--token", ""], "only one of"),
        (["call", "t", "--repeat", "2", "--int-token", "0"], "--repeat"),
        (["call", "t", "--repeat", "0"], "--repeat"),
        (["call", "t", "--arg", "n"], "not in the form NAME=VALUE"),
        (["call", "t", "--arg", "n=1", "--arg", "n=2"], "is repeated"),
        (["call"], "TOOL"),
        (["tools", "--"], "No server command after --"),
        (["tools", "--env", "=x"], "not in the form NAME=VALUE"),
        (["tools", "--cwd", "/no/such/folder"], "/no/such/folder"),
        (["call", "t", "--idle-timeout", "nan"], "--idle-timeout"),
        (["call", "t", "--idle-timeout", "1e300"], "--idle-timeout"),
        (["call", "t", "--idle-timeout", "soon"], "'soon' is not a valid number of seconds"),
        (["call", "t", "--total-timeout", "-1"], "--total-timeout"),
        (["call", "t", "--total-timeout", "inf"], "--total-timeout"),
        (["tools", "--connect-timeout", "inf"], "--connect-timeout"),
        (["--after", "3"], "--screenshot"),
        (["--screenshot", "a.png", "tools"], "cannot be used with"),
        (["python", "server.py"], "-- python server.py"),
        (["chekc", "a.jsonl"], "No such command"),
        (["toolz", "--demo"], "No such command 'toolz'. Did you mean 'tools'?"),
        (["my server", "x"], "-- 'my server' x"),
        (["servers", "add", "x", "--url", "http://a/", "--record", "r"], "--record cannot be used"),
        (["call", "t", "--tusk"], "No such option"),
    ],
)
def test_wrong_usage_says_what_and_exits_with_2(
    seen: list[Any], arguments: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert advice in capsys.readouterr().err
    assert not seen


@pytest.mark.parametrize(
    "arguments", [["--help"], ["call", "--help"], ["tools", "-h"], ["resume", "-h"]]
)
def test_help_has_examples_at_every_level(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "Examples:\n  " in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["resume", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    heavy = ["anyio", "asyncio", "pydantic", "jsonschema", "rich", "PySide6", "logging"]
    script = (
        "import sys; from mcp_progress_monitor.cli.entry import main; main(sys.argv[1:]);"
        f"found = [m for m in {heavy} if m in sys.modules]; sys.exit(','.join(found) or 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["resume", "3", "t5", "--auto-resume", "--json", "--data-dir", "d"],
        ["--data-dir", "d", "resume", "--json", "3", "--auto-resume", "T5", "--", "python", "s.py"],
    ],
)
def test_resume_takes_ids_and_choices_in_any_order(seen: list[Any], arguments: list[str]) -> None:
    assert main(arguments) == 0
    invocation, order = seen[0]
    assert invocation.common.data_dir == Path("d")
    assert invocation.common.command == (("python", "s.py") if "--" in arguments else None)
    assert (order.ids, order.auto_resume, order.as_json, order.is_list) == (
        (SavedId(3), SavedId(5, is_task=True)),
        True,
        True,
        False,
    )


def test_resume_lists(seen: list[Any]) -> None:
    assert main(["resume", "--list", "--json", "--data-dir", "d"]) == 0
    common, in_json = seen[0]
    assert (common.data_dir, in_json) == (Path("d"), True)


def test_call_may_resume_by_itself(seen: list[Any]) -> None:
    assert main(["call", "--demo", "export", "--auto-resume"]) == 0
    assert main(["call", "--demo", "export"]) == 0
    assert [order.auto_resume for _, order in seen] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["--list", "3"], "--list cannot be used"),
        (["--list", "--auto-resume"], "--list cannot be used"),
        (["three"], "'three' is not a job ID such as 3 or t3"),
        (["t0"], "'t0' is not a job ID"),
        (["--list", "--answer", "a.json"], "--list cannot be used"),
    ],
)
def test_what_resume_cannot_do_is_refused(
    seen: list[Any], arguments: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["resume", *arguments]) == 2
    assert advice in capsys.readouterr().err
    assert seen == []


@pytest.mark.parametrize("command", [["call", "--demo", "export"], ["resume", "3"]])
class TestResumeLimit:
    def test_it_limits_automatic_resuming(self, seen: list[Any], command: list[str]) -> None:
        assert main([*command, "--auto-resume", "--resume-limit", "7"]) == 0
        assert main([*command, "--auto-resume"]) == 0
        assert main(command) == 0
        limits = [order.automatic for _, order in seen]
        assert limits == [AutoResume(limit=7), AutoResume(), None]

    def test_it_has_no_meaning_without(
        self, seen: list[Any], capsys: pytest.CaptureFixture[str], command: list[str]
    ) -> None:
        assert main([*command, "--resume-limit", "7"]) == 2
        assert "--auto-resume" in capsys.readouterr().err
        assert seen == []

    @pytest.mark.parametrize("limit", ["0", "-1", "1000001", "many"])
    def test_it_is_a_number_of_attempts(
        self, seen: list[Any], command: list[str], limit: str
    ) -> None:
        assert main([*command, "--auto-resume", "--resume-limit", limit]) == 2
        assert seen == []


@pytest.mark.parametrize(
    ("arguments", "new", "old"),
    [
        ([], "--screenshot-delay", "--after"),
        (["open"], "--screenshot-delay", "--after"),
        (["call"], "--answers", "--answer"),
        (["resume"], "--answers", "--answer"),
        (["export"], "--filter", "--where"),
        (["export"], "--format", "--to"),
        (["servers", "export"], "--client", "--to"),
    ],
)
def test_a_renamed_option_has_both_names_and_help_shows_the_new_one(
    arguments: list[str], new: str, old: str
) -> None:
    command: click.Command = program
    for word in arguments:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    context = click.Context(command)
    params = {name: param for param in command.params for name in param.opts}
    shown = params[new].get_help_record(context)
    assert params[new] is params[old]
    assert shown is not None
    assert shown[0].split()[0] == new
    assert old not in shown[0].split()
