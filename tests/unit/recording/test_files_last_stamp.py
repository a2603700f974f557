"""The first and the last stamp of a part."""

from pathlib import Path

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.files import first_stamp, last_stamp, open_part
from tests.unit.recording.written import AT, Written


def test_both_are_found_without_reading_what_is_between(tmp_path: Path) -> None:
    written = Written()
    for place in range(3000):
        written.tick(place, float(place))
    part = open_part(written.save(tmp_path / "a.mcprec"))
    first, last = first_stamp(part), last_stamp(part)
    assert first is not None
    assert last is not None
    assert (first.at, last.at) == (AT, AT + 2999)


def test_a_large_last_line_is_looked_behind(tmp_path: Path) -> None:
    written = Written()
    written.tick(1, 1.0)
    written.line(Channel.RECEIVED, b"x" * 500_000, 2.0)
    last = last_stamp(open_part(written.save(tmp_path / "a.mcprec")))
    assert last is not None
    assert last.at == AT + 2


def test_without_frames_there_is_neither(tmp_path: Path) -> None:
    part = open_part(Written().save(tmp_path / "a.mcprec"))
    assert first_stamp(part) is None
    assert last_stamp(part) is None


def test_a_last_line_of_many_megabytes_leaves_it_unknown(tmp_path: Path) -> None:
    written = Written()
    written.line(Channel.RECEIVED, b"x" * 5_000_000, 2.0)
    assert last_stamp(open_part(written.save(tmp_path / "a.mcprec"))) is None
