"""All processes that run, as Linux accounts for them in /proc: read beside the loop, and for all.

One reading takes some milliseconds, more for each process there is. When fifty servers are to end
at the same moment, everyone is given the same one or two.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROC: Final = "/proc"
_STAT_BYTES: Final = 4096
"""More than the account of a process ever has."""


class Entry(NamedTuple):
    """A running process; `started` (clock ticks since boot) tells it from a later one's number."""

    parent: int
    group: int
    started: int


class _Census:
    """The newest reading, and who may have it: those who asked before it began."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.begun = 0
        self.held = 0
        """Which reading `found` is of, counted as `begun` counts them."""
        self.found: Mapping[int, Entry] = {}


_census: Final = RunVar[_Census]("census")


async def running() -> Mapping[int, Entry]:
    """All processes that run now, none of them a zombie; empty on other systems."""
    if sys.platform != "linux":
        await checkpoint()
        return {}
    census = _census.get(None)
    if census is None:
        census = _Census()
        _census.set(census)
    asked = census.begun
    async with census.lock:
        if census.held <= asked:  # none that began after this was asked has come to its end
            number = census.begun = census.begun + 1
            census.found = await anyio.to_thread.run_sync(_read_all)
            census.held = number
        return census.found


def entry_of(pid: int) -> Entry | None:
    """One process; None when it ended, or where there is no such account.

    Source: proc_pid_stat(5). The name in parentheses may hold anything, parentheses as well.
    """
    if sys.platform != "linux":
        return None
    try:
        fields = _read(f"{_PROC}/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    state, parent, group, started = fields[0], *map(int, (fields[1], fields[2], fields[19]))
    return None if state in {b"Z", b"X"} else Entry(parent, group, started)


def _read_all() -> dict[int, Entry]:
    try:
        with os.scandir(_PROC) as found:
            pids = [int(entry.name) for entry in found if entry.name.isdecimal()]
    except OSError:  # no more files can be opened, or none of /proc: then no stray is known
        return {}
    return {pid: entry for pid in pids if (entry := entry_of(pid)) is not None}


def _read(path: str) -> bytes:
    """A small file: a third of what a `Path` takes, for hundreds of processes each time."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, _STAT_BYTES)
    finally:
        os.close(descriptor)
