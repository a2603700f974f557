"""A file is there whole, for its owner alone, or not at all."""

import os
import stat
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.exports.options import OutputFile


def test_it_is_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with OutputFile(path) as file:
        file.write(b"one ")
        file.write(b"two")
        assert not path.exists()

    assert path.read_bytes() == b"one two"
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError):
        _fail_half_way(path)

    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def _fail_half_way(path: Path) -> None:
    with OutputFile(path) as file:
        file.write(b"half")
        raise ZeroDivisionError


@pytest.mark.parametrize("place", ["missing/report.html", ""])
def test_where_it_cannot_be_is_reported_with_a_message(tmp_path: Path, place: str) -> None:
    with pytest.raises(UserError, match="Cannot write the file"), OutputFile(tmp_path / place):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_reported_with_a_message() -> None:
    with pytest.raises(UserError) as caught, OutputFile(Path("/dev/full")) as file:
        file.write(b"x" * 100_000)

    assert caught.value.details.where == "/dev/full"
    assert Path("/dev/full").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_is_written_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with OutputFile(path) as file:
        file.write(b"hello")

    assert os.read(reader, 100) == b"hello"
    assert path.is_fifo()
    os.close(reader)


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    named, cut_out = tmp_path / "copy.txt", tmp_path / "night.mcprec"
    named.write_bytes(b'#mcp-recording {"version": 2}\n')
    cut_out.write_bytes(b"2026-11-20T19:03:11.123456Z 12.345678 demo#1 < {}\n")
    for path in (named, cut_out):
        before = path.read_bytes()
        with (
            pytest.raises(UserError, match="Cannot overwrite a recording"),
            OutputFile(path) as file,
        ):
            file.write(b"x")
        assert path.read_bytes() == before
