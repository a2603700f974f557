"""What recordings look like on disk."""

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.outline import finish
from mcp_progress_monitor.recording.format import (
    HEADER,
    VERSION,
    escaped,
    header,
    prefix,
    unescaped,
    unescaped_in_slices,
)
from tests.recorded_prefix import read_prefix


def test_the_header_is_a_line_that_names_the_version() -> None:
    assert header({"run": "ä"}) == HEADER + f'{{"version": {VERSION}, "run": "ä"}}\n'.encode()


def test_a_stamp_reads_well_and_is_read_back() -> None:
    stamp = prefix("my server#1", Channel.STDERR, 0.5, 12.345678, is_complete=False)
    assert stamp == b"1970-01-01T00:00:00.500000Z 12.345678 my%20server#1 !~ "
    read = read_prefix(stamp + b"text")
    assert read is not None
    assert (read.connection, read.when, read.at, read.length) == (
        "my server#1", 0.5, 12.345678, len(stamp),
    )  # fmt: skip


_TROUBLE = st.lists(st.sampled_from([b"\\", b"\n", b"n", b"x"])).map(b"".join)


@given(st.binary() | _TROUBLE)
@example(b"\\n")
def test_escaping_is_undone_and_leaves_no_line_feed(raw: bytes) -> None:
    assert b"\n" not in escaped(raw)
    assert unescaped(escaped(raw)) == raw
    assert finish(unescaped_in_slices(escaped(raw))) == raw


def test_slices_part_no_escape() -> None:
    for shift in range(3):
        raw = b"x" * shift + b"\\\n" * 500_000
        assert finish(unescaped_in_slices(escaped(raw))) == raw
