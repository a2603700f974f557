"""Oversized messages in the recorder: hundreds of megabytes are held once."""

import tracemalloc
from pathlib import Path

import anyio

from mcp_progress_monitor.recording.reader import RecordingReader
from mcp_progress_monitor.recording.recorder import Recorder
from tests.unit.recording.wire import Wire, reply

MB = 1024 * 1024


async def test_an_oversized_message_is_held_once_and_read_again(tmp_path: Path) -> None:
    path, wire = tmp_path / "a.mcprec", Wire()
    raw = b'{"jsonrpc":"2.0","id":2,"result":"' + b"x" * 4 * MB + b'"}'
    taken = [wire.received(reply(1)), wire.received(raw), wire.received(reply(3))]
    recorder = Recorder(path)
    tracemalloc.start()
    for frames, facts in taken:
        recorder.take(frames, facts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MB
    assert recorder.waiting_bytes > 4 * MB
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(recorder.run)
        await recorder.opened()
        await recorder.close()
    found = [frame for chunk in RecordingReader(path) for frame in chunk.frames]
    assert [len(frame.raw) for frame in found][::2] == [len(reply(1)), len(reply(3))]
    assert found[1].raw == raw[: len(found[1].raw)]
    assert path.stat().st_size == recorder.size
