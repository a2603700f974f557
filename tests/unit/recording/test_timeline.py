"""Frames by place: found in the index, read when asked for, never misplaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameKind
from mcp_progress_monitor.recording import index as columns_module
from mcp_progress_monitor.recording import timeline as module
from mcp_progress_monitor.recording.timeline import Timeline
from mcp_progress_monitor.recording.writer import Encoder
from tests.unit.recording.wire import CONNECTIONS, Taken, Wire, reply, request, tick, traffic


class Memory:
    """A part's bytes; counts how often they are read."""

    def __init__(self) -> None:
        self.content = b""
        self.read_count = 0

    def read(self, offset: int, size: int) -> bytes:
        self.read_count += 1
        return self.content[offset : offset + size]


class Log:
    """A timeline that is filled as a recorder fills it; a new part begins where a test says."""

    def __init__(self) -> None:
        self.timeline = Timeline()
        self.frames: list[Frame] = []
        self.part = 0
        self._encoder = Encoder(0.0)
        self.begin_part()

    def begin_part(self) -> None:
        self.part += 1
        self.memory = Memory()
        self.timeline.add_part(self.part, self.memory)

    def take(self, *taken: Taken) -> None:
        for frames, facts in taken:
            begin = len(self.memory.content)
            lines, offsets, sizes, escapes = self._encoder.encode(frames, self.part, begin)
            self.memory.content += lines
            columns = self.timeline.columns
            columns.take(frames, facts, self.part, offsets, sizes, is_escaped=escapes)
            self.frames += frames


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def log() -> Log:
    return Log()


@given(traffic, st.integers(1, 9))
def test_frames_are_the_same_whatever_the_size_of_segments(taken: list[Taken], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_module, "ROWS", rows)
        log = Log()
        log.take(*taken)
    timeline, frames = log.timeline, log.frames
    assert timeline.end == len(frames)
    assert all(len(segment) <= rows for segment in timeline.columns.segments)
    expected = [frame._replace(when=0) for frame in frames]
    assert [frame._replace(when=0) for frame in timeline.frames(0, len(frames))] == expected
    for place, frame in enumerate(frames):
        found = timeline.frame(place)
        assert found is not None
        assert found._replace(when=frame.when) == frame
        assert abs(found.when - frame.when) < 0.0005
        assert timeline.place_of(frame.number) == place
        assert timeline.number(place) == frame.number


def test_stretches_are_cut_to_what_is_there(log: Log, wire: Wire) -> None:
    log.take(wire.sent(request("t")), wire.received(tick("t", 1), tick("t", 2)))
    assert log.timeline.frames(1, 99) == log.frames[1:]
    assert log.timeline.frames(-5, 1) == log.frames[:1]
    assert log.timeline.frames(2, 2) == []
    assert log.timeline.frames(3, 9) == []
    assert log.timeline.frame(3) is None
    assert log.timeline.frame(-1) is None


def test_neighbours_are_read_at_one_go(log: Log, wire: Wire) -> None:
    log.take(wire.sent(request("t")), wire.received(*(tick("t", n) for n in range(50))))
    assert len(log.timeline.frames(0, 99)) == 51
    assert log.memory.read_count == 1


