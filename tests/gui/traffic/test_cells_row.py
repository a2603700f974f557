"""A row says in short what a frame is, whatever the frame holds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.traffic.cells import SUMMARY_LENGTH, TrafficRow, describe
from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind, kind_of
from tests.gui.traffic.frames import frame, progress

_REQUEST = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "export", "arguments": {"rows": 10}, "_meta": {"progressToken": "abc"}},
}
_REPLY = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "ten"}]}}
_ERROR = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "No such tool"}}


def _row(frame: Frame) -> tuple[FrameKind, TrafficRow]:
    """A frame's kind, as a recording's index has it, and its row."""
    facts = Conversation(frame.connection).read([frame])
    kind = kind_of(frame.channel, facts[0] if facts else None)
    return kind, describe(frame, kind)


def test_a_tick_shows_token_numbers_and_message() -> None:
    params = {"progressToken": "abc", "progress": 632, "total": 1000, "message": "Batch 632"}
    kind, row = _row(
        frame(1, {"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    )
    assert kind is FrameKind.PROGRESS
    assert row == ("notifications/progress", "abc", "632/1000 Batch 632")


def test_a_request_shows_its_token_its_tool_and_arguments() -> None:
    kind, row = _row(frame(1, _REQUEST, Channel.SENT))
    assert kind is FrameKind.REQUEST
    assert row == ("tools/call", "abc", "export rows=10")


def test_a_reply_shows_its_id_and_text() -> None:
    assert _row(frame(1, _REPLY)) == (FrameKind.REPLY, ("", "7", "ten"))


def test_an_error_shows_code_and_message() -> None:
    assert _row(frame(1, _ERROR)) == (FrameKind.ERROR, ("", "7", "-32602 No such tool"))


def test_stderr_and_events_are_kinds_of_their_own() -> None:
    assert _row(frame(1, b"a \x1b[31mline", Channel.STDERR)) == (
        FrameKind.STDERR,
        ("", "", r"a \x1b[31mline"),
    )
    event = frame(2, {"event": "opened", "pid": 42}, Channel.EVENT)
    assert _row(event) == (FrameKind.EVENT, ("opened", "", "pid: 42"))


def test_the_token_seven_and_the_token_string_seven_look_different() -> None:
    assert _row(progress(1, 7))[1].key == "7"
    assert _row(progress(1, "7"))[1].key == '"7"'


def test_invalid_bytes_stay_visible() -> None:
    assert _row(frame(1, b"abc\xff"))[1].summary == r"abc\xff"


def test_the_first_bytes_of_a_message_are_never_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr("mcp_progress_monitor.gui.traffic.cells.decode", fail)
    head = frame(1, b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"text":"' + b"x" * 3_000)
    row = describe(head, FrameKind.REQUEST, is_whole=False)
    assert (row.method, row.key) == ("x", "7")
    assert len(row.summary) == SUMMARY_LENGTH


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": _json,
        "method": st.sampled_from(["notifications/progress", "tools/call", "x"]) | _json,
        "params": _json
        | st.fixed_dictionaries(
            {},
            optional={"progressToken": _json, "progress": _json, "message": _json, "_meta": _json},
        ),
        "result": _json | st.fixed_dictionaries({"content": _json}),
        "error": _json,
    },
)


@given(_members, st.sampled_from(Channel))
def test_no_message_breaks_a_row(members: dict[str, Any], channel: Channel) -> None:
    one = frame(1, members, channel)
    rows = [_row(one)[1], *(describe(one, kind) for kind in FrameKind)]
    assert all(len(text) < 2 * SUMMARY_LENGTH for row in rows for text in row)


@given(st.binary(max_size=200))
def test_no_bytes_break_a_row(raw: bytes) -> None:
    for kind in FrameKind:
        for is_whole in (True, False):
            row = describe(frame(1, raw), kind, is_whole=is_whole)
            assert "\n" not in "".join(row)
