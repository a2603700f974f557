"""The command that goes on: the one that works where it is pasted."""

import io
import shlex
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.calls.visit import resume_command, show_resume_command
from mcp_progress_monitor.cli.options import SavedId
from mcp_progress_monitor.cli.output.stdout import StandardOutput


def test_the_users_folder_is_named_from_anywhere_and_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    text = shlex.split(resume_command([SavedId(3)], Path("my data; rm -r")))
    assert text[-4:] == ["resume", "3", "--data-dir", str(tmp_path / "my data; rm -r")]
    assert shlex.split(resume_command([SavedId(3)], Path("~/data")))[-1] == str(
        Path.home() / "data"
    )


TASK = SavedId(3, is_task=True)


@pytest.mark.parametrize(
    ("ids", "what"),
    [
        ([SavedId(3)], "The job stopped but can be resumed. To resume:"),
        ([SavedId(3), SavedId(4)], "2 jobs stopped but can be resumed. To resume:"),
        ([SavedId(3), TASK], "2 jobs stopped but can be resumed. To resume:"),
        ([TASK], "The task may still be running on the server. To wait for the result:"),
        ([TASK, TASK], "2 tasks may still be running on the server. To wait for the result:"),
    ],
)
def test_the_command_has_a_line_to_itself(ids: list[SavedId], what: str) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8")
    show_resume_command(StandardOutput(stream), ids, None)
    head, command = written.getvalue().decode().splitlines()
    assert head == what
    assert command.strip() == resume_command(ids, None)


def test_tasks_are_reported_apart_by_their_letter() -> None:
    assert resume_command([SavedId(3), TASK], None).endswith(" resume 3 t3")
