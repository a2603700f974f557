"""What is at a path, also where nobody may look."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import path_checks
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.path_checks import PathKind

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="files of POSIX")


def test_a_file_a_folder_and_nothing_are_reported_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert path_checks.path_kind(tmp_path) is PathKind.FOLDER
    assert path_checks.path_kind(tmp_path / "file") is PathKind.FILE
    assert path_checks.path_kind(tmp_path / "none") is PathKind.NOTHING
    assert path_checks.path_kind(tmp_path / "file" / "below") is PathKind.NOTHING


@posix_only
def test_what_no_file_can_be_called_is_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("a\0b", "x" * 5000, "\ud800", tmp_path / "loop"):
        assert path_checks.path_kind(path) is PathKind.NOTHING


@posix_only
def test_a_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert path_checks.path_kind(tmp_path / "pipe") is PathKind.OTHER
    assert path_checks.is_there(tmp_path / "pipe")
    assert not path_checks.is_file(tmp_path / "pipe")


def test_in_a_folder_that_may_not_be_entered_nothing_is_known(closed_dir: Path) -> None:
    assert path_checks.path_kind(closed_dir / "within") is PathKind.HIDDEN
    assert path_checks.is_folder(closed_dir)
    assert path_checks.is_closed(closed_dir)
    for look in (
        path_checks.is_there,
        path_checks.is_file,
        path_checks.is_folder,
        path_checks.is_closed,
    ):
        assert not look(closed_dir / "within")


def test_an_open_folder_is_not_closed(tmp_path: Path) -> None:
    assert not path_checks.is_closed(tmp_path)


@posix_only
def test_a_home_that_nobody_has_is_reported_where_it_matters(isolated_home: Path) -> None:
    nobodys = Path("~no-such-user-here/f")
    assert path_checks.expanded(Path("~/f")) == isolated_home / "f"
    assert path_checks.expanded(nobodys) == nobodys
    with pytest.raises(UserError, match="Unknown home"):
        path_checks.absolute(nobodys)


@posix_only
def test_a_relative_path_leads_nowhere_from_a_folder_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert path_checks.here() == gone
    gone.rmdir()
    assert path_checks.here() is None
    assert path_checks.absolute(tmp_path) == tmp_path
    with pytest.raises(UserError, match="no longer exists"):
        path_checks.absolute(Path("f"))


def test_without_a_home_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert path_checks.home() is None
