"""Writes the recording of a session from the tap's queue, in a process of its own."""

from __future__ import annotations

import collections
import contextlib
import marshal
import os
import select
import sys
import time

from mcp_progress_monitor.tap.detached import handle_of, kill
from mcp_progress_monitor.tap.files import RunFile, change_of
from mcp_progress_monitor.tap.ring import CHANGED, CLOSED, LOST, MARKS, ChangedLine, Lost, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_progress_monitor.tap.about import About
    from mcp_progress_monitor.tap.ring import Ring

_REFUSED_BYTES = 8 * 1024 * 1024  # the limit of the queue while the disk refuses writes
_BATCH_S = 0.005
"""How long to wait for more before writing; no stream waits meanwhile."""
_DENSE_S = 0.025
"""The same under load: writing competes with the streams for the processor."""
_DENSE = 16  # chunks in one batch that count as load
_MUCH = 256 * 1024
_MOST = 1024 * 1024  # bytes written in one batch
_RETRY_S = 1.0
_POLL_S = 0.005
_LONGEST_ERROR = 64 * 1024
"""Longer lines of stderr are split, all parts but the last marked as incomplete."""
_START_S = 0.25  # how long to leave the processor to a starting server that has not written yet
_CLOCK_SET_S = 0.05
"""A smaller change between the wall and the monotonic clock would only put times out of order."""
_FULL = "The queue was full"
_CUT_SHORT = "The session ended before it was written"


class WrittenLane:
    """One direction: joins its chunks to lines."""

    def __init__(self, writer: JournalWriter, number: int) -> None:
        self.number = number
        self.mark = MARKS[number]
        self._writer = writer
        self._held: list[bytes] = []
        self._held_size = 0
        self._forgotten = 0
        self._skipped: Lost | None = None

    @property
    def held_bytes(self) -> int:
        """The size of a line that has not ended."""
        return sum(map(len, self._held))

    def encode(self, data: bytes, prefix: bytes, pieces: list[bytes]) -> int:
        """Add the lines that a chunk completes; returns how much of the queue this frees."""
        size = weight(data)
        if self._skipped is not None:
            data = self._without_cut(data, self._skipped, pieces)
        end = data.rfind(b"\n") + 1
        if not end:
            return self._hold(data, size, prefix, pieces)
        begin = 0
        if self._held:
            begin = data.find(b"\n") + 1
            pieces += (prefix, *self._held, data[:begin])
            self._held.clear()
        if begin < end:
            lines = data if begin == 0 and end == len(data) else data[begin:end]
            if lines.find(b"\n") + 1 < end - begin:
                lines = lines.replace(b"\n", b"\n" + prefix)[: -len(prefix)]
            pieces += (prefix, lines)
        if end < len(data):
            self._held.append(data[end:])
        freed, self._held_size = size + self._held_size, 0
        return freed

    def skip(self, lost: Lost, pieces: list[bytes]) -> int:
        """Note a gap; returns how much of the queue this frees."""
        freed = self.forget()
        lost.size += self.forgotten()
        if lost.is_cut:
            self._skipped = lost
        else:
            self._writer.note_lost(lost, pieces)
        return freed

    def forget(self) -> int:
        """Discard a message whose end was dropped; returns how much of the queue this frees."""
        self._forgotten += self.held_bytes
        self._held.clear()
        freed, self._held_size = self._held_size, 0
        return freed

    def forgotten(self) -> int:
        """The bytes discarded since the last call."""
        size, self._forgotten = self._forgotten, 0
        return size

    def flush(self, prefix: bytes, pieces: list[bytes]) -> None:
        """Add a line that has not ended, and a gap."""
        if self._held:
            pieces += (prefix, *self._held, b"\n")
            self._held.clear()
        lost, self._skipped = self._skipped, None
        if lost is not None:
            lost.size += self.forgotten()
            self._writer.note_lost(lost, pieces)

    def _hold(self, data: bytes, size: int, prefix: bytes, pieces: list[bytes]) -> int:
        if data:
            self._held.append(data)
            self._held_size += size
        if self.mark != "!" or self.held_bytes < _LONGEST_ERROR:
            return 0 if data else size
        pieces += (self._writer.cut(prefix), *self._held, b"\n")
        self._held.clear()
        freed, self._held_size = self._held_size, 0
        return freed

    def _without_cut(self, data: bytes, lost: Lost, pieces: list[bytes]) -> bytes:
        end = data.find(b"\n") + 1
        lost.size += end or len(data)
        if not end:
            return b""
        lost.messages += 1
        self._skipped = None
        self._writer.note_lost(lost, pieces)
        return data[end:]


