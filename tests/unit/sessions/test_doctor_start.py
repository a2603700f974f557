"""Causes read from the disk, and from how a process ended."""

import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_progress_monitor.sessions import doctor
from mcp_progress_monitor.snapshots.doctor import DoctorReport, Searched
from mcp_progress_monitor.snapshots.servers import ServerState

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights and signals")


SHELL = "/bin/sh"
"""A command that every user may run."""


def report(*command: str, **fields: Any) -> DoctorReport:
    found = {"state": ServerState.FAILED, "address": " ".join(command), **fields}
    return DoctorReport("s", command=command, **found)


def texts(found: DoctorReport) -> list[str]:
    return [cause.text for cause in doctor.start_causes(found)]


def test_a_command_that_path_does_not_have_names_the_place_that_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    nowhere = report("npx-x", searched=(Searched("/bin", True, None), Searched("/a", False, None)))
    (cause,) = doctor.start_causes(nowhere)
    assert cause.text == '"npx-x" is in none of the 2 folders of PATH'
    assert "version manager" in cause.hint
    tool = tmp_path / ".nvm/versions/node/v20/bin/npx-x"
    tool.parent.mkdir(parents=True)
    tool.touch(0o755)
    (cause,) = doctor.start_causes(nowhere)
    assert str(tool) in cause.text
    assert "full path" in cause.hint


def test_without_a_home_that_the_system_knows_there_is_a_cause_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    (cause,) = doctor.start_causes(report("npx-x", searched=(Searched("/bin", True, None),)))
    assert cause.text == '"npx-x" is in none of the 1 folders of PATH'


def test_a_command_with_its_arguments_in_it_is_seen() -> None:
    (cause,) = doctor.start_causes(report("npx -y x", searched=(Searched("/bin", True, None),)))
    assert "includes its arguments" in cause.text


def test_a_path_without_a_file_is_reported(tmp_path: Path) -> None:
    (text,) = texts(report(str(tmp_path / "none"), folder=str(tmp_path)))
    assert text.startswith("File not found")


def test_a_folder_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    text, *_ = texts(report(sys.executable, found=sys.executable, folder=str(tmp_path / "no")))
    assert text.startswith("The working folder does not exist")


def test_a_file_that_may_not_be_executed_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.touch(0o644)
    (text,) = texts(report(str(script), found=str(script)))
    assert text.startswith("The file is not executable")


def test_a_missing_interpreter_is_reported(tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text("#!/no/such/python3 -u\n")
    script.chmod(0o755)
    (text,) = texts(report(str(script), found=str(script)))
    assert '"/no/such/python3"' in text


def test_a_command_that_is_a_folder_is_reported(tmp_path: Path) -> None:
    (text,) = texts(report(str(tmp_path), found=str(tmp_path)))
    assert text.startswith("The command is a folder")


def test_a_script_among_the_arguments_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    found = report(sys.executable, "-u", "none.py", found=sys.executable, folder=str(tmp_path))
    assert texts(found) == [f'A file in the arguments does not exist: "{tmp_path / "none.py"}"']


def test_what_only_a_shell_would_expand_is_reported() -> None:
    (text,) = texts(report(sys.executable, "~/server", found=sys.executable))
    assert '"~/server"' in text


def test_a_command_that_is_as_it_should_be_has_no_cause(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    found = report(sys.executable, "a.py", found=sys.executable, folder=str(tmp_path))
    assert texts(found) == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (0, "exit code 0"),
        (127, "did not find"),
        (126, "could not execute"),
        (-signal.SIGKILL, "SIGKILL"),
        (-signal.SIGSEGV, "It crashed"),
        (-signal.SIGTERM, "Another program"),
    ],
)
def test_the_way_a_process_ended_tells_something(code: int, message: str) -> None:
    (cause,) = doctor.causes_of_end(report("run", exit_code=code))
    assert message in cause.text


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"exit_code": 1, "stderr_tail": ("why",)},
        {"exit_code": -200},
        {"exit_code": 0, "first_bytes": b"{"},
    ],
)
def test_other_ways_tell_nothing(fields: dict[str, Any]) -> None:
    assert list(doctor.causes_of_end(report("run", **fields))) == []


def test_what_lies_in_a_closed_folder_is_reported_as_that(closed_dir: Path) -> None:
    within = str(closed_dir / "within")
    (text, *_) = texts(report(SHELL, found=SHELL, folder=str(closed_dir)))
    assert text.startswith("The working folder cannot be accessed: permission denied")
    (text, *_) = texts(report(SHELL, found=SHELL, folder=within))
    assert text.startswith("The working folder cannot be accessed")
    (text,) = texts(report(within, folder=str(closed_dir.parent)))
    assert text.startswith("The command cannot be accessed")
    (text,) = texts(report(SHELL, f"{within}.py", found=SHELL))
    assert text.startswith("A file in the arguments cannot be accessed")
