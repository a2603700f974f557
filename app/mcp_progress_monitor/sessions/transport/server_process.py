"""A server process and its children: start, pipes, watch and end."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream
from anyio.lowlevel import RunVar, checkpoint_if_cancelled

from mcp_progress_monitor import bundle
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.sessions.transport import process_guard
from mcp_progress_monitor.sessions.transport.process_guard import guard
from mcp_progress_monitor.sessions.transport.process_tree import ProcessTree
from mcp_progress_monitor.sessions.transport.start_errors import folder_error, start_error
from mcp_progress_monitor.sessions.transport.watchdog import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyio.abc import Process

    from mcp_progress_monitor.snapshots.definitions import StdioDefinition


READ_BYTES: Final = process_guard.PIPE_BYTES
_STDIN_GRACE_S: Final = 2.0  # how long a server may take to exit after its stdin was closed
_FAREWELL_S: Final = 0.25
"""A command that starts the server as its child may exit a moment before it."""
_TERMINATE_S: Final = 1.5
"""How long it may take after SIGTERM. With the rest below five seconds in all."""
_CHILDREN_S: Final = 0.5  # how long children that outlived the server may take after SIGTERM
_LAST_OUTPUT_S: Final = 0.5
"""How long a pipe may stay silent, once the server has ended, before it counts as closed."""
_LAST_READS: Final = (4, 64)
"""Fewest and most reads after no known process can write.

The first reads empty the pipe; an unknown process that holds it may write forever.
"""
_POLL_S: Final = 0.02
_LOOK_EVERY_S: Final = 5.0
"""How often a running server's process tree is read, since it may crash at any time.

All servers share one reading of the process table: 0.2 % of a core with 50 of them.
"""

_turn: Final = RunVar[anyio.Lock]("starting a process")


def environment_of(definition: StdioDefinition) -> dict[str, str]:
    """The user's environment, as in a terminal, with the definition's variables added."""
    return {**bundle.user_environment(), **definition.env}


class ServerProcess:
    """A running server and its children.

    `watch` must run beside the reading: else a pipe that another process (a child that left the
    tree) holds open after the server's end is read forever.
    """

    def __init__(self, process: Process, output: ByteReceiveStream, mark: str) -> None:
        """Wrap a process that was started with `process_guard.start_options` and `mark`."""
        self._process = process
        self._output = output
        self._mark = mark
        self._processes = ProcessTree(process.pid, mark)
        guard.add(process.pid, mark)
        self._has_ended = False
        self._are_all_gone = False
        self._pipes = {id(pipe): _RemainingOutput() for pipe in (output, process.stderr)}
        self.was_ended = False
        """Whether it had to be killed because it kept running after its stdin was closed."""
        self.left_children = False
        """Whether it exited while processes that it had started were running, which we ended."""

    @classmethod
    async def start(cls, definition: StdioDefinition) -> ServerProcess:
        """Start the command; `UserError` says why it failed."""
        details = folder_error(definition)
        if details is not None:
            raise UserError(details)
        environment = environment_of(definition)
        command = process_guard.executable(definition.command, environment)
        mark = environment[MARK] = guard.prepare()
        try:
            process, output = await _open(definition, command, environment)
        except OSError as error:
            raise UserError(start_error(definition, environment, error)) from error
        return cls(process, output, mark)

    @property
    def pid(self) -> int:
        """The process's id, which is also its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal, None while it runs."""
        return self._process.returncode

    async def watch(self) -> None:
        """Wait for the end of the process, then end the children that outlived it."""
        async with anyio.create_task_group() as meanwhile:
            meanwhile.start_soon(self._track_children)
            await self._process.wait()
            meanwhile.cancel_scope.cancel()
        self._has_ended = True
        deadline = anyio.current_time() + _LAST_OUTPUT_S
        for rest in self._pipes.values():
            rest.scope.deadline = deadline
        await self._end_children()
        self._are_all_gone = True

    async def read_stdout(self) -> bytes:
        return await self._read(self._output)

    async def read_stderr(self) -> bytes:
        """The server's standard error; `b""` at its end."""
        return await self._read(self._process.stderr)

    async def write(self, data: bytes) -> None:
        """Write to the server's stdin and wait until the pipe has room again.

        `BrokenResourceError` or `ClosedResourceError` once the process can no longer read it.
        """
        assert self._process.stdin is not None  # noqa: S101  # opened with a pipe, below
        await self._process.stdin.send(data)

    async def end(self) -> None:
        """End the server, more forcefully each time: closed stdin, SIGTERM, SIGKILL.

        Both pipes must be read meanwhile, or a server that keeps writing cannot exit.
        """
        with anyio.CancelScope(shield=True):
            await self._processes.look_up()
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            if not await self._has_exited(_STDIN_GRACE_S):
                await self._processes.look_up()
                self.was_ended = True
                process_guard.terminate(self.pid)
                if not await self._has_exited(_TERMINATE_S):
                    process_guard.kill(self.pid)
                    await self._process.wait()
            await self._end_children()

    async def release(self) -> None:
        """Close our ends of the pipes, after `end` and the last read."""
        await self._output.aclose()
        await self._process.aclose()

    async def _track_children(self) -> None:
        """Track the children: after a crash they cannot be found."""
        while True:
            await anyio.sleep(_LOOK_EVERY_S - anyio.current_time() % _LOOK_EVERY_S)
            await self._processes.look_up()

    async def _has_exited(self, within_s: float) -> bool:
        with anyio.move_on_after(within_s):
            await self._process.wait()
        return self.exit_code is not None

    async def _end_children(self) -> None:
        await self._processes.look_up_orphans()
        with anyio.move_on_after(_FAREWELL_S):
            while self._has_children():  # noqa: ASYNC110  # their end is not reported
                await anyio.sleep(_POLL_S)
        if self._has_children():
            self.left_children = not self.was_ended
            process_guard.terminate(self.pid)
            self._processes.terminate()
            with anyio.move_on_after(_CHILDREN_S):
                while self._has_children():  # noqa: ASYNC110  # their end is not reported
                    await anyio.sleep(_POLL_S)
            process_guard.kill(self.pid)
            self._processes.kill()
        guard.remove(self._mark)

    def _has_children(self) -> bool:
        return process_guard.is_alive(self.pid) or self._processes.has_strays()

    async def _read(self, stream: ByteReceiveStream | None) -> bytes:
        """Read; after the server's end, stop reading a pipe that another process holds open."""
        assert stream is not None  # noqa: S101  # opened with a pipe, below
        rest = self._pipes[id(stream)]
        began = anyio.current_time()
        with anyio.CancelScope() as scope:
            if self._are_all_gone and rest.is_over:
                return b""
            if self._has_ended:
                scope.deadline = began + _LAST_OUTPUT_S
            rest.scope, is_rest = scope, self._are_all_gone
            try:
                data = await stream.receive(READ_BYTES)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return b""
            if is_rest:
                rest.note(anyio.current_time() - began)
            return data
        return b""


