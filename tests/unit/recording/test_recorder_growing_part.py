"""A part reads the same whether its bytes are in the file, in memory or on the way."""

from pathlib import Path

import pytest

from mcp_progress_monitor.recording.recorder import GrowingPart

WHOLE = b"0123456789abcdef"


@pytest.mark.parametrize("written", [0, 4, 6, 9, 16])
def test_every_stretch_reads_the_same_however_much_is_written(tmp_path: Path, written: int) -> None:
    part = GrowingPart(1)
    for begin in range(0, 16, 4):
        part.append(WHOLE[begin : begin + 4])
    part.path = tmp_path / "part"
    part.path.write_bytes(WHOLE[:written])
    part.note_written(written)
    assert part.written == written
    for begin in range(17):
        for size in range(18):
            assert part.read(begin, size) == WHOLE[begin : begin + size]


def test_what_is_to_be_written_comes_in_pieces_and_does_not_end_within_one() -> None:
    part = GrowingPart(1)
    part.append(b"aaa")
    part.append(b"bbb")
    part.append(b"c")
    assert part.unwritten(1) == [b"aaa"]
    assert part.unwritten(3) == [b"aaa"]
    assert part.unwritten(4) == [b"aaa", b"bbb"]
    part.note_written(6)
    assert part.unwritten(100) == [b"c"]
    part.note_written(1)
    assert part.unwritten(100) == []
    assert part.waiting == 0
    assert part.end == 7


def test_memory_holds_what_is_not_in_the_file() -> None:
    part = GrowingPart(1)
    part.append(b"aaa")
    part.append(b"bbb")
    assert part.waiting == 6
    part.note_written(3)
    assert part.waiting == 3


def test_what_is_forgotten_reads_as_nothing() -> None:
    part = GrowingPart(1)
    part.append(b"aaa")
    part.forget()
    assert part.read(0, 3) == b""
    assert part.waiting == 0
    part.note_written(3)
    assert part.written == 3


def test_a_file_that_is_gone_reads_as_nothing(tmp_path: Path) -> None:
    part = GrowingPart(1)
    part.path = tmp_path / "gone"
    part.append(b"aaabbb")
    part.note_written(3)
    part.append(b"ccc")
    assert part.read(0, 9) == b""
    assert part.read(6, 3) == b"ccc"
