"""Ends the servers of a program that has ended, whatever ended it: a process of its own.

Started as a script by `process_guard`, with nothing but the standard library, because it waits
beside every program that runs a server. Its standard input comes from the program, a line each:
`+ PID MARK` for a server that was started, `- MARK` for one that has ended with its children,
`!` to end all servers at once. The end of the input is the end of the program: then servers get
the time for a polite end that they would have got from the program, and are killed after it.

Every server has a mark in its environment, and its children inherit it. So they are found in
Linux's /proc wherever they are: in a session of their own, or orphaned by a server that crashed.
Elsewhere the group of each server is ended, and children that left it are not found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MARK: Final = "MCP_PROGRESS_MONITOR_SERVER"
"""The variable that marks the processes of a server: `RUN-NUMBER`."""

_PROC: Final = "/proc"
_HAS_TABLE: Final = sys.platform == "linux"
_STAT_BYTES: Final = 4096
"""More than the account of a process ever has."""
_ENVIRONMENT_BYTES: Final = 4 * 1024 * 1024
_MARK_AT: Final = b"\0" + MARK.encode() + b"="
_POLITE_S: Final = 2.0
_TERMINATE_S: Final = 1.5
_KILL_S: Final = 1.0
_POLL_S: Final = 0.02


class Entry(NamedTuple):
    """A running process; `started` (clock ticks since boot) tells it from a later one's number."""

    parent: int
    group: int
    started: int


def entry_of(pid: int) -> Entry | None:
    """One process; None when it ended, or where there is no such account.

    Source: proc_pid_stat(5). The name in parentheses may hold anything, parentheses as well.
    """
    try:
        fields = _read(f"{_PROC}/{pid}/stat", _STAT_BYTES).rpartition(b")")[2].split()
    except OSError:
        return None
    state, parent, group, started = fields[0], *map(int, (fields[1], fields[2], fields[19]))
    return None if state in {b"Z", b"X"} else Entry(parent, group, started)


def read_all() -> dict[int, Entry]:
    """All processes that run now, none of them a zombie; empty where there is no /proc."""
    try:
        with os.scandir(_PROC) as found:
            pids = [int(entry.name) for entry in found if entry.name.isdecimal()]
    except OSError:  # no more files can be opened, or none of /proc: then no stray is known
        return {}
    return {pid: entry for pid in pids if (entry := entry_of(pid)) is not None}


def mark_of(pid: int) -> str:
    """The mark in a process's environment; empty without one, and for another user's process."""
    try:
        environment = b"\0" + _read(f"{_PROC}/{pid}/environ", _ENVIRONMENT_BYTES)
    except OSError:
        return ""
    place = environment.find(_MARK_AT)
    if place < 0:
        return ""
    return environment[place + len(_MARK_AT) :].partition(b"\0")[0].decode("ascii", "replace")


def descendants(roots: Iterable[int], running: Mapping[int, Entry]) -> set[int]:
    """`roots` that run, and all their children and children's children."""
    children: dict[int, list[int]] = {}
    for pid, entry in running.items():
        children.setdefault(entry.parent, []).append(pid)
    pending = [pid for pid in roots if pid in running]
    found: set[int] = set()
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending += children.get(pid, ())
    return found


