"""Writes the recording of a session in a thread, for which the streams never wait."""

from __future__ import annotations

import collections
import contextlib
import os
import queue
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_progress_monitor.tap.about import About
    from mcp_progress_monitor.tap.files import RunFile

QUEUE_BYTES = 64 * 1024 * 1024
_REFUSED_BYTES = 8 * 1024 * 1024  # the limit of the queue while the disk refuses writes
_ITEM_BYTES = 256  # the overhead of a chunk in the queue
_BATCH_S = 0.005
"""How long to wait for more before writing; no stream waits meanwhile."""
_DENSE_S = 0.025
"""The same under load: writing competes with the streams for the processor."""
_DENSE = 16  # chunks in one batch that count as load
_MUCH = 256 * 1024
_MOST = 1024 * 1024  # bytes written in one batch
_RETRY_S = 1.0
_RESERVED_S = 0.07  # the time at the end in which only the last lines are written
_LONGEST_ERROR = 64 * 1024
"""Longer lines of stderr are split, all parts but the last marked as incomplete."""
_START_S = 0.25  # how long to leave the processor to a starting server that has not written yet
_CLOCK_SET_S = 0.05
"""A smaller change between the wall and the monotonic clock would only put times out of order."""
_FULL = "The queue was full"


class Lost:
    """Bytes of one direction that were not recorded, and why."""

    __slots__ = ("is_cut", "messages", "size", "why")

    def __init__(self, why: str) -> None:
        self.why = why
        self.size = 0
        self.messages = 0
        self.is_cut = False  # whether the last message is incomplete

    def add(self, data: bytes | Lost) -> None:
        if isinstance(data, Lost):
            self.size += data.size
            self.messages += data.messages
            return
        self.size += len(data)
        self.messages += data.count(b"\n")
        self.is_cut = data[-1:] != b"\n"


class JournalLane:
    """One direction's part of the journal: its thread calls `take`, the journal's the rest."""

    def __init__(self, journal: Journal, mark: str) -> None:
        self.journal = journal
        self.mark = mark
        self.taken = 0  # bytes ever put into the queue
        self.lost: Lost | None = None  # what was dropped since the last queued chunk
        self._items = journal.items
        self._held: list[bytes] = []
        self._held_size = 0
        self._forgotten = 0
        self._skipped: Lost | None = None
        journal.lanes.append(self)

    def take(self, at: float, data: bytes) -> None:
        """Queue a chunk that was read `at` (monotonic), or count it if the queue is full."""
        journal = self.journal
        size = len(data) + _ITEM_BYTES
        if journal.waiting() + size > journal.limit:
            if self.lost is None:
                self.lost = Lost(journal.refusal or _FULL)
            self.lost.add(data)
            return
        if self.lost is not None:
            lost, self.lost = self.lost, None
            self._items.append((self, at, lost))
        self.taken += size
        self._items.append((self, at, data))

    @property
    def held_bytes(self) -> int:
        """The size of a line that has not ended."""
        return sum(map(len, self._held))

    def encode(self, data: bytes, prefix: bytes, pieces: list[bytes]) -> int:
        """Add the lines that a chunk completes; returns how much of the queue this frees."""
        size = len(data) + _ITEM_BYTES
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
            self.journal.note_lost(lost, pieces)
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
        """Add a line that has not ended, and the newest gap."""
        if self._held:
            pieces += (prefix, *self._held, b"\n")
            self._held.clear()
        for lost in (self._skipped, self.lost):
            if lost is not None:
                lost.size += self.forgotten()
                self.journal.note_lost(lost, pieces)
        self._skipped = self.lost = None

    def _hold(self, data: bytes, size: int, prefix: bytes, pieces: list[bytes]) -> int:
        if data:
            self._held.append(data)
            self._held_size += size
        if self.mark != "!" or self.held_bytes < _LONGEST_ERROR:
            return 0 if data else size
        pieces += (self.journal.cut(prefix), *self._held, b"\n")
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
        self.journal.note_lost(lost, pieces)
        return data[end:]


