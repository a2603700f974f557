"""Files read within bounds, in any of the usual encodings, and written whole and private."""

import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.catalogue import documents
from mcp_progress_monitor.catalogue.documents import read_text, write_private
from mcp_progress_monitor.errors import ErrorDetails, UserError


def error_of(path: Path) -> ErrorDetails:
    with pytest.raises(UserError) as caught:
        read_text(path)
    return caught.value.details


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_are_reported_by_their_marks(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "f"
    file.write_bytes('{"é": "日本"}'.encode(encoding))
    assert read_text(file) == '{"é": "日本"}'


def test_other_encodings_are_refused_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b'{\n  "a": "\xe9"}')
    error = error_of(file)
    assert "not valid UTF-8" in error.what
    assert error.where == f"{file}, line 2, column 9"


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LARGEST_BYTES", 1000)
    file = tmp_path / "f"
    file.write_bytes(b" " * 1001)
    assert "larger than 1.0 kB" in error_of(file).what
    file.write_bytes(b" " * 1000)
    assert len(read_text(file)) == 1000


def test_what_is_no_file_is_reported(tmp_path: Path) -> None:
    assert "a folder or a device" in error_of(tmp_path).detail
    assert error_of(tmp_path / "none").where == str(tmp_path / "none")


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "a folder or a device" in error_of(pipe).detail


def test_a_path_with_a_nul_is_an_error_with_a_message(tmp_path: Path) -> None:
    assert error_of(tmp_path / "a\0b").what == "Cannot read the configuration file"


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_what_is_written_is_the_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "f"
    write_private(file, b"secret")
    assert file.read_bytes() == b"secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    write_private(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "there").read_bytes() == b"new"


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    file.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as caught:
        write_private(file, b"new")
    assert caught.value.details.detail == "No space left on device"
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
