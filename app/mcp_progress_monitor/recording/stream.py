"""All live recordings of a machine as one stream, which is a recording itself.

Their lines are copied unchanged, whole lines at a time and in the order of time. A line before each
block says whose lines follow and where they stand, so that a reader can tell what it already has.
"""

from __future__ import annotations

import bisect
import datetime
import hashlib
import heapq
import os
import re
import socket
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_progress_monitor import __version__, paths
from mcp_progress_monitor.errors import UserError
from mcp_progress_monitor.recording.files import now_line, open_part, read_now
from mcp_progress_monitor.recording.folder import RecordingsFolder, part_path
from mcp_progress_monitor.recording.format import OVER, header
from mcp_progress_monitor.recording.growing import has_header
from mcp_progress_monitor.recording.reader import LONGEST_LINE
from mcp_progress_monitor.recording.sources import StreamPlace
from mcp_progress_monitor.recording.timeline import FileBytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mcp_progress_monitor.recording.files import RecordingPart

_READ_BYTES: Final = 32 * 1024
_TURN_BYTES: Final = 4 * 1024 * 1024  # most bytes between two looks at the folders
_APART_S: Final = 0.05
"""Lines of several recordings may be out of order by so much, as they are when read live."""
_PAUSE_S: Final = 0.04
_IDLE_S: Final = 0.09
"""Seconds between two looks at the recordings: with recent lines, and without."""
_LATELY_S: Final = 5.0
_SCAN_S: Final = 0.25
_CHECK_S: Final = 1.0  # how often to check whether a silent recording has ended
ALIVE_S: Final = 5.0
"""Longest silence: a reader that hears nothing for much longer has lost its connection."""
_MARGIN_S: Final = 2.0
_ENDED: Final = (
    b' {"event":"closed","reason":"The tap stopped without reporting the end of the session"}\n'
)
_RUN: Final = re.compile(r"[0-9a-f]{32}")
_OURS: Final = re.compile(rb"^#(?=(?:from|over|now) )", re.MULTILINE)
_MOST_MARKS: Final = 100_000


class StreamMarks(NamedTuple):
    """Places that a reader already has: one in each recording, and the time of the last line."""

    places: dict[str, StreamPlace]
    since: float | None = None

    @classmethod
    def read(cls, lines: Iterable[bytes]) -> StreamMarks:
        """Read lines of a stream, `#from` and `#now`, up to the first empty one."""
        places: dict[str, StreamPlace] = {}
        since = None
        for line in lines:
            if not line.strip() or len(places) > _MOST_MARKS:
                break
            place, now = StreamPlace.read(line), read_now(line.rstrip())
            if place is not None:
                places[place.run] = place
            since = since if now is None else now.when
        return cls(places, since)


class _Source:
    """One recording, read from its beginning or from where its reader has it."""

    def __init__(self, path: Path, folder: RecordingsFolder, marks: StreamMarks) -> None:
        part = open_part(path)
        self.run: Final = _identity(part)
        self.path = path
        self.place = StreamPlace(self.run, part.number, 0)
        self._folder = folder
        self._part = part
        self._data = b""
        self._lines: list[bytes] = []  # of `_data`, made when it is divided
        self._ats: list[float] = []
        self._checked_at = 0.0
        self._go_to(marks.places.get(self.run))

    def fill(self) -> bool:
        """Read on if nothing is left; whether there are lines."""
        while not self._data:
            self._data = self._read()
            if not self._data and not (self._is_due() and self._turn()):
                return False
        return True

    @property
    def at(self) -> float:
        """Time of the next line."""
        return self._times()[0]

    def take(self, until: float) -> bytes:
        """The next lines, at least one: those up to a time."""
        count = max(bisect.bisect_right(self._times(), until), 1)
        taken = self._data if count == len(self._lines) else b"".join(self._lines[:count])
        self._data = self._data[len(taken) :]
        del self._lines[:count], self._ats[:count]
        self.place = self.place._replace(offset=self.place.offset + len(taken))
        return _OURS.sub(b"-", taken) if b"#" in taken else taken

    def is_over(self) -> bool:
        """Return whether everything was read and no program writes it any more."""
        if not self._is_due():
            return False
        is_over = not (self._folder.is_written(self.path) or self.fill())
        self._checked_at = time.monotonic()
        return is_over

    def _is_due(self) -> bool:
        """Return whether it is time to check for a further file and for the end."""
        return time.monotonic() - self._checked_at >= _CHECK_S

    def _go_to(self, place: StreamPlace | None) -> None:
        """Continue where a reader has it, unless there is no end of a line."""
        if place is None or place.part < self.place.part:
            return
        path = part_path(self.path, place.part)
        before = FileBytes(path).read(place.offset - 1, 1) if place.offset else b"\n"
        try:
            part = open_part(path)
        except UserError:
            return
        if before == b"\n":
            self.place, self._part = place, part

    def _read(self) -> bytes:
        """Whole lines; empty if there are none."""
        source, offset, size = FileBytes(self._part.path), self.place.offset, _READ_BYTES
        try:
            if os.stat(self._part.path).st_size <= offset:  # noqa: PTH116  # asked all the time
                return b""
        except OSError:
            return b""
        while True:
            data = source.read(offset, size)
            end = data.rfind(b"\n") + 1
            if end or len(data) < size or size > LONGEST_LINE:
                return data[:end]
            size *= 4

    def _turn(self) -> bool:
        """Go on to the next file, if there is one."""
        following = part_path(self.path, self.place.part + 1)
        if not has_header(following):
            return False
        try:
            part = open_part(following)
        except UserError:
            return False
        if part.fields.get("run") != self._part.fields.get("run"):
            return False
        self._data = self._read()  # written before the next file was begun
        if not self._data:
            self.place, self._part = StreamPlace(self.run, part.number, 0), part
        return True

    def _times(self) -> list[float]:
        """The time of each line; of a line that has none, that of the one before it."""
        if not self._lines:
            self._lines = (
                self._data.splitlines(keepends=True)
                if b"\r" not in self._data
                else [line + b"\n" for line in self._data[:-1].split(b"\n")]
            )
            read, at = self._part.stamps.read, self._part.base_us / 1e6
            self._ats = []
            for line in self._lines:
                stamp = read(line)
                at = at if stamp is None else max(at, stamp.at)
                self._ats.append(at)
        return self._ats


