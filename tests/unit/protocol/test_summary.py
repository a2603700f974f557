"""One line about each frame."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocol.framing import FrameNumbers, Framer
from app.protocol.jsonrpc import OVERSIZED
from app.protocol.summary import LONGEST, kind_of, summarise
from tests.unit.protocol.wire import JSON, as_bytes, error, notification, progress, request, result

FRAMER = Framer("s#1", FrameNumbers())


@pytest.mark.parametrize(
    ("message", "kind", "line"),
    [
        (
            request(7, name="sleep", arguments={"s": 3}, _meta={"progressToken": "x"}),
            "request",
            'tools/call #7 sleep {"s": 3}',
        ),
        (request("a", "tools/list"), "request", 'tools/list #"a"'),
        (request(1, "resources/read", uri="a:b"), "request", 'resources/read #1 {"uri": "a:b"}'),
        (progress("t", 5, total=9, message="Go"), "progress", 'progress "t" 5/9 Go'),
        (progress(7, 0.5), "progress", "progress 7 0.5"),
        (progress(None, "x", message=[1]), "progress", 'progress null "x" [1]'),
        (notification("notifications/initialized"), "notification", "notifications/initialized"),
        (result(7, content=[]), "result", 'result of #7 {"content": []}'),
        (error(7, -32601), "error", "error of #7 -32601 no"),
        (error(7) | {"error": "boom"}, "error", 'error of #7 "boom"'),
        ([result(1)], "batch", '[{"jsonrpc": "2.0", "id": 1, "result": {}}]'),
        (b"Server ready\r", "garbage", "Server ready"),
        (b"", "blank", "blank line"),
        (b"5", "invalid", "5"),
    ],
)
def test_messages_have_a_kind_and_a_line(message: Any, kind: str, line: str) -> None:
    frame = FRAMER.received([as_bytes(message)], 0, 0)[0]
    assert (kind_of(frame), summarise(frame)) == (kind, line)


def test_the_other_channels_have_a_kind_and_a_line() -> None:
    stderr = FRAMER.stderr(b"\x1b[31mfailed\x1b[0m \xff", 0, 0)
    assert (kind_of(stderr), summarise(stderr)) == ("stderr", "[31mfailed [0m \ufffd")
    event = FRAMER.event("closed", 0, 0, reason="exited", exit_code=3)
    assert (kind_of(event), summarise(event)) == ("event", "closed reason: exited, exit_code: 3")
    sent = FRAMER.sent(as_bytes(request(1, "ping")), 0, 0)
    assert (kind_of(sent), summarise(sent)) == ("request", "ping #1")
    (partial,) = FRAMER.received([b'{"a'], 0, 0, is_complete=False)
    assert (kind_of(partial), summarise(partial)) == ("partial", '{"a')


def test_an_oversized_frame_is_not_decoded() -> None:
    raw = as_bytes(result(1, text="x" * 2 * OVERSIZED))
    (frame,) = FRAMER.received([raw], 0, 0)
    assert kind_of(frame) == "large"
    assert summarise(frame).startswith('2.0 MiB: {"jsonrpc": "2.0", "id": 1, "result": {"text"')


@given(
    st.one_of(
        st.binary(max_size=30),
        JSON.map(as_bytes),
        JSON.map(lambda value: as_bytes(result(1, value=value))),
        JSON.map(lambda value: as_bytes(progress(value, value, message=value))),
        st.text(min_size=LONGEST).map(lambda text: as_bytes(result(1, text=text))),
    )
)
def test_every_line_is_short_and_plain(raw: bytes) -> None:
    frame = FRAMER.received([raw], 0, 0)[0]
    line = summarise(frame)
    assert len(line) <= LONGEST
    assert not any(c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029\u202e" for c in line)
    line.encode()


def test_what_was_not_decoded_is_left_out_of_the_line() -> None:
    deep = b"[" * 500 + b"]" * 500
    (frame,) = FRAMER.received([b'{"jsonrpc":"2.0","id":1,"result":{"a":' + deep + b"}}"], 0, 0)
    assert summarise(frame) == 'result of #1 {"a": "…"}'
