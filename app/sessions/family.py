"""A process's descendants that left its group, as Linux accounts for them in /proc.

A child that calls setsid (a browser that a server drives does) is not reached by a signal to the
server's group. Its parent tells whose it is, but only as long as that lives: so the family is
looked up before the server is asked to end. Not found are children of a server that ended by
itself, children that were orphaned before on purpose (a daemon's way), and those on systems
without Linux's /proc.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROC: Final = Path("/proc")


class _Entry(NamedTuple):
    """A running process; `started` (clock ticks since boot) tells it from a later one's number."""

    parent: int
    group: int
    started: int


class Family:
    """The descendants of the process `head`, which leads its group.

    Numbers of processes are given again. So each member is known by its start as well, and a
    signal goes only to what is still the process that was found.
    """

    def __init__(self, head: int) -> None:
        """The family of a process that runs."""
        self._head = head
        entry = _entry(head)
        self._started: dict[int, int] = {} if entry is None else {head: entry.started}

    def look_up(self) -> None:
        """Find the members that there are now, also children of members whose parents ended."""
        running = _running()
        pending = [pid for pid in self._started if self._is_member(pid, running)]
        children: dict[int, list[int]] = {}
        for pid, entry in running.items():
            children.setdefault(entry.parent, []).append(pid)
        while pending:
            for child in children.get(pending.pop(), ()):
                if child not in self._started:
                    self._started[child] = running[child].started
                    pending.append(child)

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
        entries = {pid: entry for pid in self._started if (entry := _entry(pid)) is not None}
        return [
            pid
            for pid, entry in entries.items()
            if entry.group != self._head and self._is_member(pid, entries)
        ]

    def _is_member(self, pid: int, running: Mapping[int, _Entry]) -> bool:
        return pid in running and running[pid].started == self._started[pid]


def _running() -> dict[int, _Entry]:
    """All processes but zombies."""
    if sys.platform != "linux":
        return {}
    pids = [int(path.name) for path in _PROC.iterdir() if path.name.isdecimal()]
    return {pid: entry for pid in pids if (entry := _entry(pid)) is not None}


def _entry(pid: int) -> _Entry | None:
    """One process; None when it ended, or where there is no such account.

    Source: proc_pid_stat(5). The name in parentheses may hold anything, parentheses as well.
    """
    if sys.platform != "linux":
        return None
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, parent, group, started = fields[0], *map(int, (fields[1], fields[2], fields[19]))
    return None if state in {b"Z", b"X"} else _Entry(parent, group, started)
