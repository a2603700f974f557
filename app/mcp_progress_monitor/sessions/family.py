"""A process's descendants that left its group, as Linux accounts for them in /proc.

A child that calls setsid (a browser that a server drives does) is not reached by a signal to the
server's group. Its parent tells whose it is, but only as long as that lives: so the family is
looked up before the server is asked to end, and now and then while it runs, for it may crash. What
came after the last look and was orphaned by a crash is known by the mark in its environment. Not
found are children that were orphaned before on purpose (a daemon's way), and those on systems
without Linux's /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

from mcp_progress_monitor.sessions import census
from mcp_progress_monitor.sessions.watchdog import descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.sessions.census import Entry


class Family:
    """The descendants of the process `head`, which leads its group.

    Numbers of processes are given again. So each member is known by its start as well, and a
    signal goes only to what is still the process that was found.
    """

    def __init__(self, head: int, mark: str = "") -> None:
        """The family of a process that runs, which was started with `mark` (see `watchdog`)."""
        self._head = head
        self._mark = mark
        self._before: Mapping[int, Entry] = {}
        """All processes that there were at the last look while the server ran."""
        entry = census.entry_of(head)
        self._started: dict[int, int] = {} if entry is None else {head: entry.started}

    async def look_up(self) -> None:
        """Find the members that there are now, also children of members whose parents ended."""
        if not self._is_any_left():
            return  # whose children there are nobody could tell: reading all of /proc is dear
        self._take(await census.running())

    async def look_up_orphans(self) -> None:
        """The same once the server has ended, with those that it left since the last look."""
        running, marks = await census.marks()
        self._started |= {
            pid: running[pid].started
            for pid, mark in marks.items()
            if mark == self._mark and not self._was_there(pid, running[pid])
        }
        self._take(running)

    def _take(self, running: Mapping[int, Entry]) -> None:
        roots = [pid for pid in self._started if self._is_member(pid, running)]
        for pid in descendants(roots, running):
            self._started.setdefault(pid, running[pid].started)
        head = census.entry_of(self._head)
        if head is not None and head.started == self._started.get(self._head):
            self._before = running  # who was no member by now is none of a server that ran on

    def _was_there(self, pid: int, entry: Entry) -> bool:
        before = self._before.get(pid)
        return before is not None and before.started == entry.started

    def _is_any_left(self) -> bool:
        entries = ((started, census.entry_of(pid)) for pid, started in self._started.items())
        return any(entry is not None and entry.started == started for started, entry in entries)

    def has_strays(self) -> bool:
        """Whether any member that left the group runs."""
        return bool(self._strays())

    def terminate(self) -> None:
        """Ask every member that left the group to end (SIGTERM)."""
        self._signal("SIGTERM")

    def kill(self) -> None:
        """End every member that left the group at once."""
        self._signal("SIGKILL")

    def _signal(self, name: str) -> None:
        for pid in self._strays():
            # It may end meanwhile, or belong to another user by now.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.Signals[name])  # which Windows lacks

    def _strays(self) -> list[int]:
        entries = {
            pid: entry for pid in self._started if (entry := census.entry_of(pid)) is not None
        }
        return [
            pid
            for pid, entry in entries.items()
            if entry.group != self._head and self._is_member(pid, entries)
        ]

    def _is_member(self, pid: int, running: Mapping[int, Entry]) -> bool:
        return pid in running and running[pid].started == self._started[pid]
