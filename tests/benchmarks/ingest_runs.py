"""A run of the real window (offscreen) under a flood, recorded or not."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from mcp_progress_monitor.recording.format import SUFFIX
from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from tests.benchmarks.baselines import flood_command
from tests.benchmarks.heartbeat import Heartbeat, per_second
from tests.benchmarks.window_runs import (
    TickWatch,
    add_bench_server,
    call_of,
    open_window_on,
    snapshots,
)

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.engine import Engine


async def ingest(count: str, tokens: str, records: str) -> dict[str, Any]:
    """A server floods the window with `count` notifications over `tokens` tokens.

    `records` is "recorded" or "unrecorded".
    """
    with tempfile.TemporaryDirectory(prefix="bench-ingest-") as name:
        folder = Path(name)
        save_settings(folder, RecordingSettings(is_on=records == "recorded"))
        watch, beat = TickWatch(), Heartbeat()
        async with open_window_on(folder) as program:
            engine = program.engine
            await add_bench_server(engine, flood_command(int(count), int(tokens)))
            engine.subscribe(watch)
            await flooded(engine, beat, int(tokens))
            shown = sum(job.tick_count for job in snapshots(engine))
        written = frames_in(folder)
    assert bool(written) is (records == "recorded"), written
    late, whole = beat.lateness(watch.first, watch.last), beat.lateness()
    return {
        "rate": per_second(watch.count, watch.last - watch.first),
        "lost": int(count) - watch.count,
        "lost_in_jobs": int(count) - shown,
        "lost_on_disk": engine.recording.count - written if written else 0,
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
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
