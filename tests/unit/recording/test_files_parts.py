"""Finding the files of a recording, and refusing what is none."""

import os
import sys
from pathlib import Path

import pytest

from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.files import RecordingFaults, open_part, parts_of
from mcp_progress_monitor.recording.format import prefix
from tests.unit.recording.written import Written


def test_a_header_tells_part_number_and_base(tmp_path: Path) -> None:
    path = Written(part=3, first=77, at=1.5, run="r").save(tmp_path / "a.3.mcprec")
    part = open_part(path)
    assert (part.version, part.number, part.first, part.base_us) == (2, 3, 77, 1_500_000)
    assert part.begin == part.size == path.stat().st_size
    assert part.fields["run"] == "r"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\xff" * 50, "not a recording"),
        (b"# A heading\n\nSome text\n", "not a recording"),
        (b'{"jsonrpc":"2.0"}\n', "not a recording"),
        (b'\xef\xbb\xbf#mcp-recording {"version":2}\n', "modified by an editor"),
        (b'#mcp-recording {"version":2}\r\n', "modified by an editor"),
        (b"#mcp-recording \n", "header cannot be read"),
        (b"#mcp-recording {\n", "header cannot be read"),
        (b"#mcp-recording " + b"[" * 5000 + b"\n", "header cannot be read"),
        (b"#mcp-recording []\n", "version cannot be read"),
        (b'#mcp-recording {"version":"2"}\n', "version cannot be read"),
        (b'#mcp-recording {"version":true}\n', "version cannot be read"),
        (b'#mcp-recording {"version":0}\n', "version cannot be read"),
        (b'#mcp-recording {"version":3}\n', "has version 3"),
        (b'#mcp-recording {"version":1' + b"0" * 400 + b"}\n", "version cannot be read"),
        (b'#mcp-recording {"version":2,' + b" " * 100_000, "header is incomplete"),
    ],
)
def test_what_is_no_recording_that_can_be_read_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "a.mcprec"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as refused:
        parts_of(path, RecordingFaults())
    assert refused.value.details.where == str(path)
    assert refused.value.details.hint


def test_a_file_that_is_not_there_and_a_folder_are_refused_with_a_message(tmp_path: Path) -> None:
    for path in (tmp_path / "none.mcprec", tmp_path):
        with pytest.raises(UserError, match="cannot be read"):
            open_part(path)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders on Windows")
def test_a_pipe_is_refused_and_one_beside_a_recording_left_out_without_waiting(
    tmp_path: Path,
) -> None:
    path = Written(run="r").save(tmp_path / "a.mcprec")
    os.mkfifo(tmp_path / "a.2.mcprec")
    with pytest.raises(UserError, match="not a regular file"):
        open_part(tmp_path / "a.2.mcprec")
    faults = RecordingFaults()
    assert [part.path for part in parts_of(path, faults)] == [path]
    assert [error.where for error in faults.errors] == [str(tmp_path / "a.2.mcprec")]


@pytest.mark.parametrize("at", ['"x"', "1e400", "null", "1e300", "[]", "1" * 400])
def test_a_base_that_cannot_be_is_zero(tmp_path: Path, at: str) -> None:
    path = tmp_path / "a.mcprec"
    path.write_bytes(b'#mcp-recording {"version":2,"at":%s}\n' % at.encode())
    assert open_part(path).base_us == 0


@pytest.mark.parametrize("first", ["0", "-1", "1.5", '"7"', "true", "99999999999999999999"])
def test_a_first_number_that_cannot_be_is_unknown(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.mcprec"
    path.write_bytes(b'#mcp-recording {"version":2,"first":%s}\n' % first.encode())
    assert open_part(path).first is None


def test_lines_that_were_cut_out_are_a_recording(tmp_path: Path) -> None:
    faults = RecordingFaults()
    path = tmp_path / "found.txt"
    path.write_bytes(prefix("demo#1", Channel.SENT, 1e9, 1.0) + b"{}\n")
    (part,) = parts_of(path, faults)
    assert (part.version, part.begin, part.base_us, part.first) == (2, 0, 0, None)
    assert [error.what for error in faults.errors] == ["The recording has no header"]


def test_all_parts_of_a_run_are_found_from_any_of_them(tmp_path: Path) -> None:
    for number, name in ((1, "a"), (2, "a.2"), (10, "a.10"), (3, "a.3")):
        Written(part=number, run="r").save(tmp_path / f"{name}.mcprec")
    Written(part=1, run="other").save(tmp_path / "a.4.mcprec")
    Written(part=1, run="r").save(tmp_path / "b.mcprec")
    for name in ("a", "a.3", "a.10"):
        faults = RecordingFaults()
        parts = parts_of(tmp_path / f"{name}.mcprec", faults)
        assert [part.number for part in parts] == [1, 2, 3, 10]
        (missing,) = faults.errors
        assert missing.detail == "part 4 and others, before a.10.mcprec"


def test_the_folder_is_listed_once_for_all_recordings_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [Written(run=str(n)).save(tmp_path / f"{n}.mcprec") for n in range(5)]
    listed: list[Path] = []
    names_in = os.listdir

    def listdir(path: Path) -> list[str]:
        listed.append(path)
        return names_in(path)

    monkeypatch.setattr(os, "listdir", listdir)
    os.utime(tmp_path, (1, 1))
    assert all(len(parts_of(path, RecordingFaults())) == 1 for path in paths)
    assert len(listed) == 1
    Written(run="0", part=2).save(tmp_path / "0.2.mcprec")
    assert len(parts_of(paths[0], RecordingFaults())) == 2


def test_a_missing_first_part_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    faults = RecordingFaults()
    path = Written(part=2, run="r").save(tmp_path / "a.2.mcprec")
    assert [part.number for part in parts_of(path, faults)] == [2]
    (error,) = faults.errors
    assert error.what == "A part of the recording is missing"
    assert error.detail == "part 1, before a.2.mcprec"


def test_a_part_that_cannot_be_read_is_reported_and_left_out(tmp_path: Path) -> None:
    faults = RecordingFaults()
    path = Written(part=1, run="r").save(tmp_path / "a.mcprec")
    (tmp_path / "a.2.mcprec").write_bytes(b"no recording")
    assert [part.number for part in parts_of(path, faults)] == [1]
    (error,) = faults.errors
    assert error.what == "A part of the recording was skipped"
    assert "not a recording" in error.detail


def test_names_with_odd_characters_have_parts_as_well(tmp_path: Path) -> None:
    for number, name in ((1, "a[1]*.x"), (2, "a[1]*.x.2")):
        Written(part=number, run="r").save(tmp_path / f"{name}.mcprec")
    assert len(parts_of(tmp_path / "a[1]*.x.mcprec", RecordingFaults())) == 2
