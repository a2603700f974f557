"""Telemetry of the window: follows the settings, and tells how the collector takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from PySide6.QtCore import QObject, Slot

from mcp_progress_monitor.gui.user_settings import TelemetrySettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.errors import ErrorDetails
    from mcp_progress_monitor.gui.aio import BackgroundTasks
    from mcp_progress_monitor.gui.setting_rows import Section
    from mcp_progress_monitor.gui.user_settings import UserSettings
    from mcp_progress_monitor.telemetry.options import TelemetryOptions
    from mcp_progress_monitor.telemetry.telemetry import Telemetry


class TelemetryController(QObject):
    """Sends telemetry while the setting is on, or from the start with `--otel`."""

    def __init__(
        self,
        engine: Engine,
        tasks: BackgroundTasks,
        settings: UserSettings,
        report: Callable[[ErrorDetails], None],
        show: Callable[[str], None],
        *,
        is_forced: bool,
        parent: QObject,
    ) -> None:
        """`show` receives the text for the status bar."""
        super().__init__(parent)
        self._engine = engine
        self._tasks = tasks
        self._settings = settings
        self._report = report
        self._show = show
        self._is_forced = is_forced
        self._telemetry: Telemetry | None = None
        self._wanted: TelemetryOptions | None = None
        self._is_reported = False
        settings.changed.connect(self._on_settings_changed)

    def begin(self) -> None:
        self._follow(self._settings.of(TelemetrySettings))

    @Slot(object)
    def _on_settings_changed(self, values: Section) -> None:
        if isinstance(values, TelemetrySettings):
            self._follow(values)

    def _follow(self, values: TelemetrySettings) -> None:
        if not (values.is_on or self._is_forced):
            self._restart(None)
            return
        from mcp_progress_monitor.telemetry.options import TelemetryOptions  # few ask for it

        self._restart(TelemetryOptions(values.endpoint.strip(), values.has_job_gauges))

    def _restart(self, options: TelemetryOptions | None) -> None:
        if options != self._wanted:
            self._wanted = options
            self._tasks.start("telemetry", self._run, options)

    async def _run(self, options: TelemetryOptions | None) -> None:
        """End what is sent now, and send as `options` say until others are wanted."""
        before, self._telemetry = self._telemetry, None
        if before is not None:
            before.stop()
            await anyio.to_thread.run_sync(before.close)
        if options is None or options is not self._wanted:
            self._show("")
            return
        from mcp_progress_monitor.telemetry.telemetry import Telemetry, load

        await anyio.to_thread.run_sync(load)
        telemetry = self._telemetry = Telemetry(options)
        telemetry.follow_engine(self._engine)
        self._is_reported = False
        await telemetry.run()

    @Slot()
    def poll(self) -> None:
        """Show how many signals were not taken; the first time with the reason."""
        telemetry = self._telemetry
        if telemetry is None:
            return
        problem = telemetry.problem
        self._show("sending telemetry" if problem is None else problem.what)
        if problem is not None and not self._is_reported:
            self._is_reported = True
            self._report(problem)

    def close(self) -> None:
        """Send what is left; the window is closed and its servers have ended."""
        if self._telemetry is not None:
            self._telemetry.close()
