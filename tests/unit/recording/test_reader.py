"""A recording read back: the frames that were, and words for what is not sound."""

import json
from pathlib import Path

import pytest

from mcp_progress_monitor.protocol.facts import UnreadableReceived
from mcp_progress_monitor.protocol.frames import NO_FACTS, Channel, Frame, Part
from mcp_progress_monitor.recording.format import NUMBER, escaped
from mcp_progress_monitor.recording.reader import Chunk, FileBytes, RecordingReader
from mcp_progress_monitor.recording.timeline import Timeline
from tests.unit.recording.written import AT, WHEN, Written, tick

GOLDEN = Path(__file__).parents[2] / "recordings"


def read(path: Path) -> tuple[list[Frame], RecordingReader]:
    """All frames, after it has been seen that each one's bytes stand where they are said to."""
    reader = RecordingReader(path)
    chunks = list(reader)
    for chunk in chunks:
        _see_places(chunk, {part.number: part.path for part in reader.parts})
    assert reader.read_bytes == reader.total_bytes
    return [frame for chunk in chunks for frame in chunk.frames], reader


def _see_places(chunk: Chunk, paths: dict[int, Path]) -> None:
    timeline = Timeline()
    timeline.add_part(chunk.part, FileBytes(paths[chunk.part]))
    timeline.columns.take(
        chunk.frames, NO_FACTS, chunk.part, chunk.offsets, chunk.sizes, is_escaped=chunk.is_escaped
    )
    found = timeline.frames(0, timeline.end)
    if chunk.facts is None:
        assert [frame.raw for frame in found] == [frame.raw for frame in chunk.frames]
    assert [frame.number for frame in found] == [frame.number for frame in chunk.frames]
    assert [frame.part for frame in found] == [frame.part for frame in chunk.frames]


def whats(reader: RecordingReader) -> list[str]:
    return [error.what for error in reader.errors]


def test_frames_come_back_with_their_times_and_exact_bytes(tmp_path: Path) -> None:
    written = Written()
    written.event("opened", 0.1)
    written.line(Channel.SENT, b'{"a": 1}', 0.2)
    written.line(Channel.RECEIVED, b"no json \xff\x00\r", 0.3)
    written.line(Channel.STDERR, b"  a line ", 0.4, is_complete=False)
    written.line(Channel.RECEIVED, b"", 0.5, connection="other server#2")
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert reader.errors == []
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    assert [frame.raw for frame in frames[1:]] == [
        b'{"a": 1}', b"no json \xff\x00\r", b"  a line ", b"",
    ]  # fmt: skip
    assert [frame.at for frame in frames] == [AT + 0.1, AT + 0.2, AT + 0.3, AT + 0.4, AT + 0.5]
    assert frames[4].when == round(WHEN + 0.5, 6)
    assert [frame.connection for frame in frames[3:]] == ["demo#1", "other server#2"]
    assert [frame.is_complete for frame in frames] == [True, True, True, False, True]


def test_a_flood_comes_in_chunks_of_one_connection_and_channel(tmp_path: Path) -> None:
    written = Written()
    for place in range(600):
        written.tick(place)
    written.tick(1, connection="b#1")
    written.tick(601)
    chunks = list(RecordingReader(written.save(tmp_path / "a.mcprec")))
    assert [len(chunk.frames) for chunk in chunks] == [256, 256, 88, 1, 1]


def test_a_batch_is_cut_into_its_elements_again(tmp_path: Path) -> None:
    raw = b"[" + b", ".join(tick(place) for place in range(700)) + b"]"
    written = Written()
    written.line(Channel.RECEIVED, raw)
    written.tick(1)
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert len(frames) == 702
    assert frames[0].raw == raw
    assert [frame.part for frame in frames[1:701]] == [Part(n, 700) for n in range(1, 701)]
    assert frames[-1].number == 702
    assert reader.errors == []


def test_a_batch_of_equal_and_nested_elements_has_each_where_it_stands(tmp_path: Path) -> None:
    written = Written()
    written.line(Channel.RECEIVED, b"\xef\xbb\xbf [[] ,1, [1],1,[[],[]] ,{}]")
    frames, _ = read(written.save(tmp_path / "a.mcprec"))
    assert [frame.raw for frame in frames[1:]] == [b"[]", b"1", b"[1]", b"1", b"[[],[]]", b"{}"]


def test_escaped_lines_are_read_back(tmp_path: Path) -> None:
    raws = [b'{"a":\n "\\n"}', b'[{"a":1},\n{"b":"\\\\"}]', b"\\" * 99]
    written = Written()
    for raw in raws:
        written.line(Channel.RECEIVED, escaped(raw), is_escaped=True)
    frames, _ = read(written.save(tmp_path / "a.mcprec"))
    assert [frame.raw for frame in frames if frame.part is None] == raws
    assert [f.raw for f in frames if f.part is not None] == [b'{"a":1}', b'{"b":"\\\\"}']


def test_numbers_are_those_that_were_recorded(tmp_path: Path) -> None:
    written = Written(first=5)
    written.tick(1)
    written.lines.append(NUMBER + b"10\n")
    written.tick(2)
    written.tick(3)
    written.lines.append(NUMBER + b"7\n")
    written.tick(4)
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert [frame.number for frame in frames] == [5, 10, 11, 7]
    assert reader.errors == []


