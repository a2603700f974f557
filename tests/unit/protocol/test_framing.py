"""Lines from chunks, frames from lines."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.conversation import Conversation, Exchanges
from mcp_progress_monitor.protocol.frames import Channel, Frame, FrameRun, Part, server_name
from mcp_progress_monitor.protocol.framing import (
    RUN_LINES,
    FrameNumbers,
    Framer,
    LineSplitter,
    may_be_batch,
)
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode_in_slices
from mcp_progress_monitor.protocol.lenient_json import array_parts, read_value
from mcp_progress_monitor.protocol.outline import array_elements, finish
from tests.unit.protocol.wire import JSON, as_bytes, progress, result


@given(st.lists(st.binary(max_size=20)), st.data())
def test_any_chunking_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(lines)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    splitter = LineSplitter()
    found: list[bytes] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[begin:end])
    rest = splitter.flush()
    assert found == stream.split(b"\n")[:-1]
    assert (rest or b"") == stream.split(b"\n")[-1]
    assert splitter.flush() is None


def test_a_carriage_return_stays_and_an_empty_line_is_a_line() -> None:
    assert LineSplitter().feed(b"a\r\n\n\nb\n") == [b"a\r", b"", b"", b"b"]


def test_a_long_line_in_many_chunks_is_joined_once() -> None:
    splitter = LineSplitter()
    chunk = b"x" * 65_536
    for _ in range(1024):
        assert splitter.feed(chunk) == []
    (line,) = splitter.feed(b"\n")
    assert line == chunk * 1024


def _framer() -> Framer:
    return Framer("local-db#2", FrameNumbers())


def test_received_lines_become_numbered_frames() -> None:
    numbers = FrameNumbers(first=10)
    framer = Framer("local-db#2", numbers)
    assert framer.received([b"{}", b"x\r"], 1000.5, 7.25) == [
        Frame(10, "local-db#2", Channel.RECEIVED, 1000.5, 7.25, b"{}"),
        Frame(11, "local-db#2", Channel.RECEIVED, 1000.5, 7.25, b"x\r"),
    ]
    assert numbers.take() == 12
    assert framer.received([], 0.0, 0.0) == []


def test_numbers_are_shared_between_connections() -> None:
    numbers = FrameNumbers()
    first, second = Framer("a#1", numbers), Framer("b#1", numbers)
    frames = [first.sent(b"{}", 0, 0), *second.received([b"", b""], 0, 0), first.stderr(b"", 0, 0)]
    assert [frame.number for frame in frames] == [1, 2, 3, 4]


def test_an_incomplete_line_is_marked() -> None:
    (frame,) = _framer().received([b'{"a'], 0, 0, is_complete=False)
    assert not frame.is_complete


def test_a_sent_message_leaves_out_only_its_own_line_end() -> None:
    frame = _framer().sent(b'{"a":1}\n', 3.0, 4.0)
    assert frame == Frame(1, "local-db#2", Channel.SENT, 3.0, 4.0, b'{"a":1}')


def test_an_event_is_a_json_object() -> None:
    frame = _framer().event("closed", 3.0, 4.0, reason="gone", exit_code=-9)
    assert frame.channel is Channel.EVENT
    assert json.loads(frame.raw) == {"event": "closed", "reason": "gone", "exit_code": -9}


def test_a_batch_line_is_followed_by_its_exact_elements() -> None:
    line = b' [ {"id" : 1, "result":{}} ,{"b":[2,"]"]}, 7 ]\r'
    frames = _framer().received([b"{}", line, b"{}"], 5.0, 6.0)
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5, 6]
    assert [(frame.raw, frame.part) for frame in frames] == [
        (b"{}", None),
        (line, None),
        (b'{"id" : 1, "result":{}}', Part(1, 3)),
        (b'{"b":[2,"]"]}', Part(2, 3)),
        (b"7", Part(3, 3)),
        (b"{}", None),
    ]
    assert {(frame.when, frame.at, frame.connection) for frame in frames} == {
        (5.0, 6.0, "local-db#2")
    }


@given(st.lists(JSON, min_size=1, max_size=5))
def test_elements_of_any_batch_are_its_values(values: list[object]) -> None:
    _, *elements = _framer().received([as_bytes(values)], 0, 0)
    assert [json.loads(frame.raw) for frame in elements] == values


@pytest.mark.parametrize(
    "line", [b"[]", b"[INFO] started", b'[{"a":1}', b"[1,]", b'["a" "b"]', b"[ ", b"[1] 2"]
)
def test_a_line_that_only_looks_like_a_batch_is_one_frame(line: bytes) -> None:
    (frame,) = _framer().received([line], 0, 0)
    assert (frame.raw, frame.part) == (line, None)


def test_a_batch_behind_a_byte_order_mark_is_unpacked() -> None:
    frames = _framer().received([b'\xef\xbb\xbf[{"a":1}]'], 0, 0)
    assert [frame.raw for frame in frames[1:]] == [b'{"a":1}']


def test_an_oversized_batch_is_unpacked_in_slices() -> None:
    elements = [as_bytes(progress("p", n, message="m" * 300)) for n in range(4000)]
    line = b"[" + b",".join(elements) + b"]"
    assert len(line) > OVERSIZED
    lists = list(_framer().received_in_slices([line], 0, 0))
    assert [] in lists
    assert max(map(len, lists)) <= 384
    frames = [frame for frames in lists for frame in frames]
    assert [frame.raw for frame in frames] == [line, *elements]
    assert frames[-1].part == Part(4000, 4000)
    assert [frame.number for frame in frames] == list(range(1, 4002))


def test_many_batches_are_cut_in_slices_of_as_many_messages_as_lines() -> None:
    batch = as_bytes([progress("p", n) for n in range(1000)])
    lines = [b"{}", batch, b"[INFO] started", batch, b"{}"]
    slices = list(_framer().in_slices(lines, 5.0, 6.0))
    assert max(map(len, slices)) <= RUN_LINES
    assert max(len(each) for each in slices if type(each) is list) <= 64
    assert [frame for frames in slices for frame in frames] == _framer().received(lines, 5.0, 6.0)


def test_a_last_line_without_its_end_is_framed_as_such() -> None:
    framed = _framer().received([b"{}"], 5.0, 6.0, is_complete=False)
    assert list(_framer().in_slices([b"{}"], 5.0, 6.0, is_complete=False)) == [framed]


@given(st.lists(JSON, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_parts_of_an_array_are_its_elements_byte_for_byte(
    values: list[object], indent: int | None, is_ascii: bool
) -> None:
    raw = json.dumps(values, indent=indent, ensure_ascii=is_ascii).encode()
    assert array_parts(raw) == finish(array_elements(raw))


_ODD = rb"""[{"a":"\n\u00e9 \ud83d","b":1.5e3},[1,-0.0,true,null,{}]," \/x"]"""
_ODDITIES = [*b'"\\{}[],:0-.eunN \xff\xc3\x01\t\x00', *rb"\u 1e999 01 1. .5 \x NaN".split()]


@given(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 3), st.sampled_from(_ODDITIES))))
def test_an_array_is_only_taken_to_pieces_if_it_can_be_decoded(
    changes: list[tuple[int, int, int | bytes]],
) -> None:
    raw = bytearray(_ODD)
    for place, count, odd in changes[:3]:
        raw[place : place + count] = bytes([odd]) if isinstance(odd, int) else odd
    parts = array_parts(bytes(raw))
    if parts is not None:
        read_value(bytes(raw))
        assert parts == finish(array_elements(bytes(raw)))


@pytest.mark.parametrize("depth", [150, 199, 201, 900, 100_000])
def test_deep_nesting_is_read_in_runs_as_it_is_alone(depth: int) -> None:
    deep = b'{"jsonrpc":"2.0","method":"x","params":{"a":' + b"[" * depth + b"]" * depth + b"}}"
    batch = b"[" + deep + b"]"
    run = _framer().run([deep] * 8, 0, 0)
    assert isinstance(run, FrameRun)
    alone = [finish(decode_in_slices(deep))] * 8
    frames = _framer().received([deep] * 8, 0, 0)
    stated = list(map(Exchanges().state, frames, alone))
    assert repr(Conversation("demo#1").read(run)) == repr([f for facts in stated for f in facts])
    assert [frame.raw for frame in _framer().received([batch], 0, 0)] == [batch, deep]


def test_lines_are_cut_in_runs_but_for_those_that_may_be_batches() -> None:
    lines = [b"{}", b"no JSON"] * 10 + [b"[INFO] started"] + [b"{}"] * 500
    run, others, *runs = _framer().in_slices(lines, 5.0, 6.0)
    assert [type(run), type(others), *map(type, runs)] == [FrameRun, list, FrameRun]
    assert [len(run), len(others), *map(len, runs)] == [20, 64, 437]
    assert max(map(len, _framer().in_slices([b"{}"] * 4000, 5.0, 6.0))) == RUN_LINES
    assert type(next(_framer().in_slices(lines[:20], 5.0, 6.0, is_complete=False))) is list


def test_runs_are_as_long_as_suits_how_the_last_ones_were_handled() -> None:
    framer, lines = _framer(), [b"{}"] * 2000

    def longest() -> int:
        return max(map(len, framer.in_slices(lines, 5.0, 6.0)))

    framer.note_parts(1024, 64)
    assert longest() == 128
    framer.note_parts(1024, 1024)
    assert longest() == 64
    framer.note_parts(64, 1)
    assert longest() == 128
    framer.note_parts(1024, 5)
    assert longest() == RUN_LINES


@pytest.mark.parametrize("odd", [b"[{}]", b'{"a":"%b"}' % (b"x" * OVERSIZED)])
def test_what_a_run_cannot_hold_ends_it(odd: bytes) -> None:
    slices = list(_framer().in_slices([b"{}"] * 10 + [odd] + [b"{}"] * 10, 5.0, 6.0))
    assert type(slices[0]) is FrameRun
    assert len(slices[0]) == 10
    assert odd in [frame.raw for frames in slices[1:] for frame in frames if type(frames) is list]


def test_an_oversized_broken_batch_is_one_frame() -> None:
    line = b"[" + as_bytes(result(1, text="x" * OVERSIZED))
    assert [frame.raw for frame in _framer().received([line], 0, 0)] == [line]


def test_a_connection_names_its_server() -> None:
    assert server_name("local#db#2") == "local#db"
    assert server_name("plain") == "plain"


def test_what_was_recorded_is_framed_again_each_with_its_own_times() -> None:
    framer = Framer("demo#1", FrameNumbers(5))
    assert framer.again(
        Channel.STDERR, [b"a", b"b"], [1.0, 2.0], [3.0, 4.0], is_complete=False
    ) == [
        Frame(5, "demo#1", Channel.STDERR, 1.0, 3.0, b"a", None, is_complete=False),
        Frame(6, "demo#1", Channel.STDERR, 2.0, 4.0, b"b", None, is_complete=False),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"[", True),
        (b"\xef\xbb\xbf \t[1]", True),
        (b'{"a":[]}', False),
        (b"x [1]", False),
        (b"", False),
    ],
)
def test_lines_that_may_be_batches_are_reported(line: bytes, *, expected: bool) -> None:
    assert may_be_batch(line) is expected
