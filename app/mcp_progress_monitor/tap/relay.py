"""Passes bytes between a client and its server in both directions; ends like the server."""

from __future__ import annotations

import collections
import os
import select
import sys
import threading
import time

from mcp_progress_monitor.tap.journal import JournalLane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from mcp_progress_monitor.tap.journal import Journal
    from mcp_progress_monitor.tap.posix import NonblockingEnd
    from mcp_progress_monitor.tap.progress import LineChange, ProgressRequests

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import TappedServer
    else:
        from mcp_progress_monitor.tap.posix import TappedServer

_CHUNK = 64 * 1024  # the size of a pipe's buffer
_SWITCH_S = 0.0002  # how long a thread with bytes to pass on may wait for the journal's thread
_LAST_S = 0.12
"""How long the server's last bytes may take after its end before a client can hurry them."""
_LATEST_S = 0.19  # when this process ends at the latest, whether or not the recording is complete
_POLL_S = 0.02
_ERRORS = 2
_MUCH = 4096  # unread bytes that indicate a writer at full speed
_SPIN_S = 0.00005
"""How long to spin for the next message: waking a sleeping thread takes as long."""
_PREEMPTED_S = 0.000005
"""If the thread was off the processor for this long while spinning, it blocked the other side."""
_MOST_MISSES = 6  # after this many failures, only one wait in 64 spins


