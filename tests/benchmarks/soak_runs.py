"""A run of the real window (offscreen) for a long time: millions of frames, and the log browsed."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from mcp_progress_monitor.recording.settings import RecordingSettings, save_settings
from tests.benchmarks.baselines import flood_command
from tests.benchmarks.heartbeat import Heartbeat, per_second
from tests.benchmarks.ingest_runs import flooded, frames_in
from tests.benchmarks.memory import growth, own_bytes
from tests.benchmarks.scrolling import Hand
from tests.benchmarks.window_runs import add_bench_server, open_window_on

if TYPE_CHECKING:
    from mcp_progress_monitor.engine.updates import Update

_TOKENS: Final = 50
_SETTLE_S: Final = 2.0
_KEPT: Final = RecordingSettings(keep_bytes=10**12)
"""Nothing is pruned while this goes on, so that what is missing on the disk is lost."""


class _Watch:
    """Counts ticks, and notes the memory held when the first of them, `lead`, have come."""

    def __init__(self, lead: int) -> None:
        self.lead = lead
        self.count = 0
        self.held: int | None = None
        self.began = self.last = 0.0

    def __call__(self, update: Update) -> None:
        if not update.changes.ticks:
            return
        self.last = time.perf_counter()
        self.began = self.began or self.last
        before, self.count = self.count, self.count + len(update.changes.ticks)
        if before < self.lead <= self.count:
            self.held = own_bytes()


async def soak(count: str, lead: str) -> dict[str, Any]:
    """`count` frames are recorded and browsed; what more memory those after `lead` took."""
    watch, beat = _Watch(int(lead)), Heartbeat()
    with tempfile.TemporaryDirectory(prefix="bench-soak-") as name:
        folder = Path(name)
        save_settings(folder, _KEPT)
        async with open_window_on(folder) as program:
            window, engine = program.window, program.engine
            window.open_dock("traffic")
            await add_bench_server(engine, flood_command(int(count), _TOKENS))
            engine.subscribe(watch)
            hand = Hand(window.traffic_pane.view.verticalScrollBar())
            async with anyio.create_task_group() as browsing:
                browsing.start_soon(hand.run)
                await flooded(engine, beat, _TOKENS)
                browsing.cancel_scope.cancel()
            await anyio.sleep(_SETTLE_S)
            after, recorded = own_bytes(), engine.recording.size
        missing = engine.recording.count - frames_in(folder)
    late, spent = beat.lateness(watch.began, watch.last), watch.last - watch.began
    return {
        "frames": watch.count,
        "lost": int(count) - watch.count,
        "lost_on_disk": missing,
        "recorded_bytes": recorded,
        "rate": per_second(watch.count, spent),
        "scrolled_per_s": per_second(hand.steps, spent),
        "growth_bytes": growth(watch.held, after, watch.count - watch.lead),
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
    }
