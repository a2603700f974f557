"""Bars on a terminal: exact words beside them, as many as there is room for."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from mcp_progress_monitor.cli.output.bars import BarMeter
from mcp_progress_monitor.protocol.facts import Side
from mcp_progress_monitor.tracker.snapshot import ChangeSet, JobState, TaskSnapshot
from tests.job_stand_ins import FakeJobs, job


class Screen:
    """A terminal of 100 columns, 8 lines, and a meter that draws on it."""

    def __init__(self) -> None:
        self.jobs = FakeJobs()
        self._file = io.StringIO()
        console = Console(
            file=self._file,
            force_terminal=True,
            width=100,
            height=8,
            color_system=None,
            legacy_windows=False,
            _environ={},
        )
        self.meter = BarMeter(self.jobs, console, {3: 70})

    def add(self, job_id: int, **fields: Any) -> None:
        """A job began."""
        self.jobs.put(job(id=job_id, **fields))
        self.meter.on_changes(ChangeSet(added=(job_id,)))

    def close(self) -> list[str]:
        """The lines of the last drawing, after the end."""
        before = len(self.text)
        self.meter.close()
        plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", self.text[before:])
        return [line.rstrip() for line in plain.splitlines() if line.strip()]

    @property
    def text(self) -> str:
        """All that was sent to the terminal."""
        return self._file.getvalue()


@pytest.fixture
def screen() -> Screen:
    return Screen()


def test_a_job_is_drawn_at_once_with_its_text(screen: Screen) -> None:
    screen.add(1)
    for arguments in (
        "export_orders",
        "━",
        "632 / 1,000 (63.2 %)",
        "12/s  31 s left",
        "Processing",
    ):
        assert arguments in screen.text


def test_the_cursor_comes_back(screen: Screen) -> None:
    screen.add(1)
    assert "\x1b[?25l" in screen.text
    screen.meter.close()
    assert screen.text.rstrip().endswith("\x1b[?25h")


def test_nothing_is_drawn_without_a_job(screen: Screen) -> None:
    screen.meter.on_changes(ChangeSet())
    assert screen.close() == []


def test_a_saved_job_has_a_bar_once_it_is_resumed_and_others_have_none(screen: Screen) -> None:
    screen.jobs.put(job(id=1, attempt_count=2), job(id=2, name="another"))
    for _ in range(3):
        screen.meter.on_changes(ChangeSet(progressed=frozenset({1})))
    (line,) = screen.close()
    assert "attempt 2" in line


def test_several_jobs_are_numbered(screen: Screen) -> None:
    screen.add(1)
    screen.add(2)
    screen.add(3)
    lines = screen.close()
    assert len(lines) == 3
    assert "export_orders #2" in lines[1]
    assert "export_orders #70" in lines[2]


def test_of_too_many_jobs_the_running_ones_are_drawn_and_the_rest_counted(screen: Screen) -> None:
    for job_id in range(1, 10):
        screen.add(job_id, state=JobState.DONE)
    screen.add(10)
    lines = screen.close()
    assert len(lines) == 7
    assert "export_orders #10" in lines[5]
    assert "… and 4 more" in lines[6]


def test_what_the_server_asked_of_us_has_no_bar(screen: Screen) -> None:
    screen.add(1, sender=Side.SERVER)
    assert screen.close() == []


def test_server_text_is_neither_markup_nor_control(screen: Screen) -> None:
    screen.add(1, name="[red]a[/]", message="[bold]\x1b[2J")
    line = screen.close()[0]
    assert "[red]a[/]" in line
    assert r"[bold]\x1b[2J" in line


def test_other_lines_go_above_the_bars(screen: Screen) -> None:
    screen.add(1)
    screen.meter.say("[b]a line[/b]")
    assert "[b]a line[/b]" in screen.text


def test_the_bars_step_aside_and_come_back(screen: Screen) -> None:
    screen.add(1)
    with screen.meter.aside():
        shown = len(screen.text)
        screen.meter.on_changes(ChangeSet())
    assert len(screen.text) >= shown
    assert "export_orders" in screen.close()[0]


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_has_a_bar(screen: Screen, state: JobState) -> None:
    screen.add(1, state=state, fraction=None, total=None)
    text = state.value.lower()
    drawn = screen.close()[0].lower()
    assert text in drawn or ("━" in drawn and state is JobState.RUNNING)


def test_numbers_keep_their_digits_where_there_is_little_room(screen: Screen) -> None:
    screen.add(1, name="a_tool_with_a_very_long_name_indeed", message="m" * 300)
    line = screen.close()[0]
    assert "632 / 1,000 (63.2 %)  12/s  31 s left  mmm" in line.replace("   ", "  ")
    assert line.endswith("…")


def test_nothing_is_drawn_while_the_user_is_asked(screen: Screen) -> None:
    screen.add(1)
    with screen.meter.aside(), screen.meter.aside():
        before = screen.text
        screen.meter.on_changes(ChangeSet(progressed=frozenset({1})))
        screen.add(2)
        assert screen.text == before
    assert len(screen.close()) == 2


def test_a_task_that_was_asked_to_stop_is_shown_as_still_working(screen: Screen) -> None:
    task = TaskSnapshot("T", "working", "Counting")
    screen.add(1, task=task, state=JobState.CANCELLING, message=None)
    (bar,) = screen.close()
    assert "cancel requested, still working" in bar
    assert bar.endswith("Counting")
