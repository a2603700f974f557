"""`--otel`: telemetry as the environment says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_progress_monitor.cli.exits import ExitCode, failing

if TYPE_CHECKING:
    from mcp_progress_monitor.telemetry.telemetry import Telemetry


def telemetry_here() -> Telemetry:
    """The telemetry of a command; `CommandFailed` if it cannot be sent from here."""
    from mcp_progress_monitor.telemetry.options import TelemetryOptions  # few ask for it
    from mcp_progress_monitor.telemetry.telemetry import Telemetry

    with failing(ExitCode.USAGE):
        return Telemetry(TelemetryOptions())
