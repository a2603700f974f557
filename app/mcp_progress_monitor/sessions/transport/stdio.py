"""The stdio transport: a server process with its descendants, its pipes split into frames."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream
from anyio.lowlevel import RunVar, checkpoint, checkpoint_if_cancelled

from mcp_progress_monitor import bundle, formatting
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, here, is_closed, is_file, path_kind
from mcp_progress_monitor.protocol.frames import BatchRun, FrameRun
from mcp_progress_monitor.protocol.framing import LineSplitter
from mcp_progress_monitor.secrets.references import NoKeyring, resolved
from mcp_progress_monitor.sessions.transport import base, process_guard, watchdog
from mcp_progress_monitor.sessions.transport.base import FIRST_BYTES, ProcessNotes, Transport
from mcp_progress_monitor.sessions.transport.process_guard import guard
from mcp_progress_monitor.sessions.transport.watchdog import MARK, ProcessEntry, descendants

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from anyio.abc import Process

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.protocol.facts import JsonObject
    from mcp_progress_monitor.protocol.frames import Frame
    from mcp_progress_monitor.protocol.framing import Framer
    from mcp_progress_monitor.secrets.references import Keyring
    from mcp_progress_monitor.snapshots.definitions import StdioDefinition

__all__ = ["entry_of", "marks", "running"]


class _ProcessTable:
    """The newest reading of the process table, shared by all that requested it before it began."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.begun = 0
        self.held = 0  # the number of the reading in `found`, as counted by `begun`
        self.found: Mapping[int, ProcessEntry] = {}
        self.marks: Mapping[int, str] = {}
        """The marks of the processes in `found`, once they were needed."""
        self.marked = 0  # the number of the reading in `marks`


_process_table: Final = RunVar[_ProcessTable]("census")


async def running() -> Mapping[int, ProcessEntry]:
    """All running processes except zombies; empty on Windows."""
    if sys.platform == "win32":
        await checkpoint()
        return {}
    table = _current()
    requested_at = table.begun
    async with table.lock:
        return await _read(table, requested_at)


async def marks() -> tuple[Mapping[int, ProcessEntry], Mapping[int, str]]:
    """All running processes, and the server marks that some of them have."""
    if sys.platform == "win32":
        await checkpoint()
        return {}, {}
    table = _current()
    requested_at = table.begun
    async with table.lock:
        found = await _read(table, requested_at)
        if table.marked != table.held:
            table.marks = await anyio.to_thread.run_sync(_marks_of, tuple(found))
            table.marked = table.held
        return found, table.marks


def entry_of(pid: int) -> ProcessEntry | None:
    return None if sys.platform == "win32" else watchdog.entry_of(pid)


def _current() -> _ProcessTable:
    table = _process_table.get(None)
    if table is None:
        table = _ProcessTable()
        _process_table.set(table)
    return table


async def _read(table: _ProcessTable, requested_at: int) -> Mapping[int, ProcessEntry]:
    """The newest reading, or a new one if that began before this call."""
    if table.held <= requested_at:  # no reading that began after this call has finished
        number = table.begun = table.begun + 1
        table.found = await anyio.to_thread.run_sync(watchdog.read_all)
        table.held = number
    return table.found


def _marks_of(pids: tuple[int, ...]) -> dict[int, str]:
    return {pid: mark for pid in pids if (mark := watchdog.mark_of(pid))}


class ProcessTree:
    """The descendants of the process `head`, which leads its group.

    Process ids are reused. So each member is also identified by its start time, and signals go only
    to the process that was found.
    """

    def __init__(self, head: int, mark: str = "") -> None:
        """The tree of a running process that was started with `mark` (see `watchdog`)."""
        self._head = head
        self._mark = mark
        self._before: Mapping[int, ProcessEntry] = {}
        """All processes at the last reading while the server ran."""
        entry = entry_of(head)
        self._started: dict[int, int] = {} if entry is None else {head: entry.started}

    async def look_up(self) -> None:
        """Find the current members, including children of members whose parents ended."""
        if not self._is_any_left():
            return  # without children; reading all processes is expensive
        self._take(await running())

    async def look_up_orphans(self) -> None:
        """Find the members after the server has ended, including those that it left behind."""
        running, marked = await marks()
        self._started |= {
            pid: running[pid].started
            for pid, mark in marked.items()
            if mark == self._mark and not self._was_there(pid, running[pid])
        }
        self._take(running)

    def _take(self, running: Mapping[int, ProcessEntry]) -> None:
        roots = [pid for pid in self._started if self._is_member(pid, running)]
        for pid in descendants(roots, running):
            self._started.setdefault(pid, running[pid].started)
        head = entry_of(self._head)
        if head is not None and head.started == self._started.get(self._head):
            self._before = running  # the rest do not belong to it

    def _was_there(self, pid: int, entry: ProcessEntry) -> bool:
        before = self._before.get(pid)
        return before is not None and before.started == entry.started

    def _is_any_left(self) -> bool:
        entries = ((started, entry_of(pid)) for pid, started in self._started.items())
        return any(entry is not None and entry.started == started for started, entry in entries)

    def has_strays(self) -> bool:
        """Whether any member that left the group is running."""
        return bool(self._strays())

    def terminate(self) -> None:
        """Ask every member that left the group to end (SIGTERM)."""
        self._signal("SIGTERM")

    def kill(self) -> None:
        self._signal("SIGKILL")

    def _signal(self, name: str) -> None:
        for pid in self._strays():
            # It may end meanwhile, or belong to another user.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.Signals[name])  # which Windows lacks

    def _strays(self) -> list[int]:
        entries = {pid: entry for pid in self._started if (entry := entry_of(pid)) is not None}
        return [
            pid
            for pid, entry in entries.items()
            if entry.group != self._head and self._is_member(pid, entries)
        ]

    def _is_member(self, pid: int, running: Mapping[int, ProcessEntry]) -> bool:
        return pid in running and running[pid].started == self._started[pid]


