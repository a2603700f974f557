"""Twelve stories: what people do most, and with how many clicks and keys.

A text that is typed is counted apart: it would have to be typed anywhere.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.stories.person import Person, lacking, person

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(bool(lacking()), reason=f"needs {', '.join(lacking())}"),
]


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Person]:
    """Ada has started the program for the first time."""
    with person({**os.environ, "HOME": str(tmp_path)}, tmp_path / "data") as somebody:
        yield somebody


@pytest.fixture
def eve(tmp_path: Path) -> Iterator[Person]:
    """Eve works with the demo server, which does nothing yet."""
    home = {**os.environ, "HOME": str(tmp_path)}
    demo = ("--", sys.executable, "-m", "mcp_progress_monitor.demo")
    with person(home, tmp_path / "data", *demo) as somebody:
        somebody.sees("Connected", "list item")
        yield somebody


def _takes(somebody: Person, *, clicks: int, keys: int) -> None:
    """Expect that the story took so many clicks and keys, and no more."""
    assert (somebody.clicks, somebody.keys) == (clicks, keys)


def _calls(somebody: Person, tool: str, arguments: str = "") -> None:
    """Call a tool with arguments as JSON, whatever its form looks like: three keys."""
    somebody.presses("ctrl+n")
    somebody.sees("Search by name", "text")
    somebody.types(tool)
    if arguments:
        somebody.clicks_on("Arguments as JSON", "text")
        somebody.presses("ctrl+a")
        somebody.types(arguments)
    somebody.presses("ctrl+Return")
    somebody.presses("Escape")


def _comes_to_stand_in(settings: Path, scheme: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not settings.exists() or f'scheme\\": \\"{scheme}' not in settings.read_text():
        assert time.monotonic() < until, settings.exists() and settings.read_text()
        time.sleep(0.1)


def test_1_the_demo_shows_jobs_with_bars(ada: Person) -> None:
    ada.clicks_on("Try the demo")
    ada.sees("download on demo: ", "tree item")
    _takes(ada, clicks=1, keys=0)


def test_2_a_command_is_connected(ada: Person) -> None:
    ada.presses("ctrl+shift+n")
    ada.sees("Command", "text")
    ada.types(f"{sys.executable} -m mcp_progress_monitor.demo")
    ada.presses("Return")
    ada.sees("Connected", "list item")
    _takes(ada, clicks=0, keys=2)


def test_3_a_tool_is_called_from_the_page_of_its_server(eve: Person) -> None:
    eve.sees("known_total")
    _calls(eve, "known_total")
    eve.sees("known_total on ", "tree item")
    _takes(eve, clicks=0, keys=3)


def test_4_a_job_is_cancelled(eve: Person) -> None:
    _calls(eve, "stall")
    eve.sees("stall on ", "tree item")
    eve.clicks_on("Cancel", "tree item", at=14)
    eve.sees(": Cancelled", "tree item")
    _takes(eve, clicks=1, keys=3)


def test_5_a_job_is_resumed_after_a_crash(eve: Person) -> None:
    _calls(eve, "resumable_export")
    eve.sees(": Resumable", "tree item")
    eve.kill()
    eve.start()
    eve.sees(": Resumable", "tree item")
    eve.clicks_on("Resume", "tree item", at=14)
    eve.waits(lambda one: "2 attempts" in one.name, "the second attempt")
    _takes(eve, clicks=1, keys=3)


def test_6_a_question_is_answered(eve: Person) -> None:
    _calls(eve, "ask_form")
    eve.sees("Decline", "button")
    eve.presses("ctrl+shift+a")
    eve.types("Ada")
    eve.presses("Tab")
    eve.types("36")
    eve.presses("ctrl+Return")
    eve.waits(lambda one: "ask_form on" in one.name and ": Done" in one.name, "the answered job")
    _takes(eve, clicks=0, keys=6)


def test_7_one_key_leads_to_the_message_that_broke_a_rule(eve: Person) -> None:
    _calls(eve, "decreasing", '{"steps": 30, "every": 3, "interval_s": 0.01}')
    eve.sees("Findings (", "page tab")
    eve.begins_to_count()
    eve.presses("F7")
    eve.sees("PROG-3: Progress did not increase")
    _takes(eve, clicks=0, keys=1)


def test_8_the_traffic_is_filtered(eve: Person) -> None:
    _calls(eve, "known_total")
    eve.clicks_on("Filter traffic", "text")
    eve.types("method == tools/call")
    eve.waits(lambda one: one.name.startswith("1 of "), "1 of all rows")
    _takes(eve, clicks=1, keys=3)


def test_9_anything_is_found_by_its_name(eve: Person) -> None:
    eve.presses("ctrl+k")
    eve.types("known total")
    eve.presses("Return")
    eve.sees("New call — ")
    _takes(eve, clicks=0, keys=2)


def test_10_another_client_is_watched_within_three_clicks(tmp_path: Path) -> None:
    servers = {"mcpServers": {"files": {"command": "echo", "args": ["hello"]}}}
    (tmp_path / ".claude.json").write_text(json.dumps(servers))
    with person({**os.environ, "HOME": str(tmp_path)}, tmp_path / "data") as ada:
        ada.clicks_on("Watch the servers of Claude Code")
        ada.clicks_on("not watched", "tree item", at=10)
        ada.clicks_on("Change", "push button")
        ada.waits(lambda one: one.name.startswith("watched"), "watched")
        _takes(ada, clicks=3, keys=0)
    assert "tap" in (tmp_path / ".claude.json").read_text()


def test_11_one_key_says_why_a_call_failed(eve: Person) -> None:
    _calls(eve, "error_result")
    eve.waits(lambda one: ": Failed" in one.name and "disk was full" in one.name, "why it failed")
    eve.begins_to_count()
    eve.presses("Return")
    eve.sees("Server error: The disk was full at step", "label")
    _takes(eve, clicks=0, keys=1)


def test_12_the_dark_theme_takes_three_clicks_or_two_keys(ada: Person, tmp_path: Path) -> None:
    settings = tmp_path / "data" / "window.ini"
    ada.clicks_on("View", "menu item")
    ada.clicks_on("Theme", "menu item")
    ada.clicks_on("Dark", "menu item")
    _comes_to_stand_in(settings, "dark")
    _takes(ada, clicks=3, keys=0)
    ada.begins_to_count()
    ada.presses("ctrl+k")
    ada.types("light")
    ada.presses("Return")
    _comes_to_stand_in(settings, "light")
    _takes(ada, clicks=0, keys=2)
