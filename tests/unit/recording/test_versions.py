"""Older forms of recordings."""

from __future__ import annotations

from mcp_progress_monitor.protocol.frame import Channel
from mcp_progress_monitor.recording.format import VERSION
from mcp_progress_monitor.recording.names import Source
from mcp_progress_monitor.recording.stamps import Stamps
from mcp_progress_monitor.recording.versions import FORMS


def test_every_version_up_to_this_one_can_be_read() -> None:
    assert sorted(FORMS) == list(range(1, VERSION + 1))


def test_version_1_has_seconds_since_the_epoch_and_plain_names() -> None:
    stamp = Stamps(FORMS[1], 2_000_000).read(b"1763665391.123456 12.345678 a%20b#1 <~ {}")
    assert stamp is not None
    assert stamp.source == Source("a%20b#1", Channel.RECEIVED, is_complete=False)
    assert (stamp.when, stamp.at, stamp.length) == (1763665391.123456, 14.345678, 39)


def test_version_1_had_no_escaped_lines() -> None:
    assert Stamps(FORMS[1], 0).read(b"1763665391.123456 12.345678 a#1 <+ {}") is None
