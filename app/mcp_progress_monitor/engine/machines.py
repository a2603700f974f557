"""Other machines: runs the command that prints the stream of one, and follows what it brings.

The command was approved. It is given nothing but the option that leaves out what is already here,
once it is connected again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from mcp_progress_monitor import formatting
from mcp_progress_monitor.engine.followed_tap import Elsewhere
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.recording.mirror import StreamMirror
from mcp_progress_monitor.recording.spool import SpoolFolder
from mcp_progress_monitor.recording.stream import ALIVE_S
from mcp_progress_monitor.sessions.transport.server_process import ServerProcess
from mcp_progress_monitor.snapshots.watched import MachineSnapshot, MachineState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from anyio.abc import TaskGroup

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.engine.watching import Watching
    from mcp_progress_monitor.recording.mirror import MirroredRecording
    from mcp_progress_monitor.snapshots.definitions import StdioDefinition

_log = logging.getLogger(__name__)

MARKS: Final = "--marks"
_FIRST_DELAY_S: Final = 1.0
_LONGEST_DELAY_S: Final = 60.0
_CALM_S: Final = 20.0  # a connection that lasts so long resets the delay
_BEGIN_S: Final = 60.0  # how long a command may take until the stream begins
_SILENT_S: Final = 4 * ALIVE_S
_STDERR_KEPT: Final = 4096
_QUOTED: Final = 500
_ASKS: Final = ("permission denied", "password", "passphrase", "host key verification")
_NO_TERMINAL: Final = (
    "Commands have no terminal here, so that none can ask. Use a key without a passphrase or an"
    " agent, connect once on a terminal to accept the host key, and add -o BatchMode=yes."
)


class _Machine:
    """One machine: its command, what came of it, and what it is doing."""

    def __init__(self, definition: StdioDefinition, mirror: StreamMirror) -> None:
        self.definition = definition
        self.mirror = mirror
        self.state = MachineState.CONNECTING
        self.error: ErrorDetails | None = None
        self.retry_at: float | None = None
        self.is_wanted = True
        self.woken = anyio.Event()
        self.scope = anyio.CancelScope()
        self.stderr = bytearray()

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def is_live(self) -> bool:
        return self.state is MachineState.LIVE


class Machines:
    """The other machines that are watched. Each has a task, which connects it again and again."""

    def __init__(
        self,
        watching: Watching,
        clock: Clock,
        publish: Callable[[frozenset[str]], None],
        folder: Path | None,
        tasks: Callable[[], TaskGroup],
    ) -> None:
        """Copy streams into a private folder in `folder`.

        The names of changed machines go to `publish`. `tasks` returns the group that they run in;
        `UserError` while there is none.
        """
        self._watching = watching
        self._clock = clock
        self._publish = publish
        self._folder = folder
        self._spool: SpoolFolder | None = None
        self._machines: dict[str, _Machine] = {}
        self._count = 0
        self._tasks = tasks

    def names(self) -> tuple[str, ...]:
        return tuple(self._machines)

    def snapshots(self) -> list[MachineSnapshot]:
        return [
            MachineSnapshot(
                machine.name,
                machine.definition.address,
                machine.state,
                machine.mirror.host,
                machine.error,
                machine.retry_at,
            )
            for machine in self._machines.values()
        ]

    def watch(self, definition: StdioDefinition, *, is_wanted: bool = True) -> None:
        """Run a command, which was approved, and watch what it prints, under its name.

        Unless `is_wanted`, it is listed as not approved, and runs once it is retried.

        Raises:
            UserError: the name is taken, or nothing can be stored.
        """
        if definition.name in self._machines:
            raise UserError(ErrorDetails("A machine of this name is watched", definition.name))
        if self._folder is None:
            raise UserError(ErrorDetails("There is no folder for a stream", definition.name))
        tasks = self._tasks()
        self._spool = self._spool or SpoolFolder(self._folder)
        self._count += 1
        folder = self._spool.path / str(self._count)
        folder.mkdir(mode=0o700)
        mirror = StreamMirror(folder, self._clock.monotonic)
        machine = self._machines[definition.name] = _Machine(definition, mirror)
        if not is_wanted:
            machine.is_wanted, machine.state = False, MachineState.STOPPED
            hint = "Choose Connect now to see the command and approve it."
            machine.error = ErrorDetails("Not approved", definition.address, hint)
        tasks.start_soon(self._run, machine, name=f"machine {definition.name}")

    def retry(self, name: str) -> None:
        """Connect now instead of later, also what was stopped."""
        machine = self._machines[name]
        machine.is_wanted = True
        machine.woken.set()

    def stop(self, name: str) -> None:
        """End the command; what came stays listed."""
        machine = self._machines[name]
        machine.is_wanted = False
        machine.scope.cancel()
        machine.woken.set()

    def remove(self, name: str) -> None:
        """End the command, and the sessions that it showed."""
        self.stop(name)
        machine = self._machines.pop(name)
        for recording in machine.mirror.recordings.values():
            recording.is_over = True
        self._publish(frozenset({name}))

    def close(self) -> None:
        """Delete the copies, once nothing runs any more."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    async def _run(self, machine: _Machine) -> None:
        """Keep one machine connected, until it is removed."""
        delay_s = _FIRST_DELAY_S
        while self._machines.get(machine.name) is machine:
            machine.woken = anyio.Event()
            if machine.is_wanted:
                began_at = self._clock.monotonic()
                await self._connect(machine)
                lasted_s = self._clock.monotonic() - began_at
                if machine.mirror.has_begun and lasted_s >= _CALM_S:
                    delay_s = _FIRST_DELAY_S
            if not machine.is_wanted:
                self._turn(machine, MachineState.STOPPED)
                await machine.woken.wait()
                delay_s = _FIRST_DELAY_S
                continue
            self._turn(machine, MachineState.WAITING, self._clock.monotonic() + delay_s)
            with anyio.move_on_after(delay_s):
                await machine.woken.wait()
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)

    def _turn(self, machine: _Machine, state: MachineState, retry_at: float | None = None) -> None:
        machine.state, machine.retry_at = state, retry_at
        self._publish(frozenset({machine.name, *self._watching.names_on(machine.name)}))

    async def _connect(self, machine: _Machine) -> None:
        """Run the command once, to its end."""
        self._turn(machine, MachineState.CONNECTING)
        machine.stderr.clear()
        machine.mirror.begin()
        try:
            with anyio.CancelScope() as machine.scope:
                await self._stream(machine)
        except UserError as error:
            machine.error = error.details
        except Exception:  # noqa: BLE001
            # The one place for internal errors with a machine: the others continue.
            _log.exception("watching %s met a defect", machine.name)
            machine.error = ErrorDetails("This program met a defect", machine.name)

    async def _stream(self, machine: _Machine) -> None:
        definition, has_some = machine.definition, bool(machine.mirror.recordings)
        if has_some:
            definition = definition.model_copy(update={"args": (*definition.args, MARKS)})
        process = await ServerProcess.start(definition)
        failure, reason = None, ""
        try:
            async with anyio.create_task_group() as meanwhile:
                meanwhile.start_soon(process.watch)
                meanwhile.start_soon(_keep_stderr, process, machine.stderr)
                if has_some:
                    meanwhile.start_soon(_send, process, machine.mirror.marks())
                try:
                    reason = await self._read(machine, process)
                    if not reason:
                        with anyio.move_on_after(_SILENT_S):
                            await _ended(process)
                except UserError as error:  # not to be wrapped by the group
                    failure = error
                finally:
                    meanwhile.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await process.end()
                await process.release()
        raise failure or UserError(_why_ended(machine, process.exit_code, reason))

    async def _read(self, machine: _Machine, process: ServerProcess) -> str:
        """Take what the command prints, to its end; why it was ended instead, or nothing."""
        mirror = machine.mirror
        while True:
            most_s = _SILENT_S if mirror.has_begun else _BEGIN_S
            data = None
            with anyio.move_on_after(most_s):
                data = await process.read_stdout()
            if data is None:
                return f"Nothing came for {formatting.duration(most_s)}"
            if not data:
                return ""
            mirror.feed(data)
            if mirror.has_begun and not machine.is_live:
                machine.error = None
                self._turn(machine, MachineState.LIVE)
            while mirror.begun:
                self._follow(machine, mirror.begun.pop(0))

    def _follow(self, machine: _Machine, recording: MirroredRecording) -> None:
        elsewhere = Elsewhere(machine.name, lambda: recording.shift_s, lambda: machine.is_live)
        self._watching.follow(recording.path, recording.has_ended, elsewhere)


