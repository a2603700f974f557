"""All processes that run, as Linux accounts for them in /proc: read beside the loop, and for all.

One reading takes some milliseconds, more for each process there is. When fifty servers are to end
at the same moment, everyone is given the same one or two.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint

from mcp_progress_monitor.sessions import watchdog
from mcp_progress_monitor.sessions.watchdog import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Entry", "entry_of", "marks", "running"]


class _Census:
    """The newest reading, and who may have it: those who asked before it began."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.begun = 0
        self.held = 0
        """Which reading `found` is of, counted as `begun` counts them."""
        self.found: Mapping[int, Entry] = {}
        self.marks: Mapping[int, str] = {}
        """Of those of `found` that have one, once somebody has asked for them."""
        self.marked = 0
        """Which reading `marks` are of."""


_census: Final = RunVar[_Census]("census")


async def running() -> Mapping[int, Entry]:
    """All processes that run now, none of them a zombie; empty on other systems."""
    if sys.platform != "linux":
        await checkpoint()
        return {}
    census = _current()
    asked = census.begun
    async with census.lock:
        return await _read(census, asked)


async def marks() -> tuple[Mapping[int, Entry], Mapping[int, str]]:
    """All processes that run now, and the marks of servers that some of them have."""
    if sys.platform != "linux":
        await checkpoint()
        return {}, {}
    census = _current()
    asked = census.begun
    async with census.lock:
        found = await _read(census, asked)
        if census.marked != census.held:
            census.marks = await anyio.to_thread.run_sync(_marks_of, tuple(found))
            census.marked = census.held
        return found, census.marks


def entry_of(pid: int) -> Entry | None:
    """One process; None when it ended, or where there is no such account."""
    return watchdog.entry_of(pid) if sys.platform == "linux" else None


def _current() -> _Census:
    census = _census.get(None)
    if census is None:
        census = _Census()
        _census.set(census)
    return census


async def _read(census: _Census, asked: int) -> Mapping[int, Entry]:
    """The newest reading, or another one if that had begun when it was asked for."""
    if census.held <= asked:  # none that began after this was asked has come to its end
        number = census.begun = census.begun + 1
        census.found = await anyio.to_thread.run_sync(watchdog.read_all)
        census.held = number
    return census.found


def _marks_of(pids: tuple[int, ...]) -> dict[int, str]:
    return {pid: mark for pid in pids if (mark := watchdog.mark_of(pid))}
