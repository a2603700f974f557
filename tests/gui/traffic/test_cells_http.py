"""What Traffic says of the events of HTTP, whatever a recording has in them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.gui.traffic.cells import describe, event_texts, texts_of_cut
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from mcp_progress_monitor.protocol.jsonrpc import encode
from tests.unit.protocol.wire import JSON

NAMES = (
    *("exchange", "method", "url", "status", "headers", "after_s", "events", "text", "bytes"),
    *("reason", "request", "retry_s", "attempt", "last_event_id", "purpose"),
)
JSON_TYPE = ["Content-Type", "text/event-stream; charset=utf-8"]


@pytest.mark.parametrize(
    ("name", "fields", "method", "summary"),
    [
        (
            "http_request",
            {"exchange": 4, "method": "POST", "url": "http://x:1/mcp?a=1", "purpose": "message"},
            "POST",
            "POST /mcp?a=1 → exchange 4",
        ),
        (
            "http_request",
            {"exchange": 5, "method": "GET", "url": "http://x", "purpose": "listen"},
            "GET",
            "GET / → exchange 5, to listen",
        ),
        (
            "http_response",
            {"exchange": 4, "status": 200, "headers": [JSON_TYPE], "after_s": 0.12},
            "200",
            "200 text/event-stream after 120 ms, exchange 4",
        ),
        (
            "http_response",
            {"exchange": 4, "status": 404, "reason": "Not Found", "headers": []},
            "404",
            "404 Not Found, exchange 4",
        ),
        (
            "http_events",
            {"exchange": 4, "events": [{"count": 2, "id": "40"}, {"raw": ":", "id": "41"}]},
            "http_events",
            "3 events of exchange 4, last id 41",
        ),
        (
            "http_events",
            {"exchange": 4, "events": [{"count": 2, "ids": ["40", "41"]}, {"count": 1}]},
            "http_events",
            "3 events of exchange 4, last id 41",
        ),
        (
            "http_body",
            {"exchange": 4, "text": "<html>", "bytes": 2048},
            "http_body",
            "body of 2.0 kB, exchange 4: <html>",
        ),
        (
            "http_ended",
            {"exchange": 4, "bytes": 10, "reason": "complete"},
            "http_ended",
            "end of exchange 4: complete, 10 B",
        ),
        (
            "stream_broken",
            {"request": 7, "reason": "reset", "last_event_id": "41", "attempt": 2, "retry_s": 3},
            "stream_broken",
            "stream of request 7 broke: reset; reconnecting in 3 s from event 41, attempt 2",
        ),
        (
            "stream_resumed",
            {"request": 7, "last_event_id": "41"},
            "stream_resumed",
            "stream of request 7 resumed from event 41",
        ),
        (
            "stream_closed",
            {"request": 7, "reason": "Enough"},
            "stream_closed",
            "stream of request 7 closed, which cancels it: Enough",
        ),
        (
            "request_repeated",
            {"request": 7, "reason": "400 No, header mismatch", "headers": ["Mcp-Param-A", 5, "B"]},
            "request_repeated",
            "request 7 repeated with other headers: 400 No, header mismatch; Mcp-Param-A, B",
        ),
    ],
)
def test_each_event_says_what_happened(
    name: str, fields: dict[str, Any], method: str, summary: str
) -> None:
    assert event_texts(name, fields) == (method, summary)
    raw = encode({"event": name, **fields})
    row = describe(Frame(1, "s#1", Channel.EVENT, 1e9, 1.0, raw), FrameKind.EVENT)
    assert (row.method, row.summary) == (method, summary)


@given(
    st.sampled_from(["http_request", "http_response", "http_events", "http_body", "http_ended"])
    | st.sampled_from(["stream_broken", "stream_resumed", "stream_closed", "request_repeated"]),
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            NAMES, JSON | st.lists(st.lists(JSON, min_size=2, max_size=2), max_size=2)
        ),
    ),
)
def test_whatever_a_recording_has_is_reported_on_one_line(
    name: str, fields: dict[str, Any]
) -> None:
    text = event_texts(name, fields)
    assert text is not None
    assert "\n" not in text.summary
    assert len(text.summary) < 3000


def test_the_beginning_of_a_large_event_still_names_its_exchange() -> None:
    raw = b'{"event":"http_events","exchange":12,"events":[{"before":"data: '
    assert texts_of_cut(raw) == ("http_events", "large, of exchange 12")
    row = describe(Frame(1, "s#1", Channel.EVENT, 1e9, 1.0, raw), FrameKind.EVENT)
    assert row.summary == "large, of exchange 12"
    assert texts_of_cut(b'{"event":"opened"') is None


def test_other_events_are_left_to_others() -> None:
    assert event_texts("opened", {"pid": 1}) is None
