"""Long events: read as they come, in little room, and reported in pieces that make up each byte."""

import tracemalloc
from collections.abc import Iterable

import pytest

from mcp_progress_monitor.protocol.sse import LONGEST_FIELD, PIECE, SseEvent, SseParser

CHUNK = 32 * 1024
BIG = 4 * 1024 * 1024


def fed(parser: SseParser, stream: bytes, step: int = CHUNK) -> list[SseEvent]:
    chunks = (stream[start : start + step] for start in range(0, len(stream), step))
    return [event for chunk in chunks for event in parser.feed(chunk)]


def raw_of(events: Iterable[SseEvent]) -> bytes:
    return b"".join(event.raw for event in events)


def peak_of(
    begin: bytes, block: bytes, end: bytes, size: int = BIG
) -> tuple[float, list[SseEvent]]:
    """The most memory that a stream takes, as a multiple of its size, and its last events."""
    parser = SseParser(1 << 30)
    tracemalloc.start()
    try:
        events = parser.feed(begin)
        for _ in range(size // len(block)):
            events = parser.feed(bytes(bytearray(block)))  # a chunk of its own, as from a socket
        events = parser.feed(end)
        return tracemalloc.get_traced_memory()[1] / size, events
    finally:
        tracemalloc.stop()


def test_one_long_line_of_data_takes_little_more_than_twice_its_room() -> None:
    peak, events = peak_of(b"id: 7\ndata: ", b"x" * CHUNK, b"\n\n")
    (event,) = events
    assert peak < 2.3
    assert (event.before, event.after, event.id) == (b"id: 7\ndata: ", b"\n\n", "7")
    assert event.data == b"x" * BIG


def test_many_lines_of_data_take_their_room_and_that_of_what_was_said() -> None:
    lines = (b"\ndata: " + b"x" * 57) * (CHUNK // 64)
    peak, events = peak_of(b"data: 1", lines, b"\n\n", BIG // 4)
    assert peak < 2.6
    assert events[-1].is_message
    assert (events[-1].data or b"").count(b"\n") == BIG // 4 // 64
    assert max(len(event.raw) for event in events) <= 2 * PIECE
    assert [event.is_message for event in events] == [False] * (len(events) - 1) + [True]


@pytest.mark.parametrize("line_end", [b"", b"\n:"])
def test_a_comment_that_goes_on_for_ever_is_given_as_it_comes(line_end: bytes) -> None:
    peak, _ = peak_of(b":", b"c" * (CHUNK - 2) + line_end, b"\n\n")
    assert peak < 0.2


def test_a_comment_before_the_data_leaves_that_a_message_of_its_own() -> None:
    parser = SseParser(BIG)
    stream = b": " + b"c" * BIG + b"\nid: 3\ndata: a\n\ndata: b\n\n"
    events = fed(parser, stream)
    assert raw_of(events) == stream
    first, second = [event for event in events if event.is_message]
    assert (first.data, first.id, second.data, second.before) == (b"a", "3", b"b", b"data: ")
    assert len(first.before) <= PIECE
    assert parser.last_event_id == "3"


def test_what_is_long_around_the_data_comes_in_pieces_around_the_message() -> None:
    stream = b"id: 1\n: " + b"c" * BIG + b"\ndata: a\n: " + b"d" * BIG + b"\n\n"
    events = fed(SseParser(1 << 30), stream)
    assert raw_of(events) == stream
    (place,) = [place for place, event in enumerate(events) if event.is_message]
    assert (events[place].data, events[place].id, events[place].raw) == (b"a", "1", b"a")
    assert 0 < place < len(events) - 1
    assert max(len(event.raw) for event in events) <= 2 * PIECE


@pytest.mark.parametrize(
    ("field", "name", "id_"), [(b"id: ", "", None), (b"event: ", "(too long)", None)]
)
def test_an_endless_id_or_name_is_kept_but_not_read(
    field: bytes, name: str, id_: str | None
) -> None:
    stream = field + b"i" * (LONGEST_FIELD + CHUNK) + b"\ndata: a\n\n"
    events = fed(SseParser(BIG), stream)
    assert raw_of(events) == stream
    (event,) = [event for event in events if event.data is not None]
    assert (event.name, event.id, event.data) == (name, id_, b"a")
    assert event.is_message is (name == "")


def test_a_long_event_that_is_no_message_has_its_data_as_well() -> None:
    stream = b"event: endpoint\ndata: /" + b"m" * BIG + b"\n\n"
    events = fed(SseParser(1 << 30), stream)
    assert raw_of(events) == stream
    assert (events[-1].name, events[-1].data) == ("endpoint", b"/" + b"m" * BIG)


def test_what_a_stream_ended_within_is_in_pieces_of_which_the_last_says_so() -> None:
    parser = SseParser(1 << 30)
    stream = b"data: " + b"x" * BIG
    assert fed(parser, stream) == []
    rest = parser.end()
    assert raw_of(rest) == stream
    assert not any(event.is_message for event in rest)
    assert not rest[-1].is_complete
    assert parser.end() == []


def test_ends_of_line_may_be_cut_anywhere() -> None:
    stream = (b"data: " + b"x" * 9000 + b"\r\ndata: y\r\n\r\n") * 3
    for step in (1, 2, 3, 8999, 9007, 9008):
        parser = SseParser(BIG)
        events = fed(parser, stream, step)
        assert raw_of([*events, *parser.end()]) == stream
        assert [event.data for event in events if event.is_message] == [b"x" * 9000 + b"\ny"] * 3
