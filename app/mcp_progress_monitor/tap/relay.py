"""Passes bytes between a client and its server, both ways and at once; ends as the server ends."""

from __future__ import annotations

import collections
import os
import select
import sys
import threading
import time

from mcp_progress_monitor.tap.journal import Journal, JournalLane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from mcp_progress_monitor.tap.about import About
    from mcp_progress_monitor.tap.posix import NonblockingEnd

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import TappedServer
    else:
        from mcp_progress_monitor.tap.posix import TappedServer

_CHUNK = 64 * 1024  # as much as a pipe holds
_SWITCH_S = 0.0002  # how long a thread that has bytes to pass on may wait for the journal's thread
_LAST_S = 0.12
"""How long after the server's end its last bytes may take, unless a client is still reading."""
_LATEST_S = 0.19  # when this process ends at the latest, with the recording or without
_LOOK_S = 0.02
_ERRORS = 2
_MUCH = 4096  # bytes that wait in a source at once where somebody writes as fast as it goes
_AWAKE_S = 0.00005
"""How long what comes next is waited for awake: a sleeping thread takes as long to be woken."""
_AWAY_S = 0.000005
"""Where it did not run for so long meanwhile, it stood in the way on the other side's own core."""
_MOST_MISSES = 6  # after so many times in vain, only one message in 64 is waited for like that


