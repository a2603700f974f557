"""The index: what is entered many at a time is what would be entered one by one."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from mcp_progress_monitor.protocol.conversation import Conversation
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, FactRun, Frame
from mcp_progress_monitor.recording import index
from mcp_progress_monitor.recording.index import Columns, Segment
from tests.unit.recording.wire import Wire, reply, request
from tests.unit.recording.wire import tick as tick_of

NAMES = ("ats", "kinds", "sources", "methods", "tokens", "exchanges")
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}'


def tick(number: int, at: float, when: float) -> Frame:
    """The frame of a tick of the request that is the first frame."""
    raw = (
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"t","progress":%d}}' % number
    )
    return Frame(number, "demo#1", Channel.RECEIVED, when, at, raw)


def stretch(aheads: Sequence[float]) -> tuple[list[Frame], FactRun]:
    """A request, and ticks a second apart; wall time is each so far ahead of monotonic time."""
    frames = [Frame(1, "demo#1", Channel.SENT, 100.0, 0.0, CALL)]
    frames += [tick(n, float(n), n + ahead) for n, ahead in enumerate(aheads, 2)]
    return frames, Conversation("demo#1").read(frames)


def entered(frames: Sequence[Frame], facts: FactRun, *cuts: int) -> Columns:
    """An index of the frames, taken in stretches that end at `cuts`."""
    columns = Columns()
    for begin, end in itertools.pairwise((0, *cuts, len(frames))):
        places = list(range(begin * 100, end * 100, 100))
        sizes = [len(frame.raw) for frame in frames[begin:end]]
        columns.take(frames[begin:end], facts[begin:end], 1, places, sizes)
    return columns


def whens(columns: Columns) -> Iterator[float]:
    """The wall times of all frames."""
    [segment] = columns.segments
    return (columns.when(place, at) for place, at in enumerate(segment.ats))


@pytest.mark.parametrize(
    "aheads", [[100.0] * 5, [100.0, 100.0, 160.0, 160.0, 100.0], [100.0003, 100.0, 99.9996, 7.0]]
)
def test_ticks_of_several_moments_are_entered_as_if_one_by_one(aheads: list[float]) -> None:
    frames, facts = stretch(aheads)
    one_by_one = entered(frames, facts, *range(1, len(frames)))

    together = entered(frames, facts, 1)

    [expected], [found] = one_by_one.segments, together.segments
    assert {name: getattr(found, name) for name in NAMES} == {
        name: getattr(expected, name) for name in NAMES
    }
    assert list(whens(together)) == list(whens(one_by_one))
    assert list(whens(together)) == pytest.approx([frame.when for frame in frames], abs=0.001)


def test_offsets_beyond_four_gigabytes_are_kept() -> None:
    frames, facts = stretch([100.0] * 5)
    columns, far = Columns(), 1 << 34
    columns.take(frames[:2], facts[:2], 1, [10, far], [5, 5])
    columns.take(frames[2:], facts[2:], 1, [far + 10 * row for row in range(4)], [5] * 4)
    places = [segment.base + offset for segment in columns.segments for offset in segment.offsets]
    assert places == [10, far, far, far + 10, far + 20, far + 30]


def test_numbers_beyond_a_column_are_cut_and_nothing_is_lost() -> None:
    frames, facts = stretch([100.0] * 3)
    shift = 1 << 33
    frames = [frame._replace(number=frame.number + shift) for frame in frames]
    facts = Conversation("demo#1").read(frames)
    columns = entered(frames, facts, 1)
    assert [columns.number(place) for place in range(4)] == [frame.number for frame in frames]
    assert list(columns.segments[0].exchanges) == [1] * 4


def test_a_reply_has_its_requests_token_until_far_more_requests_were_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_progress_monitor.recording.index._TOKENS_KEPT", 4)
    columns, conversation = Columns(), Conversation("demo#1")
    for number in range(1, 8):
        raw = CALL.replace(b'"id":1', b'"id":%d' % number)
        frames = [Frame(number, "demo#1", Channel.SENT, 0.0, 0.0, raw)]
        columns.take(frames, conversation.read(frames), 1, [0], [1])
    for number in (7, 1):
        raw = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number
        frames = [Frame(number + 100, "demo#1", Channel.RECEIVED, 0.0, 0.0, raw)]
        columns.take(frames, conversation.read(frames), 1, [0], [1])
    assert [columns.tokens.value(token) for token in columns.segments[0].tokens[-2:]] == ["t", None]


def test_frames_are_found_by_number_though_numbers_jump_to_and_fro() -> None:
    columns, numbers = Columns(), [1, 2, 10, 11, 5, 6, 100, 3]
    for number in numbers:
        frame = Frame(number, "demo#1", Channel.SENT, 0.0, 0.0, b"x")
        columns.take([frame], NO_FACTS, 1, [0], [1])
    assert [columns.place_of(number) for number in numbers] == list(range(8))
    assert [columns.number(place) for place in range(8)] == numbers
    assert [columns.place_of(number) for number in (0, 4, 7, 9, 12, 99, 101)] == [None] * 7


@pytest.mark.parametrize("rows", [index.ROWS, 7])
def test_a_run_is_entered_as_its_frames_are_one_by_one(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "ROWS", rows)
    wire, run, alone = Wire(), Columns(), Columns()
    for taken in (
        wire.sent(request("t", 1)),
        wire.sent(request(7, 2)),
        wire.run(*[tick_of("t" if n % 3 else 7, n) for n in range(20)]),
        wire.run(*[tick_of("t", n) for n in range(20, 30)], reply(1), tick_of("t")),
    ):
        count = len(taken.frames)
        places, sizes = list(range(run.end * 100, (run.end + count) * 100, 100)), [90] * count
        run.take(taken.frames, taken.facts, 1, places, sizes)
        for n in range(count):
            alone.take(taken.frames[n : n + 1], taken.facts[n : n + 1], 1, [places[n]], [90])
    assert run.end == alone.end == 34
    assert [contents(each) for each in run.segments] == [contents(each) for each in alone.segments]
    assert [run.number(place) for place in range(34)] == list(range(1, 35))


def contents(segment: Segment) -> list[object]:
    """All columns of a segment, and where it begins."""
    return [segment.first, *(list(getattr(segment, name)) for name in (*NAMES, "offsets", "sizes"))]