class Stream:
    """One direction: reads bytes, queues a copy for the journal, then writes the same bytes.

    In that order, so that no reply is recorded before its request. Nothing is parsed.
    """

    change: LineChange | None = None
    """Records and changes whole lines; None passes all bytes on as they come."""

    def __init__(self, server: TappedServer, source: int, target: int, lane: JournalLane) -> None:
        self._server = server
        self._source = source
        self._target = target
        self.lane = lane
        self._is_ending = False
        self._left: int | None = None  # bytes still to pass on after the server's end
        self._over = threading.Event()
        self.is_refused = False  # whether the reader closed its end
        self.is_ended = False  # whether the source has ended or the reader is gone

    def start(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Pass on what is left in the source, then end, even if another process keeps it open."""
        raise NotImplementedError

    def is_over_within(self, seconds: float) -> bool:
        """Wait for the end for at most `seconds`; returns whether it has ended."""
        return self._over.wait(max(0.0, seconds))

    @property
    def moved(self) -> int:
        """A value that changes while bytes pass."""
        return self.lane.taken

    def make_room(self) -> None:
        """Let the target hold all that is left, if possible: its reader may come later.

        Called once the server has ended, which would otherwise have filled that pipe itself.
        """
        try:
            import fcntl

            left = self._server.waiting_bytes(self._source) + _CHUNK  # and what is being written
            size = fcntl.fcntl(self._target, fcntl.F_GETPIPE_SZ)
            fcntl.fcntl(self._target, fcntl.F_SETPIPE_SZ, size + left)
        except (ImportError, AttributeError, OSError):  # not on Linux, no pipe, or too large
            return

    def _rest(self) -> int:
        if self._left is None:
            self._left = self._server.waiting_bytes(self._source)
        return min(self._left, _CHUNK)

    def _set_over(self) -> None:
        """Close both ends."""
        self.is_ended = True
        # Replaced by the null device, since closed descriptors are reused.
        if self._target != _ERRORS or self.is_refused:  # the journal may report errors there
            close_number(self._target)
        close_number(self._source)
        self._over.set()


class ThreadStream(Stream):
    """A stream with its own thread, which blocks in reads and writes."""

    def __init__(self, server: TappedServer, source: int, target: int, lane: JournalLane) -> None:
        super().__init__(server, source, target, lane)
        self._is_over = False
        self._is_between = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._is_ending = True
        with self._is_between:  # so that the thread cannot end meanwhile
            if not self._is_over:
                self._server.interrupt(self._source, self._thread.ident)

    def _run(self) -> None:
        try:
            self._pass_on()
        finally:
            with self._is_between:
                self._is_over = True
            self._set_over()

    def _set_over(self) -> None:
        rest = b"" if self.change is None else self.change.end()
        if rest:
            self.is_refused |= not self._write(memoryview(rest))
        super()._set_over()

    def _pass_on(self) -> None:
        self._move(0)

    def _move(self, least: int) -> bool:
        """Pass on chunks while they have at least `least` bytes; returns whether more may come."""
        target, journal = self._target, self.lane.journal
        read, write, record, change = self._read, os.write, self.lane.record, self.change
        while data := read():
            size = len(data)
            if change is None:
                record(data)
            else:
                data = change.feed(data)
            try:
                written = write(target, data)
            except OSError:
                written = 0
            if written != len(data) and not self._write(memoryview(data)[written:]):
                self.is_refused = True
                return False
            if journal.is_asleep:
                journal.wake()
            if size < least:
                return True
        return False

    def _read(self) -> bytes:
        while True:
            size = _CHUNK if not self._is_ending else self._rest()
            try:
                data = os.read(self._source, size) if size else b""
            except BlockingIOError:
                if self._is_ending:
                    return b""
                select.select([self._source], [], [])  # inherited as non-blocking
            except OSError:
                return b""
            else:
                if self._left is not None:
                    self._left -= len(data)
                return data

    def _write(self, view: memoryview) -> bool:
        """Write all of it; returns whether the reader still exists."""
        while view:
            try:
                view = view[os.write(self._target, view) :]
            except BlockingIOError:
                select.select([], [self._target], [])
            except OSError:
                return False
        return True


class PollLoop:
    """Passes on several streams in one thread, which polls all of them.

    Waking a thread takes longer than passing on a message. While requests and replies follow each
    other within microseconds, the thread spins instead of sleeping.
    """

    def __init__(self) -> None:
        self._sources: dict[int, Callable[[], None]] = {}
        """The action for readable bytes, by descriptor."""
        self._calls: collections.deque[Callable[[], None]] = collections.deque()
        self._poll = select.poll()
        self._misses = 0
        self._sleeps = 0  # how often to sleep without spinning first
        self._thread = threading.Thread(target=self._run, daemon=True)
        bell, self._bell = os.pipe()
        self.watch(bell, lambda: self._answer(bell))

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def call(self, action: Callable[[], None]) -> None:
        """Run an action in the loop's thread; may be called from any thread."""
        self._calls.append(action)
        os.write(self._bell, b"!")

    def watch(self, source: int, action: Callable[[], None]) -> None:
        """Run an action whenever a descriptor is readable or has ended."""
        self._sources[source] = action
        self._poll.register(source, select.POLLIN)

    def forget(self, source: int) -> None:
        if self._sources.pop(source, None) is not None:
            self._poll.unregister(source)

    def _answer(self, bell: int) -> None:
        os.read(bell, _CHUNK)
        while self._calls:
            self._calls.popleft()()

    def _run(self) -> None:
        sources = self._sources
        while True:
            for number, _ in self._ready():
                action = sources.get(number)
                if action is not None:  # it may have been removed by a previous action
                    action()

    def _ready(self) -> list[tuple[int, int]]:
        poll = self._poll.poll
        if self._sleeps:
            self._sleeps -= 1
            return poll()
        if found := poll(0):
            return found
        began, ran = time.monotonic(), time.thread_time()
        while time.monotonic() - began < _SPIN_S:
            if found := poll(0):
                spent = time.monotonic() - began
                self._adapt(has_paid=spent - (time.thread_time() - ran) < _PREEMPTED_S)
                return found
        self._adapt(has_paid=False)
        return poll()

    def _adapt(self, *, has_paid: bool) -> None:
        """Decide how often to sleep before the next spin."""
        self._misses = 0 if has_paid else min(self._misses + 1, _MOST_MISSES)
        self._sleeps = (1 << self._misses) - 1


class PolledStream(ThreadStream):
    """A stream in a loop, which it never blocks: a full target is written in its own thread.

    That thread continues as long as the source is busy.
    """

    def __init__(
        self,
        server: TappedServer,
        source: int,
        target: int,
        lane: JournalLane,
        end: NonblockingEnd,
        loop: PollLoop,
    ) -> None:
        """`end` is a non-blocking way to `target`; the loop has not started."""
        super().__init__(server, source, target, lane)
        self._end = end
        self._loop = loop
        self._unwritten = memoryview(b"")
        self._is_in_thread = False
        self._has_turn = threading.Semaphore(0)
        loop.watch(source, self._pass_next)

    def start(self) -> None:
        self._loop.start()

    def finish(self) -> None:
        self._is_ending = True
        self._loop.call(self._check_end)

    # In the loop

    def _pass_next(self) -> None:
        """Pass on a chunk, in the thread if there is no room."""
        journal = self.lane.journal
        try:
            data = os.read(self._source, _CHUNK if self._left is None else self._rest())
        except BlockingIOError:
            return  # another process has read it
        except OSError:
            data = b""
        if not data:
            self._set_over()
            return
        if self._left is not None:
            self._left -= len(data)
        if self.change is None:
            self.lane.record(data)
        else:
            data = self.change.feed(data)
        try:
            written = self._end.write(data)
        except OSError:
            written = 0
        if written < len(data):
            self._unwritten = memoryview(data)[written:]
            self._give_turn()
        elif self._left == 0:
            self._set_over()
        if journal.is_asleep:
            journal.wake()

    def _give_turn(self) -> None:
        try:
            if self._thread.ident is None:
                self._thread.start()
        except RuntimeError:  # too many threads: block the other streams
            self.is_refused = not self._write(self._unwritten)
            if self.is_refused or self._left == 0:
                self._set_over()
            return
        self._loop.forget(self._source)
        self._is_in_thread = True
        self._has_turn.release()

    def _take_turn(self) -> None:
        self._is_in_thread = False
        self._loop.watch(self._source, self._pass_next)
        self._check_end()

    def _check_end(self) -> None:
        """End if that was requested and everything was passed on."""
        if not self._is_ending or self.is_ended:
            return
        if self._is_in_thread:
            self._server.interrupt(self._source, self._thread.ident)
        elif not self._rest():
            self._set_over()

    def _set_over(self) -> None:
        self._loop.forget(self._source)
        self._end.close()
        super()._set_over()

    # In the thread

    def _run(self) -> None:
        while True:
            self._has_turn.acquire()
            self.is_refused = not self._write(self._unwritten)
            self._unwritten = memoryview(b"")
            may_come = not self.is_refused and self._move(_MUCH)
            self._loop.call(self._take_turn if may_come else self._set_over)


def close_number(number: int) -> None:
    """Close a descriptor, keeping its number in use."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number, inheritable=False)
        os.close(null)
    except OSError:  # no more files can be opened
        os.close(number)


def plain_streams(server: TappedServer, journal: Journal) -> tuple[Stream, Stream, Stream]:
    """Unchanged streams of the client, of the server, and of its standard error."""
    loop = PollLoop() if hasattr(select, "poll") else None

    def stream(source: int, target: int, mark: str) -> Stream:
        end = None if loop is None else server.nonblocking_end(source, target)
        if loop is None or end is None:
            return ThreadStream(server, source, target, JournalLane(journal, mark))
        return PolledStream(server, source, target, JournalLane(journal, mark), end, loop)

    return (
        stream(0, server.stdin, ">"),
        stream(server.stdout, 1, "<"),
        stream(server.stderr, _ERRORS, "!"),
    )


def requesting_streams(
    server: TappedServer, journal: Journal, requests: ProgressRequests
) -> tuple[Stream, Stream, Stream]:
    """The same streams, which add tokens to requests and keep the progress for these back."""
    from mcp_progress_monitor.tap.progress import ClientChange, ServerChange

    streams = plain_streams(server, journal)
    streams[0].change = ClientChange(requests, streams[0].lane)
    streams[1].change = ServerChange(requests, streams[1].lane)
    return streams


def relay(
    server: TappedServer,
    journal: Journal,
    streams: Callable[[TappedServer, Journal], tuple[Stream, Stream, Stream]] = plain_streams,
    end_reason: Callable[[], str] = str,
) -> NoReturn:
    """Pass bytes on until the server has ended, then end the same way.

    `streams` may change what passes; `end_reason` says why a script has ended the server, if so.
    """
    sys.setswitchinterval(_SWITCH_S)
    journal.start()
    from_client, from_server, of_errors = streams(server, journal)
    for stream in (from_client, from_server, of_errors):
        stream.start()
    server.wait()
    ended_at = time.monotonic()
    until = ended_at + _LAST_S
    if end_reason():
        reason, ended_by = end_reason(), "script"
    elif server.was_signalled:
        reason, ended_by = "The client ended the server", "client"
    elif from_server.is_refused or (from_client.is_ended and not from_client.is_refused):
        reason, ended_by = "The client closed the connection", "client"
    elif server.signal_name is not None:
        reason, ended_by = f"The server was killed by {server.signal_name}", "server"
    else:
        reason, ended_by = "The server exited", "server"
    for stream in (from_server, of_errors):
        stream.make_room()
        stream.finish()
    for stream in (from_server, of_errors):
        _await(stream, server, until)
    journal.close(
        {
            "reason": reason,
            "exit_code": server.exit_code,
            "signal": server.signal_name,
            "ended_by": ended_by,
            "wanted": ended_by == "client",
        },
        max(ended_at + _LATEST_S, time.monotonic() + _LATEST_S / 2),
    )
    server.end_alike()


def _await(stream: Stream, server: TappedServer, until: float) -> None:
    """Wait until the client has read everything, unless it wants this process to end.

    It may read as late as it likes: without a tap, the server would wait for it.
    """
    moved = stream.moved
    while not stream.is_over_within(_POLL_S):
        if time.monotonic() < until:
            continue
        if server.is_signalled_again() or (sys.platform == "win32" and stream.moved == moved):
            return
        moved = stream.moved
