"""Stretches of a file."""

from pathlib import Path

from mcp_progress_monitor.recording.timeline import FileBytes


def test_a_stretch_is_read_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert FileBytes(path).read(3, 4) == b"3456"
    assert FileBytes(path).read(8, 40) == b"89"
    assert FileBytes(path).read(80, 40) == b""


def test_a_file_that_is_gone_has_no_bytes(tmp_path: Path) -> None:
    assert FileBytes(tmp_path / "none").read(0, 10) == b""
