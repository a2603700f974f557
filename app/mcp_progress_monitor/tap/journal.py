"""Hands copies of what passes to a process that records them, and never waits for it."""

from __future__ import annotations

import marshal
import os
import sys
import time

from mcp_progress_monitor.tap.ring import (
    CHANGED,
    CLOSED,
    DATA,
    LOST,
    MARKS,
    ChangedLine,
    Lost,
    Ring,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from mcp_progress_monitor.tap.about import About

QUEUE_BYTES = 64 * 1024 * 1024
_RESERVED_S = 0.07  # the time at the end in which only the last lines are written
_ENDED = "The recording process was terminated"
_NO_MEMORY = "Not enough memory"


class JournalLane:
    """One direction's part of the journal; used by its thread alone."""

    def __init__(self, journal: Journal, mark: str) -> None:
        self.journal = journal
        self.taken = 0  # bytes that were read, recorded or not
        self._ring = journal.ring
        self._number = MARKS.index(mark)
        self._lost: Lost | None = None  # what was dropped since the last queued chunk
        journal.lanes.append(self)

    def take(self, at: float, data: bytes, kind: int = DATA) -> None:
        """Queue a chunk that was read `at` (monotonic), or count it if the queue is full."""
        self.taken += len(data)
        ring = self._ring
        if self._lost is not None and ring.has_room(len(data)):
            self.put_lost(at)
        if self._lost is None:
            if ring.put(self._number, at, data, kind):
                return
            ring.set_losing(self._number, is_losing=True)
            self._lost = Lost("refused" if ring.is_refused else "")
        self._lost.add(data if kind == DATA else ChangedLine.unpack(data))

    def record(self, data: bytes, kind: int = DATA) -> None:
        """Queue what was read just now; no failure of the journal stops a stream."""
        try:
            self.take(time.monotonic(), data, kind)
        except Exception as error:  # noqa: BLE001  # as it says
            self.journal.give_up(repr(error))

    def record_changed(self, line: bytes, number: int, place: int, size: int) -> None:
        """Queue message `number` as it is passed on, with `size` bytes added at `place`."""
        self.record(ChangedLine.pack(line, number, place, size), CHANGED)

    def put_lost(self, at: float) -> None:
        """Queue what was dropped."""
        lost = self._lost
        if lost is None:
            return
        fields = (lost.size, lost.messages, lost.is_cut, lost.why)
        if self._ring.put(self._number, at, marshal.dumps(fields), LOST):
            self._ring.set_losing(self._number, is_losing=False)
            self._lost = None


class Journal:
    """Queues what passes, in order, for another process to write.

    That process outlives this one, which a client may kill as soon as it has the last reply. Where
    it cannot be started, a thread does the same.
    """

    def __init__(self, about: About, *, is_in_thread: bool = sys.platform == "win32") -> None:
        self.lanes: list[JournalLane] = []
        self._about = about
        self._is_in_thread = is_in_thread
        self._bell = self._reports = -1
        self._is_closed = False
        self._has_warned = False
        self._thread: threading.Thread | None = None
        try:
            self.ring = Ring(QUEUE_BYTES)
        except (OSError, ValueError, OverflowError):
            self.ring = Ring(0)

    @property
    def is_asleep(self) -> bool:
        """True if to call `wake` after queuing something."""
        return self.ring.is_asleep

    def start_process(self, server: int) -> None:
        """Start the process that writes, and that kills the server if this process is killed.

        To be called while there are no other threads. `OSError` if there are too few files.
        """
        self._about.pid = server
        if self._is_in_thread or self.ring.is_given_up:
            return
        from mcp_progress_monitor.tap.detached import run_detached

        bell, self._bell = os.pipe()
        self._reports, report = os.pipe()

        def write(bell: int, report: int) -> None:
            self._writer(bell, report)

        if not run_detached(write, bell, report):
            self._is_in_thread = True
            os.close(self._reports)
            os.close(self._bell)
            self._bell = -1
        os.close(bell)
        os.close(report)

    def start(self) -> None:
        """Start the thread that listens to the process, or that writes if there is none."""
        import threading  # late: it would delay the server's start

        if self.ring.is_given_up:
            self.give_up(_NO_MEMORY)
            return
        if self._bell < 0:
            self._is_in_thread = True
            bell, self._bell = os.pipe()
            self._thread = threading.Thread(target=self._write, args=(bell,), daemon=True)
        else:
            self._thread = threading.Thread(target=self._listen, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._thread = None
            if self._is_in_thread:
                self.give_up(str(error))

    def wake(self) -> None:
        self.ring.set_awake()  # so that it is woken only once
        try:
            os.write(self._bell, b"!")
        except OSError:  # the process was ended, which is reported where its reports are read
            return

    def close(self, fields: Mapping[str, object], until: float) -> None:
        """Record the event `closed` after everything queued, waiting at most until `until`."""
        self._is_closed = True
        if self._bell < 0:
            return
        for lane in self.lanes:
            lane.put_lost(time.monotonic())
        self.ring.put(0, 0.0, marshal.dumps(dict(fields)), CLOSED)
        # A process takes the time it needs; a thread ends with this process.
        last_s = until - _RESERVED_S if self._is_in_thread else 0.0
        self.ring.close(int(last_s * 1e9))
        self.wake()
        if self._thread is not None:
            self._thread.join(max(0.0, until - time.monotonic()))

    def give_up(self, why: str) -> None:
        """Stop recording; silently if `why` is empty."""
        self.ring.give_up()
        if why:
            self._warn(f"Recording of this session ended: {why}")

    def _writer(self, bell: int, report: int) -> None:
        from mcp_progress_monitor.tap.writer import JournalWriter

        def warn(text: str) -> None:
            try:
                os.write(report, text.encode(errors="replace"))
            except OSError:  # the tap has ended
                return

        writer = JournalWriter(self._about, self.ring, bell, warn)
        writer.run()
        writer.watch()

    def _write(self, bell: int) -> None:
        from mcp_progress_monitor.tap.writer import JournalWriter

        JournalWriter(self._about, self.ring, bell, self._warn).run()

    def _listen(self) -> None:
        """Pass on what the process reports, until it has ended."""
        while text := os.read(self._reports, 4096):
            self._warn(text.decode(errors="replace"))
        if not (self._is_closed or self.ring.is_given_up):
            self.give_up(_ENDED)

    def _warn(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            try:
                os.write(2, f"mcp-progress-monitor tap: {text}\n".encode(errors="replace"))
            except OSError:
                return
