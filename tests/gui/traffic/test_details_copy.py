"""Frames are copied as JSON or as they came."""

import json

from mcp_progress_monitor.gui.traffic.details import as_json, as_raw
from mcp_progress_monitor.protocol.frames import Channel
from tests.gui.traffic.frames import frame


def test_messages_are_indented_and_other_lines_stay() -> None:
    text = as_json([frame(1, b'{"a":1}'), frame(2, b"garbage"), frame(3, b"{}", Channel.STDERR)])
    assert text == json.dumps({"a": 1}, indent=2) + "\ngarbage\n{}"


def test_raw_bytes_are_exact_and_their_text_is_readable() -> None:
    assert as_raw([frame(1, b"a\xff"), frame(2, b"b")]) == (b"a\xff\nb", "a\\xff\nb")
