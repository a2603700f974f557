"""A run of the real window (offscreen) under a flood, recorded or not."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.recording.format import SUFFIX
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from tests.benchmarks.baselines import flood_command
from tests.benchmarks.heartbeat import Heartbeat, per_second
from tests.benchmarks.shapes import SHAPES
from tests.benchmarks.window_runs import (
    TickWatch,
    add_bench_server,
    call_of,
    open_window_on,
    snapshots,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.engine.updates import Update


class FloodWatch(TickWatch):
    """Counts all messages as well, and notes the processor time at the first and last tick."""

    def __init__(self) -> None:
        super().__init__()
        self.received = 0
        self.cpu_first = self.cpu_last = 0.0

    def __call__(self, update: Update) -> None:
        super().__call__(update)
        frames = update.frames
        if frames and frames[0].channel is Channel.RECEIVED:
            self.received += len(frames)
        if update.changes.ticks:
            self.cpu_last = time.process_time()
            self.cpu_first = self.cpu_first or self.cpu_last


async def ingest(count: str, tokens: str, shape: str, records: str) -> dict[str, Any]:
    """A server floods the window with `count` notifications over `tokens` tokens.

    `records` is "recorded" or "unrecorded".
    """
    sent, form = int(count), SHAPES[shape]
    with tempfile.TemporaryDirectory(prefix="bench-ingest-") as name:
        folder = Path(name)
        save_settings(folder, RecordingSettings(is_on=records == "recorded"))
        watch, beat = FloodWatch(), Heartbeat()
        async with open_window_on(folder) as program:
            engine = program.engine
            await add_bench_server(engine, flood_command(sent, int(tokens), shape))
            engine.subscribe(watch)
            await anyio.sleep(min(2.0, sent / 10_000))  # what few need is loaded meanwhile
            await flooded(engine, beat, int(tokens))
            shown = sum(job.tick_count for job in snapshots(engine))
        written = frames_in(folder)
    assert bool(written) is (records == "recorded"), written
    late, whole = beat.lateness(watch.first, watch.last), beat.lateness()
    work = beat.task_work(watch.first, watch.last)
    ticks, elements = form.ticks(sent), sent if form.batch else 0
    return {
        "rate": per_second(sent, watch.last - watch.first),
        "cpu_us": (watch.cpu_last - watch.cpu_first) / sent * 1e6,
        "lost": max(ticks - watch.count, sent - watch.received, 0),
        "lost_in_jobs": ticks - shown,
        # An element of a batch has no line of its own.
        "lost_on_disk": engine.recording.count - elements - written if written else 0,
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
        "work_p99_ms": work.p99,
        "work_max_ms": work.maximum,
        # With all calls starting at once before the stream, and ending at once after it.
        "whole_late_max_ms": whole.maximum,
    }


async def flooded(engine: Engine, beat: Heartbeat, tokens: int) -> None:
    """Make the calls that the flood waits for; over when all are answered."""
    async with anyio.create_task_group() as beating:
        beating.start_soon(beat.run)
        async with anyio.create_task_group() as calls:
            for _ in range(tokens):
                calls.start_soon(engine.calls.make, call_of("flood"))
        beating.cancel_scope.cancel()


def frames_in(folder: Path) -> int:
    """How many frames the recordings below a folder have."""
    found = 0
    for path in folder.rglob(f"*{SUFFIX}"):
        with path.open("rb") as file:
            found += sum(not line.startswith(b"#") for line in file)
    return found
