"""Ten stories: what people do most, and with how many keys and clicks at most."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.stories.person import Person, lacking, person

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


def _effort(somebody: Person) -> tuple[int, int]:
    return somebody.clicks, somebody.keys


def _calls(somebody: Person, tool: str, arguments: str = "{}") -> None:
    """Call a tool with arguments as JSON, whatever its form looks like."""
    somebody.presses("ctrl+n")
    somebody.sees("Search by name", "text")
    somebody.types(tool)
    if arguments != "{}":
        somebody.clicks_on("Arguments as JSON", "text")
        somebody.presses("ctrl+a")
        somebody.types(arguments)
    somebody.presses("ctrl+Return")
    somebody.presses("Escape")


def test_1_the_demo_shows_jobs_with_bars(ada: Person) -> None:
    ada.clicks_on("Try the demo")
    ada.sees("download, ", "tree item")
    assert _effort(ada) <= (1, 0)


def test_2_a_command_is_connected(ada: Person) -> None:
    ada.presses("ctrl+shift+n")
    ada.sees("Command", "text")
    ada.types(f"{sys.executable} -m mcp_progress_monitor.demo")
    ada.presses("Return")
    ada.sees("Connected", "list item")
    assert ada.clicks == 0


def test_3_a_tool_is_called_from_the_page_of_its_server(eve: Person) -> None:
    eve.sees("known_total")
    _calls(eve, "known_total")
    eve.sees("known_total, ", "tree item")
    assert eve.clicks == 0


def test_4_a_job_is_cancelled(eve: Person) -> None:
    _calls(eve, "stall")
    eve.clicks_on("stall, ", "tree item")
    eve.presses("ctrl+period")
    eve.sees(", Cancelled", "tree item")


def test_5_a_job_is_resumed_after_a_crash(eve: Person) -> None:
    _calls(eve, "resumable_export")
    eve.sees(", Resumable", "tree item")
    eve.kill()
    eve.start()
    eve.clicks_on(", Resumable", "tree item")
    eve.presses("ctrl+r")
    eve.waits(lambda one: "resumable_export" in one.name and "40 %" not in one.name, "resumed job")


def test_6_a_question_is_answered(eve: Person) -> None:
    _calls(eve, "ask_form")
    eve.clicks_on(", Needs you", "tree item")
    eve.presses("ctrl+shift+a")
    eve.sees("Decline", "button")


def test_7_the_message_that_broke_a_rule_is_found(eve: Person) -> None:
    _calls(eve, "decreasing", '{"steps": 30, "every": 3, "interval_s": 0.01}')
    eve.sees("Findings (", "page tab")
    eve.presses("F7")
    eve.sees("PROG-3: Progress did not increase")
    assert eve.clicks <= 1


def test_8_the_traffic_is_filtered(eve: Person) -> None:
    _calls(eve, "known_total")
    eve.clicks_on("Filter traffic", "text")
    eve.types("method == tools/call")
    eve.waits(lambda one: one.name == "1 row", "1 row")


def test_9_anything_is_found_by_its_name(eve: Person) -> None:
    eve.presses("ctrl+k")
    eve.types("known total")
    eve.presses("Return")
    eve.sees("known_total")


def test_10_another_client_is_watched_within_three_clicks(tmp_path: Path) -> None:
    servers = {"mcpServers": {"files": {"command": "echo", "args": ["hello"]}}}
    (tmp_path / ".claude.json").write_text(json.dumps(servers))
    with person({**os.environ, "HOME": str(tmp_path)}, tmp_path / "data") as ada:
        ada.clicks_on("Watch the servers of Claude Code")
        ada.clicks_on("files", "tree item", at=10)
        ada.clicks_on("Change", "push button")
        ada.sees("watched", "tree item")
        assert ada.clicks <= 3
    assert "tap" in (tmp_path / ".claude.json").read_text()
