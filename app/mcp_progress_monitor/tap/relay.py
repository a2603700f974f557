"""Passes bytes between a client and its server, both ways and at once; ends as the server ends."""

from __future__ import annotations

import os
import select
import sys
import threading
import time

from mcp_progress_monitor.tap.journal import Journal, Lane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from mcp_progress_monitor.tap.about import About

    if sys.platform == "win32":
        from mcp_progress_monitor.tap.windows import Server
    else:
        from mcp_progress_monitor.tap.posix import Server

_CHUNK = 64 * 1024
"""As much as a pipe holds."""
_SWITCH_S = 0.0002
"""How long a thread that has bytes to pass on may wait for the journal's thread."""
_LAST_S = 0.12
"""How long after the server's end its last bytes may take, unless a client is still reading."""
_LATEST_S = 0.19
"""When this process ends at the latest, with the recording or without."""
_LOOK_S = 0.02
_ERRORS = 2


class Stream:
    """One direction: reads, queues a copy for the journal, then writes the same bytes on.

    In that order, so that no reply can be recorded before its request. Nothing is looked at.
    """

    def __init__(self, server: Server, source: int, target: int, lane: Lane) -> None:
        self._server = server
        self._source = source
        self._target = target
        self._lane = lane
        self._is_ending = False
        self._left: int | None = None
        """How many bytes are still to come, once the server has ended."""
        self._is_over = False
        self._is_between = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.is_refused = False
        """Whether the other side closed its end."""
        self.is_ended = False
        """Whether the source has ended, or nobody reads any more."""

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def finish(self) -> None:
        """Pass on what waits in the source, and then end, even if somebody keeps it open."""
        self._is_ending = True
        with self._is_between:  # the thread is there for as long as it is not over
            if not self._is_over:
                self._server.interrupt(self._source, self._thread.ident)

    def is_over_within(self, seconds: float) -> bool:
        """Wait for its end for so long; whether it has come."""
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    @property
    def moved(self) -> int:
        """How much it has read, to be compared with earlier values."""
        return self._lane.taken

    def _run(self) -> None:
        try:
            self._pass_on()
        finally:
            self.is_ended = True
            with self._is_between:
                self._is_over = True
            # Not closed, but replaced: numbers of files that are closed are given to others.
            if self._target != _ERRORS or self.is_refused:  # the journal may have to say something
                close_number(self._target)
            close_number(self._source)

    def _pass_on(self) -> None:
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
                return
            if journal.is_asleep:
                journal.wake()

    def _read(self) -> bytes:
        """The next bytes; none at the end."""
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

    def _rest(self) -> int:
        """How much to read next when the server has ended."""
        if self._left is None:
            self._left = self._server.waiting_bytes(self._source)
        return min(self._left, _CHUNK)

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


def close_number(number: int) -> None:
    """Close a file, and leave its number taken."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, number, inheritable=False)
        os.close(null)
    except OSError:  # no more files can be opened
        os.close(number)


def plain_streams(server: Server, journal: Journal) -> tuple[Stream, Stream, Stream]:
    """What passes from the client, from the server, and its errors: unchanged."""
    return (
        Stream(server, 0, server.stdin, Lane(journal, ">")),
        Stream(server, server.stdout, 1, Lane(journal, "<")),
        Stream(server, server.stderr, _ERRORS, Lane(journal, "!")),
    )


def relay(
    server: Server,
    about: About,
    streams: Callable[[Server, Journal], tuple[Stream, Stream, Stream]] = plain_streams,
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


def _await(stream: Stream, server: Server, until: float) -> None:
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