class JournalWriter:
    """Writes what is in the queue, until the session or the tap has ended."""

    def __init__(self, about: About, ring: Ring, bell: int, warn: Callable[[str], None]) -> None:
        """`bell` is readable when the tap wakes this side, and ends with it."""
        self._about = about
        self._ring = ring
        self._bell = bell
        self._warn = warn
        self._lanes = [WrittenLane(self, number) for number in range(len(MARKS))]
        self._items: collections.deque[tuple[WrittenLane, float, bytes | Lost]] = (
            collections.deque()
        )
        self._closed: Mapping[str, object] | None = None
        self._is_tap_gone = False
        self._has_begun = False
        self._refusal = ""  # why the disk refuses, or last refused, writes
        self._file: RunFile | None = None
        self._taken: list[bytes | Lost] = []  # the last batch taken from the queue
        self._held_before = 0  # the size of unended lines before that batch
        self._pieces: list[bytes] = []  # the lines of that batch, until they are written
        self._size = 0
        self._offset = about.began[0] - about.began[1]
        self._server = -1

    def run(self) -> None:
        """Write until the end; whatever fails here ends the recording and nothing else."""
        try:
            self._server = handle_of(self._about.pid)
            self._await_server()
            if self._ring.is_given_up or not self._about.rest.is_recorded():
                self._ring.give_up()
                return
            self._file = RunFile(self._about)
            self._write()  # so that a session without messages is shown as well
            while not self._is_done():
                self._rest()
            self._end()
        except Exception as error:  # noqa: BLE001  # nobody else would report it
            self._ring.give_up()
            self._warn(f"Recording of this session ended: {type(error).__name__}: {error}")

    def watch(self) -> None:
        """Wait for the end of the tap, though nothing is recorded: its server must end with it."""
        while not self._is_ending:
            self._wait(None)

    def note_lost(self, lost: Lost, pieces: list[bytes]) -> None:
        fields = {"bytes": lost.size, "messages": lost.messages, "why": lost.why}
        self._note("not_recorded", fields, pieces)

    def cut(self, prefix: bytes) -> bytes:
        """The prefix for a line that has not ended."""
        return prefix[:-1] + b"~ "

    @property
    def _is_ending(self) -> bool:
        return self._ring.is_closing or self._is_tap_gone

    @property
    def _is_late(self) -> bool:
        return 0 < self._ring.until_ns < time.monotonic_ns()

    def _await_server(self) -> None:
        """Leave the processor to a starting server until it has written something."""
        until = time.monotonic() + _START_S
        while not self._is_ending and (left := until - time.monotonic()) > 0:
            self._fetch()
            if any(lane.mark != ">" for lane, _, _ in self._items):
                return
            self._sleep(left)

    def _rest(self) -> None:
        """Wait for something to write, and then a little for more."""
        if self._is_ending:
            return
        if self._pieces:  # the disk refused them
            self._wait(_RETRY_S)
            return
        if not self._items:
            self._sleep(None)
        if self._size < _MUCH:
            self._wait(_BATCH_S if len(self._taken) < _DENSE else _DENSE_S)

    def _sleep(self, seconds: float | None) -> None:
        """Wait until the tap has queued something or has ended."""
        self._ring.set_asleep(is_asleep=True)
        if self._ring.is_empty and not self._is_ending:
            self._wait(seconds)
        self._ring.set_asleep(is_asleep=False)

    def _wait(self, seconds: float | None) -> None:
        """Wait for the bell, or the session's end, at most for so long."""
        if self._is_ending:
            return
        if sys.platform == "win32" and seconds is not None:  # pipes cannot be polled
            until = time.monotonic() + seconds
            while time.monotonic() < until and not self._ring.is_closing:
                time.sleep(_POLL_S)
        elif seconds is None or select.select([self._bell], [], [], seconds)[0]:
            self._is_tap_gone = not os.read(self._bell, 4096)
            if self._is_tap_gone and not self._ring.is_closing:
                # Whoever kills a tap means to kill the server that it started in its place.
                kill(self._server)

    def _fetch(self) -> None:
        """Take entries from the queue; a full one is emptied in several turns."""
        for number, kind, at, data in self._ring.take(_MOST):
            lane = self._lanes[number]
            if kind == CLOSED:
                self._closed = marshal.loads(data)  # noqa: S302  # written by this program
            elif kind == LOST:
                self._items.append((lane, at, self._lost(data)))
            elif kind == CHANGED:
                line = ChangedLine.unpack(data)
                self._items.append((lane, at, line))
                self._ring.free(weight(data) - weight(line))
                continue
            else:
                self._items.append((lane, at, data))
                continue
            self._ring.free(weight(data))

    def _lost(self, data: bytes) -> Lost:
        size, messages, is_cut, why = marshal.loads(data)  # noqa: S302  # as above
        lost = Lost(self._refusal if why else _FULL)
        lost.size, lost.messages, lost.is_cut = size, messages, is_cut
        return lost

    def _is_done(self) -> bool:
        """Write a batch; returns whether the session has ended and no more can be written."""
        is_ending = self._is_ending
        if not self._pieces:
            self._encode()
        self._write()
        if not is_ending:
            return False
        is_empty = self._ring.is_empty and not self._items
        return bool(self._pieces) or is_empty or self._is_late

    def _encode(self) -> None:
        """Take a batch from the queue."""
        items, pieces = self._items, self._pieces
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) > _CLOCK_SET_S:
            self._offset = offset
        losing = [lane for lane in self._lanes if self._ring.is_losing(lane.number)]
        if not items:
            self._fetch()
        size = freed = 0
        self._taken.clear()
        self._held_before = sum([lane.held_bytes for lane in self._lanes])
        while items and size < _MOST:
            lane, at, data = items.popleft()
            self._taken.append(data)
            if isinstance(data, ChangedLine):
                self._note_changed(data, at, pieces)
            if isinstance(data, bytes):
                size += len(data)
                freed += lane.encode(data, self._prefix(lane.mark, at), pieces)
            else:
                freed += lane.skip(data, pieces)
        if not items and self._ring.is_empty:
            # Everything queued before the gap has been taken, and what follows it was dropped.
            freed += sum([lane.forget() for lane in losing])
        self._size = size
        self._ring.free(freed)

    def _write(self) -> None:
        assert self._file is not None  # noqa: S101  # `run` makes it first
        if not self._pieces and self._has_begun:
            return
        self._has_begun = True
        try:
            self._file.write(self._pieces)
        except (OSError, ValueError) as error:
            self._refusal = getattr(error, "strerror", None) or str(error)
            self._ring.set_refused(_REFUSED_BYTES)
            where = f": {self._file.path}" if self._file.path else ""
            self._warn(f"Cannot record this session: {self._refusal}{where}")
        else:
            self._pieces.clear()
            self._ring.set_refused(None)

    def _end(self) -> None:
        """Write the last lines; what could not be written is reported as a gap."""
        assert self._file is not None  # noqa: S101  # as above
        pieces: list[bytes] = []
        rest = Lost(self._refusal if self._pieces else _CUT_SHORT)
        if self._pieces:
            rest.size = self._held_before
            for data in self._taken:
                rest.add(data)
        while self._items or not self._ring.is_empty:
            for _, _, data in self._items:
                rest.add(data)
            self._items.clear()
            self._fetch()
        for lane in self._lanes:
            if rest.size:  # the continuation is not recorded
                lane.forget()
                size = lane.forgotten()
                rest.size += 0 if self._pieces else size
            lane.flush(self.cut(self._prefix(lane.mark, time.monotonic())), pieces)
        if rest.size:
            self.note_lost(rest, pieces)
        if self._closed is not None:  # a tap that is killed leaves none
            self._note("closed", self._closed, pieces)
        with contextlib.suppress(OSError, ValueError):  # reported already, or too late
            self._file.write(pieces)
        self._file.close()

    def _note(self, event: str, fields: Mapping[str, object], pieces: list[bytes]) -> None:
        assert self._file is not None  # noqa: S101  # as above
        line = self._file.event(event, fields)
        pieces += (self._prefix("*", time.monotonic()), line)

    def _note_changed(self, line: ChangedLine, at: float, pieces: list[bytes]) -> None:
        assert self._file is not None  # noqa: S101  # as above
        event = self._file.event("changed", change_of(line.number, line.sent.rstrip(b"\r\n")))
        pieces += (self._prefix("*", at), event)

    def _prefix(self, mark: str, at: float) -> bytes:
        assert self._file is not None  # noqa: S101  # as above
        return self._file.prefix(mark, at + self._offset, at)
