"""Runs of the real window (offscreen) under load, on a real process and real pipes."""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.engine.call import Call
from mcp_progress_monitor.gui.launch_options import WindowOptions
from mcp_progress_monitor.gui.program import Program
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from tests.benchmarks.heartbeat import Heartbeat, percentile
from tests.servers.definition import COMMAND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.tracker.snapshot import JobSnapshot

_SERVER: Final = list(COMMAND)


@asynccontextmanager
async def open_window() -> AsyncIterator[Program]:
    """The whole program with an empty data directory, running until the block ends."""
    with tempfile.TemporaryDirectory(prefix="bench-window-") as folder:
        async with open_window_on(Path(folder)) as program:
            yield program


@asynccontextmanager
async def open_window_on(folder: Path) -> AsyncIterator[Program]:
    """The whole program on a data directory, running until the block ends."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    program = Program(application, WindowOptions(data_dir=folder))
    async with anyio.create_task_group() as group:
        group.start_soon(program.run)
        await program.ready.wait()
        try:
            yield program
        finally:
            program.quit()
    # Now, not whenever Python's collector comes by.
    program.window.deleteLater()
    QCoreApplication.sendPostedEvents(program.window, QEvent.Type.DeferredDelete)


def _definition(command: list[str]) -> StdioDefinition:
    return StdioDefinition(name="bench", command=command[0], args=tuple(command[1:]))


async def add_bench_server(engine: Engine, command: list[str]) -> None:
    """Add the server that `call_of` calls, and connect it."""
    engine.servers.add(_definition(command))
    await engine.servers.connect("bench")


def call_of(tool: str, **arguments: object) -> Call:
    """A tools/call on the benchmark's server without limits."""
    params = {"name": tool, "arguments": arguments}
    return Call(server="bench", method="tools/call", params=params, idle_timeout_s=None)


class TickWatch:
    """Counts ticks as the monitor publishes them."""

    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = 0.0
        self.begun = anyio.Event()
        """Set by the first tick."""

    def __call__(self, update: Update) -> None:
        if update.changes.ticks:
            if not self.first:
                self.begun.set()
            self.last = time.perf_counter()
            self.first = self.first or self.last
            self.count += len(update.changes.ticks)


def snapshots(engine: Engine) -> list[JobSnapshot]:
    """All jobs as they are now."""
    found = [engine.jobs.snapshot(job) for job in engine.jobs.ids()]
    return [snapshot for snapshot in found if snapshot is not None]


class PaintWatch(QObject):
    """Times the first paint of a widget after each written tick."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: float | None = None
        self.spent: list[float] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and self.waiting is not None:
            self.spent.append(time.monotonic() - self.waiting)
            self.waiting = None
        return super().eventFilter(watched, event)


async def latency(ticks: str) -> dict[str, Any]:
    """From a server's write (its clock is in the message) to the snapshot and the painted row."""
    command = [sys.executable, "-m", "tests.benchmarks.stamping_server", ticks]
    spent: list[float] = []
    async with open_window() as program:
        paint = PaintWatch()
        program.window.job_list.table.viewport().installEventFilter(paint)
        engine = program.engine
        await add_bench_server(engine, command)

        def heard(update: Update) -> None:
            for job, _count, fact in update.changes.ticks:
                snapshot = None if job is None else engine.jobs.snapshot(job)
                assert snapshot is not None
                assert snapshot.progress == fact.progress
                paint.waiting = float(fact.message or 0)
                spent.append(time.monotonic() - paint.waiting)

        engine.subscribe(heard)
        outcome = await engine.calls.make(call_of("stamp"))
        assert outcome.failure is None, outcome.failure
        await anyio.sleep(0.3)
    spent.sort()
    painted = sorted(paint.spent)
    return {
        "ticks": len(spent),
        "snapshot_p50_ms": percentile(spent, 0.5) * 1e3,
        "snapshot_p99_ms": percentile(spent, 0.99) * 1e3,
        "paint_p50_ms": percentile(painted, 0.5) * 1e3,
        "paint_p99_ms": percentile(painted, 0.99) * 1e3,
    }


async def long_line(megabytes: str, shape: str) -> dict[str, Any]:
    """One reply of `megabytes`, as one string (`text`) or as many small items (`items`)."""
    beat = Heartbeat()
    async with open_window() as program:
        engine = program.engine
        await add_bench_server(engine, _SERVER)
        async with anyio.create_task_group() as beating:
            beating.start_soon(beat.run)
            started = time.perf_counter()
            outcome = await engine.calls.make(
                call_of("long_line", megabytes=int(megabytes), shape=shape)
            )
            spent = time.perf_counter() - started
            await anyio.sleep(0.5)
            beating.cancel_scope.cancel()
        late = beat.lateness()
    assert outcome.failure is None, outcome.failure
    return {
        "seconds": spent,
        "bytes": len(outcome.raw),
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
    }


async def idle(jobs: str, seconds: str) -> dict[str, Any]:
    """The share of a core that the window takes while `jobs` run in silence."""
    async with open_window() as program:
        engine = program.engine
        await add_bench_server(engine, _SERVER)
        async with anyio.create_task_group() as group:
            for _ in range(int(jobs)):
                group.start_soon(engine.calls.make, call_of("never_answers"))
            await anyio.sleep(min(3.0, float(seconds)))
            cpu, wall = time.process_time(), time.perf_counter()
            await anyio.sleep(float(seconds))
            share = (time.process_time() - cpu) / (time.perf_counter() - wall)
            running = sum(not snapshot.state.is_over for snapshot in snapshots(engine))
            group.cancel_scope.cancel()
    return {"cpu_percent": share * 100, "running": running}
