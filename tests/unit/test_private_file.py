"""Files for their owner alone, put in their places whole or not at all."""

import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor import private_file


def _no_room(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def _impatient(_descriptor: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_a_file_is_its_owners_alone_whatever_it_was_before(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old and longer")
    file.chmod(0o644)
    private_file.put(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_what_is_under_way_is_its_owners_alone_too(tmp_path: Path) -> None:
    file, made = private_file.begin_beside(tmp_path / "f")
    with file:
        assert made.parent == tmp_path
        assert stat.S_IMODE(made.stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", [_no_room, _impatient])
def test_what_fails_leaves_what_was_there_and_nothing_beside(
    failing: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises((OSError, KeyboardInterrupt)):
        private_file.put(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_disk_need_not_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", _no_room)
    private_file.put(tmp_path / "f", b"new", waits_for_disk=False)
    assert (tmp_path / "f").read_bytes() == b"new"


def test_the_longest_name_that_a_file_can_have_will_do(tmp_path: Path) -> None:
    file = tmp_path / ("n" * 255)
    private_file.put(file, b"new")
    assert file.read_bytes() == b"new"


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        private_file.put(tmp_path / "none" / "f", b"new")


@pytest.mark.skipif(sys.platform == "win32", reason="no umask")
@pytest.mark.parametrize("umask", [0, 0o077])
def test_all_folders_that_are_created_are_their_owners_alone(tmp_path: Path, umask: int) -> None:
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    before = os.umask(umask)
    try:
        private_file.make_folder(there / ".local" / "share" / "data")
        private_file.make_folder(there / ".local" / "share" / "data")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"there": 0o755, ".local": 0o700, "share": 0o700, "data": 0o700}


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        private_file.make_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        private_file.make_folder(tmp_path / "file" / "folder")
