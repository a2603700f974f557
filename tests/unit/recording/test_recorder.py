"""The recorder: everything taken is kept, readable at once, and on disk a moment later."""

import errno
import os
import threading
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given

from mcp_progress_monitor.protocol.frames import NO_FACTS, Frame, FrameKind
from mcp_progress_monitor.recording import recorder as module
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.recording.writer import Writer
from tests.patience import until
from tests.unit.recording.wire import CONNECTIONS, Taken, Wire, reply, request, tick, traffic

MB = 1024 * 1024


class Full:
    """Makes the disk take only so many bytes more, for all files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self.error = OSError(errno.ENOSPC, "No space left on device")
        self._write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, descriptor: int, data: bytes) -> int:
        if not self.room:
            raise self.error
        size = self._write(descriptor, data[: self.room])
        self.room -= size
        return size


class Stuck:
    """Makes the disk take nothing until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = go = threading.Event()
        write = Writer.write

        def wait(writer: Writer, path: Path, blobs: Sequence[bytes]) -> None:
            go.wait(30)
            write(writer, path, blobs)

        monkeypatch.setattr(Writer, "write", wait)


@asynccontextmanager
async def running(recorder: Recorder) -> AsyncIterator[Recorder]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await recorder.opened()
        try:
            yield recorder
        finally:
            await recorder.close()


async def written(recorder: Recorder) -> None:
    """Wait until everything taken so far is on disk."""
    await until(lambda: not (recorder.error is None and recorder.waiting_bytes))


def take(recorder: Recorder, *taken: Taken) -> list[Frame]:
    for frames, facts in taken:
        recorder.take(frames, facts)
    return [frame for frames, _ in taken for frame in frames]


def read(path: Path) -> list[Frame]:
    """What is on disk, by number."""
    reader = RecordingReader(path)
    frames = [frame for chunk in reader for frame in chunk.frames]
    assert reader.errors == []
    return sorted(frames)


def flood(wire: Wire, count: int, size: int = 0) -> list[Taken]:
    """A request and so many chunks of one large message."""
    pad = b" " * size
    return [wire.sent(request("t")), *(wire.received(tick("t", n) + pad) for n in range(count))]


@given(traffic)
def test_what_is_taken_is_in_the_timeline_at_once(taken: list[Taken]) -> None:
    recorder = Recorder()
    frames = take(recorder, *taken)
    assert recorder.count == recorder.timeline.end == len(frames)
    assert [frame._replace(when=0) for frame in recorder.timeline.frames(0, len(frames))] == [
        frame._replace(when=0) for frame in frames
    ]
    for place, frame in enumerate(frames):
        found = recorder.timeline.frame(place)
        assert found is not None
        assert abs(found.when - frame.when) < 0.0005


async def test_what_is_taken_is_on_disk_after_the_end(tmp_path: Path) -> None:
    wire = Wire()
    async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
        frames = take(recorder, *flood(wire, 50), wire.received(b"[1, 2]"), wire.sent(b"{\n}"))
    assert read(tmp_path / "a.mcprec") == frames
    assert recorder.error is None
    assert recorder.path == tmp_path / "a.mcprec"
    assert recorder.size == (tmp_path / "a.mcprec").stat().st_size


async def test_what_is_taken_can_be_read_before_during_and_after_it_is_written(
    tmp_path: Path,
) -> None:
    wire = Wire()
    recorder = Recorder(tmp_path / "a.mcprec")
    frames = take(recorder, *flood(wire, 3))
    assert recorder.timeline.frames(0, 9) == frames
    async with running(recorder):
        for _ in range(20):
            frames += take(recorder, wire.received(tick("t", 1)))
            assert recorder.timeline.frames(0, 99) == frames
            await anyio.lowlevel.checkpoint()
        await written(recorder)
        assert recorder.timeline.frames(0, 99) == frames
    assert recorder.timeline.frames(0, 99) == frames


@pytest.mark.parametrize("what", ["request", "reply", "event", "stderr"])
async def test_all_but_ticks_is_written_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 1000)
    wire = Wire()
    async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
        take(recorder, *flood(wire, 1))
        match what:
            case "request":
                frames = take(recorder, wire.sent(request("x", 2)))
            case "reply":
                frames = take(recorder, wire.received(tick("t"), reply(), tick("t")))
            case "event":
                frames = take(recorder, wire.event("opened"))
            case _:
                frames = take(recorder, wire.stderr([(b"oops", True)]))
        await written(recorder)
        assert frames[-1].raw in (tmp_path / "a.mcprec").read_bytes()


