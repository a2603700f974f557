"""A command of ours works where it is pasted."""

import shlex
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.output.stdout import own_command


def test_a_checkout_is_started_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/checkout/app/mcp_progress_monitor/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    assert own_command("resume", "3") == "'/my env/bin/python' -m mcp_progress_monitor resume 3"


def test_an_installed_program_is_called_by_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "mcp-progress-monitor"
    program.touch(mode=0o700)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command("resume", "3", "4") == "mcp-progress-monitor resume 3 4"


def test_a_program_that_is_not_on_the_path_is_called_where_it_lies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "mcp-progress-monitor"
    program.touch(mode=0o700)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", "")
    assert own_command("resume", "3") == f"{shlex.quote(str(program))} resume 3"
