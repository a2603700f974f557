"""Watches the servers of other clients: follows the recordings that taps are writing.

A tap's recording is the channel. What is added to it is handled like the messages of a live
connection, and is indexed in place: nothing is written a second time.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.formatting import on_machine
from mcp_progress_monitor.protocol.facts import ConnectionClosed
from mcp_progress_monitor.protocol.frames import NO_FACTS, FactRun, server_name
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SAVES_ITSELF
from mcp_progress_monitor.recording.recorder import WatchedPlaces
from mcp_progress_monitor.snapshots.servers import ServerState
from mcp_progress_monitor.snapshots.watched import TapEnd, WatchedSnapshot
from mcp_progress_monitor.store.watched import UNKNOWN_CLIENT, watched_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.clock import Clock
    from mcp_progress_monitor.engine.followed_tap import Elsewhere, Tap
    from mcp_progress_monitor.engine.recorded_chunks import TakenChunk
    from mcp_progress_monitor.protocol.framing import FrameNumbers

_log = logging.getLogger(__name__)

_SLICE_S: Final = 0.002  # work done in one go. Tasks that others wait for may take three of them.
_PAUSE_S: Final = 0.002
"""Pause between two slices: without one, the window would hardly get its turn."""
_BUSY_S: Final = 0.05
_IDLE_S: Final = 0.09
_NONE_S: Final = 0.25
"""Seconds between two checks: with recent messages, with silent taps, without taps."""
_LATELY_S: Final = 5.0
_SCAN_S: Final = 2.0  # how often the folder is searched although it seems unchanged
_ENDED_KEPT: Final = 100  # ended taps of a machine that stay listed; the oldest go first
_CUT_SHORT: Final = "The tap stopped without reporting the end of the session"


class _Folder:
    """A folder of recordings, and when it was last searched."""

    def __init__(self, recordings: RecordingsFolder) -> None:
        self.recordings = recordings
        self.scanned_at = -_SCAN_S
        self._stamp = 0

    def is_due(self) -> bool:
        """Return whether it has changed, or not been searched for long; it counts as searched."""
        now = time.monotonic()
        try:
            stamp = os.stat(self.recordings.path).st_mtime_ns  # noqa: PTH116  # asked all the time
        except OSError:
            return False
        if stamp == self._stamp and now - self.scanned_at < _SCAN_S:
            return False
        self._stamp, self.scanned_at = stamp, now
        return True


class Watching:
    """All taps that are writing, and those that ended while we watched; nothing here acts on them.

    Recordings are found by the lock that a tap holds. A session ends with the lock, or with every
    connection in the recording.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        numbers: FrameNumbers,
        clock: Clock,
        publish: Callable[[TakenChunk, WatchedPlaces], None],
        publish_facts: Callable[[FactRun, frozenset[str]], None],
    ) -> None:
        """Watch `folders`. Frames are numbered by `numbers`.

        What a tap recorded goes to `publish`; facts that no message states, and servers that are no
        longer listed, go to `publish_facts`.
        """
        self._folders = tuple(_Folder(RecordingsFolder(path)) for path in folders)
        self._numbers = numbers
        self._clock = clock
        self._publish = publish
        self._publish_facts = publish_facts
        self._taps: dict[Path, Tap] = {}
        self._by_name: dict[str, Tap] = {}
        self._restored: dict[str, str] = {}
        self._dismissed: set[str] = set()
        self._reading: Tap | None = None
        self._came_at = -_LATELY_S
        self._since: float | None = None
        self.least_pause_s = 0.0
        """The least pause between two readings of all recordings; chosen by slow front ends."""
        self._passed_by: set[Path] = set()
        self._serials: Counter[str] = Counter()
        self._woken: anyio.Event | None = None

    # Watched servers

    def names(self) -> tuple[str, ...]:
        found = (name for tap in self._taps.values() for name in tap.servers.names())
        return tuple(name for name in found if name not in self._dismissed)

    def snapshots(self) -> list[WatchedSnapshot]:
        return [self.snapshot(name) for name in self.names()]

    def snapshot(self, name: str) -> WatchedSnapshot:
        """One watched server; `UserError` if there is none of that name."""
        tap = self._by_name.get(name)
        if tap is None:
            raise UserError(ErrorDetails("No such watched server", name))
        server = tap.servers.snapshot(name)
        info, end = tap.servers.client_of(name), tap.servers.end_of(name)
        if end is None and tap.is_ended:
            end = TapEnd(_CUT_SHORT)
            server = server._replace(state=ServerState.CLOSED)
        client = self._client(tap, name)
        own_name, version, pid = info.get("name"), info.get("version"), tap.about.get("pid")
        if isinstance(version, str) and client not in {info.get("title"), own_name}:
            version = f"({own_name} {version})"  # of an SDK that the client uses, as "mcp"
        script = tap.about.get("script")
        return WatchedSnapshot(
            server=server,
            label=tap.labels.get(name, name),
            client=client,
            client_version=version if isinstance(version, str) else "",
            pid=pid if type(pid) is int else None,
            transport=server.definition.transport,
            path=tap.path,
            began_when=tap.began_when,
            end=end,
            gaps=tap.servers.gaps_of(name),
            script=script if isinstance(script, str) else "",
            machine=tap.machine,
            is_reached=tap.is_reached,
        )

    def client_of(self, connection: str) -> str | None:
        """The client of a connection; None for our own."""
        name = server_name(connection)
        tap = self._by_name.get(name)
        if tap is None:
            return self._restored.get(name)
        return on_machine(self._client(tap, name), tap.machine)

    @staticmethod
    def _client(tap: Tap, name: str) -> str:
        return tap.servers.client_name(name, tap.about) or tap.parent_name or UNKNOWN_CLIENT

    def key_of(self, connection: str) -> str | None:
        """The identity of a watched connection's server, whatever its name; None for our own."""
        name = server_name(connection)
        tap = self._by_name.get(name)
        if tap is None:
            return None
        return watched_key(self._client(tap, name), tap.servers.key_of(connection), tap.machine)

    def saves_itself(self, connection: str) -> bool:
        """True if the program that writes a recording saves what is needed to resume its jobs."""
        tap = self._by_name.get(server_name(connection))
        return tap is not None and tap.about.get(SAVES_ITSELF) is True

    def is_behind(self, connection: str) -> bool:
        """True if a connection has recorded more than was read, apart from what is being read."""
        tap = self._by_name.get(server_name(connection))
        return tap is not None and tap is not self._reading and tap.is_behind

    def note_restored(self, server: str, client: str) -> None:
        """A saved job of another client was restored: `server` is the name it was watched under."""
        self._restored[server] = client

    def read_until(self, now: float) -> float:
        """Up to when everything was read, monotonic seconds; `now` if no tap is behind."""
        behind = (tap.read_until or now for tap in self._taps.values() if tap.is_behind)
        return min(behind, default=now)

    def dismiss(self, names: Sequence[str]) -> None:
        """Stop listing those of `names` that have ended; their jobs and messages stay."""
        over = [name for name in names if name in self._by_name and self.snapshot(name).end]
        self._dismissed.update(over)
        self._publish_facts(NO_FACTS, frozenset(over))
        self._drop_dismissed()

    def _drop_dismissed(self) -> None:
        """Release ended taps without listed jobs or servers."""
        for tap in list(self._taps.values()):
            names = tap.servers.names()
            if tap.is_ended and names and self._dismissed.issuperset(names):
                self._drop(tap)

    # The watch loop

    async def run(self) -> None:
        """Scan the folders and read what was added, until cancelled."""
        self._since = self._clock.wall()
        self._woken = anyio.Event()
        if not (self._folders or self._taps):
            await self._woken.wait()
        while True:
            for folder in self._folders:
                await self._scan(folder)
            is_more = False
            until = time.monotonic() + _SLICE_S
            # Furthest behind first, so that taps are read nearly in order of time.
            for tap in sorted(self._live(), key=_reached):
                is_more |= self._read(tap)
                if time.monotonic() >= until:
                    await anyio.sleep(_PAUSE_S)
                    until = time.monotonic() + _SLICE_S
            await anyio.sleep(_PAUSE_S if is_more else self._pause_s())

    async def read_ended(
        self, folder: RecordingsFolder, paths: Sequence[Path], *, is_alone: bool = False
    ) -> None:
        """Read recordings whose taps have ended, one after the other.

        With `is_alone`, nothing else needs the thread, so that it never pauses.
        """
        pause_s = 0.0 if is_alone else _PAUSE_S
        for path in paths:
            self._take_up(_Folder(folder), path)
            tap = self._taps.get(path)
            while tap is not None and not tap.is_ended:
                self._read(tap)
                await anyio.sleep(pause_s)

    def follow(self, path: Path, is_over: Callable[[], bool], elsewhere: Elsewhere) -> None:
        """Follow the copy of a recording on another machine, which has its header."""
        self._follow(path, is_over, elsewhere)
        if self._woken is not None:
            self._woken.set()

    def names_on(self, machine: str) -> list[str]:
        """The watched servers on another machine."""
        return [name for name in self.names() if self._by_name[name].machine == machine]

    def _live(self) -> list[Tap]:
        return [tap for tap in self._taps.values() if not tap.is_ended]

    def _pause_s(self) -> float:
        if not self._live():
            return max(_NONE_S, self.least_pause_s)
        usual_s = _BUSY_S if time.monotonic() - self._came_at < _LATELY_S else _IDLE_S
        return max(usual_s, self.least_pause_s)

    def _read(self, tap: Tap) -> bool:
        before, self._reading = tap.read_until, tap
        try:
            is_more = tap.read(_SLICE_S)
        except Exception:  # noqa: BLE001
            # The one place for internal errors in following a recording: the others continue.
            _log.exception("following %s met a defect", tap.path)
            tap.is_ended, is_more = True, False
        self._reading = None
        if tap.read_until != before:
            self._came_at = time.monotonic()
        if tap.is_ended:
            self._end(tap)
        return is_more

    def _end(self, tap: Tap) -> None:
        """End the sessions that a tap left open."""
        now, when = self._clock.monotonic(), self._clock.wall()
        facts = FactRun.of(
            ConnectionClosed(0, connection, now, when, _CUT_SHORT, None)
            for connection in tap.open_connections
        )
        self._publish_facts(facts, frozenset(tap.servers.names()))
        self._drop_dismissed()
        of_machine = (each for each in self._taps.values() if each.machine == tap.machine)
        ended = [each for each in of_machine if each.is_ended]
        for old in ended[:-_ENDED_KEPT]:
            self._drop(old)

    def _drop(self, tap: Tap) -> None:
        names = tap.servers.names()
        for name in names:
            self._restored[name] = self.client_of(f"{name}#1") or UNKNOWN_CLIENT
            self._dismissed.discard(name)
            del self._by_name[name]
        del self._taps[tap.path]
        self._passed_by.add(tap.path)
        self._publish_facts(NO_FACTS, frozenset(names))

    async def _scan(self, folder: _Folder) -> None:
        """Follow recordings that are being written and are not followed yet."""
        if not folder.is_due():
            return
        known = frozenset(self._taps.keys() | self._passed_by)
        until = time.monotonic() + _SLICE_S
        for path in await anyio.to_thread.run_sync(folder.recordings.written, known, self._since):
            self._take_up(folder, path)
            if time.monotonic() >= until:
                await anyio.sleep(_PAUSE_S)
                until = time.monotonic() + _SLICE_S

    def _take_up(self, folder: _Folder, path: Path) -> None:
        # Commands watch no folder, and load nothing that reads recordings.
        from mcp_progress_monitor.recording.growing import has_header

        if not has_header(path):
            folder.scanned_at = -_SCAN_S  # it is just being created
            return
        self._follow(path, lambda: not folder.recordings.is_written(path))

    def _follow(
        self, path: Path, is_over: Callable[[], bool], elsewhere: Elsewhere | None = None
    ) -> None:
        from mcp_progress_monitor.engine.followed_tap import Tap

        try:
            tap = Tap(path, is_over, self._numbers, self._clock, self._on_taken, elsewhere)
        except UserError as error:
            self._passed_by.add(path)
            _log.warning("a recording that is being written is not followed: %s", error)
            return
        self._serials[tap.owner] += 1  # never one of a tap that was dropped: its jobs stay listed
        tap.serial = self._serials[tap.owner]
        self._taps[path] = tap

    def _on_taken(self, tap: Tap, taken: TakenChunk) -> None:
        if taken.servers:
            for name in tap.servers.names():
                self._by_name.setdefault(name, tap)
        places = WatchedPlaces(
            tap.source, taken.offsets, taken.sizes, taken.is_escaped, tap.numbers.number_of
        )
        self._publish(taken, places)


def _reached(tap: Tap) -> float:
    return tap.read_until or 0.0