async def test_ticks_alone_wait_a_moment_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
        wire = Wire()
        take(recorder, *flood(wire, 0))
        await written(recorder)
        await anyio.wait_all_tasks_blocked()  # it waits for more
        monkeypatch.setattr(module, "_PAUSE_S", 0.6)
        began = time.monotonic()
        take(recorder, wire.received(tick("t")))
        await written(recorder)
        assert time.monotonic() - began > 0.2  # some of the pause is over on a busy machine


async def test_nothing_keeps_the_file_from_being_there_at_once_and_private(tmp_path: Path) -> None:
    async with running(Recorder(tmp_path / "a.mcprec")):
        assert read(tmp_path / "a.mcprec") == []
        assert os.name == "nt" or (tmp_path / "a.mcprec").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a.mcprec").exists()


async def test_the_header_tells_what_times_and_numbers_count_from(tmp_path: Path) -> None:
    async with running(Recorder(tmp_path / "a.mcprec")):
        fields = RecordingReader(tmp_path / "a.mcprec").header
    assert fields["version"] == 2
    assert fields["part"] == fields["first"] == 1
    assert abs(fields["at"] - time.monotonic()) < 60
    assert {"program", "started", "run"} <= set(fields)


async def test_cancelling_the_task_keeps_nothing_from_the_disk(tmp_path: Path) -> None:
    wire, recorder = Wire(), Recorder(tmp_path / "a.mcprec")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await recorder.opened()
        tasks.cancel_scope.cancel()
        frames = take(recorder, *flood(wire, 10))
        await recorder.close()
    assert read(tmp_path / "a.mcprec") == frames


async def test_marks_are_entered() -> None:
    recorder = Recorder()
    take(recorder, *flood(Wire(), 2))
    recorder.mark([2])
    assert [recorder.timeline.is_marked(place) for place in range(3)] == [False, True, False]


async def test_a_frame_that_could_not_be_read_is_kept_as_unreadable() -> None:
    recorder, wire = Recorder(), Wire()
    frames, _ = wire.received(tick("t"))
    recorder.take(frames, NO_FACTS)
    assert recorder.timeline.frames(0, 1) == list(frames)
    assert recorder.timeline.kind(0) is FrameKind.UNREADABLE


