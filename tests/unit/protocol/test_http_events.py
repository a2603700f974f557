"""Events of HTTP bodies: as little as possible, and all of it comes back."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.http_events import BodyNotes, BodyRebuilder
from mcp_progress_monitor.protocol.jsonrpc import encode
from mcp_progress_monitor.protocol.lenient_json import read_value
from mcp_progress_monitor.protocol.sse import SseEvent, SseParser

MOST = 1 << 20


def events_of(stream: bytes) -> list[SseEvent]:
    """The complete events of `stream`."""
    return SseParser(MOST).feed(stream)


def test_events_alike_are_reported_once_with_their_count() -> None:
    teller = BodyNotes()
    reported = teller.report_events(4, events_of(b"data: 1\n\ndata: 2\n\nid: 9\ndata: 3\n\n"))
    assert reported == [
        {"before": "data: ", "after": "\n\n", "count": 2},
        {"before": "id: 9\ndata: ", "after": "\n\n", "id": "9", "count": 1},
    ]


def test_what_was_reported_last_holds_on_until_something_differs() -> None:
    teller = BodyNotes()
    assert teller.report_events(4, events_of(b"data: 1\n\n"))
    assert teller.report_events(4, events_of(b"data: 2\n\ndata: 3\n\n")) == []
    assert teller.report_events(5, events_of(b"data: 4\n\n"))
    assert teller.report_events(4, events_of(b"data: 5\n\n"))
    assert teller.report_events(4, events_of(b": ping\n\n")) == [{"raw": ": ping\n\n", "count": 0}]
    assert teller.report_events(4, events_of(b"data: 6\n\n")) == []


def test_what_is_no_message_is_reported_with_its_text_and_meaning() -> None:
    stream = b"id: 1\ndata: \n\nretry: 5\n\n:\n\n:\n\ndata: a\ndata: b\n\n"
    assert BodyNotes().report_events(1, events_of(stream)) == [
        {"raw": "id: 1\ndata: \n\n", "id": "1", "count": 0},
        {"raw": "retry: 5\n\n", "retry_ms": 5, "count": 0},
        {"raw": ":\n\n:\n\n", "count": 0},
        {"raw": "data: a\ndata: b\n\n", "count": 1},
    ]


def test_events_without_messages_that_tell_alike_are_one_entry_of_bounded_size() -> None:
    ids = b"".join(b"id: %d\n\n" % n for n in range(3))
    assert BodyNotes().report_events(1, events_of(ids + b"event: a\n\nevent: b\ndata: c\n\n")) == [
        {"raw": "id: 0\n\nid: 1\n\nid: 2\n\n", "id": "2", "count": 0},
        {"raw": "event: a\n\nevent: b\ndata: c\n\n", "count": 0},
    ]
    names = b"".join(b"event: %d\n\n" % n for n in range(20_000))
    reported = BodyNotes().report_events(1, events_of(names))
    assert "".join(entry["raw"] for entry in reported).encode() == names
    assert max(len(entry["raw"]) for entry in reported) <= 64 * 1024
    assert len(reported) == 1 + len(names) // (64 * 1024)


def test_events_alike_but_for_their_ids_are_one_entry() -> None:
    parser, teller = SseParser(MOST), BodyNotes()
    teller.report_events(4, parser.feed(b"id: 1\ndata: a\n\n"))
    run = parser.feed_alike(b"id: 2\ndata: b\n\nid: 3\ndata: c\n\n")
    assert run is not None
    entry = {
        "before": "id: ",
        "after": "\n\n",
        "between": "\ndata: ",
        "ids": ["2", "3"],
        "count": 2,
    }
    assert teller.report_run(4, run) == [entry]
    again = SseParser(MOST)
    again.feed(b"id: 3\ndata: x\n\n")
    # What stands around the last event of a run came last.
    assert teller.report_events(4, again.feed(b"id: 3\ndata: d\n\n")) == []


def test_a_json_body_comes_back_as_it_was() -> None:
    bodies = BodyRebuilder()
    assert bodies.bodies_of({"exchange": 2, "events": BodyNotes().report_body(2)}) == []
    assert bodies.message(b'{"id":1}') == [(2, b'{"id":1}')]


PIECES = st.sampled_from(
    b"data: 1\n\n|data: 2\n\n|data:3\r\n\r\n|id: 1\ndata: 4\n\n|: c\n\n|data: a\ndata: b\n\n"
    b"|id: 2\ndata: 8\n\nid: 3\ndata: 9\n\n|id: \xc3\xa9\ndata: 10\n\n"
    b"|data: \n\n|data: \xff\n\n|: \xfe\n\n|\n|x: \xfd\ndata: 5\n\n|event: other\ndata: 6\n\n"
    b"|retry: 7\n\n|data: half".split(b"|")
)


class Path:
    """What a transport tells of its streams, and what comes of that."""

    def __init__(self) -> None:
        self.found: dict[int, bytes] = defaultdict(bytes)
        self._teller, self._bodies = BodyNotes(), BodyRebuilder()

    def pass_on(self, exchange: int, events: list[SseEvent]) -> None:
        """Tell of a chunk's events and put them together again."""
        self._tell(exchange, self._teller.report_events(exchange, events))
        for event in events:
            if event.is_message:
                self._take(self._bodies.message(event.data or b""))

    def pass_chunk(self, exchange: int, chunk: bytes, parser: SseParser) -> None:
        """Tell of a chunk as a transport does: all at once where its events are alike."""
        run = parser.feed_alike(chunk)
        if run is None:
            self.pass_on(exchange, parser.feed(chunk))
            return
        self._tell(exchange, self._teller.report_run(exchange, run))
        for data in run.datas:
            self._take(self._bodies.message(data))

    def _tell(self, exchange: int, entries: list[Any]) -> None:
        if entries:
            fields: Any = read_value(encode({"exchange": exchange, "events": entries})).value
            self._take(self._bodies.bodies_of(fields))

    def _take(self, parts: Iterable[tuple[int, bytes]]) -> None:
        for exchange, part in parts:
            self.found[exchange] += part


