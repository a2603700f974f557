"""The recordings that an agent may read: those being written, and the newest others.

Recordings are the channel, as between taps and the window: nothing is opened or started for an
agent. Each is read like the traffic of a live connection, in slices, and judged on the way.
"""

from __future__ import annotations

import contextlib
import logging
import time
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
import anyio.to_thread

from mcp_progress_monitor.checking.judge import SessionChecker
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.exports.options import FindingTexts
from mcp_progress_monitor.path_checks import PathKind, path_kind
from mcp_progress_monitor.playback.following import followed_file
from mcp_progress_monitor.playback.playback import Playback
from mcp_progress_monitor.protocol.frames import server_name
from mcp_progress_monitor.recording.folder import RecordingsFolder, run_of
from mcp_progress_monitor.recording.growing import has_header
from mcp_progress_monitor.recording.settings import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mcp_progress_monitor.engine.updates import Update
    from mcp_progress_monitor.recording.folder import RecordingEntry
    from mcp_progress_monitor.recording.timeline import Timeline
    from mcp_progress_monitor.tracker.snapshot import JobId, JobSnapshot

_log = logging.getLogger(__name__)

MOST_ENDED: Final = 40
"""Finished recordings to keep, those that ended last; older ones only while they are in use."""
_SCAN_S: Final = 1.0
_SLICE_S: Final = 0.02
_PAUSE_S: Final = 0.001
_IDLE_S: Final = 0.1
_APPEARS_S: Final = 5.0
"""How long it may take until what this program records is read again."""


class Source:
    """One recording; `key` names it for agents as long as this program runs."""

    def __init__(
        self, key: str, entry: RecordingEntry, is_shown: Callable[[str], bool] | None = None
    ) -> None:
        """`UserError` if it cannot be read. Servers that are not shown cause no changes."""
        self.key = key
        self.path = entry.path
        self.is_live = self.was_live = entry.is_in_use
        self.users = 0
        """How many tools and subscriptions need it."""
        self._is_shown = is_shown
        followed = followed_file(entry.path) if entry.is_in_use else None
        self.playback = Playback(entry.path, followed)
        self.check = SessionChecker(self.playback.jobs.job_of)
        self.marks = FindingTexts()
        self.is_finished = False
        self.is_behind = True
        """True while more can be read at once."""
        self.changes = 0
        """How often something happened to its jobs."""
        self.playback.subscribe(self._take)

    def _take(self, update: Update) -> None:
        self.check.take(update.frames, update.facts, update.changes.marked)
        self.marks.add(update.changes.marked)
        self.changes += any(map(self._counts, (*update.changes.added, *update.changes.progressed)))

    def _counts(self, job: JobId) -> bool:
        if self._is_shown is None:
            return True
        snapshot = self.playback.jobs.snapshot(job)
        return snapshot is not None and self._is_shown(snapshot.server)

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Keep it meanwhile, however old it is."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

    def read(self) -> bool:
        """Read on for some milliseconds; True if there is more at once."""
        is_more = self.playback.advance(_SLICE_S)
        if self.playback.is_ended and not self.is_finished:
            self.is_finished, self.is_live, is_more = True, False, False
            self.check.judge.finish()
        self.is_behind = is_more and not self.playback.is_following
        return self.is_behind


class FoundJob(NamedTuple):
    """A job of a recording, by the name that agents use for it."""

    source: Source
    snapshot: JobSnapshot

    @property
    def name(self) -> str:
        return f"{self.source.key}-{self.snapshot.id}"


