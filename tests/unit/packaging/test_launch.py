import os
import sys
from pathlib import Path

import pytest

import launch
from system import SetupError


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--demo",
        "open file.jsonl",
        "--server tools",
        "--data-dir call --demo",
        "-- tools",
        "--demo -- python server.py --help",
    ],
)
def test_these_arguments_open_the_window(text: str) -> None:
    assert launch.opens_window(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "tools --demo",
        "call --demo steps --json",
        "--data-dir /d servers list",
        "check file.jsonl",
        "export file.jsonl --to csv",
        "resume --list",
        "--help",
        "call --help",
        "-h",
        "--version",
    ],
)
def test_these_arguments_need_no_display(text: str) -> None:
    assert not launch.opens_window(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--demo", "--demo --screenshot f.png --after 5"),
        ("--after 2 --demo", "--after 2 --demo --screenshot f.png"),
        ("--after=2", "--after=2 --screenshot f.png"),
        ("-- node s.js", "--screenshot f.png --after 5 -- node s.js"),
        ("-- s --screenshot x", "--screenshot f.png --after 5 -- s --screenshot x"),
        ("--screenshot mine.png", "--screenshot mine.png"),
        ("--screenshot=mine.png -- s", "--screenshot=mine.png -- s"),
    ],
)
def test_a_screenshot_is_asked_for_before_the_servers_command(text: str, expected: str) -> None:
    assert launch.with_screenshot(text.split(), Path("f.png")) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("--after 3", "3"), ("--after=4", "4"), ("-- s --after 5", ""), ("--after", "")],
)
def test_an_options_value_is_found_in_both_spellings(text: str, expected: str) -> None:
    assert launch.value_of("--after", text.split()) == expected


def _photograph(script: str, file: Path, after: str = "0") -> int:
    """Photograph a program that is one line of Python."""
    command = [sys.executable, "-c", script, str(file)]
    arguments = ["--screenshot", str(file), "--after", after]
    return launch.photograph(command, os.environ, arguments)


def test_the_path_of_the_screenshot_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "window.png"

    code = _photograph("import sys; open(sys.argv[1], 'w').close()", file)

    assert code == 0
    assert str(file.resolve()) in capsys.readouterr().err


def test_a_program_that_fails_gives_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _photograph("raise SystemExit(3)", tmp_path / "window.png")

    assert code == 3
    assert "exit code 3" in capsys.readouterr().err


def test_a_program_that_saves_no_screenshot_has_failed(tmp_path: Path) -> None:
    assert _photograph("", tmp_path / "window.png") == 1


def test_a_program_that_never_ends_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "SCREENSHOT_PATIENCE_S", 0.1)

    with pytest.raises(SetupError, match="No picture after"):
        _photograph("import time; time.sleep(600)", tmp_path / "window.png")


def test_a_number_of_seconds_that_is_none_is_left_to_the_program(tmp_path: Path) -> None:
    assert _photograph("raise SystemExit(2)", tmp_path / "window.png", after="soon") == 2
