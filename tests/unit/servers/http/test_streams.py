"""Streams by themselves: what is kept, what is dropped, and who waits for whom."""

from __future__ import annotations

import threading

import pytest

from tests.servers.http.streams import Manner, Stream, numbered

LINE = b"x" * 1_000
RESUMABLE = Manner(is_resumable=True)


def _numbers(events: bytes | None) -> list[bytes]:
    assert events is not None
    return [line[5:] for line in events.split(b"\n") if line.startswith(b"data:")]


def test_what_comes_before_the_first_reader_waits_for_it() -> None:
    stream = Stream("s", Manner())
    stream.put([b"1", b"2"])
    reader = stream.attach()
    assert reader.read(0) == b"event: message\ndata: 1\n\nevent: message\ndata: 2\n\n"
    assert reader.read(0) == b""


def test_what_comes_after_a_reader_is_gone_is_lost_unless_kept() -> None:
    for manner, left in ((Manner(), 0), (RESUMABLE, 2)):
        stream = Stream("s", manner)
        reader = stream.attach()
        stream.put([b"1"])
        reader.read(0)
        reader.hang_up()
        stream.put([b"2"])
        assert len(stream.messages()) == left


def test_events_have_numbers_and_a_reader_begins_behind_the_last_it_got() -> None:
    stream = Stream("s7", RESUMABLE)
    stream.put([b"1", b"2", b"3"])
    reader = stream.attach(2)
    assert reader.preamble() == b""
    assert reader.read(0) == b"event: message\nid: s7-3\ndata: 3\n\n"


def test_a_stream_begins_with_an_id_and_how_soon_to_come_back() -> None:
    stream = Stream("s7", Manner(is_resumable=True, retry_ms=40))
    assert stream.attach().preamble() == b"id: s7-0\nretry: 40\ndata: \n\n"


def test_only_so_much_is_kept_and_a_gap_is_reported() -> None:
    stream = Stream("s", RESUMABLE)
    for _ in range(25):
        stream.put([b"x"] * 1_000)
    reader = stream.attach(10)
    assert len(stream.messages()) == 20_000
    assert reader.preamble() == b": 4990 events are no longer available\n\n"
    assert b"id: s-5001\n" in (reader.read(0) or b"")


def test_whoever_fills_a_stream_waits_for_a_reader_that_is_behind() -> None:
    stream = Stream("s", Manner())
    reader = stream.attach()
    thread = threading.Thread(target=stream.put, args=([LINE] * 10_000,))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    while reader.read(0):
        pass
    thread.join(5)
    assert not thread.is_alive()


def test_a_reader_that_is_gone_holds_up_nobody() -> None:
    stream = Stream("s", Manner())
    reader = stream.attach()
    thread = threading.Thread(target=stream.put, args=([LINE] * 10_000,))
    thread.start()
    reader.hang_up()
    thread.join(5)
    assert not thread.is_alive()


def test_updates_do_not_wait_for_listeners() -> None:
    stream = Stream("general", Manner(), keeps=True)
    reader = stream.attach()
    stream.put([LINE] * 10_000, waits=False)
    assert reader.read(0) is None


def test_a_stream_ends_when_the_last_hold_is_released() -> None:
    ended = []
    stream = Stream("s", Manner())
    stream.on_end = lambda: ended.append(True)
    stream.hold()
    stream.hold()
    stream.release()
    before = stream.has_ended
    stream.release()
    stream.put([b"too late"])
    assert (before, stream.has_ended) == (False, True)
    assert ended == [True]
    assert stream.attach().read(0) is None


def test_a_stream_is_cut_once() -> None:
    stream = Stream("s", RESUMABLE)
    stream.break_after = 2
    stream.put([b"1", b"2", b"3"])
    reader = stream.attach()
    assert _numbers(reader.read(0)) == [b" 1", b" 2"]
    assert reader.read(0) is None
    assert reader.is_cut
    assert _numbers(stream.attach(2).read(0)) == [b" 3"]


@pytest.mark.parametrize(
    ("event_id", "found"),
    [("s1-12", ("s1", 12)), ("a-b-0", ("a-b", 0)), ("s1", None), ("-3", None), ("s1-x", None),
     ("s1-9999999999", None), ("s1-²", None)],
)  # fmt: skip
def test_event_ids_are_read(event_id: str, found: tuple[str, int] | None) -> None:
    assert numbered(event_id) == found
