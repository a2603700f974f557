"""All processes are read once for everyone who asked before, and never for who asked after."""

import os
import sys
import threading

import anyio
import anyio.lowlevel
import pytest

from mcp_progress_monitor.sessions.transport import process_tree, watchdog
from tests.patience import until

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc"),
]


async def test_this_very_process_is_found_with_its_parent_and_group() -> None:
    found = await process_tree.running()
    assert found[os.getpid()] == process_tree.entry_of(os.getpid())
    assert found[os.getpid()].parent == os.getppid()
    assert found[os.getpid()].group == os.getpgrp()


async def test_psutil_knows_the_same_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    own = await process_tree.running()
    monkeypatch.setattr(watchdog, "_HAS_PROC", False)
    found = await process_tree.running()
    pid = os.getpid()
    assert found[pid]._replace(started=0) == own[pid]._replace(started=0)
    assert found[pid] == process_tree.entry_of(pid)
    assert watchdog.mark_of(pid) == ""


class _Readings:
    """Stands in for the reading of /proc: each waits until it is let go on."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = threading.Semaphore(0)

    def read(self) -> dict[int, watchdog.ProcessEntry]:
        self.count += 1
        number = self.count
        self.may_end.acquire(timeout=10)
        return {number: watchdog.ProcessEntry(0, 0, 0)}


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> _Readings:
    made = _Readings()
    monkeypatch.setattr(watchdog, "read_all", made.read)
    return made


async def _ask(reported: list[list[int]]) -> None:
    reported.append(list(await process_tree.running()))


async def _until_reading(readings: _Readings, count: int) -> None:
    await until(lambda: readings.count >= count)


async def test_fifty_who_ask_at_the_same_moment_cost_two_readings(readings: _Readings) -> None:
    reported: list[list[int]] = []
    readings.may_end.release(50)
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(_ask, reported)
    assert len(reported) == 50
    assert readings.count <= 2


async def test_who_asks_while_one_is_read_is_given_the_next(readings: _Readings) -> None:
    reported: list[list[int]] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_ask, reported)
        await _until_reading(readings, 1)
        for _ in range(3):
            tasks.start_soon(_ask, reported)
        await anyio.lowlevel.checkpoint()
        readings.may_end.release(2)
    assert reported == [[1], [2], [2], [2]]


async def test_a_reading_whose_asker_was_cancelled_is_given_to_nobody_who_asked_later(
    readings: _Readings,
) -> None:
    reported: list[list[int]] = []
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as cancelled:
                cancelled.start_soon(_ask, reported)
                await _until_reading(readings, 1)
                tasks.start_soon(_ask, reported)
                await anyio.lowlevel.checkpoint()
                scope.cancel()
                readings.may_end.release(2)
    assert reported[-1] == [2]
