"""Reports are private, without secrets, bounded, and never a reason to fail."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import crash_reports
from mcp_progress_monitor.crash_reports import crash_trace, report_of, reports, save

SECRET = "sk-abcdefgh12345678"
on_posix = pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")


def raised(text: str) -> Exception:
    try:
        int(text)
    except ValueError as error:
        return error
    raise AssertionError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_report_has_the_traceback_and_no_secret() -> None:
    error = raised(f"cannot reach https://me:{SECRET}@example.com, Authorization: Bearer {SECRET}")
    text = report_of(error, ["call", "--header"])
    assert "in raised" in text
    assert "'--header'" in text
    assert SECRET not in text


def test_a_report_does_not_name_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crash_reports, "home", lambda: tmp_path)
    text = report_of(raised(f"{tmp_path}/project/server.py"), [])
    assert "'~/project/server.py'" in text


@on_posix
def test_a_report_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = save(tmp_path, "what happened")
    finally:
        os.umask(before)
    assert mode_of(path) == 0o600
    assert "what happened" in path.read_text()


def test_the_same_failure_is_one_report_and_others_are_kept_apart(tmp_path: Path) -> None:
    first = save(tmp_path, "one failure")
    assert save(tmp_path, "one failure") == first
    other = save(tmp_path, "another one")
    assert reports(tmp_path) == [first, other]
    first.unlink()
    assert save(tmp_path, "one failure").exists()


def test_only_the_newest_reports_are_kept(tmp_path: Path) -> None:
    for day in range(1, 31):
        (tmp_path / f"defect-202001{day:02}T000000.log").touch()
    newest = save(tmp_path, "the newest")
    assert len(reports(tmp_path)) == 20
    assert reports(tmp_path)[-1] == newest


def test_reports_of_a_folder_that_is_not_there_are_none(tmp_path: Path) -> None:
    assert reports(tmp_path / "none") == []


def test_a_clean_end_leaves_nothing(tmp_path: Path) -> None:
    with crash_trace(tmp_path):
        (path,) = tmp_path.iterdir()
        if os.name == "posix":
            assert mode_of(path) == 0o600
    assert list(tmp_path.iterdir()) == []


@on_posix
def test_a_crash_of_the_interpreter_is_a_report_at_the_next_start(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, os, signal\n"
        "from mcp_progress_monitor.crash_reports import crash_trace\n"
        "def fails():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
        "with crash_trace(pathlib.Path(sys.argv[1])):\n    fails()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGSEGV
    with crash_trace(tmp_path):
        (report,) = reports(tmp_path)
    text = report.read_text()
    assert "Segmentation fault" in text
    assert "in fails" in text
    assert reports(tmp_path) == [report]


def test_what_a_killed_process_left_is_cleared_and_that_of_a_running_one_stays(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "crash-99999999999999.trace"
    gone.touch()
    (tmp_path / "crash-odd.trace").touch()
    parent = tmp_path / f"crash-{os.getppid()}.trace"
    parent.write_text("still being written")
    with crash_trace(tmp_path):
        assert not gone.exists()
        assert not (tmp_path / "crash-odd.trace").exists()
        assert os.name != "posix" or parent.exists()
    assert os.name != "posix" or reports(tmp_path) == []
