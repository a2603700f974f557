"""Runs of the real window (offscreen) on a recording: opened, and its log filtered."""

from __future__ import annotations

import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication

from mcp_progress_monitor.filtering.filter import TrafficFilter
from mcp_progress_monitor.gui.launch_options import RecordingOptions
from mcp_progress_monitor.gui.recording_program import RecordingProgram
from mcp_progress_monitor.gui.traffic.model import TrafficModel
from mcp_progress_monitor.playback.playback import Playback
from tests.benchmarks.heartbeat import Heartbeat
from tests.benchmarks.memory import own_bytes
from tests.benchmarks.recordings import NEEDLE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FILTERS: Final = {
    "field": 'token == "build-17" and dt > 500ms',
    "path": "params.arguments.n == 17",
    "path_in_every_frame": "params.progress == 107",
    "text": f'"{NEEDLE}"',
}
"""By name what is asked of the log; each finds something in a recording of `recordings`."""
_LOOK_S: Final = 0.001
_SETTLE_S: Final = 0.2


async def log_open(path: str) -> dict[str, Any]:
    """Open the recording at `path`: when rows are painted, when all is there, what it holds."""
    beat = Heartbeat()
    before = own_bytes()
    begun = time.perf_counter()
    async with _opened(Path(path)) as program, anyio.create_task_group() as beating:
        paint = _RowsPainted(program)
        shown_after = time.perf_counter()
        beating.start_soon(beat.run)
        await _loaded(program)
        indexed = time.perf_counter()
        late = beat.lateness(shown_after, indexed)
        count, jobs = program.playback.timeline.end, len(program.playback.jobs.ids())
        await anyio.sleep(_SETTLE_S)
        after = own_bytes()
        beating.cancel_scope.cancel()
    assert paint.at is not None
    return {
        "first_rows_s": paint.at - begun,
        "indexed_s": indexed - begun,
        "reading_s": indexed - shown_after,
        "frames": count,
        "jobs": jobs,
        "held_bytes": None if before is None or after is None else after - before,
        "late_p99_ms": late.p99,
        "late_max_ms": late.maximum,
    }


async def log_filter(path: str) -> dict[str, Any]:
    """Filter the log of the recording at `path` by each of `FILTERS`, all rows shown between."""
    figures: dict[str, Any] = {}
    async with _opened(Path(path)) as program, anyio.create_task_group() as beating:
        await _loaded(program)
        await anyio.sleep(_SETTLE_S)
        beat = Heartbeat()
        beating.start_soon(beat.run)
        for name, text in FILTERS.items():
            begun = time.perf_counter()
            await _filtered(program, TrafficFilter(text=text))
            ended = time.perf_counter()
            figures[f"{name}_s"] = ended - begun
            figures[f"{name}_found"] = model_of(program).shown
            figures[f"{name}_late_p99_ms"] = beat.lateness(begun, ended).p99
            await _filtered(program, TrafficFilter())
            await anyio.sleep(_SETTLE_S)
        beating.cancel_scope.cancel()
    late = beat.lateness()
    return {**figures, "late_p99_ms": late.p99, "late_max_ms": late.maximum}


def model_of(program: RecordingProgram) -> TrafficModel:
    """The rows of the log."""
    model = program.window.traffic_pane.view.model()
    assert isinstance(model, TrafficModel)
    return model


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[RecordingProgram]:
    """The program on a recording, its log in sight, until the block ends."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    with tempfile.TemporaryDirectory(prefix="bench-log-") as folder:
        options = RecordingOptions(Playback(path), Path(folder))
        program = RecordingProgram(application, options)
        async with anyio.create_task_group() as group:
            group.start_soon(program.run)
            await program.ready.wait()
            program.window.open_dock("traffic")
            try:
                yield program
            finally:
                program.quit()
        # Now, not whenever Python's collector comes by.
        program.window.deleteLater()
        QCoreApplication.sendPostedEvents(program.window, QEvent.Type.DeferredDelete)


async def _loaded(program: RecordingProgram) -> None:
    """Wait until all of the recording is read and the log has all of its rows."""

    def is_loaded() -> bool:
        is_read, count = program.playback.is_loaded, program.playback.timeline.end
        return is_read and model_of(program).shown == count

    await _until(is_loaded)


async def _filtered(program: RecordingProgram, wanted: TrafficFilter) -> None:
    """Filter the log, and wait until it has been searched from beginning to end."""
    model = model_of(program)
    program.window.traffic_pane.set_filter(wanted)
    await _until(lambda: model.filter == wanted and not model.unsearched)


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110  # looked at from outside, as a user would
        await anyio.sleep(_LOOK_S)


class _RowsPainted(QObject):
    """Notes the moment at which the log was first painted with rows in it."""

    def __init__(self, program: RecordingProgram) -> None:
        super().__init__()
        self.at: float | None = None
        self._model = model_of(program)
        self._viewport = program.window.traffic_pane.view.viewport()
        self._viewport.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and self._model.rowCount():
            self._viewport.removeEventFilter(self)
            self.at = time.perf_counter()
        return super().eventFilter(watched, event)
