"""Records every frame as it arrives: in the index immediately, on disk a moment later."""

from __future__ import annotations

import bisect
import errno
import functools
import math
import os
import time
from collections import deque
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from mcp_progress_monitor.clock import Clock
from mcp_progress_monitor.errors import ErrorDetails, UserError
from mcp_progress_monitor.path_checks import PathKind, absolute, path_kind
from mcp_progress_monitor.protocol.facts import (
    NotificationReceived,
    ProgressReceived,
    StderrReceived,
)
from mcp_progress_monitor.protocol.frames import Channel
from mcp_progress_monitor.protocol.jsonrpc import OVERSIZED
from mcp_progress_monitor.recording.folder import RecordingsFolder
from mcp_progress_monitor.recording.format import SAVES_ITSELF
from mcp_progress_monitor.recording.settings import FOLDER, RecordingSettings, load_settings
from mcp_progress_monitor.recording.timeline import WATCHED_PART, FileBytes, SplicedBytes, Timeline
from mcp_progress_monitor.recording.writer import DiskThread, Encoded, Encoder, Order, RunFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from mcp_progress_monitor.protocol.frames import FactRun, Frame

_GOES_ON: Final = (
    "Everything else continues; the latest messages are kept in memory until the program exits."
)
_NOT_BEGUN: Final = "The session is not being recorded"
_STOPPED: Final = "Recording stopped"
_ELSEWHERE: Final = "choose another folder with --data-dir, or another file with --record"


class _Reason(NamedTuple):
    what: str
    hint: str


_FULL: Final = _Reason("the disk is full", f"Free some space, or {_ELSEWHERE}.")
_TOO_LARGE: Final = _Reason(
    "the system's file size limit was reached", f"Raise the limit (ulimit -f), or {_ELSEWHERE}."
)
_FORBIDDEN: Final = _Reason(
    "no permission to write its file", f"Check the permissions of its folder, or {_ELSEWHERE}."
)
_GONE: Final = _Reason(
    "its file or folder no longer exists", "Do not move it while the program is running."
)
_NOWHERE: Final = _Reason("its file cannot be created", f"Check the folder, or {_ELSEWHERE}.")
_THERE: Final = _Reason("its file already exists", "Choose another name with --record.")
_OTHER: Final = _Reason("its file cannot be written", f"Check the disk, or {_ELSEWHERE}.")
_KINDS: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _TOO_LARGE,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.ENOENT: _GONE,
    errno.ENOTDIR: _GONE,
    errno.EEXIST: _THERE,
}


def refusal(error: OSError, path: Path, *, has_begun: bool) -> ErrorDetails:
    reason = _KINDS.get(error.errno or 0, _OTHER)
    if reason is _GONE and not has_begun:
        reason = _NOWHERE
    begin = _STOPPED if has_begun else _NOT_BEGUN
    return _details(f"{begin}: {reason.what}", reason.hint, path, error.strerror or str(error))


def stuck(path: Path) -> ErrorDetails:
    """The error message for a disk that accepts nothing while messages wait for it."""
    what = f"{_STOPPED}: the disk does not accept more data and reports no error"
    return _details(what, f"Check the drive, or {_ELSEWHERE}.", path)


def unfinished(path: Path) -> ErrorDetails:
    """The error message for a disk that did not accept the last messages before exit."""
    what = "The end of the recording is lost: the disk did not finish writing in time"
    return ErrorDetails(what, str(path), f"Check the drive, or {_ELSEWHERE}.")


def _details(what: str, hint: str, path: Path, detail: str = "") -> ErrorDetails:
    return ErrorDetails(what, str(path), f"{hint} {_GOES_ON}", detail)