@given(st.lists(st.tuples(st.integers(1, 2), st.lists(PIECES, max_size=5))))
def test_bodies_come_back_byte_for_byte(chunks: list[tuple[int, list[bytes]]]) -> None:
    path, parsers = Path(), {1: SseParser(MOST), 2: SseParser(MOST)}
    expected: dict[int, bytes] = defaultdict(bytes)
    for exchange, pieces in chunks:
        chunk = b"".join(pieces)
        if chunk:
            expected[exchange] += chunk
            path.pass_chunk(exchange, chunk, parsers[exchange])
    for exchange, parser in parsers.items():
        path.pass_on(exchange, parser.end())
    assert path.found == expected


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"exchange": True, "events": []},
        {"exchange": "1"},
        {"exchange": 1, "events": 7},
        {"exchange": 1, "events": [None, 3, {}, {"before": 1, "after": "", "count": 1}]},
        {"exchange": 1, "events": [{"base64": "no!", "count": 1}]},
        {"exchange": 1, "events": [{"base64": "é", "count": 1}]},
        {"exchange": 1, "events": [{"before": "", "after": "", "count": True}]},
        {"exchange": 1, "events": [{"before": "", "after": "", "ids": [1], "between": ""}]},
        {"exchange": 1, "events": [{"before": "", "after": "", "ids": ["1"], "count": 1}]},
    ],
)
def test_nonsense_counts_as_not_reported(fields: dict[str, Any]) -> None:
    bodies = BodyRebuilder()
    assert bodies.bodies_of(fields) == []
    assert bodies.message(b"x") in ([], [(1, b"x")])


def test_a_count_beyond_all_measure_costs_nothing() -> None:
    bodies = BodyRebuilder()
    bodies.bodies_of({"exchange": 1, "events": [{"before": "<", "after": ">", "count": 10**15}]})
    assert bodies.message(b"x") == [(1, b"<x>")]


def test_messages_before_anything_was_reported_belong_to_no_exchange() -> None:
    assert BodyRebuilder().message(b"x") == []
