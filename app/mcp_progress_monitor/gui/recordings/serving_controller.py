"""Serves a recording over HTTP while its dialog wants it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import anyio
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.errors import ErrorDetails, UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.recordings.serving import ServeDialog


class ServingController(QObject):
    """Serves one recording over HTTP for as long as its dialog wants it."""

    def __init__(self, dialog: ServeDialog, path: Path, tasks: BackgroundTasks) -> None:
        super().__init__(dialog)
        self._dialog = dialog
        self._path = path
        self._tasks = tasks
        self._stop = anyio.Event()
        self._is_gone = False
        dialog.serve_requested.connect(self._on_serve)
        dialog.stop_requested.connect(self._on_stop)
        dialog.finished.connect(self._on_finished)

    @Slot(str)
    def _on_serve(self, speed: str) -> None:
        self._stop = anyio.Event()
        self._tasks.start(f"serve {self._path}", self._serve, speed, self._stop)

    @Slot()
    def _on_stop(self) -> None:
        self._stop.set()

    @Slot()
    def _on_finished(self) -> None:
        self._is_gone = True

    async def _serve(self, speed: str, stop: anyio.Event) -> None:
        from mcp_progress_monitor.imports.convert import as_recording  # late: when first served
        from mcp_progress_monitor.serving.exchanges import RecordedServer
        from mcp_progress_monitor.serving.http import HttpServing
        from mcp_progress_monitor.serving.session import ServeOptions, times_faster

        error: ErrorDetails | None = None
        options = ServeOptions(times_faster(speed))
        try:
            with contextlib.ExitStack() as stack:
                path = stack.enter_context(as_recording(self._path))
                serving = HttpServing(RecordedServer(path), options, self._report)
                await serving.open(0)
                self._tell(lambda: self._dialog.show_url(serving.url))
                await serving.run(stop)
        except UserError as refused:
            error = refused.details
        finally:
            self._tell(lambda: self._dialog.show_stopped(error))

    def _report(self, line: str, *, is_odd: bool = False) -> None:
        mark = "! " if is_odd else ""
        self._tell(lambda: self._dialog.add_request(f"{mark}{line}"))

    def _tell(self, work: Callable[[], None]) -> None:
        """Tell the dialog, unless it was closed."""
        if not self._is_gone:
            work()