class TestParts:
    async def test_a_file_that_has_grown_is_followed_by_another(self, tmp_path: Path) -> None:
        folder, wire = RecordingsFolder(tmp_path), Wire()
        path, settings = folder.new_path(0), RecordingSettings(part_bytes=MB)
        async with running(Recorder(path, settings, folder=folder)) as recorder:
            frames = take(recorder, *flood(wire, 5, MB // 2))
            await written(recorder)
            assert recorder.timeline.frames(0, 99) == frames
        (entry,) = folder.entries()
        assert [len(read_alone(part)) for part in entry.paths] == [3, 2, 1]
        assert read(path) == frames
        assert recorder.size == entry.size

    async def test_without_a_folder_one_file_takes_everything(self, tmp_path: Path) -> None:
        settings = RecordingSettings(part_bytes=MB)
        async with running(Recorder(tmp_path / "a.mcprec", settings)) as recorder:
            take(recorder, *flood(Wire(), 5, MB // 2))
        assert names(tmp_path) == ["a.mcprec"]

    async def test_elements_of_a_batch_in_an_earlier_part_are_found(self, tmp_path: Path) -> None:
        folder, wire = RecordingsFolder(tmp_path), Wire()
        path, settings = folder.new_path(0), RecordingSettings(part_bytes=MB)
        async with running(Recorder(path, settings, folder=folder)) as recorder:
            first, elements = wire.received_in_slices(b'[1,"%b"]' % (b"x" * MB))
            frames = take(recorder, first)
            frames += take(recorder, wire.sent(b"1", CONNECTIONS[1]))
            late = (*elements.frames, *wire.sent(b"{}").frames)
            frames += take(recorder, Taken(late, NO_FACTS))
            assert recorder.timeline.frames(0, 9) == frames
        assert len(folder.entries()[0].paths) == 2
        assert read(path) == sorted(frames)

    async def test_its_own_oldest_parts_go_when_it_grows_too_large(self, tmp_path: Path) -> None:
        folder, wire = RecordingsFolder(tmp_path), Wire()
        path, settings = folder.new_path(0), RecordingSettings(keep_bytes=3 * MB, part_bytes=MB)
        async with running(Recorder(path, settings, folder=folder)) as recorder:
            frames = take(recorder, wire.sent(request("t")))
            for n in range(12):
                frames += take(recorder, wire.received(tick("t", n) + b" " * (MB // 2)))
                await written(recorder)
        (entry,) = folder.entries()
        assert not path.exists()
        assert entry.size <= 4 * MB
        assert recorder.timeline.first > 0
        kept = recorder.timeline.frames(0, 99)
        assert kept == frames[recorder.timeline.first :]
        assert [frame.number for frame in read_run(entry.path)] == [f.number for f in kept]

    async def test_others_are_pruned_at_the_beginning(self, tmp_path: Path) -> None:
        folder = RecordingsFolder(tmp_path)
        old = tmp_path / "2026-01-01T00-00-00-p1.mcprec"
        old.touch()
        os.utime(old, (0, 0))
        async with running(Recorder(folder.new_path(0), folder=folder)):
            pass
        assert not old.exists()

    async def test_a_recording_with_nothing_in_it_is_not_kept(self, tmp_path: Path) -> None:
        folder = RecordingsFolder(tmp_path)
        async with running(Recorder(folder.new_path(0), folder=folder)) as recorder:
            assert len(folder.entries()) == 1
        assert names(tmp_path) == []
        assert recorder.path is None

    async def test_two_programs_of_the_same_name_record_beside_each_other(
        self, tmp_path: Path
    ) -> None:
        wire, path = Wire(), RecordingsFolder(tmp_path).new_path(0)
        first, second = (Recorder(path, folder=RecordingsFolder(tmp_path)) for _ in range(2))
        async with running(first), running(second):
            take(first, wire.sent(b"1"))
            take(second, wire.sent(b"2"))
        assert first.path == path
        assert second.path not in (None, path)
        assert sorted(raws(tmp_path)) == [b"1", b"2"]


class TestFailures:
    async def test_a_full_disk_ends_the_recording_and_loses_nothing_of_the_log(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wire, path = Wire(), tmp_path / "a.mcprec"
        async with running(Recorder(path)) as recorder:
            frames = take(recorder, *flood(wire, 5))
            await written(recorder)
            Full(monkeypatch, 250)
            frames += take(recorder, *(wire.received(tick("t", n)) for n in range(5)))
            await written(recorder)
            error = recorder.error
            frames += take(recorder, *(wire.received(tick("t", n)) for n in range(5)))
            await recorder.room()
            assert recorder.timeline.frames(0, 99) == frames
        assert error is not None
        assert "disk is full" in error.what
        assert error.where == str(path)
        assert recorder.error is error
        assert not recorder.is_recording
        reader = RecordingReader(path)
        kept = [frame for chunk in reader for frame in chunk.frames]
        assert kept == frames[: len(kept)]
        assert len(kept) >= 7

    async def test_a_file_that_is_deleted_ends_the_recording(self, tmp_path: Path) -> None:
        wire, path = Wire(), tmp_path / "a.mcprec"
        async with running(Recorder(path)) as recorder:
            take(recorder, *flood(wire, 2))
            await written(recorder)
            path.unlink()
            after = take(recorder, wire.sent(b"{}"))
            await written(recorder)
            assert recorder.error is not None
            assert "no longer exists" in recorder.error.what
            assert recorder.timeline.frames(3, 9) == after
            lost = recorder.timeline.frame(0)
            assert lost is not None
            assert (lost.number, lost.raw) == (1, b"")

    @pytest.mark.parametrize(
        ("make", "text"),
        [
            (lambda path: path.write_bytes(b"mine"), "already exists"),
            (lambda path: path.parent.rmdir(), "cannot be created"),
        ],
    )
    async def test_what_cannot_be_begun_is_reported_at_once_and_kept_in_memory(
        self, tmp_path: Path, make: object, text: str
    ) -> None:
        path = tmp_path / "folder" / "a.mcprec"
        path.parent.mkdir()
        make(path)  # type: ignore[operator]  # a function of the path
        async with running(Recorder(path)) as recorder:
            assert recorder.error is not None
            assert recorder.error.what.startswith("The session is not being recorded")
            assert text in recorder.error.what
            frames = take(recorder, *flood(Wire(), 3))
            assert recorder.timeline.frames(0, 9) == frames
            assert recorder.path is None
        assert not path.exists() or path.read_bytes() == b"mine"

    async def test_a_disk_that_is_full_from_the_beginning_is_left_without_a_trace(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Full(monkeypatch, 0)
        async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
            assert recorder.error is not None
        assert names(tmp_path) == []

    async def test_memory_keeps_the_newest_where_nothing_is_recorded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_IN_MEMORY", 4 * MB)
        monkeypatch.setattr(module, "_MEMORY_PART", MB)
        recorder, wire = Recorder(), Wire()
        frames = take(recorder, *flood(wire, 20, MB // 2))
        first = recorder.timeline.first
        assert 10 < first < 20
        assert recorder.timeline.frames(0, 99) == frames[first:]
        assert recorder.timeline.end == recorder.count == 21
        assert recorder.timeline.number(first) == first + 1

    async def test_after_a_failure_rows_leave_with_their_bytes_and_those_on_disk_stay(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_IN_MEMORY", 4 * MB)
        monkeypatch.setattr(module, "_MEMORY_PART", MB)
        wire = Wire()
        async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
            frames = take(recorder, *flood(wire, 2))
            await written(recorder)
            Full(monkeypatch, 0)
            for _ in range(2):
                frames += take(recorder, *flood(wire, 20, MB // 2))
                await written(recorder)
        timeline = recorder.timeline
        assert (timeline.first, timeline.gap.start, timeline.end) == (0, 3, len(frames))
        assert 30 < timeline.gap.stop < 40
        assert timeline.frames(0, 99) == frames[:3] + frames[timeline.gap.stop :]
        assert timeline.frame(10) is None
        assert timeline.place_of(frames[10].number) is None

    async def test_after_a_failure_the_index_grows_no_further_than_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_IN_MEMORY", 40_000)
        monkeypatch.setattr(module, "_MEMORY_PART", 10_000)
        wire = Wire()
        async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
            take(recorder, *flood(wire, 2))
            await written(recorder)
            Full(monkeypatch, 60)
            take(recorder, *flood(wire, 2))
            await written(recorder)
            held = []
            for _ in range(4):
                take(recorder, *flood(wire, 1000))
                held.append(sum(map(len, recorder.timeline.columns.segments)))
        assert max(held) < 500
        timeline = recorder.timeline
        there = timeline.frames(0, timeline.end)
        assert len(there) == held[-1]
        assert all(frame.raw for frame in there)

    async def test_reading_waits_while_too_much_waits_for_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_WAITING", 1000)
        stuck, recorder, order = Stuck(monkeypatch), Recorder(tmp_path / "a.mcprec"), list[str]()

        async def wait_for_room() -> None:
            await recorder.room()
            order.append("room")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recorder.run)
            await recorder.room()
            take(recorder, *flood(Wire(), 20))
            tasks.start_soon(wait_for_room)
            await anyio.wait_all_tasks_blocked()
            order.append("let go")
            stuck.go.set()
            await written(recorder)
            await anyio.wait_all_tasks_blocked()
            await recorder.close()
        assert order == ["let go", "room"]
        assert recorder.error is None

    async def test_a_disk_that_takes_nothing_is_given_up_when_messages_wait_for_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_WAITING", 1000)
        monkeypatch.setattr(module, "_STUCK_S", 0.02)
        monkeypatch.setattr(module, "_OPEN_S", 0.01)
        monkeypatch.setattr(module, "_CLOSE_S", 0.05)
        stuck = Stuck(monkeypatch)
        async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
            frames = take(recorder, *flood(Wire(), 20))
            await recorder.room()
            assert recorder.error is not None
            assert "does not accept more data" in recorder.error.what
            assert recorder.timeline.frames(0, 99) == frames
        stuck.go.set()

    async def test_the_end_does_not_wait_long_for_a_disk_that_takes_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_OPEN_S", 0.01)
        monkeypatch.setattr(module, "_CLOSE_S", 0.05)
        stuck = Stuck(monkeypatch)
        began = time.monotonic()
        async with running(Recorder(tmp_path / "a.mcprec")) as recorder:
            take(recorder, *flood(Wire(), 3))
        assert time.monotonic() - began < 60  # however busy the machine is
        assert recorder.error is not None
        assert "end of the recording is lost" in recorder.error.what
        stuck.go.set()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def read_alone(path: Path) -> Sequence[bytes]:
    """The lines of one part that are frames."""
    return [line for line in path.read_bytes().splitlines() if not line.startswith(b"#")]


def read_run(path: Path) -> Iterable[Frame]:
    """A run of which the first parts are gone."""
    return [frame for chunk in RecordingReader(path) for frame in chunk.frames]


def raws(folder: Path) -> list[bytes]:
    """What is in all recordings of a folder."""
    return [line.split(b" ")[-1] for path in folder.iterdir() for line in read_alone(path)]
