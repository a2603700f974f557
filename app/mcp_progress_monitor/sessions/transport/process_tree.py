"""A process with its descendants, found in readings of the process table that all servers share."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint

from mcp_progress_monitor.sessions.transport import watchdog
from mcp_progress_monitor.sessions.transport.watchdog import ProcessEntry, descendants

if TYPE_CHECKING:
    from collections.abc import Mapping


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
        """Return whether any member that left the group is running."""
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