class GrowingPart:
    """Append-only bytes: the first `written` in a file, the others in memory.

    Readable immediately.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.path: Path | None = None  # its file; set before any bytes in it are read
        self.end = 0  # the number of bytes that were added
        self.written = 0
        self._starts: list[int] = []
        self._blobs: list[bytes] = []

    @property
    def waiting(self) -> int:
        """The number of bytes in memory."""
        return self.end - self._starts[0] if self._starts else 0

    def append(self, blob: bytes) -> None:
        self._starts.append(self.end)
        self._blobs.append(blob)
        self.end += len(blob)

    def unwritten(self, most: int) -> list[bytes]:
        """The next bytes to write: about `most`, unless one piece has more."""
        reach = bisect.bisect_left(self._starts, self.written + most)
        return self._blobs[:reach]

    def note_written(self, size: int) -> None:
        """The next `size` bytes are in the file now."""
        self.written += size
        done = bisect.bisect_right(self._starts, self.written) - 1
        if self._starts and self.written >= self.end:
            done = len(self._starts)
        if done > 0:
            del self._starts[:done], self._blobs[:done]

    def forget(self) -> None:
        """Drop what is only in memory; it can no longer be read."""
        self._starts.clear()
        self._blobs.clear()

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset` on; fewer, or none, if they are gone."""
        end = min(offset + size, self.end)
        if offset >= self.written:
            return self._held(offset, end)
        from_file = min(end, self.written)
        found = self._from_file(offset, from_file - offset)
        if end <= self.written or len(found) < from_file - offset:
            return found
        return found + self._held(self.written, end)

    def _from_file(self, offset: int, size: int) -> bytes:
        return b"" if self.path is None else FileBytes(self.path).read(offset, size)

    def _held(self, offset: int, end: int) -> bytes:
        if not self._starts or offset < self._starts[0]:
            return b""
        at = bisect.bisect_right(self._starts, offset) - 1
        begin = offset - self._starts[at]
        first = self._blobs[at][begin : begin + end - offset]
        if len(first) == end - offset:
            return first
        pieces = [first]
        while (at := at + 1) < len(self._starts) and self._starts[at] < end:
            pieces.append(self._blobs[at][: end - self._starts[at]])
        return b"".join(pieces)


MOST_WAITING: Final = 16 * 1024 * 1024
"""Bytes that may wait to be written before reading from servers pauses."""
MOST_IN_MEMORY: Final = 64 * 1024 * 1024
"""Bytes of the newest frames that are kept if nothing is recorded."""
MOST_ROWS: Final = 4_000_000
"""Messages whose place in the recording is kept in memory: 120 MB to 170 MB.

Older ones are only in the files, so that memory stays bounded in a flood of a week.
"""
MOST_SEGMENTS: Final = 100_000
"""Segments of the index in memory, a kilobyte each.

There are many only if rows of our own recording and of other programs' alternate for days.
"""
_MEMORY_PART: Final = 4 * 1024 * 1024
_PAUSE_S: Final = 0.05
"""How long notifications and standard error wait to be written together.

Everything else is written immediately.
"""
_MANY: Final = 256 * 1024  # more bytes than this do not wait
_AT_ONCE: Final = 4 * 1024 * 1024  # bytes that the thread writes at once
_STUCK_S: Final = 10.0
"""How long a disk may accept nothing, while messages wait for it, before it is given up."""
_STUCK_TURNS: Final = 20
_FLUSH_S: Final = 0.25  # how long `flush` waits for a disk
_OPEN_S: Final = 2.0
_CLOSE_S: Final = 2.0


_MAY_WAIT: Final = frozenset({ProgressReceived, NotificationReceived, StderrReceived})


class _Write(NamedTuple):
    """Bytes of a part that the thread is writing."""

    part: GrowingPart
    order: Order


class WatchedPlaces(NamedTuple):
    """Where frames are in another program's file, as `Columns.take` needs it."""

    source: FileBytes
    offsets: Sequence[int]
    sizes: Sequence[int]
    is_escaped: Sequence[bool] | None
    number_of: Callable[[int], int | None]
    """Returns the number here of a frame with that number in the file."""