def test_far_apart_frames_are_read_one_by_one(
    log: Log, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.take(*(wire.sent(b" " * 6000) for _ in range(3)))
    (segment,) = log.timeline.columns.segments
    assert log.timeline.frames_of(segment, [0, 2]) == [log.frames[0], log.frames[2]]
    assert log.memory.read_count == 2
    monkeypatch.setattr(module, "_AT_ONCE", 7000)
    assert log.timeline.frames(0, 3) == log.frames
    assert log.memory.read_count == 5


def test_of_a_large_frame_only_the_head_is_read_where_that_is_enough(log: Log, wire: Wire) -> None:
    log.take(wire.sent(b"0123456789"))
    found = log.timeline.frame(0, 4)
    assert found is not None
    assert found.raw == b"0123"
    assert log.timeline.size(0) == 10


def test_frames_of_a_part_that_is_dropped_are_gone_and_others_keep_their_places(
    log: Log, wire: Wire
) -> None:
    log.take(wire.sent(request("t")), wire.received(tick("t", 1)))
    log.begin_part()
    log.take(wire.received(tick("t", 2)), wire.received(reply()))
    log.timeline.drop_part(1)
    assert (log.timeline.first, log.timeline.end) == (2, 4)
    assert log.timeline.frames(0, 9) == log.frames[2:]
    assert log.timeline.frame(1) is None
    assert log.timeline.place_of(log.frames[1].number) is None
    assert log.timeline.place_of(log.frames[2].number) == 2
    assert log.timeline.request_of(3) is None
    assert log.timeline.duration_s(3) is None
    assert log.timeline.kind(0) is None


def test_elements_of_two_batches_may_arrive_in_turn(log: Log, wire: Wire) -> None:
    one, other = ([*wire.received_in_slices(b"[1,2,3,4]", name)] for name in CONNECTIONS[:2])
    pieces = [one[0], other[0]]
    for some in (slice(0, 1), slice(1, 3), slice(3, 4)):
        pieces += [Taken(each[1].frames[some], each[1].facts[some]) for each in (one, other)]
    log.take(*pieces)
    assert log.timeline.frames(0, 99) == log.frames
    assert len(log.frames) == 10


def test_rows_given_up_leave_a_gap_that_is_stepped_over(log: Log, wire: Wire) -> None:
    log.take(wire.sent(request("t")), wire.received(tick("t", 1), tick("t", 2)))
    kept = len(log.memory.content)
    log.take(wire.received(tick("t", 3)), wire.received(b'[{"a":1},2]'))
    log.begin_part()
    log.take(wire.received(tick("t", 4)), wire.received(tick("t", 5)))
    log.begin_part()
    log.take(wire.received(tick("t", 6)), wire.received(reply()))
    timeline, end = log.timeline, len(log.frames)
    timeline.give_up(1, kept, 2)
    assert timeline.gap == range(3, end - 4)
    timeline.give_up(2, 0, 3)
    assert (timeline.first, timeline.gap, timeline.end) == (0, range(3, end - 2), end)
    assert timeline.frames(0, 99) == log.frames[:3] + log.frames[-2:]
    assert timeline.frames(4, 99) == log.frames[-2:]
    assert timeline.frames(1, 5) == log.frames[1:3]
    assert timeline.place_of(log.frames[4].number) is None
    assert timeline.columns.batch_part(5) is None
    exchange = timeline.exchange(0)
    assert timeline.next_of(2, exchange) == end - 2
    assert timeline.next_of(5, exchange, replies=True) == end - 1
    assert timeline.previous_of(end - 2, exchange) == 2
    assert timeline.request_of(end - 1) == 0
    log.take(wire.received(tick("t", 7)))
    assert timeline.frames(end, 99) == log.frames[end:]


def test_a_frame_of_which_a_part_is_kept_goes(log: Log, wire: Wire) -> None:
    log.take(wire.sent(b"1"), wire.sent(b"2"))
    log.timeline.give_up(1, len(log.memory.content) - 2, 2)
    assert log.timeline.frames(0, 9) == log.frames[:1]
    assert log.timeline.gap == range(1, 2)
    log.take(wire.sent(b"3"))
    assert log.timeline.frames(0, 9) == [log.frames[0], log.frames[2]]


def test_the_oldest_rows_given_up_leave_no_gap(log: Log, wire: Wire) -> None:
    log.take(wire.sent(b"1"))
    log.begin_part()
    log.take(wire.sent(b"2"))
    log.timeline.give_up(1, 0, 2)
    assert (log.timeline.first, log.timeline.gap) == (1, range(0))


def test_bytes_that_are_gone_read_as_nothing(log: Log, wire: Wire) -> None:
    log.take(wire.sent(b"{}"))
    log.memory.content = b""
    assert log.timeline.frames(0, 1) == [log.frames[0]._replace(raw=b"")]


class TestExchanges:
    @pytest.fixture
    def called(self, log: Log, wire: Wire) -> Log:
        """Two calls: request 0, request 1, ticks 2 (of 0) and 3 (of 1), replies 4 and 5."""
        log.take(wire.sent(request(7, 1)), wire.sent(request("7", 2)))
        log.take(wire.received(tick(7), tick("7")))
        log.take(wire.received(reply(1)), wire.received(reply(2)))
        return log

    def test_each_frame_knows_its_request(self, called: Log) -> None:
        timeline = called.timeline
        assert [timeline.request_of(place) for place in range(6)] == [0, 1, 0, 1, 0, 1]

    def test_tokens_of_different_types_are_two(self, called: Log) -> None:
        (segment,) = called.timeline.columns.segments
        tokens = called.timeline.columns.tokens
        found = [tokens.value(number) for number in segment.tokens]
        assert found == [7, "7", 7, "7", 7, "7"]
        assert [type(token) for token in found[:2]] == [int, str]

    def test_one_walks_from_frame_to_frame_of_an_exchange(self, called: Log) -> None:
        timeline = called.timeline
        exchange = timeline.exchange(0)
        assert timeline.next_of(0, exchange) == 2
        assert timeline.next_of(2, exchange) == 4
        assert timeline.next_of(4, exchange) is None
        assert timeline.next_of(0, exchange, replies=True) == 4
        assert timeline.previous_of(4, exchange) == 2
        assert timeline.previous_of(0, exchange) is None

    def test_one_walks_over_the_borders_of_segments(
        self, log: Log, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns_module, "ROWS", 2)
        self.called.__wrapped__(self, log, wire)  # type: ignore[attr-defined]  # pytest's
        self.test_one_walks_from_frame_to_frame_of_an_exchange(log)

    def test_replies_know_how_long_they_took(self, called: Log) -> None:
        timeline = called.timeline
        assert timeline.duration_s(4) == pytest.approx(called.frames[4].at - called.frames[0].at)
        assert timeline.duration_s(2) is None
        assert timeline.duration_s(99) is None


def test_marks_are_kept_apart_from_kinds(log: Log, wire: Wire) -> None:
    log.take(wire.sent(request("t")), wire.received(tick("t")))
    log.timeline.mark([2, 99])
    assert [log.timeline.is_marked(place) for place in range(3)] == [False, True, False]
    assert log.timeline.kind(1) is FrameKind.PROGRESS


def test_a_replay_begins_again_at_place_zero(log: Log, wire: Wire) -> None:
    log.take(wire.sent(request("t")))
    log.timeline.clear()
    assert (log.timeline.first, log.timeline.end) == (0, 0)
    assert log.timeline.frame(0) is None


def test_every_kind_of_frame_is_reported(log: Log, wire: Wire) -> None:
    log.take(wire.event("opened"), wire.stderr([(b"x", True)]), wire.sent(request("t")))
    log.take(wire.received(b"[%b,3]" % tick("t"), b'{"jsonrpc":"2.0","method":"n"}', b"x"))
    log.take(wire.received(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}'))
    kinds = [log.timeline.kind(place) for place in range(log.timeline.end)]
    assert kinds == [
        FrameKind.EVENT,
        FrameKind.STDERR,
        FrameKind.REQUEST,
        FrameKind.BATCH,
        FrameKind.PROGRESS,
        FrameKind.UNREADABLE,
        FrameKind.NOTIFICATION,
        FrameKind.UNREADABLE,
        FrameKind.ERROR,
    ]
    assert log.timeline.source(log.timeline.columns.segments[0], 1).channel.name == "STDERR"


def test_the_connections_of_weeks_are_all_told_apart(log: Log, wire: Wire) -> None:
    """A server that is restarted every minute has 65,536 sources, three each, after 15 days."""
    sources = log.timeline.columns.sources
    for number in range(70_000):
        sources.number(number, columns_module.FrameSource(f"s#{number}", Channel.RECEIVED))
    log.take(wire.received(tick("a", 1)))
    frame = log.timeline.frame(log.timeline.end - 1)

    assert frame is not None
    assert frame.connection == log.frames[-1].connection
    assert frame.channel is Channel.RECEIVED
