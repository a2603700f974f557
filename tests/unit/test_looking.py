"""What is at a path, also where nobody may look."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import looking
from mcp_progress_monitor.looking import Sight
from mcp_progress_monitor.problem import ProblemError

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="files of POSIX")


def test_a_file_a_folder_and_nothing_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert looking.sight_of(tmp_path) is Sight.FOLDER
    assert looking.sight_of(tmp_path / "file") is Sight.FILE
    assert looking.sight_of(tmp_path / "none") is Sight.NOTHING
    assert looking.sight_of(tmp_path / "file" / "below") is Sight.NOTHING


@posix_only
def test_what_no_file_can_be_called_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("a\0b", "x" * 5000, "\ud800", tmp_path / "loop"):
        assert looking.sight_of(path) is Sight.NOTHING


@posix_only
def test_a_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert looking.sight_of(tmp_path / "pipe") is Sight.OTHER
    assert looking.is_there(tmp_path / "pipe")
    assert not looking.is_file(tmp_path / "pipe")


def test_in_a_folder_that_may_not_be_entered_nothing_is_known(closed_dir: Path) -> None:
    assert looking.sight_of(closed_dir / "within") is Sight.HIDDEN
    assert looking.is_folder(closed_dir)
    assert looking.is_closed(closed_dir)
    for look in (looking.is_there, looking.is_file, looking.is_folder, looking.is_closed):
        assert not look(closed_dir / "within")


def test_an_open_folder_is_not_closed(tmp_path: Path) -> None:
    assert not looking.is_closed(tmp_path)


@posix_only
def test_a_home_that_nobody_has_is_told_where_it_matters(isolated_home: Path) -> None:
    nobodys = Path("~no-such-user-here/f")
    assert looking.expanded(Path("~/f")) == isolated_home / "f"
    assert looking.expanded(nobodys) == nobodys
    with pytest.raises(ProblemError, match="no such home"):
        looking.absolute(nobodys)


@posix_only
def test_a_relative_path_leads_nowhere_from_a_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert looking.here() == gone
    gone.rmdir()
    assert looking.here() is None
    assert looking.absolute(tmp_path) == tmp_path
    with pytest.raises(ProblemError, match="is gone"):
        looking.absolute(Path("f"))


def test_without_a_home_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert looking.home() is None
