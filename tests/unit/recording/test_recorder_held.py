"""A recorder whose loop was held: it could not write, and the disk is not to blame."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.recording import index
from mcp_progress_monitor.recording import recorder as module
from mcp_progress_monitor.recording.recorder import Recorder
from mcp_progress_monitor.recording.writer import Writer
from tests.unit.recording.wire import Wire, reply, tick


async def test_a_disk_is_not_given_up_for_the_time_that_the_program_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 10)
    monkeypatch.setattr(module, "_STUCK_S", 2.0)
    go, write = threading.Event(), Writer.write

    def wait(writer: Writer, path: Path, blobs: Sequence[bytes]) -> None:
        go.wait(30)
        write(writer, path, blobs)

    monkeypatch.setattr(Writer, "write", wait)
    recorder, wire = Recorder(tmp_path / "a.mcprec"), Wire()
    recorder.take(*wire.received(reply(1)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        tasks.start_soon(recorder.room)
        await anyio.wait_all_tasks_blocked()
        time.sleep(2.1)  # noqa: ASYNC251  # all of the program, as Ctrl+Z does
        go.set()
        with anyio.fail_after(60):
            await recorder.room()
        assert recorder.error is None
        await recorder.close()


async def test_what_is_flushed_is_in_the_file_before_the_loop_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.mcprec"
    recorder, wire = Recorder(path), Wire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await recorder.opened()
        missing = []
        for number in range(1, 50):
            recorder.take(*wire.received(tick(number)))
            if not recorder.flush() or not path.read_bytes().endswith(tick(number) + b"\n"):
                missing.append(number)
            if number % 7 == 0:
                await anyio.lowlevel.checkpoint()
        await recorder.close()
    assert missing == []
    assert recorder.error is None
    assert path.read_bytes().count(b"notifications/progress") == 49


async def test_a_disk_that_takes_nothing_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, write = threading.Event(), Writer.write

    def wait(writer: Writer, path: Path, blobs: Sequence[bytes]) -> None:
        go.wait(30)
        write(writer, path, blobs)

    monkeypatch.setattr(Writer, "write", wait)
    monkeypatch.setattr(module, "_FLUSH_S", 0.05)
    recorder, wire = Recorder(tmp_path / "a.mcprec"), Wire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await anyio.wait_all_tasks_blocked()
        recorder.take(*wire.received(reply(1)))
        begun = time.monotonic()
        flushed = [recorder.flush()]
        monkeypatch.setattr(module, "_FLUSH_S", 60.0)
        flushed.append(recorder.flush())
        took_s = time.monotonic() - begun
        go.set()
        await recorder.close()
    assert flushed == [False, False]
    assert took_s < 30
    assert b'"id":1' in (tmp_path / "a.mcprec").read_bytes()


async def test_memory_holds_the_newest_rows_and_the_file_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 2048
    monkeypatch.setattr(index, "ROWS", rows)
    monkeypatch.setattr(module, "MOST_ROWS", 2 * rows)
    path = tmp_path / "a.mcprec"
    recorder, wire = Recorder(path), Wire()
    lines = [tick("a", number) for number in range(1, rows // 4 + 1)]
    peak = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await anyio.wait_all_tasks_blocked()
        for _ in range(20):  # five segments
            recorder.take(*wire.run(*lines))
            await recorder.room()
            peak = max(peak, recorder.timeline.end - recorder.timeline.first)
        await recorder.close()
    timeline = recorder.timeline
    assert timeline.end == 20 * len(lines)
    assert peak <= 2 * rows
    assert timeline.first == timeline.closed == 3 * rows
    oldest = timeline.frame(timeline.first)
    assert oldest is not None
    assert (oldest.number, oldest.raw) == (timeline.number(timeline.first), lines[0])
    assert timeline.frame(timeline.first - 1) is None
    assert timeline.place_of(1) is None
    assert path.read_bytes().count(b"notifications/progress") == timeline.end
