"""Work on disk goes on beside the loop, in order, and holds nobody up at the end."""

import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from mcp_progress_monitor.recording.writer import DiskThread


async def test_work_is_done_in_another_thread_and_its_result_returned() -> None:
    disk = DiskThread()
    assert await disk.do(threading.get_ident) != threading.get_ident()
    assert await disk.do(max, 3, 5) == 5
    disk.end()


async def test_what_goes_wrong_is_raised_where_it_was_ordered() -> None:
    disk = DiskThread()
    with pytest.raises(FileNotFoundError):
        await disk.do(Path("/nowhere/at/all").read_bytes)
    assert await disk.do(str, 1) == "1"
    disk.end()


async def test_the_loop_goes_on_meanwhile_and_work_is_done_in_order() -> None:
    disk, go, done = DiskThread(), threading.Event(), list[int]()

    def work(number: int) -> None:
        go.wait(5)
        done.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(disk.do, work, number)
        await anyio.sleep(0.01)
        assert done == []
        go.set()
    assert done == [0, 1, 2]
    disk.end()


async def test_who_is_cancelled_leaves_the_work_to_itself() -> None:
    disk, go = DiskThread(), threading.Event()
    with anyio.move_on_after(0.01) as patience:
        await disk.do(go.wait, 5)
    assert patience.cancelled_caught
    go.set()
    assert await disk.do(str, 2) == "2"
    disk.end()


async def test_the_thread_ends_when_it_is_reported_to() -> None:
    disk = DiskThread()
    thread = await disk.do(threading.current_thread)
    disk.end()
    await anyio.to_thread.run_sync(thread.join, 5)
    assert not thread.is_alive()


def test_a_disk_that_never_answers_does_not_keep_the_program_from_ending() -> None:
    program = (
        "import anyio, threading\n"
        "from mcp_progress_monitor.recording.writer import DiskThread\n"
        "async def main():\n"
        "    with anyio.move_on_after(0.05):\n"
        "        await DiskThread().do(threading.Event().wait)\n"
        "anyio.run(main)\n"
    )
    # What waited for the disk would wait for ever.
    ran = subprocess.run([sys.executable, "-c", program], check=True, timeout=100)
    assert ran.returncode == 0