class _RemainingOutput:
    """Output left in a pipe after the server and its children have ended."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()  # the scope of the newest read
        self._reads = 0
        self._waited_s = 0.0

    @property
    def is_over(self) -> bool:
        """True if all their output was read: the rest is from another process."""
        least, most = _LAST_READS
        return self._reads >= most or (self._reads >= least and self._waited_s >= _LAST_OUTPUT_S)

    def note(self, waited_s: float) -> None:
        self._reads += 1
        self._waited_s += waited_s


async def _open(
    definition: StdioDefinition, command: str, environment: Mapping[str, str]
) -> tuple[Process, ByteReceiveStream]:
    """Start one process at a time: each blocks the loop until the system has loaded its program.

    That takes 1 ms on an idle machine, and 40 ms on a busy one; sixteen at once would add up.
    """
    turn = _turn.get(None)
    if turn is None:
        turn = anyio.Lock()
        _turn.set(turn)
    async with turn:
        pipe = process_guard.open_pipe()
        try:
            process = await anyio.open_process(
                [command, *definition.args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if pipe is None else pipe.writer,
                stderr=subprocess.PIPE,
                cwd=definition.cwd,
                env=environment,
                **process_guard.start_options(),
            )
        except BaseException:
            if pipe is not None:
                os.close(pipe.reader)
            raise
        finally:
            if pipe is not None:
                os.close(pipe.writer)
        if pipe is not None:
            return process, _PipeReader(pipe.reader)
        assert process.stdout is not None  # noqa: S101  # opened with a pipe, above
        return process, process.stdout


class _PipeReader(ByteReceiveStream):
    """Our end of a pipe, read whenever it has data.

    A loop's own reader copies each byte three times, and takes two turns of the loop for a chunk:
    a quarter of a flood's time.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def receive(self, max_bytes: int = READ_BYTES) -> bytes:
        """Return the bytes in the pipe; waits for the first one."""
        await checkpoint_if_cancelled()
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._descriptor)
                continue
            if not data:
                raise anyio.EndOfStream
            return data
        raise anyio.ClosedResourceError

    async def aclose(self) -> None:
        """Close it; whoever waits gets `ClosedResourceError`."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            anyio.notify_closing(descriptor)
            os.close(descriptor)
