"""Where replies stood: in a batch, in an HTTP response; and what that makes of late messages."""

import pytest

from mcp_progress_monitor.protocol.facts import RequestStanding
from mcp_progress_monitor.protocol.frames import Channel, Frame, Part
from mcp_progress_monitor.protocol.ledger import PLACES_KEPT, ReplyPlaces


def frame(number: int, part: Part | None = None) -> Frame:
    """A message of the server."""
    return Frame(number, "s#1", Channel.RECEIVED, 1e9, 1.0, b"{}", part)


@pytest.mark.parametrize(
    ("raw", "is_reported"),
    [
        (b'{"event":"http_events","exchange":4,"events":[]}', True),
        (b'{ "event" : "http_events" , "exchange" : 4 }', True),
        (b'{"event":"http_events","exchange":"4"}', False),
        (b'{"event":"http_events","exchange":4.5}', False),
        (b'{"event":"http_events","exchange":' + b"9" * 5000 + b"}", False),
        (b'{"event":"http_ended","exchange":4}', False),
        (b"", False),
    ],
)
def test_an_event_tells_the_exchange_that_follows(raw: bytes, is_reported: bool) -> None:
    assert ReplyPlaces().begin(raw) is is_reported


def test_what_stands_in_the_replys_batch_is_late_by_its_place() -> None:
    places = ReplyPlaces()
    places.note(7, frame(11, Part(1, 3)))
    assert places.standing(7, frame(13, Part(3, 3))) is RequestStanding.IN_BATCH
    assert places.standing(7, frame(15, Part(1, 2))) is RequestStanding.ANSWERED
    assert places.standing(7, frame(15)) is RequestStanding.ANSWERED


def test_what_stands_in_another_response_is_late_by_its_place() -> None:
    places = ReplyPlaces()
    places.begin(b'{"event":"http_events","exchange":4}')
    places.note(7, frame(11))
    assert places.standing(7, frame(12)) is RequestStanding.ANSWERED
    places.begin(b'{"event":"http_events","exchange":5}')
    assert places.standing(7, frame(13)) is RequestStanding.ELSEWHERE
    places.clear()
    assert places.standing(7, frame(13)) is RequestStanding.ANSWERED


def test_only_the_newest_places_are_kept() -> None:
    places = ReplyPlaces()
    places.begin(b'{"event":"http_events","exchange":4}')
    for request in range(1, PLACES_KEPT + 2):
        places.note(request, frame(request))
    places.begin(b'{"event":"http_events","exchange":5}')
    assert places.standing(1, frame(9999)) is RequestStanding.ANSWERED
    assert places.standing(2, frame(9999)) is RequestStanding.ELSEWHERE


def test_the_request_of_the_response_that_brings_messages_is_known() -> None:
    places = ReplyPlaces()
    assert places.request is None
    for raw in (
        b'{"event":"http_request","exchange":4,"method":"POST","message":7}',
        b'{"event":"http_request","exchange":5,"method":"GET"}',
        b'{"event":"http_request","exchange":"6","message":8}',
        b'{"event":"http_request","exchange":6,"message":true}',
        b'{"event":"http_request",broken',
    ):
        assert not places.begin(raw)
    for exchange, request in ((4, 7), (5, None), (6, None), (4, 7)):
        places.begin(b'{"event":"http_events","exchange":%d}' % exchange)
        assert places.request == request
    places.clear()
    assert places.request is None


def test_the_oldest_requests_are_forgotten_first() -> None:
    places = ReplyPlaces()
    for number in range(PLACES_KEPT + 1):
        places.begin(b'{"event":"http_request","exchange":%d,"message":%d}' % (number, number))
    places.begin(b'{"event":"http_events","exchange":0}')
    assert places.request is None
    places.begin(b'{"event":"http_events","exchange":1}')
    assert places.request == 1
