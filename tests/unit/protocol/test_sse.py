"""Server-sent events: the standard's rules, chunk by chunk, and every byte kept."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol import sse
from mcp_progress_monitor.protocol.sse import SseEvent, SseParser, SseTooLargeError

MOST = 1 << 20


def parsed(*chunks: bytes, most: int = MOST) -> list[SseEvent]:
    """All events of a stream that comes in `chunks`, with what it ended within."""
    parser = SseParser(most)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*events, *parser.end()]


def test_an_event_has_its_data_and_what_stands_around_it() -> None:
    (event,) = parsed(b'event: message\nid: 7\ndata: {"a":1}\n\n')
    assert (event.before, event.data) == (b"event: message\nid: 7\ndata: ", b'{"a":1}')
    assert (event.after, event.whole) == (b"\n\n", None)
    assert (event.name, event.id, event.retry_ms) == ("message", "7", None)
    assert event.is_message
    assert event.raw == b'event: message\nid: 7\ndata: {"a":1}\n\n'


def test_lines_of_data_are_joined_and_the_whole_event_is_kept() -> None:
    (event,) = parsed(b"data: YHOO\r\ndata:+2\r\ndata: 10\r\n\r\n")
    assert event.data == b"YHOO\n+2\n10"
    assert event.whole == event.raw == b"data: YHOO\r\ndata:+2\r\ndata: 10\r\n\r\n"


def test_the_standards_examples() -> None:
    events = parsed(b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n")
    assert [event.data for event in events] == [None, b"first event", b"second event"]
    assert [event.id for event in events] == [None, "1", ""]
    third = parsed(b"data:  third event\n\n")
    assert third[0].data == b" third event"
    empty = parsed(b"data\n\ndata\ndata\n\ndata:")
    assert [event.data for event in empty] == [b"", b"\n", b""]
    assert [event.is_complete for event in empty] == [True, True, False]


def test_comments_priming_events_and_waits_are_reported_but_are_no_messages() -> None:
    events = parsed(b": ping\n\nid: 41\ndata: \n\nretry: 3000\n\nevent: endpoint\ndata: /m\n\n")
    assert [event.is_message for event in events] == [False] * 4
    assert [event.id for event in events] == [None, "41", None, None]
    assert [event.retry_ms for event in events] == [None, None, 3000, None]
    assert (events[3].name, events[3].data) == ("endpoint", b"/m")


@pytest.mark.parametrize("value", [b"1.5", b"-1", b"", b"9" * 5000, "٣".encode()])
def test_a_wait_that_is_no_plain_number_is_ignored(value: bytes) -> None:
    (event,) = parsed(b"retry: " + value + b"\ndata: x\n\n")
    assert event.retry_ms is None


def test_an_id_with_a_nul_is_ignored_and_others_become_the_newest_once_complete() -> None:
    parser = SseParser(MOST)
    parser.feed(b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\ndata: c\n\nid: 3\n")
    assert parser.last_event_id == "1"
    parser.feed(b"\n")
    assert parser.last_event_id == "3"
    parser.feed(b"id: 4\ndata: never whole\n")
    (rest,) = parser.end()
    assert (rest.id, rest.is_complete, rest.is_message) == ("4", False, False)
    assert parser.last_event_id == "3"


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    events = parsed(b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", b"data: c\n\n")
    assert [event.data for event in events] == [b"a", None, b"c"]
    assert events[0].before == b"\xef\xbb\xbfdata: "


def test_fields_of_later_events_are_not_taken_from_an_earlier_one() -> None:
    events = parsed(b"id: 1\ndata: a\n\nevent: x\ndata: b\n\ndata: c\n\nevent: data: \ndata: d\n\n")
    assert [(event.name, event.id, event.data) for event in events] == [
        ("", "1", b"a"),
        ("x", None, b"b"),
        ("", None, b"c"),
        ("data: ", None, b"d"),
    ]


def test_an_event_is_given_as_soon_as_its_blank_line_is_there() -> None:
    parser = SseParser(MOST)
    assert [event.data for event in parser.feed(b"data: a\r\r")] == [b"a"]
    (event,) = parser.feed(b"\ndata: b\r\n\r")
    assert (event.data, event.before) == (b"b", b"\ndata: ")
    rest = parser.feed(b"\n")
    assert rest == []
    (last,) = parser.end()
    assert last.raw == b"\n"


@pytest.mark.parametrize("chunks", [(b"data: " + b"x" * 100,), (b"data: 0123456789\n\n",)])
def test_an_event_that_is_too_long_is_refused_with_those_before_it(
    chunks: tuple[bytes, ...],
) -> None:
    with pytest.raises(SseTooLargeError) as caught:
        parsed(b"data: a\n\n" + chunks[0], *chunks[1:], most=12)
    assert [event.data for event in caught.value.events] == [b"a"]
    assert (caught.value.most, caught.value.size > caught.value.most) == (12, True)


def test_many_small_chunks_of_one_long_event_take_linear_time() -> None:
    parser = SseParser(1 << 30)
    begin = time.process_time()
    parser.feed(b"data: ")
    for _ in range(40_000):
        parser.feed(b"x" * 100)
    (event,) = parser.feed(b"\n\n")
    assert len(event.data or b"") == 4_000_000
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("idle", [b"\n", b":\n", b": ping\n\n", b"\r", b":\r\r", b"\r\n"])
def test_what_says_nothing_is_cut_as_one_stretch(idle: bytes) -> None:
    parser = SseParser(MOST)
    parser.feed(b"data: a\n\n")
    events = parser.feed(idle * 1000 + b"\n\ndata: b\n\n" + idle * 1000)
    assert [event.data for event in events if event.is_message] == [b"b"]
    assert len(events) <= 3
    raws = [event.raw for event in (*events, *parser.end())]
    assert b"".join(raws) == idle * 1000 + b"\n\ndata: b\n\n" + idle * 1000


@pytest.mark.parametrize("line", [b":\n", b"id\n", b"x\r", b"data\n", b"data: xy\r\n"])
def test_the_lines_of_a_long_event_are_read_as_they_come(line: bytes) -> None:
    parser, chunk, count = SseParser(1 << 30), line * 1024, 64
    events = parser.feed(b"event: x\n")
    begin = time.thread_time()
    for _ in range(count):
        events += parser.feed(chunk)
    spent = time.thread_time() - begin
    assert events == []
    begin = time.thread_time()
    events = parser.feed(b"id: 7" + line[len(line.rstrip(b"\r\n")) :] * 2)
    assert time.thread_time() - begin < spent / 2
    raw = b"".join(event.raw for event in events)
    assert raw.startswith(b"event: x\n" + line * 1024 * count)
    assert [event.id for event in events if event.id is not None] == ["7"]


LINES = st.sampled_from(
    b"|data: a|data:b|data|id: 7|id|event: message|event:x|: c|retry: 10|\xef\xbb\xbf|junk"
    b"|data: {\xff}|id: \xfe".split(b"|")
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS)).map(
    lambda lines: b"".join(part for line in lines for part in line)
)


def by_the_standard(stream: bytes) -> list[tuple[bytes, str]]:
    """The dispatched events with the last event id, read as the standard tells, line by line."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    found, data, last_id = [], b"", ""
    for line in text.split(b"\n")[:-1]:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                found.append((data[:-1], last_id))
            data = b""
        elif name == b"data":
            data += value + b"\n"
        elif name == b"id":
            last_id = value.decode(errors="replace")
    return found


@pytest.mark.parametrize("long", [0, 8 * 1024])
@given(stream=STREAMS, cuts=st.lists(st.integers(0, 60)))
def test_any_stream_in_any_chunks_gives_the_standards_events_and_keeps_each_byte(
    stream: bytes, cuts: list[int], long: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "_LONG", long)
        check_by_the_standard(stream, cuts)


def check_by_the_standard(stream: bytes, cuts: list[int]) -> None:
    """Whether events of the stream, cut there, are those of the standard."""
    places = [0, *sorted({min(cut, len(stream)) for cut in cuts}), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    events = parsed(*chunks)
    assert b"".join(event.raw for event in events) == stream
    last_id, dispatched = "", []
    for event in events:
        if event.is_complete:
            last_id = last_id if event.id is None else event.id
            if event.data is not None:
                dispatched.append((event.data, last_id))
    assert dispatched == by_the_standard(stream)
