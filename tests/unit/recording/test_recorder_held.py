"""A recorder whose loop was held: the disk could not be told anything, and is not to blame."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import anyio

from app.recording import recorder as module
from app.recording.recorder import Recorder
from app.recording.writer import Writer
from tests.unit.recording.wire import Wire, reply

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest


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
        assert recorder.problem is None
        await recorder.close()
