"""Recordings that were cut, mixed up, or written to do harm: read as far as they are sound."""

import random
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.format import HEADER, NUMBER, escaped, prefix
from tests.unit.recording.written import Written, tick

_MESSAGES = [
    tick(1),
    tick(2, "b"),
    tick(-5, 7),
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"a"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"<script>alert(1)</script>"}]}}',
    b'{"jsonrpc":"2.0","id":1,"result":{"_meta":{"nextResumeToken":"t"}}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"\x1b[31mno"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'[{"jsonrpc":"2.0","id":2,"method":"ping"},[],1]',
    b"[" * 3000,
    b"\x00\xff\xfe",
    b"",
    b'{"event":"opened","command":"x","args":["y"],"pid":1}',
    b'{"event":"closed","reason":"z","exit_code":1}',
    b'{"event":"timed_out","request":2,"text":"late"}',
    b'{"event":"cancel_requested","request":2,"grace_s":0.5}',
]
_TIMES = st.floats(-1e6, 1e9) | st.floats(0, 20)


@st.composite
def _frames(draw: st.DrawFn) -> bytes:
    """A line that may well be a frame."""
    raw, channel = draw(st.sampled_from(_MESSAGES)), draw(st.sampled_from(list(Channel)))
    connection = draw(st.sampled_from(["a#1", "a#2", "b c#1", "\x1b[2J", "#"]))
    when, at = draw(st.floats(0, 4e9)), draw(_TIMES)
    is_escaped = draw(st.booleans())
    flags = {"is_complete": draw(st.booleans()), "is_escaped": is_escaped}
    stamp = prefix(connection, channel, when, at, **flags)
    return stamp + (escaped(raw) if is_escaped else raw)


_LINES = st.one_of(
    _frames(),
    _frames(),
    st.integers(-3, 1 << 40).map(lambda number: NUMBER + b"%d" % number),
    st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")),
    st.sampled_from([HEADER + b'{"version":2,"at":5,"first":2}', HEADER + b"{", b"#", b""]),
)


def _reads(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "hostile.mcprec"

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(
        lines=st.lists(_LINES, max_size=40),
        has_header=st.booleans(),
        cut=st.integers(0, 60),
        flips=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6),
    )
    def read(
        lines: list[bytes], *, has_header: bool, cut: int, flips: list[tuple[int, int]]
    ) -> None:
        head = Written().lines if has_header else []
        content = bytearray(b"".join(head) + b"".join(line + b"\n" for line in lines))
        for place, value in flips:
            if place < len(content):
                content[place] = value
        path.write_bytes(content[: len(content) - cut])
        _play(path)

    read()


def _play(path: Path) -> None:
    """Read a file as every front end does, and look at all that it gives."""
    try:
        playback = Playback(path)
    except UserError:
        return
    numbers: list[int] = []
    playback.subscribe(lambda update: numbers.extend(f.number for f in update.frames))
    while playback.advance(1.0):
        pass
    timeline = playback.timeline
    assert len(set(numbers)) == len(numbers) == timeline.end
    assert [frame.number for frame in timeline.frames(0, timeline.end)] == numbers
    states = [
        (playback.jobs.snapshot(job), playback.jobs.detail(job)) for job in playback.jobs.ids()
    ]
    assert all(state is not None for pair in states for state in pair)
    assert all(error.what for error in playback.errors)
    assert len(playback.errors) < 20
    assert playback.servers.snapshots() is not None
    before = [detail for _, detail in states]
    playback.restart()
    while playback.step():
        pass
    assert [playback.jobs.detail(job) for job in playback.jobs.ids()] == before


def test_whatever_a_file_holds_is_read_as_far_as_it_is_sound(tmp_path: Path) -> None:
    _reads(tmp_path, examples=20)


@pytest.mark.campaign
@pytest.mark.timeout(1800)
def test_whatever_a_file_holds_is_read_for_long(tmp_path: Path) -> None:
    _reads(tmp_path, examples=20_000)


def test_any_number_of_sessions_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.mcprec"
    with path.open("wb") as file:
        file.write(Written().content)
        for place in range(1_500):
            file.write(prefix(f"s{place}#1", Channel.EVENT, 1e9, 0.0) + b'{"event":"opened"}\n')
    playback = Playback(path)
    tracemalloc.start()
    while playback.advance(0.05):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert playback.timeline.end == 1_500
    assert peak < 22_000_000  # of a thousand servers the definitions are kept


def test_lines_in_any_order_are_read(tmp_path: Path) -> None:
    written = Written()
    written.event("opened")
    for identity in range(1, 40):
        written.call(identity, token=f"t{identity}", at=identity * 0.1)
        written.tick(5, identity * 0.1 + 0.01, token=f"t{identity}")
        written.reply(identity, identity * 0.1 + 0.02)
    order = random.Random(7)  # noqa: S311 - the same order each time
    lines = written.lines[1:]
    for _ in range(5):
        order.shuffle(lines)
        path = tmp_path / "a.mcprec"
        path.write_bytes(written.lines[0] + b"".join(lines))
        _play(path)
