"""`serve`: a recording plays its server."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

import anyio
import click

from mcp_progress_monitor import formatting
from mcp_progress_monitor.cli.exits import ExitCode, failing
from mcp_progress_monitor.cli.tapping import load_script
from mcp_progress_monitor.imports.convert import as_recording
from mcp_progress_monitor.serving.exchanges import RecordedServer
from mcp_progress_monitor.serving.session import ServeOptions, times_faster
from mcp_progress_monitor.signal_watch import stop_on_signal

if TYPE_CHECKING:
    from mcp_progress_monitor.cli.orders import ServeOrder
    from mcp_progress_monitor.serving.faults import ServedFaults

_PROGRAM: Final = "mcp-progress-monitor serve"
_KILLED: Final = 137
"""The exit code of a process that was killed, as shells show it."""


def serve_recording(order: ServeOrder) -> int:
    """Serve a recording until its client closes it, or a signal.

    Returns the exit code, 8 if there was nothing to serve. `CommandFailed` with code 8 if the file
    cannot be read or is not a recording, with code 2 for an invalid script or a port that is not
    available.
    """
    faults: ServedFaults | None = None
    if order.script is not None:
        from mcp_progress_monitor.serving.faults import ServedFaults

        with failing(ExitCode.USAGE):
            faults = ServedFaults(load_script(order.script, order.seed))
    with contextlib.ExitStack() as stack:
        with failing(ExitCode.UNWRITABLE):
            path = stack.enter_context(as_recording(order.file, _say))
            server = RecordedServer(path, order.server)
        if faults is not None:
            _say(faults.text)
        options = ServeOptions(
            times_faster(order.speed),
            is_strict=order.is_strict,
            allows_redacted=order.allows_redacted,
        )
        anyio.run(_run, server, options, order.port, faults)
        if server.is_empty:
            return ExitCode.UNWRITABLE
        if faults is not None and faults.killed.is_set():
            sys.stdout.flush()
            os._exit(_KILLED)  # as a process that was killed; a thread still reads standard input
    return ExitCode.DONE


async def _run(
    server: RecordedServer, options: ServeOptions, port: int | None, faults: ServedFaults | None
) -> None:
    if port is None:
        from mcp_progress_monitor.serving.stdio import serve_stdio

        await serve_stdio(server, options, _report_odd, faults)
        return
    from mcp_progress_monitor.serving.http import HttpServing

    serving = HttpServing(server, options, _report, faults)
    with failing(ExitCode.USAGE):
        await serving.open(port)
    with stop_on_signal() as stop:
        click.echo(serving.url)
        _say("Use the URL above in the client. Press Ctrl+C to stop.")
        await serving.run(stop)


def _report(line: str, *, is_odd: bool = False) -> None:  # as `Report` has it
    _say(line)


def _report_odd(line: str, *, is_odd: bool = False) -> None:
    """Report what a client does not see in the replies: its users read standard error."""
    if is_odd:
        _say(line)


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{_PROGRAM}: {formatting.visible(line)}\n")
        sys.stderr.flush()
