"""Runs of the real window (offscreen), recording, while a server floods it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp_progress_monitor.tracker.snapshot import JobState
from tests.benchmarks.baselines import flood_command
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.window_runs import add_bench_server, call_of, open_window, snapshots

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.updates import Update


_STATES: Final = {
    "answered": JobState.DONE,
    "failed": JobState.FAILED,
    "lost": JobState.LOST,
    "cancelled": JobState.CANCELLED,
}


class _Count:
    """Counts the frames that are published."""

    def __init__(self) -> None:
        self.frames = 0

    def __call__(self, update: Update) -> None:
        self.frames += len(update.frames)


async def flood(kinds: str, seconds: str, jobs: str = "0") -> dict[str, Any]:
    """What a window feels while a server floods it with `kinds` for so long, and a second more.

    So many calls report progress meanwhile.
    """
    command = [sys.executable, "-m", "tests.benchmarks.flooding_server", kinds, seconds]
    beat, count = Heartbeat(), _Count()
    async with open_window() as program:
        engine = program.engine
        engine.subscribe(count)
        await add_bench_server(engine, command)
        async with anyio.create_task_group() as beating:
            for _ in range(int(jobs)):
                beating.start_soon(engine.calls.make, call_of("work"))
            await anyio.sleep(min(2.0, float(seconds)))  # what few need is loaded meanwhile
            beating.start_soon(beat.run)
            began, cpu = time.perf_counter(), time.process_time()
            with anyio.move_on_after(4 * float(seconds)):
                await engine.calls.make(call_of("flood"))
            await anyio.sleep(1.0)
            ended, spent = time.perf_counter(), time.process_time() - cpu
            beating.cancel_scope.cancel()
        lost = count.frames - engine.timeline.end
    return {
        "messages_per_s": count.frames / (ended - began),
        "lost": lost,
        **_felt(beat, began, ended),
        "cpu_percent": spent / (ended - began) * 100,
    }


def _felt(beat: Heartbeat, began: float, ended: float) -> dict[str, float]:
    felt, work, late = (measure(began, ended) for measure in (beat.felt, beat.work, beat.lateness))
    return {
        "late_p99_ms": felt.p99,
        "late_max_ms": felt.maximum,
        "task_late_p99_ms": late.p99,
        "task_late_max_ms": late.maximum,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
    }


async def calls(count: str, ending: str) -> dict[str, Any]:
    """What a window feels while so many calls start at once, and then end at once.

    They end `answered` by a server that replies to each, `failed` by errors in one write, `lost`
    with the server's process, or `cancelled` by the user, which the server ignores.
    """
    beat, number = Heartbeat(), int(count)
    command = [sys.executable, "-m", "tests.benchmarks.flooding_server", "", "0"]
    if ending == "answered":
        command = flood_command(number, number)
    how = {"failed": {"together": number}, "lost": {"until_exit": number}}
    call = call_of("flood" if ending == "answered" else "hold", **how.get(ending, {}))
    async with open_window() as program:
        engine = program.engine
        await add_bench_server(engine, command)
        await anyio.sleep(2.0)  # what few need is loaded meanwhile
        are_made = anyio.Event()

        def look(update: Update) -> None:
            if update.changes.added and len(engine.jobs.ids()) == number:
                are_made.set()

        engine.subscribe(look)
        began = time.perf_counter()
        async with anyio.create_task_group() as beating:
            beating.start_soon(beat.run)
            async with anyio.create_task_group() as made:
                for _ in range(number):
                    made.start_soon(engine.calls.make, call)
                if ending == "cancelled":
                    await are_made.wait()
                    program.jobs.cancel(engine.jobs.ids())
            beating.cancel_scope.cancel()
        ended = time.perf_counter()
        over = sum(snapshot.state is _STATES[ending] for snapshot in snapshots(engine))
    return {"seconds": ended - began, "lost": number - over, **_felt(beat, began, ended)}
