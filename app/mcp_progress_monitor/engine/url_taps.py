"""Taps for servers with a URL: processes of their own that do not outlive this program."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import elide, one_line
from mcp_progress_monitor.paths import program_command
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess
from mcp_progress_monitor.snapshots.definitions import StdioDefinition
from mcp_progress_monitor.tap_http.addresses import TapAddresses
from mcp_progress_monitor.tap_http.program import PROGRAM, READY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_REACH_S: Final = 5.0
_LONGEST: Final = 2000  # characters of what a tap says
_PORTS: Final = {"http": 80, "https": 443}


class UrlTapOrder(NamedTuple):
    """A tap to start: where it forwards to, and its names in the recording."""

    url: str
    name: str
    client: str
    data_dir: Path
    requests_progress: bool = False
    rewrites_auth: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        words = ["tap", "--to", self.url, "--name", self.name, "--client", self.client]
        words += ["--data-dir", str(self.data_dir)]
        words += ["--request-progress"] if self.requests_progress else []
        words += ["--rewrite-auth"] if self.rewrites_auth else []
        return (*program_command(), *words)


class UrlTap:
    """One tap, from its start to its end."""

    def __init__(
        self,
        order: UrlTapOrder,
        on_open: Callable[[str], None],
        report: Callable[[ErrorDetails], None],
    ) -> None:
        """`on_open` gets the address for the client, `report` what the user has to know."""
        self._order = order
        self._on_open = on_open
        self._report = report
        self._stop = anyio.Event()
        self._said: list[str] = []
        self._is_ready = False

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> None:
        """Run until `stop`; `UserError` if it cannot start or ends by itself."""
        addresses = TapAddresses(self._order.url)
        command, *args = self._order.command
        definition = StdioDefinition(name=self._order.name, command=command, args=tuple(args))
        process = await ServerProcess.start(definition)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(process.watch)
                tasks.start_soon(self._read_address, process, addresses)
                tasks.start_soon(self._read_reports, process)
                tasks.start_soon(self._end_when_stopped, process)
                while process.exit_code is None:  # noqa: ASYNC110  # `watch` may go on
                    await anyio.sleep(0.1)
                if not self._stop.is_set():
                    await anyio.sleep(0.2)  # its last words
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await process.end()
                await process.release()
        if not self._stop.is_set():
            what = "The tap of this server ended"
            detail = elide("\n".join(self._said), _LONGEST)
            hint = "Tick it again to start another one."
            raise UserError(ErrorDetails(what, addresses.shown, hint, detail))

    async def _end_when_stopped(self, process: ServerProcess) -> None:
        await self._stop.wait()
        await process.end()

    async def _read_address(self, process: ServerProcess, addresses: TapAddresses) -> None:
        text = b""
        while data := await process.read_stdout():
            text += data
            line, end, rest = text.partition(b"\n")
            if end:
                text = rest
                address = line.decode().strip()
                self._on_open(address)
                if f":{addresses.usual_port}/" not in f"{address}/":
                    what = f"Port {addresses.usual_port} is in use, so the tap has another address"
                    hint = f"Give {self._order.client} the new address: {address}"
                    self._report(ErrorDetails(what, self._order.name, hint))
                await self._warn_if_unreachable(addresses)

    async def _read_reports(self, process: ServerProcess) -> None:
        text = ""
        while data := await process.read_stderr():
            text += data.decode(errors="replace")
            *lines, text = text.split("\n")
            for line in lines:
                self._take(one_line(line.removeprefix(f"{PROGRAM}: "), _LONGEST))

    def _take(self, line: str) -> None:
        """Report a line, unless it belongs to the start."""
        if self._is_ready:
            self._report(ErrorDetails(line, self._order.name))
        self._said = [*self._said[-20:], line]
        self._is_ready = self._is_ready or line.endswith(READY)

    async def _warn_if_unreachable(self, addresses: TapAddresses) -> None:
        url = addresses.upstream
        if urllib.request.getproxies():  # a proxy may reach what we cannot
            return
        try:
            with anyio.fail_after(_REACH_S):
                stream = await anyio.connect_tcp(url.host, url.port or _PORTS[url.scheme])
            await stream.aclose()
        except (OSError, TimeoutError) as error:
            what = f"Cannot reach {url.host}: the client will not reach the server through the tap"
            why = (
                getattr(error, "strerror", None) or str(error) or f"No answer within {_REACH_S:g} s"
            )
            hint = "Check the URL and the network. The tap waits for the server."
            self._report(ErrorDetails(what, addresses.shown, hint, why))