class Sources:
    """All recordings of a data folder that may be read, with their jobs."""

    def __init__(self, data_dir: Path, servers: frozenset[str] = frozenset()) -> None:
        """Only `servers` are shown, by the names in the recordings; without any, all are."""
        self.data_dir: Final = data_dir
        self._folder = RecordingsFolder(data_dir / FOLDER)
        self._servers = servers
        self._sources: dict[Path, Source] = {}  # by what the names of their parts have in common
        self._unreadable: dict[Path, ErrorDetails] = {}
        self._count = 0
        self._changes_before = 0
        self._turn = 0
        self._has_scanned = anyio.Event()
        self._turned = anyio.Event()

    async def run(self) -> None:
        """Look for recordings and read what they have, for ever."""
        scanned_at = -_SCAN_S
        while True:
            if time.monotonic() - scanned_at >= _SCAN_S:
                await self._scan()
                scanned_at = time.monotonic()
            is_more = False
            for source in self._next():
                try:
                    is_more |= source.read()
                except Exception:  # noqa: BLE001  # the others go on
                    _log.exception("reading %s met a defect", source.path)
                    source.is_finished, source.is_behind = True, False
                await anyio.sleep(_PAUSE_S)
            turned, self._turned = self._turned, anyio.Event()
            turned.set()
            if not is_more:
                await anyio.sleep(_IDLE_S)

    def _next(self) -> list[Source]:
        """Choose what to read: all that keep up, and of those behind the newest and some more.

        A flood may be behind for minutes: what is in use, and one other in turn, go on meanwhile.
        """
        unread = [source for source in self if not source.is_finished]
        behind = [source for source in unread if source.is_behind]
        self._turn += 1
        chosen = [*behind[:1], *(source for source in behind if source.users)]
        if others := behind[1:]:
            chosen.append(others[self._turn % len(others)])
        return [source for source in unread if not source.is_behind or source in chosen]

    async def _scan(self) -> None:
        entries = await anyio.to_thread.run_sync(self._folder.entries)
        live = [entry for entry in entries if entry.is_in_use]
        ended = [entry for entry in entries if not entry.is_in_use]
        runs = {_run(entry.path) for entry in entries}
        newest = sorted(ended, key=attrgetter("changed_when"))[-MOST_ENDED:]
        wanted = {_run(entry.path) for entry in (*newest, *live)}
        for run, source in list(self._sources.items()):
            # Not only out of reach for now: what the user deleted is not told any more.
            is_gone = run not in runs and path_kind(source.path) is PathKind.NOTHING
            is_old = run in runs and run not in wanted and not source.users
            if is_gone or is_old:
                self._forget(run)
        there = {entry.path for entry in entries}
        self._unreadable = {path: each for path, each in self._unreadable.items() if path in there}
        for entry in (*newest, *live):
            is_known = _run(entry.path) in self._sources or entry.path in self._unreadable
            if is_known or not has_header(entry.path):
                continue
            try:
                is_shown = self.may_show if self._servers else None
                source = Source(f"r{self._count + 1}", entry, is_shown)
            except UserError as error:
                self._unreadable[entry.path] = error.details
                continue
            self._count += 1
            self._sources[_run(entry.path)] = source
        self._has_scanned.set()

    def _forget(self, run: Path) -> None:
        source = self._sources.pop(run)
        if source.was_live:
            self._changes_before += source.changes

    async def ready(self) -> None:
        """Wait until the folder has been searched once."""
        await self._has_scanned.wait()

    async def turn(self) -> None:
        """Wait until each recording was read a little further."""
        await self._turned.wait()

    def __iter__(self) -> Iterator[Source]:
        """The newest recordings first."""
        return iter(sorted(self._sources.values(), key=_began, reverse=True))

    @property
    def is_behind(self) -> bool:
        """True while a recording has more that can be read at once."""
        return any(source.is_behind for source in self)

    @property
    def live_changes(self) -> int:
        """How often something happened to the jobs of recordings that are being written."""
        return self._changes_before + sum(source.changes for source in self if source.was_live)

    @property
    def unread_share(self) -> float:
        """The share of the bytes known now that has not been read yet."""
        sizes = [(each.playback.size, each.playback.progress) for each in self]
        total = sum(size for size, _ in sizes)
        return sum(size * (1 - read) for size, read in sizes) / total if total else 0.0

    @property
    def unreadable(self) -> list[ErrorDetails]:
        return list(self._unreadable.values())

    def may_show(self, server: str) -> bool:
        """Tell whether the agent may see a server, named as in a recording."""
        return not self._servers or server in self._servers

    def shows(self, source: Source) -> bool:
        """Tell whether the agent may see anything of a recording."""
        return not self._servers or any(map(self.may_show, source.playback.servers.names()))

    @property
    def is_limited(self) -> bool:
        """True if the agent may not see all servers."""
        return bool(self._servers)

    def shown(self, timeline: Timeline, places: Iterable[int]) -> list[int]:
        """Return the places in a recording whose messages may be shown."""
        if not self._servers:
            return list(places)
        return [
            place
            for place in places
            for segment, rows in timeline.stretches(place, place + 1)
            if self.may_show(server_name(timeline.source(segment, rows[0]).connection))
        ]

    def source(self, key: str) -> Source:
        """One recording; `UserError` if there is none of that name."""
        for source in self:
            if source.key == key:
                return source
        names = ", ".join(each.key for each in self if self.shows(each)) or "none"
        there = f"There are: {names}."
        raise UserError(
            self._forgotten(key, there) or ErrorDetails("No such recording", key, there)
        )

    def _forgotten(self, key: str, hint: str) -> ErrorDetails | None:
        """The error for a recording that is not kept any more; None if there never was one."""
        number = key.removeprefix("r")
        if key == number or not number.isdecimal() or len(number) > 9:
            return None
        if not 0 < int(number) <= self._count:
            return None
        what = (
            f"Recording {key} was deleted, or is no longer among the newest {MOST_ENDED} recordings"
        )
        return ErrorDetails(what, hint=hint)

    async def at(self, path: Path) -> Source | None:
        """The recording in a file that has just been made; None if it does not come."""
        with anyio.move_on_after(_APPEARS_S):
            while _run(path) not in self._sources:
                await self._scan()
                await self.turn()
        return self._sources.get(_run(path))

    async def request_in(self, path: Path, frame: int) -> FoundJob | None:
        """The job of a request, by its frame in such a recording; None if it does not come."""
        source = await self.at(path)
        if source is None:
            return None
        with anyio.move_on_after(_APPEARS_S):
            while (job := source.playback.jobs.job_of(frame)) is None:
                await self.turn()
            return self._found(source, job)
        return None

    def jobs(self) -> Iterator[FoundJob]:
        """All jobs that may be shown, those that began last first."""
        for source in self:
            for job in reversed(source.playback.jobs.ids()):
                found = self._found(source, job)
                if found is not None:
                    yield found

    def _found(self, source: Source, job: JobId) -> FoundJob | None:
        snapshot = source.playback.jobs.snapshot(job)
        if snapshot is None or not self.may_show(snapshot.server):
            return None
        return FoundJob(source, snapshot)

    def job(self, name: str) -> FoundJob:
        """One job; `UserError` if there is none of that name."""
        key, _, number = name.partition("-")
        if number.isdecimal() and len(number) < 12:
            source = next((each for each in self if each.key == key), None)
            if source is None and (gone := self._forgotten(key, "List jobs again.")):
                raise UserError(gone)
            if source is not None and (found := self._found(source, int(number))):
                return found
        hint = "List them with the tool jobs; names change when this server starts again."
        if name[:1] in {"s", "t"} and name[1:].isdecimal():
            hint = "It is saved, but in none of these recordings: use it only with resume."
        raise UserError(ErrorDetails("No such job", name, hint))


def _run(path: Path) -> Path:
    return path.with_name(run_of(path))


def _began(source: Source) -> float:
    return source.playback.begun_when or 0.0
