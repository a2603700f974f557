"""A tap as a process, which listens until it is signalled, and then ends its recording."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.from_thread
from anyio.abc import SocketAttribute
from anyio.lowlevel import current_token

from mcp_progress_monitor import formatting, paths
from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.settings import load_settings
from mcp_progress_monitor.signal_watch import SignalWatch
from mcp_progress_monitor.tap_http.addresses import ListenAddress, TapAddresses, read_listen
from mcp_progress_monitor.tap_http.journal import HttpJournal, live_folder
from mcp_progress_monitor.tap_http.proxy import ProxyConnection
from mcp_progress_monitor.tap_http.recorder import TapRecorder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anyio.abc import SocketStream
    from anyio.streams.stapled import MultiListener

    from mcp_progress_monitor.tap.script import Script
    from mcp_progress_monitor.tap_http.faults import HttpFaults

_PROGRAM: Final = "mcp-progress-monitor tap"
_IS_OFF: Final = "Recording is turned off, so nothing is recorded and the window shows nothing."


@dataclasses.dataclass(frozen=True, slots=True)
class TapOptions:
    """The options of a tap.

    `name` is that of the server, by default the host of `to`; `client` is the client's, if known.
    """

    to: str
    listen: str | None = None
    name: str | None = None
    client: str | None = None
    data_dir: Path | None = None
    script: Script | None = None


class HttpTap:
    """A listening tap; `addresses` are valid after `open`."""

    def __init__(self, options: TapOptions, report: Callable[[str], None]) -> None:
        """`report` gets lines for the user; `UserError` for invalid options."""
        self.addresses = TapAddresses(options.to)
        self._wanted = None if options.listen is None else read_listen(options.listen)
        data_dir = paths.chosen_data_dir(options.data_dir)
        self._folder = live_folder(data_dir)
        self._settings, _ = load_settings(data_dir)
        self._name = options.name or self.addresses.upstream.host
        self._client = options.client
        self._script = options.script
        self._report = report
        self._listener: MultiListener[SocketStream] | None = None
        self._journal: HttpJournal | None = None

    @property
    def change_text(self) -> str:
        """A notice that a script changes what passes; empty without one."""
        return "" if self._script is None else self._script.text

    @property
    def recording(self) -> Path | None:
        """The file that is recorded to; None before `open`, and if recording is off."""
        journal = self._journal
        return None if journal is None or not self._settings.is_on else journal.path

    async def open(self) -> None:
        """Listen; `UserError` if the port is not available."""
        wanted = self._wanted or ListenAddress("127.0.0.1", self.addresses.usual_port)
        try:
            listener = await self._listening(wanted)
        except OSError as error:
            if self._wanted is not None:
                what = f"Cannot listen on {wanted.host} port {wanted.port}"
                hint = "Choose another port with --listen, or 0 for any."
                raise UserError(ErrorDetails(what, "", hint, error.strerror or "")) from error
            listener = await self._listening(ListenAddress(wanted.host, 0))
        self._listener = listener
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # of anyio
        self.addresses.listening = ListenAddress(wanted.host, port)
        clock = Clock()
        fields = {
            "client": self._client,
            "pid": os.getpid(),
            "parent": os.getppid(),
            "transport": "http",
        }
        if self._script is not None:
            fields["script"] = self._script.name
        stamp = clock.wall(), clock.monotonic()
        self._journal = HttpJournal(
            self._folder, self._name, fields, stamp, self._report, self._settings
        )

    async def run(self, stop: anyio.Event) -> None:
        """Serve until `stop` is set, then end all connections and the recording."""
        listener, journal = self._listener, self._journal
        if listener is None or journal is None:
            raise anyio.ClosedResourceError
        faults = None if self._script is None else _faults(self._script)
        recorder = TapRecorder(self._name, self.addresses, journal, self._report, faults=faults)
        try:
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(recorder.run)
                tasks.start_soon(listener.serve, functools.partial(self._serve, recorder))
                await stop.wait()
                tasks.cancel_scope.cancel()
        finally:
            recorder.close()
            journal.close()

    async def _listening(self, address: ListenAddress) -> MultiListener[SocketStream]:
        return await anyio.create_tcp_listener(
            local_host=address.host, local_port=address.port, reuse_port=False
        )

    async def _serve(self, recorder: TapRecorder, stream: SocketStream) -> None:
        """Serve one connection; an internal error ends only that one."""
        try:
            await ProxyConnection(stream, recorder).serve()
        except Exception as error:  # noqa: BLE001  # the others must go on
            text = formatting.one_line(f"{type(error).__name__}: {error}")
            self._report(f"A connection was closed because of an internal error: {text}")


def _faults(script: Script) -> HttpFaults:
    from mcp_progress_monitor.tap_http.faults import HttpFaults  # for a script only

    return HttpFaults(script)


def run_tap(options: TapOptions) -> int:
    """Run a tap until a signal ends it; returns the exit code. `UserError` if it cannot start."""
    tap = HttpTap(options, _report)
    anyio.run(_run, tap)
    return 0


async def _run(tap: HttpTap) -> None:
    stop = anyio.Event()
    token = current_token()

    def on_signal(_number: object) -> None:
        anyio.from_thread.run_sync(stop.set, token=token)

    await tap.open()
    with SignalWatch(on_signal):
        sys.stdout.write(f"{tap.addresses.own}\n")
        sys.stdout.flush()
        _report(f"Passing on to {tap.addresses.shown}. Use the URL above in the client.")
        if tap.change_text:
            _report(tap.change_text)
        state = _IS_OFF if tap.recording is None else f"Recording to {tap.recording}."
        _report(f"{state} Press Ctrl+C to stop.")
        await tap.run(stop)


def _report(line: str) -> None:
    """Write a line for the user, unless standard error is closed."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{_PROGRAM}: {formatting.visible(line)}\n")
        sys.stderr.flush()