class Journal:
    """Queues what passes, in order, and writes it a little later."""

    def __init__(self, about: About) -> None:
        self.items: collections.deque[tuple[JournalLane, float, bytes | Lost]] = collections.deque()
        self.lanes: list[JournalLane] = []
        self.limit = QUEUE_BYTES
        self.refusal = ""  # why the disk currently refuses writes
        self.is_asleep = False  # whether to call `wake` after queuing something
        self._about = about
        self._done = 0
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._closed: Mapping[str, object] | None = None
        self._until = 0.0
        self._has_begun = False
        self._has_warned = False
        self._file: RunFile | None = None
        self._taken: list[bytes | Lost] = []  # the last batch taken from the queue
        self._held_before = 0  # the size of unended lines before that batch
        self._pieces: list[bytes] = []  # the lines of that batch, until they are written
        self._size = 0
        self._offset = about.began[0] - about.began[1]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread; if that is impossible, nothing is recorded."""
        try:
            self._thread.start()
        except RuntimeError as error:
            self.give_up(str(error))

    def waiting(self) -> int:
        return sum([lane.taken for lane in self.lanes]) - self._done

    def wake(self) -> None:
        self.is_asleep = False  # so that it is woken only once
        self._bell.put(None)

    def close(self, fields: Mapping[str, object], until: float) -> None:
        """Record the event `closed` after everything queued, waiting at most until `until`."""
        self._until = until - _RESERVED_S
        self._closed = fields
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, until - time.monotonic()))

    def note_lost(self, lost: Lost, pieces: list[bytes]) -> None:
        fields = {"bytes": lost.size, "messages": lost.messages, "why": lost.why}
        self._note("not_recorded", fields, pieces)

    def cut(self, prefix: bytes) -> bytes:
        """The prefix for a line that has not ended."""
        return prefix[:-1] + b"~ "

    def _run(self) -> None:
        try:
            self._await_server()
            if not self._about.rest.is_recorded():
                self.give_up("")
                return
            from mcp_progress_monitor.tap.files import RunFile

            self._file = RunFile(self._about)
            self._write()  # so that a session without messages is shown as well
            while not self._is_done():
                self._rest()
            self._end()
        except Exception as error:  # noqa: BLE001  # must not stop the streams
            self.give_up(f"{type(error).__name__}: {error}")

    def _await_server(self) -> None:
        """Leave the processor to a starting server until it has written something."""
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._closed is None:
            if any(lane.taken for lane in self.lanes if lane.mark != ">"):
                return
            with contextlib.suppress(queue.Empty):
                self._bell.get(timeout=_START_S / 10)

    def _rest(self) -> None:
        """Wait for something to write, and then a little for more."""
        if self._closed is not None:
            return
        if self._pieces:  # the disk refused them
            try:
                self._bell.get(timeout=_RETRY_S)
            except queue.Empty:
                return
        elif not self.items:
            self.is_asleep = True
            if not self.items and self._closed is None:
                self._bell.get()
            self.is_asleep = False
        if self._size < _MUCH and self._closed is None:
            time.sleep(_BATCH_S if len(self._taken) < _DENSE else _DENSE_S)

    def _is_done(self) -> bool:
        """Write a batch; returns whether the session has ended and no more can be written."""
        closed = self._closed is not None
        if not self._pieces:
            self._encode()
        self._write()
        if not closed:
            return False
        return bool(self.refusal) or not self.items or time.monotonic() > self._until

    def _encode(self) -> None:
        """Take a batch from the queue."""
        items, pieces = self.items, self._pieces
        offset = time.time() - time.monotonic()
        if abs(offset - self._offset) > _CLOCK_SET_S:
            self._offset = offset
        size = freed = 0
        self._taken.clear()
        self._held_before = sum([lane.held_bytes for lane in self.lanes])
        while items and size < _MOST:
            lane, at, data = items.popleft()
            self._taken.append(data)
            if isinstance(data, bytes):
                size += len(data)
                freed += lane.encode(data, self._prefix(lane.mark, at), pieces)
            else:
                freed += lane.skip(data, pieces)
        for lane in self.lanes:
            # Checked in this order, so that everything queued before the gap has been taken.
            if lane.lost is not None and not items:
                freed += lane.forget()  # its continuation was dropped
        self._size = size
        self._done += freed

    def _write(self) -> None:
        assert self._file is not None  # noqa: S101  # the thread makes it first
        if not self._pieces and self._has_begun:
            return
        self._has_begun = True
        try:
            self._file.write(self._pieces)
        except (OSError, ValueError) as error:
            self.refusal = getattr(error, "strerror", None) or str(error)
            self.limit = _REFUSED_BYTES
            where = f": {self._file.path}" if self._file.path else ""
            self._warn(f"Cannot record this session: {self.refusal}{where}")
        else:
            self._pieces.clear()
            self.refusal, self.limit = "", QUEUE_BYTES

    def _end(self) -> None:
        """Write the last lines; what could not be written is reported as a gap."""
        assert self._file is not None  # noqa: S101  # as above
        pieces: list[bytes] = []
        rest = Lost(self.refusal or "The session ended before it was written")
        if self._pieces:
            rest.size = self._held_before
            for data in self._taken:
                rest.add(data)
        for _, _, data in self.items:
            rest.add(data)
        for lane in self.lanes:
            if rest.size:  # the continuation is not recorded
                lane.forget()
                size = lane.forgotten()
                rest.size += 0 if self._pieces else size
            lane.flush(self.cut(self._prefix(lane.mark, time.monotonic())), pieces)
        if rest.size:
            self.note_lost(rest, pieces)
        self._note("closed", self._closed or {}, pieces)
        with contextlib.suppress(OSError, ValueError):  # reported already, or too late
            self._file.write(pieces)
        self._file.close()

    def _note(self, event: str, fields: Mapping[str, object], pieces: list[bytes]) -> None:
        assert self._file is not None  # noqa: S101  # as above
        line = self._file.event(event, fields)
        pieces += (self._prefix("*", time.monotonic()), line)

    def _prefix(self, mark: str, at: float) -> bytes:
        assert self._file is not None  # noqa: S101  # as above
        return self._file.prefix(mark, at + self._offset, at)

    def give_up(self, why: str) -> None:
        """Stop recording; silently if `why` is empty."""
        self.limit, self.refusal = -1, why
        self.items.clear()
        if why:
            self._warn(f"Recording of this session ended: {why}")

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            try:
                os.write(2, f"mcp-progress-monitor tap: {text}\n".encode(errors="replace"))
            except OSError:
                return
