"""Older forms of recordings."""

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.files import StampReader
from mcp_progress_monitor.recording.format import LINE_FORMATS, VERSION
from mcp_progress_monitor.recording.index import FrameSource


def test_every_version_up_to_this_one_can_be_read() -> None:
    assert sorted(LINE_FORMATS) == list(range(1, VERSION + 1))


def test_version_1_has_seconds_since_the_epoch_and_plain_names() -> None:
    stamp = StampReader(LINE_FORMATS[1], 2_000_000).read(
        b"1763665391.123456 12.345678 a%20b#1 <~ {}"
    )
    assert stamp is not None
    assert stamp.source == FrameSource("a%20b#1", Channel.RECEIVED, is_complete=False)
    assert (stamp.when, stamp.at, stamp.length) == (1763665391.123456, 14.345678, 39)


def test_version_1_had_no_escaped_lines() -> None:
    assert StampReader(LINE_FORMATS[1], 0).read(b"1763665391.123456 12.345678 a#1 <+ {}") is None
