"""The journal queues copies without ever waiting, and tells what it had to leave out."""

import errno
import json
import mmap
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from mcp_progress_monitor.protocol.frames import Channel, Frame
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.tap import journal as journals
from mcp_progress_monitor.tap import writer
from mcp_progress_monitor.tap.about import About
from mcp_progress_monitor.tap.journal import QUEUE_BYTES, Journal, JournalLane
from mcp_progress_monitor.tap.writer import WrittenLane
from tests.patience import PATIENCE_S
from tests.unit.tap.test_files import about


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without sparing a server that starts."""
    monkeypatch.setattr(writer, "_START_S", 0.0)


def _journal(session: About) -> Journal:
    """A journal that writes in a thread: a process with threads should not be split."""
    return Journal(session, is_in_thread=True)


def _closed(journal: Journal) -> None:
    journal.close({"exit_code": 0}, time.monotonic() + PATIENCE_S)


def _await_end(journal: Journal) -> None:
    assert journal._thread is not None  # noqa: SLF001
    journal._thread.join(PATIENCE_S)  # noqa: SLF001


def _frames(data_dir: Path) -> list[Frame]:
    (path,) = (data_dir / "recordings" / "live").glob("*.mcprec")
    reader = RecordingReader(path)
    frames = [frame for chunk in reader for frame in chunk.frames]
    assert reader.errors == []
    return frames


def _gaps(frames: Sequence[Frame]) -> list[tuple[int, int]]:
    events = [json.loads(frame.raw) for frame in frames if frame.channel is Channel.EVENT]
    return [(e["bytes"], e["messages"]) for e in events if e["event"] == "not_recorded"]


def _raws(frames: Sequence[Frame], channel: Channel) -> list[bytes]:
    return [frame.raw for frame in frames if frame.channel is channel]


_CHUNKS = st.lists(
    st.tuples(st.sampled_from("><"), st.binary(max_size=12) | st.sampled_from([b"\n", b"a\nb\n"])),
    max_size=20,
)


@hypothesis.given(chunks=_CHUNKS)
def test_lines_are_recorded_however_they_were_cut(
    chunks: list[tuple[str, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("data")
    journal = _journal(about(folder))
    lanes = {mark: JournalLane(journal, mark) for mark in "><"}
    for mark, data in chunks:
        if data:
            lanes[mark].take(time.monotonic(), data)
    journal.start()
    _closed(journal)
    frames = _frames(folder)
    for mark, channel in ((">", Channel.SENT), ("<", Channel.RECEIVED)):
        data = b"".join(data for other, data in chunks if other == mark)
        *lines, rest = data.split(b"\n")
        assert _raws([f for f in frames if f.part is None], channel) == lines + [rest] * bool(rest)
    assert _gaps(frames) == []


def test_without_memory_for_the_queue_nothing_is_recorded_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_texts: object) -> None:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    journal = _journal(about(tmp_path))
    lane = JournalLane(journal, "<")
    journal.start_process(1)
    assert capfd.readouterr().err == ""  # the server may have to run without a tap, and says why
    journal.start()
    lane.take(1.0, b"line\n")
    _closed(journal)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("Recording of this session ended: Not enough memory")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_recorded_where_the_user_wants_that(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal = _journal(about(tmp_path, is_recorded=False))
    lane = JournalLane(journal, ">")
    lane.take(time.monotonic(), b"before\n")
    journal.start()
    _await_end(journal)
    lane.take(time.monotonic(), b"after\n")
    assert journal.ring.is_given_up
    _closed(journal)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""


def test_times_count_from_the_taps_start_and_not_from_the_files(tmp_path: Path) -> None:
    session = about(tmp_path)
    when, base = session.began
    journal = _journal(session)
    lane = JournalLane(journal, "<")
    for passed in (0.0, 0.25, 0.5):
        lane.take(base + passed, b"{}\n")
    time.sleep(0.1)
    journal.start()
    _closed(journal)
    frames = [frame for frame in _frames(tmp_path) if frame.channel is Channel.RECEIVED]
    assert [frame.at - base for frame in frames] == pytest.approx([0.0, 0.25, 0.5], abs=2e-6)
    assert [frame.when - when for frame in frames] == pytest.approx([0.0, 0.25, 0.5], abs=2e-5)


def test_a_full_queue_drops_copies_at_once_and_says_how_much(tmp_path: Path) -> None:
    journal = _journal(about(tmp_path))
    lane, other = JournalLane(journal, "<"), JournalLane(journal, ">")
    chunk = (b"x" * 65_534 + b"\n") * 16
    for _ in range(100):
        lane.take(time.monotonic(), chunk)
    other.take(time.monotonic(), b"request\n" * 200_000)
    journal.start()
    deadline = time.monotonic() + PATIENCE_S
    while not journal.ring.is_asleep and time.monotonic() < deadline:
        time.sleep(0.01)
    lane.take(time.monotonic(), b"last\n")
    _closed(journal)
    frames = _frames(tmp_path)
    assert _raws(frames, Channel.RECEIVED)[-1] == b"last"
    kept, rest = divmod(len(_raws(frames, Channel.RECEIVED)) - 1, 16)
    assert 60 <= kept < QUEUE_BYTES / len(chunk)
    assert rest == 0
    dropped = 100 - kept
    assert set(_gaps(frames)) == {(dropped * len(chunk), dropped * 16), (1_600_000, 200_000)}


def test_a_message_larger_than_the_queue_is_a_gap_and_the_next_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "QUEUE_BYTES", 1_000_000)
    journal = _journal(about(tmp_path))
    lane, other = JournalLane(journal, "<"), JournalLane(journal, ">")
    journal.start()
    lane.take(time.monotonic(), b"before\n")
    piece = b"y" * 50_000
    for _ in range(40):
        lane.take(time.monotonic(), piece)
        time.sleep(0.002)
    other.take(time.monotonic(), b"meanwhile\n")
    time.sleep(0.05)
    lane.take(time.monotonic(), b"end\nafter\n")
    time.sleep(0.05)
    lane.take(time.monotonic(), b"last\n")
    _closed(journal)
    frames = _frames(tmp_path)
    assert _raws(frames, Channel.RECEIVED)[0] == b"before"
    assert _raws(frames, Channel.RECEIVED)[-1] == b"last"
    assert not any(b"y" in raw for raw in _raws(frames, Channel.RECEIVED))
    assert sum(size for size, _ in _gaps(frames)) == 2_000_000 + len(b"end\n")
    assert sum(messages for _, messages in _gaps(frames)) == 1


def test_long_lines_of_standard_error_are_cut(tmp_path: Path) -> None:
    journal = _journal(about(tmp_path))
    lane = JournalLane(journal, "!")
    for _ in range(5):
        lane.take(time.monotonic(), b"." * 30_000)
    lane.take(time.monotonic(), b"end\n")
    journal.start()
    _closed(journal)
    frames = [frame for frame in _frames(tmp_path) if frame.channel is Channel.STDERR]
    assert [(len(frame.raw), frame.is_complete) for frame in frames] == [
        (90_000, False),
        (60_003, True),
    ]


def test_a_disk_that_hangs_makes_nobody_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    real = os.write

    def hanging(descriptor: int, data: bytes) -> int:
        if threading.current_thread() is not threading.main_thread():
            release.wait(PATIENCE_S)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", hanging)
    journal = _journal(about(tmp_path))
    lane = JournalLane(journal, ">")
    journal.start()
    began = time.monotonic()
    for _ in range(100):
        lane.take(time.monotonic(), b"z" * 100 + b"\n")
    journal.close({"exit_code": 0}, time.monotonic() + 0.05)
    assert time.monotonic() - began < PATIENCE_S / 2
    release.set()
    _await_end(journal)  # so that nothing outlives the test


def test_a_defect_ends_the_recording_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def defect(_self: WrittenLane, _data: bytes, _prefix: bytes, _pieces: list[bytes]) -> int:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(WrittenLane, "encode", defect)
    journal = _journal(about(tmp_path))
    lane = JournalLane(journal, ">")
    journal.start()
    lane.take(time.monotonic(), b"one\n")
    _closed(journal)
    lane.take(time.monotonic(), b"two\n")
    assert journal.ring.is_given_up
    assert capfd.readouterr().err == (
        "mcp-progress-monitor tap: Recording of this session ended: ZeroDivisionError: a defect\n"
    )
