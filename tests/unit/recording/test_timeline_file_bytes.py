"""Stretches of a file."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.recording.timeline import FileBytes


def test_a_stretch_is_read_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert FileBytes(path).read(3, 4) == b"3456"
    assert FileBytes(path).read(8, 40) == b"89"
    assert FileBytes(path).read(80, 40) == b""


def test_a_file_that_is_gone_has_no_bytes(tmp_path: Path) -> None:
    assert FileBytes(tmp_path / "none").read(0, 10) == b""


@pytest.mark.timeout(10)
@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    assert FileBytes(tmp_path / "a").read(0, 10) == b""
