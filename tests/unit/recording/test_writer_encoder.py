"""What is written can be read again: by the reader, from the index, and by people with grep."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given

from mcp_progress_monitor.protocol.frames import Frame, FrameRun
from mcp_progress_monitor.recording.format import header, unescaped
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.writer import Encoder
from tests.recorded_prefix import read_prefix
from tests.unit.recording.wire import CONNECTIONS, Taken, Wire, reply, request, tick, traffic


class Written:
    """A part that is encoded into, and where in it each frame's bytes are said to stand."""

    def __init__(self) -> None:
        self.content = header({"at": 0.0, "first": 1, "part": 1, "run": "r"})
        self.raws: dict[int, bytes] = {}
        self.encoder = Encoder(0.0)

    def take(self, frames: Sequence[Frame]) -> bytes:
        """Encode frames; return the lines."""
        lines, offsets, sizes, escapes = self.encoder.encode(frames, 1, len(self.content))
        self.content += lines
        for row, frame in enumerate(frames):
            raw = self.content[offsets[row] : offsets[row] + sizes[row]]
            self.raws[frame.number] = unescaped(raw) if escapes and escapes[row] else raw
        return lines

    def read(self) -> dict[int, Frame]:
        """What the reader finds, by number."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.mcprec")
            path.write_bytes(self.content)
            reader = RecordingReader(path)
            found = [frame for chunk in reader for frame in chunk.frames]
            assert reader.errors == []
        assert len({frame.number for frame in found}) == len(found)
        return {frame.number: frame for frame in found}


@given(traffic)
def test_any_frames_are_read_again_as_they_were(taken: list[Taken]) -> None:
    written = Written()
    for frames, _ in taken:
        written.take(frames)
    given_ = {frame.number: frame for frames, _ in taken for frame in frames}
    assert written.raws == {number: frame.raw for number, frame in given_.items()}
    assert written.read() == given_


def test_a_run_is_written_as_its_lines_are_one_by_one() -> None:
    wire, written, expected = Wire(), Written(), Written()
    for taken in (wire.sent(request("t")), wire.run(*[tick("t", n) for n in range(20)])):
        lines = written.take(taken.frames)
        assert lines == b"".join(expected.take([frame]) for frame in taken.frames)
    assert isinstance(taken.frames, FrameRun)
    assert written.raws == expected.raws
    assert written.encoder.encode([wire.received(b"{}").frames[0]], 1, 0).lines[:1] != b"#"


def test_a_chunk_is_written_as_one_line_for_each_message() -> None:
    written, wire = Written(), Wire()
    lines = written.take(wire.received(tick("t", 1), tick("t", 2)).frames).splitlines()
    assert lines == [
        b'2023-11-14T22:13:31.250001Z 11.000001 demo#1 < {"jsonrpc":"2.0",'
        b'"method":"notifications/progress","params":{"progressToken":"t","progress":%d}}' % n
        for n in (1, 2)
    ]


def test_a_number_is_written_only_where_it_does_not_follow_from_the_line_before() -> None:
    written, wire = Written(), Wire()
    lines = [wire.sent(request()).frames for _ in range(4)]
    assert written.take(lines[0]).count(b"#number") == 0
    assert written.take(lines[2]).startswith(b"#number 3\n")
    assert written.take(lines[3]).count(b"#number") == 0
    assert written.take(lines[1]).startswith(b"#number 2\n")
    assert sorted(written.read()) == [1, 2, 3, 4]


def test_elements_are_found_in_their_batch_and_have_no_line() -> None:
    written, wire = Written(), Wire()
    lines = written.take(wire.received(b"[%b, %b]" % (tick(1), reply())).frames)
    assert lines.count(b"\n") == 1
    assert written.raws[2] == tick(1)
    assert written.raws[3] == reply()


def test_elements_that_come_later_are_found_in_their_batch_as_well() -> None:
    written, wire = Written(), Wire()
    whole = b"[" + b",".join(tick("t", n) for n in range(1200)) + b"]"
    first, *others = wire.received_in_slices(whole)
    written.take(first.frames)
    written.take(wire.sent(request(), CONNECTIONS[1]).frames)
    assert len(others) > 2
    assert {written.take(frames) for frames, _ in others} == {b""}
    after = wire.sent(request())
    assert written.take(after.frames).startswith(b"#number 1203\n")
    assert written.raws[1201] == tick("t", 1199)
    assert len(written.read()) == 1203


def test_an_element_without_its_batch_is_written_on_a_line_of_its_own() -> None:
    written, wire = Written(), Wire()
    batch = wire.received(b"[1,2]").frames
    line = written.take(batch[1:2])
    assert line.endswith(b" < 1\n")
    assert written.raws[2] == b"1"


def test_the_end_of_a_connection_ends_its_batch() -> None:
    written, wire = Written(), Wire()
    first, elements = wire.received_in_slices(b"[1,2]")
    written.take(first.frames)
    written.take(wire.event("closed").frames)
    assert written.take(elements.frames).count(b"\n") > 1
    assert written.raws[2] == b"1"


def test_line_feeds_within_a_message_are_escaped_and_come_back() -> None:
    written, wire = Written(), Wire()
    raw = b'{\n"a":"\\n"}'
    line = written.take(wire.sent(raw).frames)
    assert line.endswith(b' >+ {\\n"a":"\\\\n"}\n')
    assert written.raws[1] == raw


def test_one_message_of_several_lines_does_not_change_the_others_of_its_chunk() -> None:
    written, wire = Written(), Wire()
    frames = list(wire.received(tick("t", 1), tick("t", 2), tick("t", 3)).frames)
    frames[1] = frames[1]._replace(raw=b"{\n}")
    lines = written.take(frames).splitlines()
    assert [line.split(b" ")[3] for line in lines] == [b"<", b"<+", b"<"]
    assert [written.raws[n] for n in (1, 2, 3)] == [frame.raw for frame in frames]


def test_times_count_from_the_base() -> None:
    wire = Wire()
    lines = Encoder(10.0).encode(wire.sent(request()).frames, 1, 0).lines
    found = read_prefix(lines)
    assert found is not None
    assert found.at == 1.000001


def test_elements_that_are_owed_to_an_earlier_part_are_reported() -> None:
    encoder, wire = Encoder(0.0), Wire()
    first, elements = wire.received_in_slices(b"[1,2]")
    begin = 100 + encoder.encode(first.frames, 1, 100).lines.index(b"[")
    assert encoder.owed(elements.frames, 1) == (0, 1)
    assert encoder.owed(elements.frames, 2) == (2, 1)
    encoded = encoder.encode(elements.frames, 1, 0)
    assert encoded.lines == b""
    assert encoded.offsets == [begin + 1, begin + 3]


def test_an_oversized_frame_is_written_down_without_a_copy_of_its_bytes() -> None:
    for raw in (b'{"a":1}', b"[1]", b'{\n"a":"\\"}'):
        frames = Wire().received(raw).frames
        pieces, encoded = Encoder(0.0).encode_oversized(frames[0], 1, 100)
        assert b"".join(pieces) == Encoder(0.0).encode(frames[:1], 1, 100).lines
        assert encoded[1:] == Encoder(0.0).encode(frames[:1], 1, 100)[1:]
        assert (pieces[1] is raw) is (b"\n" not in raw)
