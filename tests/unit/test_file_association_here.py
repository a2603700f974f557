"""Each system has its own way."""

import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.file_association import (
    LinuxAssociation,
    MacosAssociation,
    WindowsAssociation,
    association_here,
)
from tests.unit.test_windows_registry import FakeWinreg


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", LinuxAssociation), ("win32", WindowsAssociation), ("darwin", MacosAssociation)],
)
def test_a_system_has_its_own_way(
    monkeypatch: pytest.MonkeyPatch, platform: str, expected: type
) -> None:
    monkeypatch.setitem(sys.modules, "winreg", FakeWinreg())
    monkeypatch.setattr(sys, "platform", platform)
    assert type(association_here()) is expected


@pytest.mark.skipif(sys.platform != "linux", reason="the files of a Linux desktop")
def test_files_go_below_the_users_data_folder(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    association_here().add()
    assert (isolated_home / ".local/share/mime/packages/mcp-progress-monitor.xml").is_file()
