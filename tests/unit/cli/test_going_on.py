"""The command that goes on: the one that works where it is pasted."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.going_on import resume_command, tell_command
from mcp_progress_monitor.cli.output import Output
from mcp_progress_monitor.cli.saved_id import SavedId


def test_the_users_folder_is_named_from_anywhere_and_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(resume_command([SavedId(3)], Path("my data; rm -r")))
    assert words[-4:] == ["resume", "3", "--data-dir", str(tmp_path / "my data; rm -r")]
    assert shlex.split(resume_command([SavedId(3)], Path("~/data")))[-1] == str(
        Path.home() / "data"
    )


TASK = SavedId(3, is_task=True)


@pytest.mark.parametrize(
    ("ids", "what"),
    [
        ([SavedId(3)], "It stopped while resumable. To go on:"),
        ([SavedId(3), SavedId(4)], "2 jobs stopped while resumable. To go on:"),
        ([SavedId(3), TASK], "2 jobs stopped while resumable. To go on:"),
        ([TASK], "Its task may go on at the server. To hear of the end:"),
        ([TASK, TASK], "2 tasks may go on at the server. To hear of the end:"),
    ],
)
def test_the_command_has_a_line_to_itself(ids: list[SavedId], what: str) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8")
    tell_command(Output(stream), ids, None)
    head, command = written.getvalue().decode().splitlines()
    assert head == what
    assert command.strip() == resume_command(ids, None)


def test_tasks_are_told_apart_by_their_letter() -> None:
    assert resume_command([SavedId(3), TASK], None).endswith(" resume 3 t3")