async def _keep_stderr(process: ServerProcess, kept: bytearray) -> None:
    """Keep the end of standard error, so that it is never full."""
    while data := await process.read_stderr():
        kept += data
        del kept[:-_STDERR_KEPT]


async def _send(process: ServerProcess, marks: bytes) -> None:
    try:
        await process.write(marks)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # it has ended, which is reported


async def _ended(process: ServerProcess) -> None:
    """Wait for the exit code of a command whose output has ended."""
    while process.exit_code is None:  # noqa: ASYNC110  # their end is not reported
        await anyio.sleep(0.02)


def _why_ended(machine: _Machine, exit_code: int | None, reason: str) -> ErrorDetails:
    """Why a connection ended, with what the command printed."""
    said = formatting.one_line(bytes(machine.stderr).decode(errors="replace").strip(), _QUOTED)
    if not machine.mirror.has_begun and (printed := machine.mirror.quoted().strip()):
        said = f"{said} {printed}".strip()
    what = reason or f"The command ended with exit code {exit_code}"
    asks = any(word in said.lower() for word in _ASKS)
    hint = _NO_TERMINAL if asks else ""
    if exit_code == 127:
        hint = "Install mcp-progress-monitor there, or write its full path in the command."
    return ErrorDetails(
        what, machine.definition.address, hint, f"It printed: “{said}”" if said else ""
    )
