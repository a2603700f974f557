"""Lines of a file, however it is read."""

import io
from io import FileIO
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.recording.reader import HEAD_BYTES, Block, read_blocks


def _blocks(content: bytes, longest: int = 1 << 20, at_once: int = 64) -> list[Block]:
    file = cast("FileIO", io.BytesIO(content))
    return [block for block in read_blocks(file, 0, longest, at_once) if block is not None]


def _lines(blocks: list[Block]) -> list[tuple[int, bytes]]:
    """Every line with where it begins, as the blocks tell it."""
    found = []
    for block in blocks:
        offset = block.offset
        for line in block.lines:
            found.append((offset, line))
            offset += len(line) + 1
    return found


@given(
    lines=st.lists(st.binary(max_size=90).map(lambda b: b.replace(b"\n", b" "))),
    at_once=st.integers(1, 200),
    is_ended=st.booleans(),
)
def test_lines_are_the_files_own_however_large_the_pieces(
    lines: list[bytes], at_once: int, *, is_ended: bool
) -> None:
    content = b"\n".join(lines) + (b"\n" if is_ended else b"")
    blocks = _blocks(content, at_once=at_once)
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    offsets = [sum(len(line) + 1 for line in expected[:place]) for place in range(len(expected))]
    assert _lines(blocks) == list(zip(offsets, expected, strict=True))
    assert [block.is_ended for block in blocks[:-1]] == [True] * (len(blocks) - 1)
    assert not blocks or blocks[-1].is_ended == content.endswith(b"\n")


@pytest.mark.parametrize("at_once", [7, 1000, HEAD_BYTES, 10 * HEAD_BYTES])
def test_a_line_that_is_too_long_is_known_by_its_head_and_size(at_once: int) -> None:
    long = bytes(range(32, 127)) * 2000
    blocks = _blocks(b"one\n" + long + b"\ntwo\n", longest=50_000, at_once=at_once)
    found = [block for block in blocks if block.size is not None]
    if not found:  # it was all in one piece: it is here anyway
        assert (4, long) in _lines(blocks)
        return
    (huge,) = found
    assert (huge.offset, huge.size) == (4, len(long))
    assert long.startswith(huge.lines[0])
    assert len(huge.lines[0]) <= HEAD_BYTES
    assert (4 + len(long) + 1, b"two") in _lines(blocks)


def test_a_long_line_is_read_with_pauses() -> None:
    file = cast("FileIO", io.BytesIO(b"x" * 1000 + b"\n"))
    assert list(read_blocks(file, 0, 1 << 20, 100)).count(None) == 10


def test_a_long_line_without_an_end_is_reported_as_such() -> None:
    (block,) = _blocks(b"x" * 1000, longest=100)
    assert (block.size, block.is_ended) == (1000, False)