@pytest.mark.parametrize("lie", [b"1", b"0", b"-4", b"x", b"", b"4294967296", b"9" * 400, b"1_0"])
def test_a_number_that_lies_is_reported_and_no_number_is_given_twice(
    tmp_path: Path, lie: bytes
) -> None:
    written = Written()
    written.tick(1)
    written.lines.append(NUMBER + lie + b"\n")
    written.tick(2)
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert [frame.number for frame in frames] == [1, 2]
    assert whats(reader) == ["Invalid frame number; frames are renumbered"]


def test_unknown_directives_are_passed_over(tmp_path: Path) -> None:
    written = Written()
    written.lines.append(b"#of-tomorrow {}\n")
    written.tick(1)
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert len(frames) == 1
    assert reader.errors == []


def test_foreign_lines_are_left_out_and_reported_once(tmp_path: Path) -> None:
    written = Written()
    for place in range(5):
        written.tick(place)
        written.lines.append(b"something \x1b[31m else\n")
    frames, reader = read(written.save(tmp_path / "a.mcprec"))
    assert [frame.number for frame in frames] == [1, 2, 3, 4, 5]
    (error,) = reader.errors
    assert error.what == "A line that is not a frame was skipped"
    assert f"byte {len(b''.join(written.lines[:2])) + 1}" in error.where
    assert "\x1b" not in error.as_text()
    assert "4 more cases" in error.detail


def test_lines_that_are_no_frames_are_passed_over_in_slices(tmp_path: Path) -> None:
    written = Written()
    written.lines.append(b"x\n" * 10_000)
    written.tick(1)
    slices = list(RecordingReader(written.save(tmp_path / "a.mcprec")).slices())
    assert sum(chunk is None for chunk in slices) >= 10
    assert sum(chunk is not None for chunk in slices) == 1


@pytest.mark.parametrize("cut", [1, 20, 60, 100])
def test_a_last_line_that_was_cut_off_is_left_out_and_reported(tmp_path: Path, cut: int) -> None:
    written = Written()
    written.tick(1)
    written.tick(2)
    path = tmp_path / "a.mcprec"
    path.write_bytes(written.content[: -1 - cut])
    frames, reader = read(path)
    assert [frame.number for frame in frames] == [1]
    assert whats(reader) == ["The recording ends in the middle of a line, which was skipped"]


def test_a_last_line_without_a_line_feed_counts_if_it_is_whole(tmp_path: Path) -> None:
    written = Written()
    written.tick(1)
    path = tmp_path / "a.mcprec"
    path.write_bytes(written.content[:-1])
    frames, reader = read(path)
    assert len(frames) == 1
    assert reader.errors == []


def test_a_line_of_more_than_can_be_held_is_known_by_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mcp_progress_monitor.recording.reader.read_blocks.__defaults__", (3_000_000, 1 << 20)
    )
    written = Written()
    written.call()
    written.line(Channel.RECEIVED, b'{"x":"' + b"y" * 5_000_000 + b'"}', 1.0)
    written.tick(1, 2.0)
    path = written.save(tmp_path / "a.mcprec")
    reader = RecordingReader(path)
    chunks = list(reader)
    (huge,) = [chunk for chunk in chunks if chunk.facts is not None]
    assert huge.sizes == [5_000_008]
    assert len(huge.frames[0].raw) <= 64 * 1024
    assert huge.facts is not None
    (fact,) = huge.facts
    assert isinstance(fact, UnreadableReceived)
    assert fact.number == 2
    assert whats(reader) == ["A line is too long to read"]
    assert chunks[-1].frames[0].raw == tick(1)
    timeline = Timeline()
    timeline.add_part(1, FileBytes(path))
    timeline.columns.take(huge.frames, huge.facts, 1, huge.offsets, huge.sizes)
    whole = timeline.frame(0)
    assert whole is not None
    assert len(whole.raw) == 5_000_008


def test_two_recordings_in_one_file_are_read_one_after_the_other(tmp_path: Path) -> None:
    one, other = Written(at=10.0, run="a"), Written(at=50.0, run="b", first=1)
    one.tick(1, 1.0)
    other.tick(2, 1.0)
    path = tmp_path / "both.mcprec"
    path.write_bytes(one.content + other.content)
    frames, reader = read(path)
    assert [(frame.number, frame.at) for frame in frames] == [(1, 11.0), (2, 51.0)]
    assert whats(reader) == ["Invalid frame number; frames are renumbered"]


def test_parts_are_read_one_after_the_other(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        written = Written(part=number, first=number * 10, run="r")
        written.tick(number, float(number))
        name = "a.mcprec" if number == 1 else f"a.{number}.mcprec"
        written.save(tmp_path / name)
    frames, reader = read(tmp_path / "a.2.mcprec")
    assert [(frame.number, frame.at) for frame in frames] == [
        (10, AT + 1), (20, AT + 2), (30, AT + 3),
    ]  # fmt: skip
    assert reader.errors == []


def test_a_file_that_goes_while_it_is_read_is_reported(tmp_path: Path) -> None:
    path = Written().save(tmp_path / "a.mcprec")
    reader = RecordingReader(path)
    path.unlink()
    assert list(reader) == []
    assert whats(reader) == ["Cannot read the rest of the recording"]


@pytest.mark.parametrize("name", ["version-1.mcprec", "version-2.mcprec"])
def test_recordings_of_every_version_give_the_same_frames(name: str) -> None:
    frames, reader = read(GOLDEN / name)
    expected = json.loads((GOLDEN / "frames.json").read_text())
    assert reader.errors == []
    found = [
        [
            f.number,
            f.connection,
            f.channel.name,
            f.when,
            f.at,
            f.raw.decode(errors="surrogateescape"),
            f.is_complete,
        ]
        for f in frames
    ]
    assert found == expected
