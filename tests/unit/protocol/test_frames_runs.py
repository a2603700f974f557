"""Runs: whatever is not made before it is looked at is the same as what is made at once."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.conversation import Conversation, Exchanges
from mcp_progress_monitor.protocol.facts import (
    MESSAGE_LIMIT,
    Fact,
    ProgressReceived,
    RequestAnswered,
)
from mcp_progress_monitor.protocol.frames import FactRun, Frame, FrameRun, at_of, fact_of
from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED, decode, decode_in_slices, encode
from mcp_progress_monitor.protocol.outline import finish
from tests.unit.protocol.test_progress import TOKENS, progress_lines
from tests.unit.protocol.wire import JSON, as_bytes, call, notification, progress, result

TICK = as_bytes(progress("a", 1))
LOG = encode(notification("notifications/message", level="info", data={"text": "a: b"}))
# Which stand for other things among lines that are joined than alone.
FRAGMENTS = [
    TICK,
    TICK + b" \r",
    TICK + b"," + TICK,
    TICK + b",",
    TICK + b"]",
    TICK + b"," + TICK[:-1],
    TICK[:-1],
    TICK[:-2],
    TICK.replace(b'"a"', b'"a'),
    TICK.replace(b'"a"', b'"a\\'),
    b'{"jsonrpc":"2.0"',
    b'{"jsonrpc":"2.0","method":"notifications/progress"},{',
    b"{",
    b"{}",
    b'"params":{"progressToken":"a","progress":1}}',
    b"[" + TICK + b"]",
    b"",
    TICK[:-2] + b',"x":"',
    TICK[:-2] + b',"x":"\\u003a\xff"}}',
    LOG[:-3],
    LOG[:-2] + b',"x":"\x01\xff"}}',
    LOG.replace(b"info", b"\\ud800"),
]
_plain = st.builds(
    progress,
    st.sampled_from(TOKENS),
    st.integers(-9, 99) | st.floats(-9, 99),
    total=st.sampled_from([100, 100.0, 7]),
    message=st.sampled_from(["", "a: b", "C:\\", "\N{SNOWMAN}"]),
).map(encode)
_more = st.dictionaries(st.sampled_from(["_meta", "extra", ":"]), JSON, max_size=2)
_others = st.one_of(
    st.builds(lambda token, more: progress(token, 1, **more), st.sampled_from(TOKENS), _more),
    st.builds(lambda more: notification("notifications/message", **more), _more),
    st.builds(notification, st.sampled_from(["notifications/tasks", "x", "ping"])),
    st.builds(result, st.integers(0, len(TOKENS))),
).map(encode)
_lines = st.one_of(
    st.lists(_plain | _others, min_size=8, max_size=30),
    st.lists(_plain, min_size=8, max_size=20),
    st.lists(_plain | progress_lines(), min_size=8, max_size=12),
    st.lists(_plain | st.sampled_from(FRAGMENTS), min_size=8, max_size=12),
    st.lists(_plain | st.just(encode(result(1))), min_size=8, max_size=12),
)


class Ends:
    """A connection on which each of `TOKENS` is active."""

    def __init__(self) -> None:
        self.framer, self.conversation = Framer("s#1", FrameNumbers()), Conversation("s#1")
        for number, token in enumerate(TOKENS):
            sent = self.framer.sent(encode(call(number, token)), 1000.0, 1.0)
            self.conversation.read([sent])


def in_run(lines: list[bytes]) -> tuple[Sequence[Frame], FactRun]:
    ends = Ends()
    frames = ends.framer.run(lines, 1001.5, 2.5)
    return frames, ends.conversation.read(frames)


def one_by_one(lines: list[bytes]) -> tuple[Sequence[Frame], Sequence[Fact]]:
    """The frames, and the facts as the general reader alone states them."""
    framer, exchanges = Framer("s#1", FrameNumbers()), Exchanges()
    for number, token in enumerate(TOKENS):
        exchanges.state(framer.sent(raw := encode(call(number, token)), 1000.0, 1.0), decode(raw))
    frames = framer.received(lines, 1001.5, 2.5)
    stated = [exchanges.state(frame, finish(decode_in_slices(frame.raw))) for frame in frames]
    return frames, [fact for facts in stated for fact in facts]


@given(_lines)
def test_a_run_is_read_as_its_lines_are_one_by_one(lines: list[bytes]) -> None:
    frames, facts = in_run(lines)
    alone, stated = one_by_one(lines)
    assert frames == alone
    assert repr(facts) == repr(stated)  # by repr: NaN is not equal to itself, and 1 is to 1.0


@pytest.mark.parametrize("odd", FRAGMENTS[1:])
@pytest.mark.parametrize("other", FRAGMENTS[1:])
def test_no_two_lines_make_up_for_each_other(odd: bytes, other: bytes) -> None:
    lines = [TICK] * 4 + [odd, other] + [TICK] * 4
    assert in_run(lines) == one_by_one(lines)


@pytest.mark.parametrize(
    "line",
    [
        {"total": 7},
        {"total": 7.5, "message": "half"},
        {"message": "two: thirds"},
        {"message": "m" * MESSAGE_LIMIT},
    ],
)
def test_progress_alone_is_a_run_of_facts(line: dict[str, Any]) -> None:
    ticks = [as_bytes(progress(TOKENS[n % 4], n, **(line if n % 3 else {}))) for n in range(20)]
    frames, facts = in_run(ticks)
    assert isinstance(frames, FrameRun)
    assert not facts.others
    assert facts == one_by_one(ticks)[1]


def test_equal_values_of_a_run_keep_their_signs_and_types() -> None:
    totals = [0.0, -0.0, 0, 100, 100.0]
    for pair in itertools.product(totals, repeat=2):
        ticks = [as_bytes(progress("a", n, total=pair[n % 2])) for n in range(20)]
        facts = in_run(ticks)[1]
        assert repr(facts) == repr(one_by_one(ticks)[1])


@pytest.mark.parametrize(
    "line",
    [
        progress("unknown", 1),
        TICK.replace(b'"progress": 1', b'"progress": 0, "progress": 1'),
        TICK.replace(b'"progress": 1', b'"message": "\\u003a", "progress": 0, "progress": 1'),
        TICK.replace(b'"progress": 1', b'"progress": 1e999'),
        TICK.replace(b'"progress": 1', b'"progress": 1, "x": ' + b"[" * 199 + b"]" * 199),
        progress("a", True),
        notification("notifications/message", level="info", data=[1, {"a": None}]),
        notification("notifications/cancelled", requestId=0),
        {"jsonrpc": "2.0", "method": "notifications/message", "params": [1]},
        {"jsonrpc": "2.1", "method": "notifications/message", "params": {}},
        progress("a", None),
        progress("a", 1, total=None),
        result(1),
    ],
)
def test_one_other_message_stands_between_the_ticks(line: bytes | dict[str, Any]) -> None:
    lines = [TICK] * 8 + [as_bytes(line)] + [TICK] * 8
    frames, facts = in_run(lines)
    assert isinstance(frames, FrameRun)
    assert len(facts.ticks) == 16
    assert facts.places == [8]
    assert facts.others == [facts[8]]
    assert facts == one_by_one(lines)[1]


@pytest.mark.parametrize(
    "line",
    [
        progress("a", 1, message="m" * (MESSAGE_LIMIT + 1)),
        progress("a", 1, _meta={"tags": ["[", {"a": ":"}]}, extra={"b": [1.5, None]}),
        TICK.replace(b"notifications/", b"notifications\\/").replace(b"}", b' , "x":"\\u003c"}', 1),
    ],
)
def test_progress_with_any_further_members_is_a_tick(line: bytes | dict[str, Any]) -> None:
    lines = [TICK] * 8 + [as_bytes(line)] + [TICK] * 8
    facts = in_run(lines)[1]
    assert len(facts.ticks) == len(lines)
    assert facts == one_by_one(lines)[1]


@pytest.mark.parametrize(
    "name", ["_meta", "a:b", 'a"b', "a\\", "\N{SNOWMAN}", "", "n" * 99, "total"]
)
def test_further_members_are_read_as_exactly(name: str) -> None:
    for value in [{"a": ":"}, None, 7, "x: y", "\\u003a"]:
        tick = as_bytes(progress("a", 1, **{name: value}))
        twice = tick.replace(b'"progress"', as_bytes({name: 1})[1:-1] + b', "progress"')
        lines = [tick, twice, tick] * 3
        assert repr(in_run(lines)[1]) == repr(one_by_one(lines)[1])


def test_a_request_that_ends_within_a_run_has_no_more_ticks() -> None:
    tick, end = as_bytes(progress(TOKENS[1], 1)), encode(result(1))
    lines = [tick] * 9 + [end] + [tick] * 9
    facts = in_run(lines)[1]
    assert len(facts.ticks) == 9
    assert [type(fact) for fact in facts.others] == [RequestAnswered] + [ProgressReceived] * 9
    assert facts == one_by_one(lines)[1]


@pytest.mark.parametrize(("line", "most"), [(LOG, 160), (encode(result(99)), 40), (b'{"id"', 160)])
def test_what_takes_longer_comes_in_parts(line: bytes, most: int) -> None:
    ends, lines = Ends(), [TICK, line] * 380
    frames = ends.framer.run(lines, 1001.5, 2.5)
    assert isinstance(frames, FrameRun)
    parts = list(ends.conversation.read_parts(frames))
    assert len(parts) > 1
    assert max(len(facts.others) for _, facts in parts) <= most
    assert [frame for part, _ in parts for frame in part] == list(frames)
    assert [fact for _, facts in parts for fact in facts] == one_by_one(lines)[1]


@pytest.mark.parametrize(
    "lines", [[TICK] * 7, [TICK] * 8 + [b"[" + TICK + b"]"], [TICK] * 8 + [TICK + b" " * OVERSIZED]]
)
def test_lines_that_may_be_no_run_are_framed_at_once(lines: list[bytes]) -> None:
    assert isinstance(in_run(lines)[0], list)
    assert in_run(lines) == one_by_one(lines)


@given(st.slices(10) | st.integers(-10, 9), st.booleans())
def test_a_run_is_indexed_like_the_list_of_its_items(index: Any, is_made: bool) -> None:
    lines = [as_bytes(progress("a", n)) for n in range(10)]
    frames, facts = in_run(lines)
    alone, stated = one_by_one(lines)
    if is_made:
        assert list(frames) == alone
        assert list(facts) == stated
    assert frames[index] == alone[index]
    assert facts[index] == stated[index]


def test_following_frames_of_a_run_are_a_run() -> None:
    frames, _ = in_run([TICK] * 10)
    assert isinstance(frames[2:5], FrameRun)
    assert frames[2:5] != frames[3:6]


def test_an_item_is_the_same_however_often_one_looks() -> None:
    frames, facts = in_run([TICK] * 10)
    assert all(a is b for run in (frames, facts) for a, b in zip(run, run, strict=True))
    assert list(facts)[3] is facts[3]


def test_a_fact_stands_for_itself_and_tells_its_time() -> None:
    _, facts = in_run([TICK] * 10)
    (fact,) = facts[:1]
    assert fact_of(fact) is fact
    assert at_of(fact) == at_of(facts.ticks[0]) == 2.5


def test_a_run_is_equal_to_no_other_thing() -> None:
    frames, _ = in_run([TICK] * 10)
    assert frames != object()
    with pytest.raises(TypeError):
        hash(frames)
