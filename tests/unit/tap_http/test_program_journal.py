"""A tap's recording on disk: names, locks, parts, and what stands in a file after a kill."""

import json
import threading
from pathlib import Path

import pytest

from mcp_progress_monitor.protocol.framing import FrameNumbers, Framer
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.recording.writer import Writer
from mcp_progress_monitor.tap_http import program
from mcp_progress_monitor.tap_http.program import HttpJournal, live_folder

BEGUN = 1_795_000_000.25
MIB = 1024 * 1024


def made(
    folder: RecordingsFolder,
    lines: list[str],
    name: str = "demo",
    settings: RecordingSettings | None = None,
) -> HttpJournal:
    fields = {"client": None, "pid": 1, "parent": 2, "transport": "http"}
    return HttpJournal(folder, name, fields, (BEGUN, 50.0), lines.append, settings)


def test_the_file_is_private_locked_and_named_as_agreed(tmp_path: Path) -> None:
    folder, lines = live_folder(tmp_path), list[str]()
    recording = made(folder, lines, "a/b c#.3")
    recording.take([Framer("demo#1", FrameNumbers()).sent(b'{"id":1}', BEGUN, 50.5)])
    recording.close()
    assert recording.path.name.endswith("-a-b-c--3.mcprec"), "a part's number would end in .3"
    assert recording.path.stat().st_mode & 0o777 == 0o600
    assert recording.path.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.path.iterdir()] == [recording.path.name]
    head, line = recording.path.read_bytes().splitlines()
    fields = json.loads(head.partition(b" ")[2])
    assert (fields["version"], fields["part"], fields["first"]) == (2, 1, 1)
    assert fields["tap"]["transport"] == "http"
    assert line.endswith(b'Z 0.500000 demo#1 > {"id":1}')
    assert lines == []


def test_two_taps_of_one_second_have_two_files(tmp_path: Path) -> None:
    folder, lines = live_folder(tmp_path), list[str]()
    made(folder, lines).close()
    second = made(folder, lines)
    second.close()
    assert second.path.name.endswith("-demo-2.mcprec")
    assert len(folder.entries()) == 2
    assert lines == []


def test_a_recording_that_grows_goes_on_in_further_files(tmp_path: Path) -> None:
    settings = RecordingSettings(part_bytes=MIB, keep_bytes=100 * MIB)
    folder, lines, numbers = live_folder(tmp_path), list[str](), FrameNumbers()
    recording = made(folder, lines, settings=settings)
    framers = [Framer(f"demo#{n}", numbers) for n in (1, 2)]
    batch = b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]'
    taken = []
    for step in range(40):
        framer = framers[step % 2]
        frames = [framer.sent(b"x" * 100_000, BEGUN + step, 50.0 + step)]
        frames += framer.received([batch], BEGUN + step, 50.0 + step)
        recording.take(frames[:1])
        recording.take(frames[1:])
        taken += frames
    recording.close()
    (entry,) = folder.entries()
    assert len(entry.paths) == 4
    read = [frame for chunk in RecordingReader(recording.path) for frame in chunk.frames]
    assert read == taken
    assert RecordingReader(recording.path).errors == []


def test_the_oldest_parts_are_deleted(tmp_path: Path) -> None:
    settings = RecordingSettings(part_bytes=MIB, keep_bytes=8 * MIB)
    folder, lines, numbers = live_folder(tmp_path), list[str](), FrameNumbers()
    recording = made(folder, lines, settings=settings)
    framer = Framer("demo#1", numbers)
    for step in range(120):
        recording.take([framer.sent(b"x" * 100_000, BEGUN, 50.0 + step)])
    recording.close()
    (entry,) = folder.entries()
    assert entry.size <= 9 * MIB
    assert entry.path != recording.path, "the first part has gone"


def test_what_was_not_closed_can_be_read(tmp_path: Path) -> None:
    folder, lines = live_folder(tmp_path), list[str]()
    recording = made(folder, lines)
    framer = Framer("demo#1", FrameNumbers())
    recording.take([framer.sent(b'{"id":1}', BEGUN, 50.5)])
    recording.close()
    killed = tmp_path / "killed.mcprec"
    killed.write_bytes(recording.path.read_bytes()[:-4])
    reader = RecordingReader(killed)
    assert [frame for chunk in reader for frame in chunk.frames] == []
    assert "ends in the middle of a line" in reader.errors[0].what


def test_a_disk_that_takes_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()
    monkeypatch.setattr(Writer, "write", lambda *_: may_write.wait())
    monkeypatch.setattr(program, "_CLOSE_S", 0.05)
    recording = made(live_folder(tmp_path), [])
    recording.take([Framer("demo#1", FrameNumbers()).sent(b"x" * 1000, BEGUN, 50.5)])
    assert recording.waiting_bytes > 1000
    recording.close()
    may_write.set()
