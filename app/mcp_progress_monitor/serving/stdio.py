"""Serves a recording on standard input and output, to the client that started the program."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from mcp_progress_monitor.recording.reader import LONGEST_LINE
from mcp_progress_monitor.serving.lines import messages_in
from mcp_progress_monitor.serving.session import ServedClient, index, passed_on

if TYPE_CHECKING:
    from mcp_progress_monitor.serving.exchanges import RecordedServer
    from mcp_progress_monitor.serving.faults import ServedFaults
    from mcp_progress_monitor.serving.session import Report, ServeOptions


class _StandardStreams:
    """Where all messages go: one line each."""

    def __init__(self, faults: ServedFaults | None) -> None:
        self._faults = faults

    async def send(self, raw: bytes) -> None:
        for each in await passed_on(self._faults, "server", raw):
            sys.stdout.buffer.write(each + b"\n")
        sys.stdout.buffer.flush()

    def stderr(self, raw: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.buffer.write(raw + b"\n")
            sys.stderr.buffer.flush()


async def serve_stdio(
    server: RecordedServer,
    options: ServeOptions,
    report: Report,
    faults: ServedFaults | None = None,
) -> None:
    """Answer the client until it closes its side, or a script kills the server."""
    outlet = _StandardStreams(faults)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(index, server, report)
        client = ServedClient(server, options, tasks, report)

        async def read() -> None:
            while line := await anyio.to_thread.run_sync(
                sys.stdin.buffer.readline, LONGEST_LINE, abandon_on_cancel=True
            ):
                raw = line.rstrip(b"\r\n")
                if not raw:
                    continue
                for each in await passed_on(faults, "client", raw):
                    await client.take(messages_in(each), outlet)
            tasks.cancel_scope.cancel()

        tasks.start_soon(read)
        if faults is not None:
            tasks.start_soon(faults.run)
            await faults.killed.wait()
            tasks.cancel_scope.cancel()