def _identity(part: RecordingPart) -> str:
    """The identity of a recording, from its header or else from its name."""
    run = part.fields.get("run")
    if isinstance(run, str) and _RUN.fullmatch(run):
        return run
    return hashlib.blake2s(part.path.name.encode(), digest_size=16).hexdigest()


class RecordingStream:
    """Writes what other programs record in some folders, from its beginning and as it grows."""

    def __init__(
        self,
        folders: Sequence[Path],
        write: Callable[[bytes], object],
        marks: StreamMarks | None = None,
    ) -> None:
        """`marks` says what the reader has: that is left out."""
        self._folders = [RecordingsFolder(path) for path in folders]
        self._write = write
        self._marks = marks or StreamMarks({})
        self._sources: dict[Path, _Source] = {}
        self._passed: set[Path] = set()
        self._place: StreamPlace | None = None  # where the reader expects the next line
        self._scanned_at = 0.0
        self._written_at = 0.0

    def begin(self) -> None:
        """Write the header, and name all recordings there are."""
        fields = {
            "program": f"{paths.APPLICATION} {__version__}",
            "started": datetime.datetime.now(datetime.UTC).isoformat(),
            "at": round(time.monotonic(), 6),
            "part": 1,
            "run": os.urandom(16).hex(),
            "stream": {"host": socket.gethostname()},
        }
        self._write(header(fields))
        for folder in self._folders:
            for path in self._ended_since(folder):
                self._take_up(folder, path)
        self._scan()
        self._turn()
        self._say_time()

    def turn(self) -> bool:
        """Write what was added; whether there was anything."""
        now = time.monotonic()
        if now - self._scanned_at >= _SCAN_S:
            self._scan()
        is_any = self._turn()
        self._drop_ended()
        if is_any or now - self._written_at >= ALIVE_S:
            self._say_time()
        return is_any

    def run(self) -> None:
        """Write until `write` raises an error."""
        self.begin()
        came_at = time.monotonic()
        while True:
            now = time.monotonic()
            if self.turn():
                came_at = now
            else:
                time.sleep(_PAUSE_S if now - came_at < _LATELY_S else _IDLE_S)

    def _say_time(self) -> None:
        self._written_at = time.monotonic()
        self._write(now_line(time.time(), self._written_at))

    def _scan(self) -> None:
        self._scanned_at = time.monotonic()
        for folder in self._folders:
            known = frozenset(self._sources.keys() | self._passed)
            for path in folder.written(known):
                self._take_up(folder, path)

    def _ended_since(self, folder: RecordingsFolder) -> Iterator[Path]:
        """Recordings that ended since the reader last heard of us, and others that it lacks."""
        since, places = self._marks.since, self._marks.places
        if since is None:
            return
        for parts in folder.ended():
            try:
                is_new = parts[-1].stat().st_mtime >= since - _MARGIN_S
                if is_new or (places and _identity(open_part(parts[0])) in places):
                    yield parts[0]
            except (OSError, UserError):
                continue

    def _take_up(self, folder: RecordingsFolder, path: Path) -> None:
        if not has_header(path):
            return  # it is just being created
        try:
            source = _Source(path, folder, self._marks)
        except UserError:
            self._passed.add(path)
            return
        self._sources[path] = source
        self._place = source.place
        self._write(bytes(source.place))

    def _turn(self) -> bool:
        """Write the lines there are in the order of time, up to a limit."""
        waiting = [(source.at, run, source) for run, source in self._filled()]
        heapq.heapify(waiting)
        left = _TURN_BYTES
        is_any = bool(waiting)
        while waiting and left > 0:
            _, run, source = heapq.heappop(waiting)
            until = waiting[0][0] + _APART_S if waiting else float("inf")
            place = source.place
            data = source.take(until)
            self._write(data if place == self._place else bytes(place) + data)
            self._place = source.place
            left -= len(data)
            if source.fill():
                heapq.heappush(waiting, (source.at, run, source))
        return is_any

    def _filled(self) -> Iterator[tuple[str, _Source]]:
        return ((source.run, source) for source in self._sources.values() if source.fill())

    def _drop_ended(self) -> None:
        for path, source in list(self._sources.items()):
            if source.is_over():
                del self._sources[path]
                self._passed.add(path)
                self._write(OVER + source.run.encode() + _ENDED)