class Recorder:
    """The memory of a session. `take` never waits, never fails, and no frame is lost.

    Frames that wait to be written can be read like all others. If the disk fails, recording stops
    for good: `error` says why, and from then on the newest frames are kept in memory, as they are
    from the beginning without a path. Everything but file operations happens on the loop; the owner
    runs `run` in a task, and calls `close` before ending that.
    """

    def __init__(
        self,
        path: Path | None = None,
        settings: RecordingSettings | None = None,
        clock: Clock | None = None,
        folder: RecordingsFolder | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Record into `path`, which must not exist; with None, keep frames in memory.

        With `folder`, which contains `path`, large files are continued in further ones, and old or
        surplus ones are deleted as `settings` say. `about` are more fields of the header.
        """
        self.timeline = Timeline()
        self.error: ErrorDetails | None = None  # why recording stopped
        self.count = 0  # the number of recorded frames
        settings = settings or RecordingSettings()
        self._clock = clock or Clock()
        self._files = None if path is None else RunFiles(path, folder, settings)
        self._file_limit: float = settings.part_limit if folder is not None else math.inf
        self._keeps_empty = folder is None
        self._base = round(self._clock.monotonic(), 6)
        self._encoder = Encoder(self._base, about)
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
        self._watched = SplicedBytes()
        self.timeline.add_part(WATCHED_PART, self._watched)
        self._running: anyio.CancelScope | None = None

    # Events, made when they are needed: the first of anyio's loads asyncio, and a window is painted
    # before.

    @functools.cached_property
    def _is_some(self) -> anyio.Event:
        return anyio.Event()

    @functools.cached_property
    def _is_urgent(self) -> anyio.Event:
        return anyio.Event()

    @functools.cached_property
    def _is_written(self) -> anyio.Event:
        return anyio.Event()

    @functools.cached_property
    def _is_open(self) -> anyio.Event:
        return anyio.Event()

    @property
    def path(self) -> Path | None:
        """The first file of the recording; None without one."""
        return self._made_path

    @property
    def is_recording(self) -> bool:
        return self._files is not None

    @property
    def size(self) -> int:
        """Bytes that were recorded, including those that wait to be written."""
        return self._done_bytes + self._waiting_bytes

    @property
    def waiting_bytes(self) -> int:
        return self._waiting_bytes

    def take(self, frames: Sequence[Frame], facts: FactRun) -> None:
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
        self.timeline.columns.take(
            frames, facts, part.number, offsets, sizes, is_escaped=is_escaped
        )
        self._keep_newest_rows()
        if self._files is not None:
            self._waiting_bytes += part.end - begin
            self._is_some.set()
            if not _can_wait(facts) or self._waiting_bytes > _MANY:
                self._is_urgent.set()

    def index(self, frames: Sequence[Frame], facts: FactRun, places: WatchedPlaces) -> None:
        """Index frames of another program's recording, without writing them."""
        begin, until = min(places.offsets), max(map(add, places.offsets, places.sizes))
        shift = self._watched.enter(places.source, begin, until)
        offsets = [offset + shift for offset in places.offsets]
        if frames[0].channel is Channel.EVENT:
            self.timeline.note_numbering(frames[0].connection, places.number_of)
        self.timeline.columns.take(
            frames, facts, WATCHED_PART, offsets, places.sizes, is_escaped=places.is_escaped
        )
        self._keep_newest_rows()

    def _keep_newest_rows(self) -> None:
        """Forget the oldest rows beyond the memory limit; files are not changed."""
        timeline = self.timeline
        columns = timeline.columns
        if columns.end - columns.first > MOST_ROWS:
            timeline.keep_newest(MOST_ROWS)
        segments = columns.segments
        if len(segments) > MOST_SEGMENTS:
            timeline.keep_newest(timeline.end - segments[len(segments) // 4].first)

    def _encoded(self, frames: Sequence[Frame], part: GrowingPart) -> Encoded:
        if len(frames) == 1 and len(frames[0].raw) > OVERSIZED and frames[0].part is None:
            pieces, encoded = self._encoder.encode_oversized(frames[0], part.number, part.end)
        else:
            encoded = self._encoder.encode(frames, part.number, part.end)
            pieces = (encoded.lines,)
        for piece in pieces:
            part.append(piece)
        return encoded

    def mark(self, marked: Iterable[int]) -> None:
        """Mark the frames with these numbers as violations."""
        self.timeline.mark(marked)

    async def opened(self) -> None:
        """Wait briefly until the file is created, or cannot be."""
        with anyio.move_on_after(_OPEN_S):
            await self._is_open.wait()

    async def stopped(self) -> ErrorDetails:
        """Wait until recording stops because the disk failed; returns why."""
        while self.error is None:
            await self._is_written.wait()
        return self.error

    async def room(self) -> None:
        """Wait while the queue is too long; gives up on a disk that accepts nothing."""
        while self._waiting_bytes > MOST_WAITING and self._files is not None:
            files = self._files
            if await self._takes_nothing(files):
                self._stop(stuck(files.path))

    async def _takes_nothing(self, files: RunFiles) -> bool:
        """Wait until something is written, or the disk has used up its time."""
        before = files.written
        # In turns: a suspension of the program uses up only one of them.
        for _ in range(_STUCK_TURNS):
            with anyio.move_on_after(_STUCK_S / _STUCK_TURNS) as turn:
                await self._is_written.wait()
            if not turn.cancelled_caught or files.written != before:
                return False
        return True

    async def run(self) -> None:
        """Write the frames, until `close`; cancelling does not stop that."""
        with anyio.CancelScope(shield=True) as self._running:
            while self._files is not None:
                await self._write_waiting(self._files)
                # Not on a timer: an idle session costs nothing. Only ticks wait a little longer.
                await self._is_some.wait()
                with anyio.move_on_after(_PAUSE_S):
                    await self._is_urgent.wait()
                self._is_some, self._is_urgent = anyio.Event(), anyio.Event()
            self._is_open.set()

    async def close(self) -> None:
        """Write the queue and close the files; gives up soon on a disk that accepts nothing.

        Nothing may be recorded afterwards.
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
        """Close the files; delete an empty one that the user did not request."""
        is_empty = not self._done_bytes or (not self.count and not self._keeps_empty)
        await self._disk.do(files.end, is_empty)
        if is_empty:
            self._made_path = None

    def _take_owed(self, frames: Sequence[Frame], facts: FactRun) -> Sequence[Frame]:
        """Record elements of a batch in an earlier part; return the frames after them."""
        count, number = self._encoder.owed(frames, self._part.number)
        if count:
            _, offsets, sizes, is_escaped = self._encoder.encode(frames[:count], number, 0)
            self.timeline.columns.take(
                frames[:count], facts, number, offsets, sizes, is_escaped=is_escaped
            )
        return frames[count:]

    def _new_part(self, number: int, first: int) -> GrowingPart:
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
            part.append(self._encoder.header(number, first, self._clock.wall()))
            self._waiting_bytes += part.end
        return part

    def flush(self) -> bool:
        """Pass everything to the system: it survives `kill -9` of this program.

        Blocks the loop while writing: call it before something is shown or printed, so that nobody
        sees what the file does not have. False if the disk takes too long; then it is not waited
        for again until it has accepted what it was given.
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
        """Write all queued frames, and those that arrive meanwhile, part by part."""
        while self._files is not None and (self._waiting_bytes or self._writing is not None):
            writing = self._writing or self._begin_write(files)
            if writing is None:
                continue
            await writing.order.done.wait()
            self._end_write(writing, files)
            await self._prune_if_due(files)
        await self._prune_if_due(files)

    def _begin_write(self, files: RunFiles) -> _Write | None:
        """Let the thread write more of what waits; None once a part is complete."""
        part = self._to_write[0]
        if part.written == part.end:
            self._to_write.popleft()
            return None
        blobs, when = part.unwritten(_AT_ONCE), self._clock.wall()
        self._writing = _Write(part, self._disk.begin(files.write, part.number, blobs, when))
        return self._writing

    def _end_write(self, writing: _Write, files: RunFiles) -> None:
        """Account for a write, unless `flush` did it first."""
        if self._writing is not writing:
            return
        self._writing = None
        self._has_begun_file |= writing.part.path is None
        error = writing.order.error
        part, size = writing.part, files.written  # possibly less than was intended, if it failed
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
        if isinstance(error, OSError):
            self._stop(refusal(error, files.current, has_begun=self._done_bytes > 0))
        elif error is not None:
            raise error

    async def _prune_if_due(self, files: RunFiles) -> None:
        """Prune when a file has begun, and forget deleted parts of this recording."""
        if not self._has_begun_file or self._files is None:
            return
        self._has_begun_file = False
        pruned = await self._disk.do(files.prune, self._clock.wall())
        for number in sorted(self._numbers[gone] for gone in pruned if gone in self._numbers):
            self.timeline.drop_part(number)

    def _stop(self, error: ErrorDetails) -> None:
        """Stop recording; what waits stays in memory, as do the newest later frames."""
        if self._files is None:
            return
        self.error = error
        self._failed, self._files = self._files, None
        self._waiting_bytes = 0
        self._in_memory.extend(self._to_write)
        self._to_write.clear()
        self._part = self._new_part(self._part.number + 1, 1)
        self._is_written.set()

    def _keep_newest(self) -> None:
        """Drop the oldest frames in memory beyond the limit."""
        held = sum(part.waiting for part in self._in_memory)
        while held > MOST_IN_MEMORY and len(self._in_memory) > 1:
            part = self._in_memory.popleft()
            held -= part.waiting
            part.forget()
            self.timeline.give_up(part.number, part.written, self._in_memory[0].number)


def _can_wait(facts: FactRun) -> bool:
    """Return whether there are only ticks and other notifications, which come in floods."""
    return _MAY_WAIT.issuperset(map(type, facts.others))


def recorder_for(
    data_dir: Path | None, record: Path | None, clock: Clock
) -> tuple[Recorder, ErrorDetails | None]:
    """The recorder of a session, without files so far, and any error in the user's settings.

    `record` is the file that the user named; if it is None and recordings are switched off, or
    there is no data folder, the newest messages are kept in memory.
    """
    if record is not None:
        return Recorder(record, clock=clock), None
    if data_dir is None:
        return Recorder(clock=clock), None
    settings, error = load_settings(data_dir)
    if not settings.is_on:
        return Recorder(settings=settings, clock=clock), error
    folder = RecordingsFolder(data_dir / FOLDER)
    return Recorder(folder.new_path(clock.wall()), settings, clock, folder), error


def agent_recorder(data_dir: Path, agent: str, clock: Clock) -> Recorder:
    """The recorder of what an agent does, which windows follow as they do that of a tap.

    `agent` is shown as the client. It says that resume tokens are saved by the program that writes
    it, so that its followers do not. `UserError` if recording is switched off.
    """
    settings, _ = load_settings(data_dir)
    if not settings.is_on:
        what = "Recording is switched off, and what an agent does must be recorded"
        hint = "Switch it on in the window: Settings > Recordings > Record every session."
        raise UserError(ErrorDetails(what, hint=hint))
    folder = RecordingsFolder(data_dir / FOLDER, watched_as="agent")
    tap = {"client": agent, "pid": os.getpid(), "parent": os.getppid(), SAVES_ITSELF: True}
    path = folder.new_path(clock.wall())
    return Recorder(path, settings, clock, folder, {"tap": tap})


def check_new(record: Path) -> Path:
    """Check that a recording can be created at a path named by the user; returns it absolute.

    Raises:
        UserError: something exists there, or nothing can be created there.
    """
    path = absolute(record)
    hint = "Choose a new file name in a folder that you can write to."
    if os.path.lexists(path):
        what = "The file to record to already exists and is not overwritten"
        hint = "To replace it, delete it first. Or choose another name."
    elif (seen := path_kind(path.parent)) is not PathKind.FOLDER:
        what = f"The folder to record to {seen.value}"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        what = "No permission to write to the folder to record to"
    else:
        return path
    raise UserError(ErrorDetails(what, str(path), hint))
