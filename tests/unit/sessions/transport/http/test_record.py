"""Exchanges on record: numbered, without credentials, ended once; and the notes of the last."""

import json
from typing import Any

import pytest

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.sessions.transport.http.receive_queue import ReceiveQueue
from mcp_progress_monitor.sessions.transport.http.record import BODY_KEPT, ExchangeRecorder

URL = "http://user:pw@host/mcp"


class Reports:
    """A record, and its events."""

    def __init__(self, *secret_names: str) -> None:
        self._now = 100.0
        clock = Clock(monotonic=self._monotonic, wall=self._monotonic)
        self._inbound = ReceiveQueue(Framer("t#1", FrameNumbers()), clock)
        self.record = ExchangeRecorder(self._inbound, secret_names)

    def _monotonic(self) -> float:
        self._now += 0.5
        return self._now

    async def events(self, count: int) -> list[dict[str, Any]]:
        lists = [frames for _ in range(count) for frames in await self._inbound.next()]
        return [json.loads(frame.raw) for frames in lists for frame in frames]


async def test_a_request_is_reported_with_the_message_it_carries_and_no_name_of_a_user() -> None:
    reported = Reports()
    reported.record.sent("POST", URL, [("Accept", "*/*")], "message", 7)
    reported.record.sent("GET", URL, [], "listen", None)
    first, second = await reported.events(2)
    assert first == {
        "event": "http_request",
        "exchange": 1,
        "method": "POST",
        "url": "http://host/mcp",
        "headers": [["Accept", "*/*"]],
        "purpose": "message",
        "message": 7,
    }
    assert (second["exchange"], "message" in second) == (2, False)


async def test_credentials_are_hidden_in_both_directions() -> None:
    reported = Reports("X-Mine")
    headers = [("Authorization", "Bearer abcdef"), ("x-mine", "12345"), ("X-Other", "seen")]
    exchange = reported.record.sent("POST", URL, headers, "message", None)
    reported.record.answered(
        exchange, 200, "OK", "HTTP/1.1", [("Set-Cookie", "s=1"), ("Server", "x")]
    )
    request, response = await reported.events(2)
    assert request["headers"] == [
        ["Authorization", "Bearer (hidden, 6 characters)"],
        ["x-mine", "(hidden, 5 characters)"],
        ["X-Other", "seen"],
    ]
    assert response["headers"] == [["Set-Cookie", "(hidden, 3 characters)"], ["Server", "x"]]
    assert (response["status"], response["version"]) == (200, "HTTP/1.1")
    assert response["after_s"] > 0


@pytest.mark.parametrize(
    ("body", "size", "expected"),
    [
        (b"sorry", 5, {"bytes": 5, "is_cut": False, "text": "sorry"}),
        (b"\xff\xfe", 9, {"bytes": 9, "is_cut": True, "base64": "//4="}),
    ],
)
async def test_a_body_that_is_no_message_is_kept_as_it_was(
    body: bytes, size: int, expected: dict[str, Any]
) -> None:
    reported = Reports()
    exchange = reported.record.sent("POST", URL, [], "message", None)
    reported.record.body(exchange, body, size)
    _, event = await reported.events(2)
    assert event == {"event": "http_body", "exchange": 1, **expected}


async def test_no_more_than_the_beginning_of_a_long_body_is_kept() -> None:
    reported = Reports()
    exchange = reported.record.sent("POST", URL, [], "message", None)
    reported.record.body(exchange, b"x" * (BODY_KEPT + 1), BODY_KEPT + 1)
    _, event = await reported.events(2)
    assert (len(event["text"]), event["is_cut"]) == (BODY_KEPT, True)
    assert len(reported.record.notes[0].body) == 500


async def test_an_end_is_reported_once() -> None:
    reported = Reports()
    exchange = reported.record.sent("POST", URL, [], "message", None)
    reported.record.ended(exchange, 12, "broken: gone")
    reported.record.ended(exchange, 0, "closed by this client")
    reported.record.sent("GET", URL, [], "listen", None)
    _, ended, next_ = await reported.events(3)
    assert ended == {"event": "http_ended", "exchange": 1, "bytes": 12, "reason": "broken: gone"}
    assert next_["event"] == "http_request"


def test_the_last_exchanges_are_noted_with_what_tells_something_of_the_answer() -> None:
    record = Reports().record
    for _ in range(30):
        silent = record.sent("GET", URL, [], "listen", None)
    broken = record.sent("POST", URL, [], "message", 1)
    headers = [("Content-Type", "text/html"), ("X-Trace", "1"), ("Retry-After", "3")]
    record.answered(broken, 503, "Unavailable", "HTTP/1.1", headers)
    record.body(broken, b"<h1>later</h1>", 14)
    record.ended(broken, 14, "closed by this client")
    record.ended(silent, 0, "broken: no answer")
    notes = record.notes
    assert len(notes) == 20
    assert notes[-1].request == "POST http://host/mcp"
    assert (notes[-1].status, notes[-1].text) == (503, "Unavailable; closed by this client")
    assert notes[-1].headers == (("Content-Type", "text/html"), ("Retry-After", "3"))
    assert notes[-1].body == "<h1>later</h1>"
    assert (notes[-2].status, notes[-2].text) == (None, "broken: no answer")
    assert notes[0].text == "no answer yet"
