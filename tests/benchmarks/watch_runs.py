"""Runs of the real window (offscreen) that watches the taps of another process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from tests.benchmarks.heartbeat import Heartbeat, percentile
from tests.benchmarks.window_runs import PaintWatch, open_window_on, snapshots

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.gui.program import Program

_PATIENCE_S: Final = 120.0


@asynccontextmanager
async def _watching(
    taps: int, rate: int, seconds: float
) -> AsyncIterator[tuple[Program, subprocess.Popen[bytes]]]:
    """A window, and a process whose taps it watches; they write once instructed on stdin."""
    with tempfile.TemporaryDirectory(prefix="bench-watch-") as folder:
        live = Path(folder) / "recordings" / "live"
        arguments = [str(live), str(taps), str(rate), str(seconds)]
        with subprocess.Popen(  # noqa: ASYNC220  # it takes no time to begin with
            [sys.executable, "-m", "tests.benchmarks.tapping", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            await anyio.to_thread.run_sync(process.stdout.readline)
            async with open_window_on(Path(folder)) as program:
                with anyio.fail_after(_PATIENCE_S):
                    while len(snapshots(program.engine)) < taps:  # noqa: ASYNC110
                        await anyio.sleep(0.05)
                await anyio.sleep(min(2.0, seconds))  # what few need is loaded meanwhile
                yield program, process
                process.stdin.close()
                await anyio.to_thread.run_sync(process.wait)


def _begin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"write\n")
    process.stdin.flush()


class _Delays:
    """How long each tick took from its writing to its snapshot; the clock is in the message."""

    def __init__(self, program: Program, paint: PaintWatch) -> None:
        self.spent: list[float] = []
        self._engine = program.engine
        self._paint = paint

    def __call__(self, update: Update) -> None:
        for job, _count, fact in update.changes.ticks:
            snapshot = None if job is None else self._engine.jobs.snapshot(job)
            assert snapshot is not None
            self._paint.waiting = float(fact.message or 0)
            self.spent.append(time.monotonic() - self._paint.waiting)


async def delay(ticks: str) -> dict[str, Any]:
    """From a tap's write to the snapshot and to the painted row, at 10 ticks a second."""
    count = int(ticks)
    async with _watching(1, 10, count / 10) as (program, process):
        paint = PaintWatch()
        program.window.job_list.table.viewport().installEventFilter(paint)
        delays = _Delays(program, paint)
        program.engine.subscribe(delays)
        _begin(process)
        with anyio.fail_after(_PATIENCE_S):
            while len(delays.spent) < count:  # noqa: ASYNC110
                await anyio.sleep(0.1)
        await anyio.sleep(0.2)
        program.window.job_list.table.viewport().removeEventFilter(paint)
    spent, painted = sorted(delays.spent), sorted(paint.spent)
    return {
        "ticks": len(spent),
        "snapshot_p50_ms": percentile(spent, 0.5) * 1e3,
        "snapshot_p99_ms": percentile(spent, 0.99) * 1e3,
        "paint_p50_ms": percentile(painted, 0.5) * 1e3,
        "paint_p99_ms": percentile(painted, 0.99) * 1e3,
    }


class _Count:
    """Counts the ticks that are published, and keeps the delay of the newest of each update."""

    def __init__(self) -> None:
        self.ticks = 0
        self.delays: list[float] = []

    def __call__(self, update: Update) -> None:
        ticks = update.changes.ticks
        if ticks:
            self.ticks += len(ticks)
            self.delays.append(time.monotonic() - float(ticks[-1][2].message or 0))


async def flood(taps: str, rate: str, seconds: str) -> dict[str, Any]:
    """What the window feels while so many taps record so many ticks a second each."""
    beat, count = Heartbeat(), _Count()
    wanted = int(taps) * round(int(rate) * float(seconds))
    async with _watching(int(taps), int(rate), float(seconds)) as (program, process):
        program.engine.subscribe(count)
        async with anyio.create_task_group() as beating:
            beating.start_soon(beat.run)
            began, cpu = time.perf_counter(), time.process_time()
            _begin(process)
            with anyio.move_on_after(_PATIENCE_S):
                while count.ticks < wanted:  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            ended, spent = time.perf_counter(), time.process_time() - cpu
            beating.cancel_scope.cancel()
    late, felt, work = (each(began, ended) for each in (beat.lateness, beat.felt, beat.work))
    delays = sorted(count.delays)
    return {
        "ticks_per_s": count.ticks / (ended - began),
        "lost": wanted - count.ticks,
        "late_p99_ms": felt.p99,
        "late_max_ms": felt.maximum,
        "task_late_p99_ms": late.p99,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
        "delay_p50_ms": percentile(delays, 0.5) * 1e3,
        "delay_p99_ms": percentile(delays, 0.99) * 1e3,
        "cpu_percent": spent / (ended - began) * 100,
    }


async def silence(taps: str, seconds: str) -> dict[str, Any]:
    """The share of a core that the window takes while so many taps are silent."""
    async with _watching(int(taps), 0, float(seconds)) as (program, _process):
        cpu, wall = time.process_time(), time.perf_counter()
        await anyio.sleep(float(seconds))
        share = (time.process_time() - cpu) / (time.perf_counter() - wall)
        live = sum(watched.is_live for watched in program.engine.watched.snapshots())
    return {"cpu_percent": share * 100, "live": live}