def _read(path: str, most: int) -> bytes:
    """A small file: a third of what a `Path` takes, for hundreds of processes each time."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while most > 0 and (part := os.read(descriptor, most)):
            parts.append(part)
            most -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


class Watchdog:
    """Knows the servers of one run of the program, and ends them."""

    def __init__(self, run: str) -> None:
        """Marks of this run's servers begin with `run` and a dash."""
        self._prefix = f"{run}-"
        self._heads: dict[str, tuple[int, int | None]] = {}
        self._over: set[str] = set()
        self._known: dict[int, int] = {}
        self._spared: dict[int, int] | None = None
        self._marks: dict[tuple[int, int], str] = {}

    def obey(self, line: str) -> bool:
        """Do what a line says; False when it says to end all."""
        word, _, rest = line.partition(" ")
        if word == "+":
            pid, _, mark = rest.partition(" ")
            entry = entry_of(int(pid))
            self._heads[mark] = int(pid), None if entry is None else entry.started
        elif word == "-":
            self._over.add(rest)
            self._heads.pop(rest, None)
        return word != "!"

    def end(self, *, is_polite: bool) -> None:
        """End all servers and their children; `is_polite` leaves them the time to do so."""
        running = self._members()
        if is_polite and (running or not _HAS_TABLE):
            self._wait(self._heads_running, _POLITE_S)
            self._signal(signal.SIGTERM)
            self._wait(self._members if _HAS_TABLE else self._heads_running, _TERMINATE_S)
        deadline = time.monotonic() + _KILL_S
        while self._signal(signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(_POLL_S)  # they are gone once the system has come round to it

    def _wait(self, found: Callable[[], object], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while found() and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _heads_running(self) -> list[int]:
        """The servers themselves that run."""
        heads = self._heads.values()
        if not _HAS_TABLE:
            return [pid for pid, _ in heads if _is_group(pid)]
        return [pid for pid, started in heads if _is_same(entry_of(pid), started)]

    def _signal(self, number: int) -> bool:
        """Send a signal to all that run; whether any does."""
        members = self._members()
        for pid in members:
            with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to somebody else
                os.kill(pid, number)
        return bool(members) if _HAS_TABLE else self._signal_groups(number)

    def _signal_groups(self, number: int) -> bool:
        """The same where there is no /proc: the groups of the servers."""
        is_any = False
        for pid, _ in self._heads.values():
            with contextlib.suppress(OSError):
                os.killpg(pid, number)
                is_any = True
        return is_any

    def _members(self) -> list[int]:
        """All processes of servers that have not ended well.

        A process that had left its server's family before (its parent had ended, as a daemon's
        does on purpose) is spared. That can be told while the server itself runs.
        """
        running = read_all()
        heads = {
            mark: pid
            for mark, (pid, started) in self._heads.items()
            if _is_same(running.get(pid), started)
        }
        groups = {pid for pid, _ in self._heads.values()}
        roots = {pid for pid, started in self._known.items() if _is_same(running.get(pid), started)}
        roots |= set(heads.values())
        roots |= {pid for pid, entry in running.items() if entry.group in groups}
        family = descendants(roots, running)
        marked = self._marked(running)
        if self._spared is None:
            self._spared = {
                pid: running[pid].started
                for pid, mark in marked.items()
                if mark in heads and pid not in family
            }
        spared = descendants(
            (pid for pid, started in self._spared.items() if _is_same(running.get(pid), started)),
            running,
        )
        members = (family | marked.keys()) - spared
        self._known = {pid: running[pid].started for pid in members}
        return sorted(members)

    def _marked(self, running: Mapping[int, Entry]) -> dict[int, str]:
        """The processes with a mark of this run, but for servers that have ended well."""
        known, self._marks = self._marks, {}
        found = {}
        for pid, entry in running.items():
            key = pid, entry.started
            mark = self._marks[key] = known.get(key) or mark_of(pid)
            if mark.startswith(self._prefix) and mark not in self._over:
                found[pid] = mark
        return found


def _is_same(entry: Entry | None, started: int | None) -> bool:
    return entry is not None and started in {None, entry.started}


def _is_group(leader: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(leader, 0)
    except OSError:
        return False
    return True


def main(arguments: list[str]) -> int:
    """Watch over the run that the first argument names, until it ends or says so."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # they are for the program, which ends first
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    watchdog = Watchdog(arguments[0])
    is_polite = True
    for line in sys.stdin:
        if not watchdog.obey(line.rstrip("\n")):
            is_polite = False
            break
    watchdog.end(is_polite=is_polite)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
