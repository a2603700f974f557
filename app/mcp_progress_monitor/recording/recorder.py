"""Takes every frame as it comes: into the index at once, onto the disk a moment later."""

from __future__ import annotations

import datetime
import math
import os
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import anyio

from mcp_progress_monitor import __version__
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.recording.disk_thread import DiskThread, Order
from mcp_progress_monitor.recording.encoder import Encoded, Encoder
from mcp_progress_monitor.recording.format import header
from mcp_progress_monitor.recording.growing_part import GrowingPart
from mcp_progress_monitor.recording.refusals import refusal, stuck, unfinished
from mcp_progress_monitor.recording.run_files import RunFiles
from mcp_progress_monitor.recording.settings import RecordingSettings
from mcp_progress_monitor.recording.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mcp_progress_monitor.problem import Problem
    from mcp_progress_monitor.protocol.facts import Fact
    from mcp_progress_monitor.protocol.frame import Frame
    from mcp_progress_monitor.recording.folder import RecordingsFolder

MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes that may wait to be written before reading from servers pauses."""
MOST_IN_MEMORY: Final = 64 * 1024 * 1024
"""Bytes of the newest frames that are kept where nothing is recorded."""
MOST_ROWS: Final = 4_000_000
"""Messages whose place in the recording is kept in memory: 120 MB to 170 MB. Older ones are in the
files alone, so that a flood of a week ends somewhere."""
_MEMORY_PART: Final = 4 * 1024 * 1024
_PAUSE_S: Final = 0.05
"""How long ticks wait for more to be written with them. Everything else is written at once."""
_MANY: Final = 256 * 1024
"""Bytes of ticks that wait no longer."""
_AT_ONCE: Final = 4 * 1024 * 1024
"""Bytes that the thread is given at one go."""
_STUCK_S: Final = 10.0
"""How long a disk may take nothing, while messages wait for it, before it is given up."""
_STUCK_TURNS: Final = 20
_FLUSH_S: Final = 0.25
"""How long `flush` waits for a disk."""
_OPEN_S: Final = 2.0
_CLOSE_S: Final = 2.0


class Clock(Protocol):
    """What is asked of a clock; `sessions.clock.Clock` fits."""

    @property
    def monotonic(self) -> Callable[[], float]:
        """Counts seconds from anywhere."""

    @property
    def wall(self) -> Callable[[], float]:
        """Counts seconds since the epoch."""


class _SystemClock:
    monotonic = staticmethod(time.monotonic)
    wall = staticmethod(time.time)


class _Write(NamedTuple):
    """Bytes of a part that the thread is writing."""

    part: GrowingPart
    order: Order


class Recorder:
    """The memory of a session. `take` never waits, never fails, and nothing it took is lost.

    What waits to be written can be read like everything else. When the disk fails, recording stops
    for good: `problem` says why, and from then on the newest frames are kept in memory, as they
    are from the beginning where there is no path. Everything but the files' own work happens on
    the loop; whoever owns the recorder runs `run` in a task, and `close` before ending that.
    """

    def __init__(
        self,
        path: Path | None = None,
        settings: RecordingSettings | None = None,
        clock: Clock | None = None,
        folder: RecordingsFolder | None = None,
    ) -> None:
        """Record into `path`, which must not be there; with None, keep frames in memory.

        With `folder`, where `path` is, files that have grown large are followed by further ones,
        and those that are old or too much are deleted as `settings` say.
        """
        self.timeline = Timeline()
        self.problem: Problem | None = None
        """Why nothing is recorded any more."""
        self.count = 0
        """How many frames were taken."""
        settings = settings or RecordingSettings()
        self._clock = clock or _SystemClock()
        self._files = None if path is None else RunFiles(path, folder, settings)
        self._file_limit: float = settings.part_limit if folder is not None else math.inf
        self._keeps_empty = folder is None
        self._run = os.urandom(16).hex()
        self._base = round(self._clock.monotonic(), 6)
        self._encoder = Encoder(self._base)
        self._disk = DiskThread()
        self._writing: _Write | None = None
        self._late: _Write | None = None
        self._has_begun_file = False
        self._done_bytes = 0
        self._waiting_bytes = 0
        self._made_path: Path | None = None
        self._failed: RunFiles | None = None
        self._to_write: deque[GrowingPart] = deque()
        self._in_memory: deque[GrowingPart] = deque()
        self._numbers: dict[Path, int] = {}
        self._part = self._new_part(1, 1)
        self._is_some = anyio.Event()
        self._is_urgent = anyio.Event()
        self._is_written = anyio.Event()
        self._is_open = anyio.Event()
        self._running: anyio.CancelScope | None = None

    @property
    def path(self) -> Path | None:
        """The first file of the recording; None when there is none."""
        return self._made_path

    @property
    def is_recording(self) -> bool:
        """Whether frames go to the disk."""
        return self._files is not None

    @property
    def size(self) -> int:
        """Bytes that were recorded, and those that wait for it."""
        return self._done_bytes + self._waiting_bytes

    @property
    def waiting_bytes(self) -> int:
        """Bytes of it that are not on disk yet."""
        return self._waiting_bytes

    def take(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> None:
        """Take frames of one connection, and the facts read from them."""
        part = self._part
        if part.end >= self._part_limit and frames[0].part is None:
            part = self._part = self._new_part(part.number + 1, frames[0].number)
        self.count += len(frames)
        if frames[0].part is not None:
            frames = self._take_owed(frames, facts)
            if not frames:
                return
        begin = part.end
        _, offsets, sizes, is_escaped = self._encoded(frames, part)
        are_ticks = self.timeline.columns.take(
            frames, facts, part.number, offsets, sizes, is_escaped=is_escaped
        )
        if self.timeline.end - self.timeline.first > MOST_ROWS:
            self.timeline.keep_newest(MOST_ROWS)
        if self._files is not None:
            self._waiting_bytes += part.end - begin
            self._wake(is_urgent=not are_ticks)

    def _encoded(self, frames: Sequence[Frame], part: GrowingPart) -> Encoded:
        """Write frames down in a part."""
        if len(frames) == 1 and len(frames[0].raw) > OVERSIZED and frames[0].part is None:
            pieces, encoded = self._encoder.encode_oversized(frames[0], part.number, part.end)
        else:
            encoded = self._encoder.encode(frames, part.number, part.end)
            pieces = (encoded.lines,)
        for piece in pieces:
            part.append(piece)
        return encoded

    def mark(self, marked: Iterable[int]) -> None:
        """Note the numbers of frames that break a rule."""
        self.timeline.mark(marked)

    async def opened(self) -> None:
        """Wait until the file is made, or cannot be; not for long."""
        with anyio.move_on_after(_OPEN_S):
            await self._is_open.wait()

    async def room(self) -> None:
        """Wait while too much waits for the disk; a disk that takes nothing at all is given up."""
        while self._waiting_bytes > MOST_WAITING and self._files is not None:
            files = self._files
            if await self._takes_nothing(files):
                self._stop(stuck(files.path))

    async def _takes_nothing(self, files: RunFiles) -> bool:
        """Wait until something is written, or the disk has had all the time that it may take."""
        before = files.written
        # In turns: however long the program itself is stopped, that is one, and others are left.
        for _ in range(_STUCK_TURNS):
            with anyio.move_on_after(_STUCK_S / _STUCK_TURNS) as turn:
                await self._is_written.wait()
            if not turn.cancelled_caught or files.written != before:
                return False
        return True

    async def run(self) -> None:
        """Write what is taken, until `close`; cancelling does not keep it from the disk."""
        with anyio.CancelScope(shield=True) as self._running:
            while self._files is not None:
                await self._write_waiting(self._files)
                await self._something()
            self._is_open.set()

    async def close(self) -> None:
        """Write what waits and close the files; a disk that takes nothing is not waited for long.

        Nothing may be taken afterwards.
        """
        files = self._files or self._failed
        if files is not None:
            await self._close(files)
        if self._running is not None:
            self._running.cancel()

    async def _close(self, files: RunFiles) -> None:
        with anyio.move_on_after(_CLOSE_S, shield=True) as patience:
            self._is_some.set()
            self._is_urgent.set()
            while self._running is not None and self._waiting_bytes:
                await self._is_written.wait()
            await self._end(files)
        if patience.cancelled_caught and self._waiting_bytes:
            self._stop(unfinished(files.path))
        self._disk.end()

    async def _end(self, files: RunFiles) -> None:
        """Close the files; one with nothing in it, that nobody asked for, goes."""
        is_empty = not self._done_bytes or (not self.count and not self._keeps_empty)
        await self._disk.do(files.end, is_empty)
        if is_empty:
            self._made_path = None

    def _take_owed(self, frames: Sequence[Frame], facts: Sequence[Fact]) -> Sequence[Frame]:
        """Take elements of a batch that stands in an earlier part; return the frames after them."""
        count, number = self._encoder.owed(frames, self._part.number)
        if count:
            _, offsets, sizes, is_escaped = self._encoder.encode(frames[:count], number, 0)
            self.timeline.columns.take(
                frames[:count], facts, number, offsets, sizes, is_escaped=is_escaped
            )
        return frames[count:]

    def _new_part(self, number: int, first: int) -> GrowingPart:
        """Begin a part of which the first frame is to have the number `first`."""
        part = GrowingPart(number)
        self._encoder.begin(first)
        self.timeline.add_part(number, part)
        if self._files is None:
            self._part_limit: float = _MEMORY_PART
            self._in_memory.append(part)
            self._keep_newest()
        else:
            self._part_limit = self._file_limit
            self._to_write.append(part)
            part.append(header(self._header(number, first)))
            self._waiting_bytes += part.end
        return part

    def _header(self, number: int, first: int) -> dict[str, Any]:
        started = datetime.datetime.fromtimestamp(self._clock.wall(), datetime.UTC)
        return {
            "program": f"mcp-progress-monitor {__version__}",
            "started": started.isoformat(),
            "at": self._base,
            "first": first,
            "part": number,
            "run": self._run,
        }

    def _wake(self, *, is_urgent: bool) -> None:
        self._is_some.set()
        if is_urgent or self._waiting_bytes > _MANY:
            self._is_urgent.set()

    async def _something(self) -> None:
        """Wait until there is something to write; a little longer where it is ticks alone."""
        # Not told on a clock: a session in which nothing happens costs nothing.
        await self._is_some.wait()
        with anyio.move_on_after(_PAUSE_S):
            await self._is_urgent.wait()
        self._is_some, self._is_urgent = anyio.Event(), anyio.Event()

    def flush(self) -> bool:
        """Hand all that was taken to the system: it survives `kill -9` of this program.

        Blocks the loop, for as long as writing takes: call it before something is shown or
        printed, so that nobody sees what the file does not have. False if the disk takes too long;
        then it is not waited for again until it has taken what it was given.
        """
        until = time.monotonic() + _FLUSH_S
        while self._files is not None and self._waiting_bytes:
            writing = self._writing or self._begin_write(self._files)
            if writing is None:
                continue
            if writing is self._late or not writing.order.is_done.wait(until - time.monotonic()):
                self._late = writing
                return False
            self._end_write(writing, self._files)
        return True

    async def _write_waiting(self, files: RunFiles) -> None:
        """Write all that waits by now, and what comes meanwhile, part by part."""
        while self._files is not None and (self._waiting_bytes or self._writing is not None):
            writing = self._writing or self._begin_write(files)
            if writing is None:
                continue
            await writing.order.done.wait()
            self._end_write(writing, files)
            await self._prune_if_due(files)
        await self._prune_if_due(files)

    def _begin_write(self, files: RunFiles) -> _Write | None:
        """Have the thread write more of what waits; None if a part is written to its end."""
        part = self._to_write[0]
        if part.written == part.end:
            self._to_write.popleft()
            return None
        blobs, when = part.unwritten(_AT_ONCE), self._clock.wall()
        self._writing = _Write(part, self._disk.begin(files.write, part.number, blobs, when))
        return self._writing

    def _end_write(self, writing: _Write, files: RunFiles) -> None:
        """Take note of what was written, unless `flush` was here first."""
        if self._writing is not writing:
            return
        self._writing = None
        self._has_begun_file |= writing.part.path is None
        error = writing.order.error
        self._note_written(writing.part, files)
        if isinstance(error, OSError):
            self._stop(refusal(error, files.current, has_begun=self._done_bytes > 0))
        elif error is not None:
            raise error

    def _note_written(self, part: GrowingPart, files: RunFiles) -> None:
        """Some of a part is on disk now, though not all that was meant to be if that failed."""
        size = files.written
        self._is_open.set()
        if size:
            part.path, self._made_path = files.current, files.path
            self._numbers[files.current] = part.number
        part.note_written(size)
        self._done_bytes += size
        if self._files is not None:
            self._waiting_bytes -= size
        waiters, self._is_written = self._is_written, anyio.Event()
        waiters.set()

    async def _prune_if_due(self, files: RunFiles) -> None:
        """A file has begun: delete old ones, and forget what was deleted of this recording."""
        if not self._has_begun_file or self._files is None:
            return
        self._has_begun_file = False
        pruned = await self._disk.do(files.prune, self._clock.wall())
        for number in sorted(self._numbers[gone] for gone in pruned if gone in self._numbers):
            self.timeline.drop_part(number)

    def _stop(self, problem: Problem) -> None:
        """Record no more; what waits stays in memory, as do the newest of the frames to come."""
        if self._files is None:
            return
        self.problem = problem
        self._failed, self._files = self._files, None
        self._waiting_bytes = 0
        self._in_memory.extend(self._to_write)
        self._to_write.clear()
        self._part = self._new_part(self._part.number + 1, 1)
        self._is_written.set()

    def _keep_newest(self) -> None:
        """Give up the oldest frames in memory beyond what it may hold."""
        held = sum(part.waiting for part in self._in_memory)
        while held > MOST_IN_MEMORY and len(self._in_memory) > 1:
            part = self._in_memory.popleft()
            held -= part.waiting
            part.forget()
            self.timeline.give_up(part.number, part.written, self._in_memory[0].number)
