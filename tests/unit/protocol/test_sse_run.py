"""Events cut all at once: the very ones that reading event by event gives, or none at all."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.sse import (
    SseEvent,
    SseParser,
    SseRun,
    SseShape,
    SseTooLargeError,
    shape_of,
)

MOST = 1 << 20
HEADS = (
    b"data: ",
    b"data:",
    b"event: message\ndata: ",
    b"event: message\r\ndata: ",
    b": \xc3\xa9\ndata: ",
    b"id: %d\ndata: ",
    b"id:%d\ndata:",
    b"id: s_%d\r\nevent: message\r\ndata: ",
    b"event: message\nid: %d\ndata: ",
)
ODD_HEADS = (b"id: %d\rid: 7\ndata: ", b"id\nid: %d\ndata: ", b"retry: 5\ndata: ", b"\ndata: ")
NEAR_MISSES = (
    b": ping\n\n",
    b": ping\r\n\r\n",
    b"event: message\ndata: a\ndata: b\n\n",
    b"event: message\r\ndata: a\r\ndata: b\r\n\r\n",
    b"event: other\ndata: x\n\n",
    b"data: \n\n",
    b"data:  spaced\n\n",
    b"data:a\n\n",
    b"id: 9\ndata: a\n\n",
    b"id: 9\ndata: \n\n",
    b"id: \0\ndata: nul\n\n",
    b"id: \xff\ndata: no text\n\n",
    b"id: \ndata: none\n\n",
    b"id:  9\ndata: spaced\n\n",
    b"id: 1\nid: 2\ndata: twice\n\n",
    b"id: 8\nevent: message\r\ndata: mixed\r\n\r\n",
    b"event: message\ndata: a\nid: 9\n\n",
    b"event: message\ndata: a\r\n\r\n",
    b"data: a\r\r",
    b"data: a\n\r\n",
    b"data: a\r\n\n",
    b"data: a\rdata: b\n\n",
    b"\n",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"junk",
    b"retry: 3\n\n",
)


def reported(run: SseRun) -> list[SseEvent]:
    """The events of a run, each by itself."""
    ids: list[str] | list[None] = run.ids or [None] * len(run.datas)
    name = "message" if b"event: message" in run.opening + run.middle else ""
    return [
        SseEvent(
            run.opening + (id_ or "").encode() + run.middle, data, run.blank, None, name, id_, None
        )
        for data, id_ in zip(run.datas, ids, strict=True)
    ]


def one_by_one(chunks: list[bytes]) -> tuple[list[SseEvent], str | None]:
    parser = SseParser(MOST)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*events, *parser.end()], parser.last_event_id


def all_at_once(chunks: list[bytes]) -> tuple[list[SseEvent], str | None, int]:
    """As `one_by_one`, and how many events came in runs."""
    parser, events, count = SseParser(MOST), list[SseEvent](), 0
    for chunk in chunks:
        run = parser.feed_alike(chunk)
        count += 0 if run is None else len(run.datas)
        events += parser.feed(chunk) if run is None else reported(run)
    return [*events, *parser.end()], parser.last_event_id, count


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    places = [0, *sorted({min(place, len(stream)) for place in places}), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(places)]


def flood(head: bytes, count: int, blank: bytes = b"\n\n", first: int = 1) -> bytes:
    numbers = range(first, first + count)
    heads = [head % number if b"%d" in head else head for number in numbers]
    return b"".join(each + b'{"n":%d}' % n + blank for each, n in zip(heads, numbers, strict=True))


@pytest.mark.parametrize("blank", [b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("head", HEADS)
def test_a_flood_is_cut_all_at_once_wherever_its_chunks_are_cut(head: bytes, blank: bytes) -> None:
    begin, stream = flood(head, 1, blank), flood(head, 4, blank, first=2)
    for place in range(1, len(stream)):
        # A blank line that is cut within costs the chunk after it as well.
        ends = [flood(head, 1, blank, first=6), flood(head, 2, blank, first=7)]
        chunks = [begin, stream[:place], stream[place:], *ends]
        events, last_id, count = all_at_once(chunks)
        assert (events, last_id) == one_by_one(chunks)
        assert count >= 2
    assert all_at_once([begin, stream])[2] == 4


@pytest.mark.parametrize("miss", NEAR_MISSES)
@pytest.mark.parametrize(
    "head",
    [HEADS[1], HEADS[7], *(pytest.param(HEADS[n], marks=pytest.mark.campaign) for n in (3, 5))],
)
def test_what_only_looks_alike_is_read_event_by_event(head: bytes, miss: bytes) -> None:
    begin, end = flood(head, 2), flood(head, 3, first=7)
    stream = end + miss + end
    for place in range(len(stream) + 1):
        chunks = [begin, stream[:place], stream[place:]]
        assert all_at_once(chunks)[:2] == one_by_one(chunks)


PIECES = st.one_of(
    st.builds(
        flood,
        st.sampled_from(HEADS + ODD_HEADS),
        st.integers(1, 3),
        st.sampled_from([b"\n\n", b"\r\n\r\n"]),
    ),
    st.sampled_from(NEAR_MISSES),
)


@given(st.lists(PIECES, max_size=8), st.lists(st.integers(0, 300), max_size=12))
def test_any_stream_in_any_chunks_is_the_same_both_ways(
    pieces: list[bytes], places: list[int]
) -> None:
    stream = b"".join(pieces)
    chunks = cut(stream, places)
    events, last_id, _ = all_at_once(chunks)
    assert (events, last_id) == one_by_one(chunks)
    assert b"".join(event.raw for event in events) == stream


def test_a_run_tells_its_ids_and_what_is_around_its_last_event() -> None:
    parser = SseParser(MOST)
    parser.feed(b"id: 1\ndata: a\n\n")
    run = parser.feed_alike(b"id: 2\ndata: b\n\nid: 3\ndata: c\n\nid: 4\nda")
    assert run == SseRun(b"id: ", b"\ndata: ", b"\n\n", [b"b", b"c"], ["2", "3"])
    assert run.around_last == (b"id: 3\ndata: ", b"\n\n")
    assert parser.last_event_id == "3"
    (rest,) = parser.end()
    assert rest.raw == b"id: 4\nda"


def test_nothing_is_alike_before_a_first_event_nor_within_one() -> None:
    parser = SseParser(MOST)
    assert parser.feed_alike(b"data: a\n\n") is None
    parser.feed(b"data: a\n\n")
    assert parser.feed_alike(b"data: b") is None
    parser.feed(b"data: b")
    # Not joined with what is held while that is the longer: small chunks would take for ever.
    assert parser.feed_alike(b"\n\n") is None
    assert [event.data for event in parser.feed(b"\n\n")] == [b"b"]


def test_what_may_be_too_long_is_left_to_the_reading_one_by_one() -> None:
    parser = SseParser(most=20)
    parser.feed(b"data: a\n\n")
    assert parser.feed_alike(b"data: b\n\ndata: c\n\ndata: d\n\n") is None
    run = parser.feed_alike(b"data: b\n\n")
    assert run is not None
    with pytest.raises(SseTooLargeError):
        parser.feed(b"data: 0123456789 and more\n\n")


@pytest.mark.parametrize(
    "stream",
    [
        b": c\n\n",
        b"data: a\ndata: b\n\n",
        b"event: other\ndata: a\n\n",
        b"retry: 1\ndata: a\n\n",
        b"x: \xff\ndata: a\n\n",
        b"data: a\r\r",
        b"data: a\nid: 1\n\n",
        b"id: 1\rid: 1\ndata: a\n\n",
        b"id: 1\nid: 1\ndata: a\n\n",
        b"id: 1\nid\ndata: a\n\n",
        b"id: \xff\ndata: a\n\n",
    ],
)
def test_an_event_that_is_not_usual_has_no_shape(stream: bytes) -> None:
    (event,) = SseParser(MOST).feed(stream)
    assert shape_of(event) is None


def test_the_shape_of_an_event_with_an_id_leaves_the_id_open() -> None:
    (event,) = SseParser(MOST).feed(b"event: message\r\nid: 7\r\ndata: a\r\n\r\n")
    assert shape_of(event) == SseShape(
        b"event: message\r\nid: ", b"\r\ndata: ", b"\r\n\r\n", has_ids=True
    )


def test_of_a_long_event_that_has_begun_behind_a_run_nothing_is_lost() -> None:
    parser = SseParser(most=10**6)
    parser.feed(b"data: a\n\n")
    chunk, rest = b"data: b\n\n:" + b"x" * 100_000, b"\ndata: c\n\n"
    assert parser.feed_alike(chunk) is None
    events = parser.feed(chunk) + parser.feed(rest)
    assert b"".join(event.raw for event in events) == chunk + rest
    assert [event.data for event in events if event.is_message] == [b"b", b"c"]
