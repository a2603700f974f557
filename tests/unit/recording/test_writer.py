"""Files are new, private, and what is written is really found in them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_progress_monitor.recording import writer as module
from mcp_progress_monitor.recording.writer import Writer


@pytest.fixture
def writer() -> Iterator[Writer]:
    made = Writer()
    yield made
    made.close()


def test_what_is_written_is_appended_and_counted(writer: Writer, tmp_path: Path) -> None:
    writer.write(tmp_path / "a", [b"one", b"two"])
    assert writer.written == 6
    writer.write(tmp_path / "a", [b"three"])
    assert writer.written == 5
    writer.write(tmp_path / "b", [b"x"])
    assert (tmp_path / "a").read_bytes() == b"onetwothree"
    assert (tmp_path / "b").read_bytes() == b"x"


def test_pieces_of_any_size_come_out_whole(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 4)
    pieces = [b"a", b"bb", b"cccccccccc", b"", b"dd", b"ee"]
    writer.write(tmp_path / "a", pieces)
    assert (tmp_path / "a").read_bytes() == b"".join(pieces)


def test_nothing_is_written_over(writer: Writer, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        writer.write(tmp_path / "a", [b"x"])
    writer.discard()
    assert (tmp_path / "a").read_bytes() == b"mine"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_files_are_private_whatever_the_mask(writer: Writer, tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        writer.write(tmp_path / "a", [b"x"])
    finally:
        os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of open files")
@pytest.mark.parametrize("act", ["delete", "move", "replace"])
def test_a_file_that_is_no_longer_there_is_an_error(
    writer: Writer, tmp_path: Path, act: str
) -> None:
    path = tmp_path / "a"
    writer.write(path, [b"x"])
    if act == "move":
        path.rename(tmp_path / "b")
    else:
        path.unlink()
    if act == "replace":
        path.write_bytes(b"x")
    with pytest.raises(FileNotFoundError):
        writer.write(path, [b"y"])
    assert writer.written == 0


def test_what_got_onto_a_disk_that_fills_up_is_reported(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = os.write, iter([3, 2])

    def nearly_full(descriptor: int, data: bytes) -> int:
        room = next(calls, None)
        if room is None:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:room])

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(OSError, match="No space"):
        writer.write(tmp_path / "a", [b"0123456789"])
    assert writer.written == 5
    assert (tmp_path / "a").read_bytes() == b"01234"


def test_discarding_deletes_the_file(writer: Writer, tmp_path: Path) -> None:
    writer.discard()
    writer.write(tmp_path / "a", [b"x"])
    writer.discard()
    assert not (tmp_path / "a").exists()
