"""Saves what recordings of taps leave that ended while nobody watched: resume tokens and tasks.

Each recording is read once, by the engine that also follows live taps, and noted in a file beside
the recordings. Reading one again is harmless: what is saved of a job is saved only once.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor import private_file
from mcp_progress_monitor.protocol.messages import NEXT_RESUME_TOKEN, RESUME_TOKEN, TASK_ID
from mcp_progress_monitor.recording.folder import LIVE, RecordingsFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    _Parts = tuple[Path, ...]
    """The files of one recording, oldest first."""

_log = logging.getLogger(__name__)

_NOTE: Final = "read.json"  # names of the recordings that have been read
_MARKS: Final = tuple(map(str.encode, (NEXT_RESUME_TOKEN, RESUME_TOKEN, TASK_ID)))
_READ_BYTES: Final = 1 << 20
_GROUP_BYTES: Final = 64 << 20
_LONGEST_MARK: Final = max(map(len, _MARKS))


async def save_what_ended(data_dir: Path, *, is_alone: bool = False) -> bool:
    """Save what unread recordings of ended taps leave; whether there were any to read.

    `is_alone` says that nothing else needs the thread.

    They are noted a few at a time: gigabytes take minutes, and the program may end meanwhile.
    """
    folder = RecordingsFolder(data_dir / "recordings" / LIVE)
    known = set(_known(folder.path))
    ended = await anyio.to_thread.run_sync(folder.ended, known)
    has_read = False
    for group in _groups(ended):
        leaving = [parts[0] for parts in group if await anyio.to_thread.run_sync(_may_leave, parts)]
        if leaving:
            has_read = True
            if not await _is_saved(data_dir, folder, leaving, is_alone=is_alone):
                break  # read again once the disk allows it
        known.update(parts[0].name for parts in group)
        _note(folder.path, known)
    return has_read


async def _is_saved(
    data_dir: Path, folder: RecordingsFolder, paths: Sequence[Path], *, is_alone: bool
) -> bool:
    """Save what recordings leave; returns whether the disk allowed it.

    What has been read is released with the engine.
    """
    # Late: most commands find nothing to read.
    from mcp_progress_monitor.engine.engine import Engine
    from mcp_progress_monitor.store.resumes import ResumeStore

    store = ResumeStore(data_dir)
    engine = Engine(store=store)
    async with engine:
        engine.tasks.stop_automatic()
        await engine.watched.read_ended(folder, paths, is_alone=is_alone)
    return engine.resumer.error is None and store.error is None


def _groups(recordings: Iterable[_Parts]) -> Iterator[list[_Parts]]:
    """Recordings in order, in groups that are read together."""
    group: list[_Parts] = []
    size = 0
    for parts in recordings:
        with contextlib.suppress(OSError):
            size += sum(part.stat().st_size for part in parts)
        group.append(parts)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _may_leave(parts: _Parts) -> bool:
    """Return whether a recording mentions a token or a task: reading its bytes is far faster."""
    with contextlib.suppress(OSError):
        for part in parts:
            with part.open("rb") as file:
                before = b""
                while data := file.read(_READ_BYTES):
                    block = before + data
                    if any(mark in block for mark in _MARKS):
                        return True
                    before = block[-_LONGEST_MARK:]
        return False
    return True


def _known(folder: Path) -> frozenset[str]:
    try:
        names = json.loads((folder / _NOTE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return frozenset()
    found = names if isinstance(names, list) else []
    return frozenset(name for name in found if isinstance(name, str))


def _note(folder: Path, names: Iterable[str]) -> None:
    """Note the recordings that have been read and still exist."""
    there = sorted(name for name in names if (folder / name).exists())
    try:
        private_file.put(folder / _NOTE, json.dumps(there).encode("utf-8", "surrogatepass"))
    except OSError as error:
        _log.warning("recordings that were read cannot be noted: %s", error)