class Stream:
    """One direction: reads, queues a copy for the journal, then writes the same bytes on.

    In that order, so that no reply can be recorded before its request. Nothing is looked at.
    """

    def __init__(self, server: TappedServer, source: int, target: int, lane: JournalLane) -> None:
        self._server = server
        self._source = source
        self._target = target
        self._lane = lane
        self._is_ending = False
        self._left: int | None = None  # how many bytes are still to come, once the server has ended
        self._over = threading.Event()
        self.is_refused = False  # whether the other side closed its end
        self.is_ended = False  # whether the source has ended, or nobody reads any more

    def start(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Pass on what waits in the source, and then end, even if somebody keeps it open."""
        raise NotImplementedError

    def is_over_within(self, seconds: float) -> bool:
        """Wait for its end for so long; whether it has come."""
        return self._over.wait(max(0.0, seconds))

    @property
    def moved(self) -> int:
        """How much it has read, to be compared with earlier values."""
        return self._lane.taken

    def _rest(self) -> int:
        if self._left is None:
            self._left = self._server.waiting_bytes(self._source)
        return min(self._left, _CHUNK)

    def _set_over(self) -> None:
        """Close both ends: nothing passes any more."""
        self.is_ended = True
        # Not closed, but replaced: numbers of files that are closed are given to others.
        if self._target != _ERRORS or self.is_refused:  # the journal may have to say something
            close_number(self._target)
        close_number(self._source)
        self._over.set()


class ThreadStream(Stream):
    """A stream with a thread of its own, which waits in reads and writes."""

    def __init__(self, server: TappedServer, source: int, target: int, lane: JournalLane) -> None:
        super().__init__(server, source, target, lane)
        self._is_over = False
        self._is_between = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Pass on what waits in the source, and then end, even if somebody keeps it open."""
        self._is_ending = True
        with self._is_between:  # the thread is there for as long as it is not over
            if not self._is_over:
                self._server.interrupt(self._source, self._thread.ident)

    def _run(self) -> None:
        try:
            self._pass_on()
        finally:
            with self._is_between:
                self._is_over = True
            self._set_over()

    def _pass_on(self) -> None:
        self._move(0)

    def _move(self, least: int) -> bool:
        """Pass on what comes, as long as so much comes at once; whether more may come."""
        target, journal = self._target, self._lane.journal
        read, write, now, take = self._read, os.write, time.monotonic, self._lane.take
        while data := read():
            try:
                take(now(), data)
            except Exception as error:  # noqa: BLE001  # bytes go on, whatever is wrong with copies
                journal.give_up(repr(error))
            try:
                written = write(target, data)
            except OSError:
                written = 0
            if written != len(data) and not self._write(memoryview(data)[written:]):
                self.is_refused = True
                return False
            if journal.is_asleep:
                journal.wake()
            if len(data) < least:
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
                select.select([self._source], [], [])  # it was inherited without waiting
            except OSError:
                return b""
            else:
                if self._left is not None:
                    self._left -= len(data)
                return data

    def _write(self, view: memoryview) -> bool:
        """Write all of it; whether somebody could still read it."""
        while view:
            try:
                view = view[os.write(self._target, view) :]
            except BlockingIOError:
                select.select([], [self._target], [])
            except OSError:
                return False
        return True


class PollLoop:
    """Passes on several streams in one thread, which waits for all of them together.

    Each thread that has to be woken for a message costs more time than the message. Where requests
    and replies follow each other within microseconds, as was just seen, it stays awake meanwhile.
    """

    def __init__(self) -> None:
        self._sources: dict[int, Callable[[], None]] = {}
        """What is done where bytes wait, by the number of the file."""
        self._calls: collections.deque[Callable[[], None]] = collections.deque()
        self._poll = select.poll()
        self._misses = 0
        self._sleeps = 0  # how often it sleeps at once until it is tried again to stay awake
        self._thread = threading.Thread(target=self._run, daemon=True)
        bell, self._bell = os.pipe()
        self.watch(bell, lambda: self._answer(bell))

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def call(self, action: Callable[[], None]) -> None:
        """Have something done in its thread: of all methods, this one is for others."""
        self._calls.append(action)
        os.write(self._bell, b"!")

    def watch(self, source: int, action: Callable[[], None]) -> None:
        """Have something done whenever bytes wait in a file, or it has ended."""
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
                if action is not None:  # what was called before it ended this one
                    action()

    def _ready(self) -> list[tuple[int, int]]:
        poll = self._poll.poll
        if self._sleeps:
            self._sleeps -= 1
            return poll()
        if found := poll(0):
            return found
        began, ran = time.monotonic(), time.thread_time()
        while time.monotonic() - began < _AWAKE_S:
            if found := poll(0):
                spent = time.monotonic() - began
                self._weigh(has_paid=spent - (time.thread_time() - ran) < _AWAY_S)
                return found
        self._weigh(has_paid=False)
        return poll()

    def _weigh(self, *, has_paid: bool) -> None:
        """Decide how often to sleep until it stays awake once more."""
        self._misses = 0 if has_paid else min(self._misses + 1, _MOST_MISSES)
        self._sleeps = (1 << self._misses) - 1


class PolledStream(ThreadStream):
    """A stream in a loop, which it never keeps waiting: what must wait does so in its own thread.

    That one goes on as long as much comes at once.
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
        """`end` is a way to `target` that never waits. The loop has not begun."""
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
        """Pass on what waits in the source, and then end, even if somebody keeps it open."""
        self._is_ending = True
        self._loop.call(self._check_end)

    # In the loop

    def _pass_next(self) -> None:
        """Pass on what waits in the source; let the thread do it where there is no room."""
        journal = self._lane.journal
        try:
            data = os.read(self._source, _CHUNK if self._left is None else self._rest())
        except BlockingIOError:
            return  # others read from it as well
        except OSError:
            data = b""
        if not data:
            self._set_over()
            return
        try:
            self._lane.take(time.monotonic(), data)
        except Exception as error:  # noqa: BLE001  # bytes go on, whatever is wrong with copies
            journal.give_up(repr(error))
        if self._left is not None:
            self._left -= len(data)
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
        except RuntimeError:  # there are too many threads: the other streams have to wait
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
        """See that it is to end: now, if all was passed on."""
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
    """Close a file, and leave its number taken."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number, inheritable=False)
        os.close(null)
    except OSError:  # no more files can be opened
        os.close(number)


def plain_streams(server: TappedServer, journal: Journal) -> tuple[Stream, Stream, Stream]:
    """What passes from the client, from the server, and its errors: unchanged."""
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


def relay(
    server: TappedServer,
    about: About,
    streams: Callable[[TappedServer, Journal], tuple[Stream, Stream, Stream]] = plain_streams,
    end_reason: Callable[[], str] = str,
) -> NoReturn:
    """Pass bytes on until the server has ended, then end as it did.

    A script's `streams` change what passes; its `end_reason` says whether it ended the server.
    """
    sys.setswitchinterval(_SWITCH_S)
    journal = Journal(about)
    from_client, from_server, of_errors = streams(server, journal)
    journal.start()
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
    from_server.finish()
    of_errors.finish()
    _await(from_server, server, until)
    of_errors.is_over_within(until - time.monotonic())
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
    """Wait until a client has got all that the server wrote, unless it wants this process to end.

    It may read as late as it likes: without a tap the bytes would wait for it in the pipe.
    """
    moved = stream.moved
    while not stream.is_over_within(_LOOK_S):
        if time.monotonic() < until:
            continue
        if server.is_signalled_again() or (sys.platform == "win32" and stream.moved == moved):
            return
        moved = stream.moved
