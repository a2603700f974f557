"""A run of the real window (offscreen) with a thousand jobs, its list scrolled all the while."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import anyio
from PySide6.QtCore import Qt

from mcp_progress_monitor.gui.jobs.columns import Column
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.scrolling import Hand
from tests.benchmarks.window_runs import TickWatch, add_bench_server, call_of, open_window

if TYPE_CHECKING:
    from mcp_progress_monitor.gui.program import Program

_LEAD_S: Final = 2.0
"""Left out at the beginning, while the calls are made and their first ticks come; at most."""
_TICKS_PER_S: Final = 10
_DESCENDING: Final = Qt.SortOrder.DescendingOrder


async def many_jobs(jobs: str, seconds: str, order: str) -> dict[str, Any]:
    """`jobs` at 10 ticks a second each, window shown, list scrolled: how late, how busy.

    The list is in `order` of their start, or of their progress: then it is sorted each second.
    """
    count, length_s = int(jobs), float(seconds)
    lead_s = min(_LEAD_S, length_s)
    pace = ["-m", "tests.benchmarks.pacing_server", jobs, str(_TICKS_PER_S)]
    watch, beat = TickWatch(), Heartbeat()
    async with open_window() as program:
        engine = program.engine
        if order == "progress":
            program.window.job_list.table.sortByColumn(Column.PROGRESS, _DESCENDING)
        await add_bench_server(engine, [sys.executable, *pace, str(lead_s + length_s + 1)])
        engine.subscribe(watch)
        async with anyio.create_task_group() as beating:
            beating.start_soon(beat.run)
            async with anyio.create_task_group() as calls:
                for _ in range(count):
                    calls.start_soon(engine.calls.make, call_of("pace"))
                await watch.begun.wait()
                await anyio.sleep(lead_s)
                figures = await _scrolled(program, beat, watch, length_s)
            beating.cancel_scope.cancel()
        shown = [program.engine.jobs.snapshot(job) for job in engine.jobs.ids()]
    ticks = sum(job.tick_count for job in shown if job is not None)
    whole, work = beat.lateness(), beat.work()
    return {
        **figures,
        "lost": watch.count - ticks,
        "whole_late_max_ms": whole.maximum,
        "whole_work_max_ms": work.maximum,
    }


async def _scrolled(
    program: Program, beat: Heartbeat, watch: TickWatch, length_s: float
) -> dict[str, Any]:
    """Scroll the list for `length_s`; the figures of that time."""
    ticks, cpu, began = watch.count, time.process_time(), time.perf_counter()
    hand = Hand(program.window.job_list.table.verticalScrollBar())
    with anyio.move_on_after(length_s):
        await hand.run()
    spent = time.perf_counter() - began
    late, work = beat.lateness(began), beat.work(began)
    return {
        "ticks_per_s": (watch.count - ticks) / spent,
        "cpu_percent": (time.process_time() - cpu) / spent * 100,
        "scrolled_per_s": hand.steps / spent,
        "late_p50_ms": late.p50,
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
    }
