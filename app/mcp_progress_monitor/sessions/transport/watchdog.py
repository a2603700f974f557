"""A process that ends the servers of a program that has ended for whatever reason.

Run as a script (`paths.WATCHDOG`), so it imports nothing but the standard library.
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
_HAS_PROC: Final = sys.platform == "linux"
_STAT_BYTES: Final = 4096  # more than any process's status contains
_ENVIRONMENT_BYTES: Final = 4 * 1024 * 1024
_MARK_AT: Final = b"\0" + MARK.encode() + b"="
_STDIN_GRACE_S: Final = 2.0
_TERMINATE_S: Final = 1.5
_KILL_S: Final = 1.0
_POLL_S: Final = 0.02


class ProcessEntry(NamedTuple):
    """A running process; `started` distinguishes it from a later one with the same number.

    It counts clock ticks since boot on Linux, milliseconds since 1970 elsewhere.
    """

    parent: int
    group: int
    started: int


def entry_of(pid: int) -> ProcessEntry | None:
    """One process; None if it has ended, or the system hides it.

    Source for Linux: proc_pid_stat(5). The name in parentheses may contain anything, even
    parentheses.
    """
    if not _HAS_PROC:
        return _entry_of_psutil(pid)
    try:
        fields = _read(f"{_PROC}/{pid}/stat", _STAT_BYTES).rpartition(b")")[2].split()
    except OSError:
        return None
    state, parent, group, started = fields[0], *map(int, (fields[1], fields[2], fields[19]))
    return None if state in {b"Z", b"X"} else ProcessEntry(parent, group, started)


def _entry_of_psutil(pid: int) -> ProcessEntry | None:
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
                return None
            started = round(process.create_time() * 1000)
            return ProcessEntry(process.ppid(), os.getpgid(pid), started)
    except (psutil.Error, OSError):
        return None


def read_all() -> dict[int, ProcessEntry]:
    """All processes that run now, none of them a zombie."""
    try:
        return {pid: entry for pid in _pids() if (entry := entry_of(pid)) is not None}
    except OSError:  # no more files can be opened, or none of /proc: then no stray process is known
        return {}


def _pids() -> list[int]:
    if not _HAS_PROC:
        import psutil

        return psutil.pids()
    with os.scandir(_PROC) as found:
        return [int(entry.name) for entry in found if entry.name.isdecimal()]


def mark_of(pid: int) -> str:
    """The mark in a process's environment; empty without one, and for another user's process."""
    if not _HAS_PROC:
        return _mark_of_psutil(pid)
    try:
        environment = b"\0" + _read(f"{_PROC}/{pid}/environ", _ENVIRONMENT_BYTES)
    except OSError:
        return ""
    place = environment.find(_MARK_AT)
    if place < 0:
        return ""
    return environment[place + len(_MARK_AT) :].partition(b"\0")[0].decode("ascii", "replace")


def _mark_of_psutil(pid: int) -> str:
    import psutil

    try:
        return psutil.Process(pid).environ().get(MARK, "")
    except (psutil.Error, OSError):
        return ""


def descendants(roots: Iterable[int], running: Mapping[int, ProcessEntry]) -> set[int]:
    """The running ones of `roots`, and all their descendants."""
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
    """Read a small file: three times as fast as a `Path`, for hundreds of processes each time."""
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
    """Tracks the servers of one run of the program, and ends them."""

    def __init__(self, run: str) -> None:
        """Marks of this run's servers begin with `run` and a dash."""
        self._prefix = f"{run}-"
        self._heads: dict[str, tuple[int, int | None]] = {}
        self._over: set[str] = set()
        self._known: dict[int, int] = {}
        self._spared: dict[int, int] | None = None
        self._marks: dict[tuple[int, int], str] = {}

    def obey(self, line: str) -> bool:
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
        """End all servers and their children; `is_polite` gives them time to exit."""
        if is_polite and self._members():
            self._wait(self._heads_running, _STDIN_GRACE_S)
            self._signal(signal.SIGTERM)
            self._wait(self._members, _TERMINATE_S)
        deadline = time.monotonic() + _KILL_S
        while self._signal(signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(_POLL_S)  # they disappear once the system has reaped them

    def _wait(self, found: Callable[[], object], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while found() and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _heads_running(self) -> list[int]:
        heads = self._heads.values()
        return [pid for pid, started in heads if _is_same(entry_of(pid), started)]

    def _signal(self, number: int) -> bool:
        """Send a signal to all that run; whether any does."""
        members = self._members()
        for pid in members:
            with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to another user
                os.kill(pid, number)
        return bool(members)

    def _members(self) -> list[int]:
        """All processes of servers that have not exited.

        A process that had left its server's tree before (its parent had ended, as a daemon's does
        on purpose) is spared. That is known only while the server runs.
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
        tree = descendants(roots, running)
        marked = self._marked(running)
        if self._spared is None:
            self._spared = {
                pid: running[pid].started
                for pid, mark in marked.items()
                if mark in heads and pid not in tree
            }
        spared = descendants(
            (pid for pid, started in self._spared.items() if _is_same(running.get(pid), started)),
            running,
        )
        members = (tree | marked.keys()) - spared
        self._known = {pid: running[pid].started for pid in members}
        return sorted(members)

    def _marked(self, running: Mapping[int, ProcessEntry]) -> dict[int, str]:
        """The processes with a mark of this run, except those of servers that have exited."""
        known, self._marks = self._marks, {}
        found = {}
        for pid, entry in running.items():
            key = pid, entry.started
            mark = self._marks[key] = known.get(key) or mark_of(pid)
            if mark.startswith(self._prefix) and mark not in self._over:
                found[pid] = mark
        return found


def _is_same(entry: ProcessEntry | None, started: int | None) -> bool:
    return entry is not None and started in {None, entry.started}


def main(arguments: list[str]) -> int:
    """Watch the run that the first argument names, until it ends or says so.

    The second argument, if any, is the folder of psutil: an isolated Python does not find it.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # they are for the program, which ends first
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if not _HAS_PROC:
        sys.path += arguments[1:]
        import psutil  # noqa: F401  # now: later its files may be gone, with the program
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
