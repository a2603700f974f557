"""The recordings of another machine, copied from its stream."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.files import RecordingFaults, parts_of
from mcp_progress_monitor.recording.mirror import LONGEST_BANNER, StreamMirror
from mcp_progress_monitor.recording.stream import StreamMarks
from tests.patience import allowed
from tests.unit.recording.test_stream import Recording, Streamed

if TYPE_CHECKING:
    from pathlib import Path

_RUN = f"{11:032x}"
_HEADER = (
    b'#mcp-recording {"version": 2, "at": 5.0, "started": "2026-11-28T05:00:00+00:00",'
    b' "stream": {"host": "box"}}\n'
)


def _mirror(tmp_path: Path, most_bytes: int = 1 << 30, most_files: int = 10_000) -> StreamMirror:
    folder = tmp_path / "mirror"
    folder.mkdir()
    return StreamMirror(folder, lambda: 1000.0, most_bytes, most_files)


def _ended(run: int) -> bytes:
    """A recording in a stream, which has ended."""
    head = _HEADER.replace(b"}}", b'}, "run": "%032x"}' % run)
    return b"#from %032x 1 0\n%s%s\n#over %032x {}\n" % (run, head, b"x" * 500, run)


def _marks(mirror: StreamMirror) -> StreamMarks:
    return StreamMarks.read(mirror.marks().splitlines(keepends=True))


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_the_copies_are_the_same_to_the_byte(tmp_path: Path, size: int) -> None:
    live = tmp_path / "live"
    one, two = Recording(live, 11), Recording(live, 22)
    one.call()
    two.call(0.5)
    one.tick(1.0, 10)
    data = Streamed(live, tmp_path / "stream").data
    mirror = _mirror(tmp_path)
    for begin in range(0, len(data), size):
        mirror.feed(bytes(data[begin : begin + size]))
    copies = {path.read_bytes() for path in (tmp_path / "mirror").glob("*/*")}
    assert copies == {one.path.read_bytes(), two.path.read_bytes()}
    assert mirror.host


@pytest.mark.parametrize("knows_marks", [True, False])
def test_a_connection_that_breaks_anywhere_loses_and_doubles_nothing(
    tmp_path: Path, knows_marks: bool
) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    mirror = _mirror(tmp_path)
    for at in range(1, 40):
        one.tick(float(at), float(at))
        mirror.begin()
        data = Streamed(live, tmp_path / "stream", _marks(mirror) if knows_marks else None).data
        mirror.feed(bytes(data[: len(data) * at // 40]))
    one.reply(41.0)
    one.end()
    mirror.begin()
    stream = Streamed(live, tmp_path / "stream", _marks(mirror))
    stream.turn()
    mirror.feed(bytes(stream.data))
    recording = mirror.recordings[_RUN]
    assert recording.path.read_bytes() == one.path.read_bytes()
    assert recording.is_over


def test_further_parts_are_further_files(tmp_path: Path) -> None:
    live = tmp_path / "live"
    one = Recording(live, 11)
    one.call()
    one.begin_part(2)
    one.tick(3.0, 30)
    stream = Streamed(live, tmp_path / "stream")
    stream.turn()
    mirror = _mirror(tmp_path)
    mirror.feed(bytes(stream.data))
    names = sorted(path.name for path in (tmp_path / "mirror").glob("*/*"))
    assert names == [f"{_RUN}.2.mcprec", f"{_RUN}.mcprec"]


def test_a_recording_that_is_no_longer_listed_is_over(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER + f"#from {_RUN} 1 0\n".encode())
    now = b"#now 2026-11-28T05:00:00.000000Z 6.000000\n"
    mirror.feed(now)
    assert not mirror.recordings[_RUN].is_over
    mirror.begin()
    mirror.feed(_HEADER + now)
    assert mirror.recordings[_RUN].is_over


def test_a_banner_before_the_stream_is_skipped(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(b"Welcome to box!\n" * 100)
    assert not mirror.recordings
    assert "Welcome" in mirror.quoted()
    mirror.feed(_HEADER)
    assert mirror.host == "box"


def test_endless_other_output_is_refused_and_quoted(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    with pytest.raises(UserError, match="something else") as error:
        mirror.feed(b"hello\x1b[31m" * LONGEST_BANNER)
    assert error.value.details.detail.startswith("hello")
    assert "\x1b" not in error.value.details.detail


@pytest.mark.parametrize(
    ("header", "what"),
    [({"version": 9, "stream": {}}, "version 9"), ({"version": 2}, "single recording")],
)
def test_another_version_and_a_single_recording_are_refused(
    tmp_path: Path, header: dict[str, object], what: str
) -> None:
    with pytest.raises(UserError, match=what):
        _mirror(tmp_path).feed(b"#mcp-recording " + json.dumps(header).encode() + b"\n")


def test_a_stream_that_is_too_large_is_refused(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path, most_bytes=1000)
    with pytest.raises(UserError, match="more than"):
        mirror.feed(_HEADER + f"#from {_RUN} 1 0\n".encode() + b"x" * 1001 + b"\n")


@pytest.mark.parametrize(("most_bytes", "most_files"), [(4000, 9), (1 << 16, 3)])
def test_recordings_that_were_read_to_their_end_make_room(
    tmp_path: Path, most_bytes: int, most_files: int
) -> None:
    mirror = _mirror(tmp_path, most_bytes, most_files)
    mirror.feed(_HEADER + b"#from %032x 1 0\n" % 0 + _HEADER)  # is live all the time
    for run in range(1, 30):
        mirror.feed(_ended(run))
        assert mirror.begun.pop().has_ended()
    kept = {path.name for path in (tmp_path / "mirror").iterdir()}
    assert kept == mirror.recordings.keys()
    assert {f"{0:032x}", f"{29:032x}"} <= kept
    assert mirror.size == sum(p.stat().st_size for p in (tmp_path / "mirror").glob("*/*"))
    unread = b"".join(map(_ended, range(30, 60)))
    with pytest.raises(UserError, match=r"has (more than|too many)"):
        mirror.feed(unread)


def test_a_machine_that_slept_has_another_clock_from_then_on(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    for at, is_ours in ((5.0, 995.0), (5.5, 995.0), (300.0, 700.0), (1.0, 700.0)):
        mirror.begin()
        mirror.feed(_HEADER.replace(b"5.0", b"%f" % at) + f"#from {_RUN} 1 0\nabc\n".encode())
        mirror.feed(b"#now 2026-11-28T05:00:00.000000Z %f\n" % at)
        assert mirror.recordings[_RUN].shift_s == is_ours


def test_a_skipped_part_is_sent_again_from_its_beginning(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER + f"#from {_RUN} 1 0\nabc\n".encode())
    mirror.begin()
    with pytest.raises(UserError, match="skips"):
        mirror.feed(_HEADER + f"#from {_RUN} 1 9\n".encode())
    assert not _marks(mirror).places
    mirror.begin()
    mirror.feed(_HEADER + f"#from {_RUN} 1 0\nabc\ndef\n".encode())
    assert mirror.recordings[_RUN].path.read_bytes() == b"abc\ndef\n"


@pytest.mark.parametrize(
    "line", [b"#from ../../x 1 0\n", b"#from 1 1 0\n", b"#now yesterday\n", b"#over x\n", b"x\n"]
)
def test_lines_that_make_no_sense_are_ignored(tmp_path: Path, line: bytes) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER + line)
    assert not mirror.recordings


def test_the_copies_are_for_their_owner_only(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER + f"#from {_RUN} 1 0\nabc\n".encode())
    if sys.platform != "win32":
        path = mirror.recordings[_RUN].path
        assert (path.stat().st_mode | path.parent.stat().st_mode) & 0o077 == 0


def test_opening_a_copy_takes_the_same_time_beside_thousands(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    head = _HEADER.replace(b"}}", b'}, "run": "%s"}' % _RUN.encode())
    mirror.feed(_HEADER + b"".join(b"#from %032x 1 0\n" % run + head for run in range(3000)))
    began = time.process_time()
    for recording in mirror.begun[:300]:
        assert len(parts_of(recording.path, RecordingFaults())) == 1
    assert time.process_time() - began < allowed(1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_copy_does_not_follow_a_link(tmp_path: Path) -> None:
    mirror, other = _mirror(tmp_path), tmp_path / "other"
    other.write_bytes(b"precious")
    (tmp_path / "mirror" / _RUN).mkdir()
    (tmp_path / "mirror" / _RUN / f"{_RUN}.mcprec").symlink_to(other)
    with pytest.raises(UserError, match="Cannot store"):
        mirror.feed(_HEADER + f"#from {_RUN} 1 0\nabc\n".encode())
    assert other.read_bytes() == b"precious"


@pytest.mark.skipif(sys.platform == "win32", reason="a limit of POSIX stands for the full disk")
def test_a_full_disk_loses_and_doubles_nothing(tmp_path: Path) -> None:
    import resource

    mirror = _mirror(tmp_path)
    start = _HEADER + f"#from {_RUN} 1 0\n".encode()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6, limits[1]))
    try:
        mirror.feed(start + b"abc\n")
        with pytest.raises(UserError, match="Cannot store"):
            mirror.feed(b"defghi\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    mirror.begin()
    mirror.feed(start + b"abc\ndefghi\njkl\n")
    assert mirror.recordings[_RUN].path.read_bytes() == b"abc\ndefghi\njkl\n"


def test_a_stream_of_too_many_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    mirror = StreamMirror(tmp_path / "mirror", lambda: 0.0, most_files=10)
    parts = b"".join(f"#from {_RUN} {part} 0\nx\n".encode() for part in range(1, 20))
    with pytest.raises(UserError, match="too many files"):
        mirror.feed(_HEADER + parts)
    assert len(list((tmp_path / "mirror").glob("*/*"))) == 10


def test_recordings_are_listed_once_their_header_is_there(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER + f"#from {_RUN} 1 0\n".encode())
    assert not mirror.begun
    mirror.feed(f"#from {_RUN} 3 0\n".encode() + _HEADER)  # the first parts were deleted there
    (recording,) = mirror.begun
    assert recording.path.read_bytes() == _HEADER
    mirror.begun.clear()
    mirror.feed(f"#from {_RUN} 4 0\n".encode() + _HEADER)
    assert not mirror.begun


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00+23:00"])
def test_a_beginning_beyond_the_calendar_is_none(tmp_path: Path, when: str) -> None:
    mirror = _mirror(tmp_path)
    mirror.feed(_HEADER.replace(b"2026-11-28T05:00:00+00:00", when.encode()))
    assert _marks(mirror) == ({}, None)


def test_a_banner_that_comes_byte_by_byte_takes_no_time(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path)
    began = time.process_time()
    for _ in range(LONGEST_BANNER):
        mirror.feed(b"x")
    assert time.process_time() - began < allowed(3)
    mirror.begin()
    for at in range(len(_HEADER)):
        mirror.feed((b"x\n" + _HEADER)[at : at + 1])
    assert not mirror.has_begun
    mirror.feed(_HEADER[-2:])
    assert mirror.host == "box"
