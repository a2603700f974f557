"""Stamps, read by the hundred thousand: as `read_prefix` reads them, and to the same floats."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.files import StampReader
from mcp_progress_monitor.recording.format import LINE_FORMATS, VERSION, prefix
from tests.recorded_prefix import read_prefix


def _stamps(base_us: int = 0) -> StampReader:
    return StampReader(LINE_FORMATS[VERSION], base_us)


@given(
    st.text(min_size=1, max_size=40),
    st.sampled_from(list(Channel)),
    st.integers(0, 4_000_000_000_000_000),
    st.integers(0, 100_000_000_000_000),
    st.integers(-1_000_000_000, 1_000_000_000_000),
    st.booleans(),
    st.booleans(),
)
@example("a b#1", Channel.SENT, 0, 0, -500_000, True, False)
def test_a_stamp_gives_back_what_was_written(
    connection: str,
    channel: Channel,
    when_us: int,
    base_us: int,
    since_us: int,
    is_complete: bool,
    is_escaped: bool,
) -> None:
    flags = {"is_complete": is_complete, "is_escaped": is_escaped}
    when, since = when_us / 1e6, since_us / 1e6
    line = prefix(connection, channel, when, since, **flags) + b"raw"
    stamp = _stamps(base_us).read(line)
    slow = read_prefix(line)
    assert stamp is not None
    assert slow is not None
    assert (stamp.source.connection, stamp.source.channel) == (slow.connection, channel)
    assert stamp.source[2:] == (is_complete, is_escaped)
    assert stamp.when == when == slow.when
    assert stamp.at == (base_us + since_us) / 1e6
    assert line[stamp.length :] == b"raw"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"#number 3",
        b"2026-13-20T19:03:11.123456Z 1.000000 demo#1 < {}",
        b"2026-11-20T25:03:11.123456Z 1.000000 demo#1 < {}",
        b"0000-11-20T19:03:11.123456Z 1.000000 demo#1 < {}",
        b"2026-11-20T19:03:11.123456Z 1.0 demo#1 < {}",
        b"2026-11-20T19:03:11.123456Z 1.000000 demo #1 < {}",
        b"2026-11-20T19:03:11.123456Z 1.000000 demo#1 ? {}",
        b"2026-11-20T19:03:11.123456Z 1.000000 demo#1 <{}",
        b" 2026-11-20T19:03:11.123456Z 1.000000 demo#1 < {}",
    ],
)
def test_what_is_no_stamp_is_none(line: bytes) -> None:
    assert _stamps().read(line) is None
    assert read_prefix(line) is None


def test_sources_are_the_same_objects() -> None:
    stamps = _stamps()
    read = [stamps.read(prefix("a#1", Channel.SENT, 1.0, at) + b"{}") for at in (1.0, 2.0)]
    assert read[0] is not None
    assert read[1] is not None
    assert read[0].source is read[1].source


def test_a_million_connections_are_read_in_bounded_memory() -> None:
    stamps = _stamps()
    for place in range(10_000):
        stamps.read(prefix(f"a#{place}", Channel.SENT, 1.0, 1.0) + b"{}")
    assert len(stamps._sources) <= 4096  # noqa: SLF001 - nothing else tells
