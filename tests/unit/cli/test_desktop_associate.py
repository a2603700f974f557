"""`associate` says what was done, what is left to do, and what was refused."""

import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.cli.entry import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the files of a Linux desktop")


@pytest.fixture(autouse=True)
def _no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")


def test_what_was_written_is_reported_and_what_is_left_to_do(
    isolated_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["associate"]) == 0
    said = capsys.readouterr()
    written = isolated_home / ".local/share/applications/mcp-progress-monitor-open.desktop"
    assert f"Wrote {written}" in said.out
    assert written.is_file()
    assert "update-desktop-database" in said.err


def test_removing_takes_it_back(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["associate"])
    assert main(["associate", "--remove"]) == 0
    assert "Removed " in capsys.readouterr().out
    assert not list(isolated_home.rglob("*.desktop"))
    assert main(["associate", "--remove"]) == 0
    assert "No association" in capsys.readouterr().out


def test_a_refusal_has_its_code(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (isolated_home / ".local").mkdir(exist_ok=True)
    (isolated_home / ".local/share").write_text("no folder")
    assert main(["associate"]) == 8
    assert "XDG_DATA_HOME" in capsys.readouterr().err


def test_a_server_has_no_meaning_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--demo", "associate"]) == 2
    assert "--demo" in capsys.readouterr().err
