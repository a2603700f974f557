"""Runs of the real window (offscreen), recording, while a server floods it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import anyio

from tests.benchmarks.baselines import flood_command
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.ingest_runs import flooded
from tests.benchmarks.window_runs import add_bench_server, call_of, open_window, snapshots

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.updates import Update


class _Count:
    """Counts the frames that are published."""

    def __init__(self) -> None:
        self.frames = 0

    def __call__(self, update: Update) -> None:
        self.frames += len(update.frames)


async def flood(kinds: str, seconds: str) -> dict[str, Any]:
    """What a window feels while a server floods it with `kinds` for so long, and a second more."""
    command = [sys.executable, "-m", "tests.benchmarks.flooding_server", kinds, seconds]
    beat, count = Heartbeat(), _Count()
    async with open_window() as program:
        engine = program.engine
        engine.subscribe(count)
        await add_bench_server(engine, command)
        async with anyio.create_task_group() as beating:
            await anyio.sleep(min(2.0, float(seconds)))  # what few need is loaded meanwhile
            beating.start_soon(beat.run)
            began, cpu = time.perf_counter(), time.process_time()
            with anyio.move_on_after(4 * float(seconds)):
                await engine.calls.make(call_of("flood"))
            await anyio.sleep(1.0)
            ended, spent = time.perf_counter(), time.process_time() - cpu
            beating.cancel_scope.cancel()
        lost = count.frames - engine.timeline.end
    felt, work = beat.felt(began, ended), beat.work(began, ended)
    late = beat.lateness(began, ended)
    return {
        "messages_per_s": count.frames / (ended - began),
        "lost": lost,
        "late_p99_ms": felt.p99,
        "late_max_ms": felt.maximum,
        "task_late_p99_ms": late.p99,
        "task_late_max_ms": late.maximum,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
        "cpu_percent": spent / (ended - began) * 100,
    }


async def calls(count: str) -> dict[str, Any]:
    """What a window feels while so many calls start at once, and then end at once."""
    beat = Heartbeat()
    async with open_window() as program:
        engine = program.engine
        await add_bench_server(engine, flood_command(int(count), int(count)))
        await anyio.sleep(2.0)  # what few need is loaded meanwhile
        began = time.perf_counter()
        await flooded(engine, beat, int(count))
        ended = time.perf_counter()
        over = sum(snapshot.state.is_over for snapshot in snapshots(engine))
    felt, work = beat.felt(began, ended), beat.work(began, ended)
    return {
        "seconds": ended - began,
        "lost": int(count) - over,
        "late_p99_ms": felt.p99,
        "late_max_ms": felt.maximum,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
    }