def folder_error(definition: StdioDefinition) -> ErrorDetails | None:
    """The error of the working folder; None if it can be used."""
    if definition.cwd is None:
        return None
    seen = path_kind(definition.cwd)
    if seen is not PathKind.FOLDER:
        what = f"The working folder {seen.value}"
    elif is_closed(definition.cwd):
        what = "No permission to access the working folder"
    else:
        return None
    return ErrorDetails(what, definition.cwd, "Check the folder in the server's definition.")


def start_error(
    definition: StdioDefinition, environment: Mapping[str, str], error: OSError
) -> ErrorDetails:
    """The operating system's refusal to start `definition`'s command, explained."""
    command = definition.command
    path = Path(here() or "", definition.cwd or "", command)
    is_path = os.sep in command or bool(os.altsep and os.altsep in command)
    if isinstance(error, FileNotFoundError) and is_path and is_file(path):
        return _missing_interpreter(path)
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _not_found(command, path if is_path else None, environment)
    if isinstance(error, PermissionError):
        return _not_executable(command, path)
    if error.errno == errno.ENOEXEC:
        hint = (
            "Use its interpreter as the command, or give it a first line such as "
            "#!/usr/bin/env python3."
        )
        return ErrorDetails("Cannot start the server: the file is not a program", command, hint)
    return base.open_files_error(error, command) or ErrorDetails(
        "Cannot start the server", command, "Try it in a terminal.", error.strerror or ""
    )


def _missing_interpreter(path: Path) -> ErrorDetails:
    with path.open("rb") as script:
        first = script.readline(200).decode(errors="replace").strip()
    hint = "Install the interpreter named in its first line, or fix that line."
    return ErrorDetails(
        "Cannot start the server: the script's interpreter does not exist", str(path), hint, first
    )


def _not_found(command: str, path: Path | None, environment: Mapping[str, str]) -> ErrorDetails:
    if path is not None:
        near = _close(path.name, _names(path.parent))
        return ErrorDetails(
            "Cannot start the server: file not found", str(path), _advice(near, "Check the path.")
        )
    search_path = environment.get("PATH", "")
    names = {name for folder in os.get_exec_path(environment) for name in _names(Path(folder))}
    advice = "Install it, or use its full path."
    return ErrorDetails(
        "Cannot start the server: command not found",
        command,
        _advice(_close(command, names), advice),
        f"Searched PATH: {search_path}",
    )


def _not_executable(command: str, path: Path) -> ErrorDetails:
    seen = path_kind(path)
    if seen is PathKind.FOLDER:
        return ErrorDetails(
            "Cannot start the server: the command is a folder",
            str(path),
            "Choose a program inside it.",
        )
    if seen is PathKind.HIDDEN:
        hint = "Check the path, and the permissions of its folders."
        return ErrorDetails(f"Cannot start the server: the command {seen.value}", str(path), hint)
    hint = f"Make it executable (chmod +x {command}), or start it with its interpreter."
    return ErrorDetails("Cannot start the server: the file is not executable", command, hint)


def _names(folder: Path) -> Iterator[str]:
    try:
        yield from os.listdir(folder)  # noqa: PTH208  # names, thousands of them: no Path each
    except OSError:
        return


def _close(name: str, names: Iterator[str] | set[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, list(names), n=3, cutoff=0.75)


def _advice(near: list[str], otherwise: str) -> str:
    return f"Did you mean {' or '.join(near)}? {otherwise}" if near else otherwise


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
    """What may still be read from a pipe after the server and its children have ended."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()  # the scope of the newest read
        self._reads = 0
        self._waited_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether all their output was read: the rest is from another process."""
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
        """What is in the pipe; waits for the first byte."""
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


_COALESCED_S: Final = 0.015
"""How long a busy server's messages gather at most: a seventh of the interval of the views."""
_WORTHWHILE_S: Final = 0.002
_MANY_LINES: Final = 16  # chunks of fewer are read at once: somebody may wait for a reply
_OFTEN_S: Final = 0.02  # between two chunks; slower ones cost little
_ENOUGH_LINES: Final = 256
_ENOUGH_BYTES: Final = 24 * 1024  # of the 64 KiB that a pipe holds: the server must not wait for us
_KEPT: Final = 0.875  # of the sums with each chunk, which are those of the last eight then


class ReadCoalescing:
    """How long a pipe is left to fill before it is read again.

    A chunk costs as much as a hundred ticks before its first message is read, so a server that
    writes two hundred times a second is read every 15 ms. The delay is not noticeable: views are
    updated every 100 ms. A flood that is read as fast as it is written is not delayed.
    """

    def __init__(self) -> None:
        self._lines = self._bytes = self._seconds = 0.0
        self._read_at: float | None = None

    def note(self, now: float, lines: int, size: int) -> None:
        """A chunk of so many lines and bytes was read."""
        passed_s = 1.0 if self._read_at is None else min(now - self._read_at, 1.0)
        self._lines = self._lines * _KEPT + lines
        self._bytes = self._bytes * _KEPT + size
        self._seconds = self._seconds * _KEPT + passed_s
        self._read_at = now

    def pause_s(self, now: float) -> float:
        """The seconds to wait before the next chunk is read; 0 for none."""
        lines, apart_s = self._lines * (1 - _KEPT), self._seconds * (1 - _KEPT)
        if self._read_at is None or lines < _MANY_LINES or apart_s > _OFTEN_S:
            return 0.0
        filled_s = self._seconds * min(_ENOUGH_LINES / self._lines, _ENOUGH_BYTES / self._bytes)
        if filled_s < _WORTHWHILE_S:
            return 0.0
        return max(self._read_at + min(filled_s, _COALESCED_S) - now, 0.0)


_SLICE_LINES: Final = 64  # most lines of standard error returned at once
MOST_BYTES: Final = 256 * 1024 * 1024  # longer messages are refused: they may never end
_KEPT_BYTES: Final = 64 * 1024  # how much of such a message is recorded
STDERR_LINE_BYTES: Final = 64 * 1024
"""Longer lines of stderr become several frames, all but the last marked as incomplete."""


class StdioTransport(Transport):
    """Connects to a process over its stdin and stdout, one message a line."""

    failure: ErrorDetails | None = None
    last_byte_at: float | None = None

    def __init__(
        self,
        definition: StdioDefinition,
        framer: Framer,
        clock: Clock,
        keyring: Keyring | None = None,
    ) -> None:
        """Frames are made by `framer` and stamped once for every chunk read.

        References in the values of variables are resolved when it is opened.
        """
        self._definition = definition
        self._keyring = keyring or NoKeyring()
        self._framer = framer
        self._clock = clock
        self._process: ServerProcess | None = None
        self.process = self._notes = ProcessNotes()
        self._splitter = LineSplitter()
        self._coalescing = ReadCoalescing()
        self._slices: Iterator[Sequence[Frame]] = iter(())
        self._stamp = (0.0, 0.0)
        self._is_over = False
        self._lines: Sequence[bytes] = ()
        """Lines that are being framed; the first `_framed` of them are done."""
        self._framed = 0
        self._held = 0  # the size of an incomplete line

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal, None while the server runs."""
        return self._process.exit_code if self._process else None

    @property
    def unread_bytes(self) -> int:
        """Bytes that were not framed yet: of a message that is being split."""
        return sum(map(len, self._lines[self._framed :]))

    async def open(self) -> JsonObject:
        """Start the process; returns command, arguments, folder, names of variables, pid."""
        definition = self._definition
        self._process = await ServerProcess.start(await self._with_secrets(definition))
        return {
            "command": definition.command,
            "args": list(definition.args),
            "cwd": definition.cwd,
            "env": sorted(definition.env),
            "pid": self._process.pid,
        }

    async def _with_secrets(self, definition: StdioDefinition) -> StdioDefinition:
        """The definition with its references resolved: to be run, never shown."""
        secrets: set[str] = set()
        where = f"the variables of {definition.name}"
        env = await resolved(definition.env, self._keyring, where, secrets)
        numbered = {str(place): word for place, word in enumerate(definition.args)}
        where = f"the arguments of {definition.name}"
        args = await resolved(numbered, self._keyring, where, secrets)
        self._notes.secrets = tuple(secrets)
        return definition.model_copy(update={"env": env, "args": tuple(args.values())})

    async def watch(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._running.watch)
            await self._read_stderr(on_stderr)

    async def receive(self) -> Sequence[Frame]:
        """The next lines of stdout as frames; a last line without an end is marked so."""
        while True:
            for frames in self._slices:
                if frames:
                    return frames
                await checkpoint()  # inside a message of many megabytes
            await self._read_on()

    async def send(self, raw: bytes, frame: int) -> None:
        await self._running.write(raw + b"\n")

    async def close(self) -> None:
        """End the process and its children: stdin closed, then SIGTERM, then SIGKILL."""
        if self._process is not None:
            await self._process.end()
            self._notes.was_ended = self._process.was_ended
            self._notes.left_children = self._process.left_children

    async def release(self) -> None:
        if self._process is not None:
            await self._process.release()

    async def _read_on(self) -> None:
        """Read the next chunk; at the end of the stream, the rest of a line."""
        if self._is_over:
            raise anyio.EndOfStream
        if pause_s := self._coalescing.pause_s(self._clock.monotonic()):
            await anyio.sleep(pause_s)
        data = await self._running.read_stdout()
        if len(self._notes.first_bytes) < FIRST_BYTES:
            self._notes.first_bytes = (self._notes.first_bytes + data)[:FIRST_BYTES]
        self._stamp = self._clock.wall(), self._clock.monotonic()
        self._is_over = not data
        if data:
            self.last_byte_at = self._stamp[1]
        last = data.rfind(b"\n") + 1
        self._held = len(data) - last if last else self._held + len(data)
        if self._held > MOST_BYTES:
            self._refuse()
            return
        if not last:
            await checkpoint()  # the pipe may never be empty before the message ends
        lines = self._splitter.feed(data) if data else [self._splitter.flush()]
        self._coalescing.note(self._stamp[1], len(lines), len(data))
        self._slices = self._cut([line for line in lines if line is not None])

    def _refuse(self) -> None:
        """Drop the rest of a message that is too long; its beginning is recorded."""
        self._is_over = True
        self._slices = self._cut([(self._splitter.flush() or b"")[:_KEPT_BYTES]])
        self.failure = ErrorDetails(
            f"The server sent more than {formatting.size(MOST_BYTES)} without ending the message",
            self._definition.address,
            "This is a bug in the server. Reconnect, and request less at once.",
        )

    def _cut(self, lines: Sequence[bytes]) -> Iterator[Sequence[Frame]]:
        """Frames of the lines, a slice at a time."""
        self._lines, self._framed = lines, 0
        is_complete = not self._is_over
        for frames in self._framer.in_slices(lines, *self._stamp, is_complete=is_complete):
            is_run = type(frames) is FrameRun
            self._framed += len(frames) if is_run else _line_count(frames)
            yield frames

    @property
    def _running(self) -> ServerProcess:
        if self._process is None:
            raise anyio.ClosedResourceError
        return self._process

    async def _read_stderr(self, on_stderr: Callable[[Sequence[Frame]], Awaitable[None]]) -> None:
        lines = _StderrLines()
        while data := await self._running.read_stderr():
            pieces = lines.feed(data)
            for start in range(0, len(pieces), _SLICE_LINES):
                await on_stderr(self._stderr_frames(pieces[start : start + _SLICE_LINES]))
                await checkpoint()  # a flood of lines on stderr must not block the loop either
        if rest := lines.flush():
            await on_stderr(self._stderr_frames(rest))

    def _stderr_frames(self, pieces: Sequence[tuple[bytes, bool]]) -> list[Frame]:
        when, at = self._clock.wall(), self._clock.monotonic()
        return [
            self._framer.stderr(raw, when, at)._replace(is_complete=is_complete)
            for raw, is_complete in pieces
        ]


def _line_count(frames: Sequence[Frame]) -> int:
    """How many of the frames are lines, not elements of a batch."""
    parts = frames.parts if isinstance(frames, BatchRun) else [frame.part for frame in frames]
    return parts.count(None)


class _StderrLines:
    """Splits stderr into (bytes, whether they end a line): at line feeds and at a bound."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        pieces = [piece for line in whole for piece in _bounded(line)]
        *full, (self._rest, _) = _bounded(self._rest)
        return pieces + full

    def flush(self) -> list[tuple[bytes, bool]]:
        rest, self._rest = self._rest, b""
        return [(rest, False)] if rest else []


def _bounded(line: bytes) -> Iterator[tuple[bytes, bool]]:
    """`line` in pieces of bounded length; the last one, perhaps empty, ends it."""
    start = 0
    while len(line) - start > STDERR_LINE_BYTES:
        yield line[start : start + STDERR_LINE_BYTES], False
        start += STDERR_LINE_BYTES
    yield line[start:], True
