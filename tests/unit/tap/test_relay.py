"""One direction of a tap: bytes pass, whatever is wrong with the copies."""

import functools
import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from mcp_progress_monitor.tap.journal import Journal, JournalLane
from mcp_progress_monitor.tap.posix import TappedServer
from mcp_progress_monitor.tap.relay import PolledStream, PollLoop, Stream, ThreadStream
from mcp_progress_monitor.tap.ring import DATA
from tests.integration.commands import linux_only
from tests.patience import PATIENCE_S
from tests.unit.tap.test_files import about

_POLL = getattr(select, "poll", None)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")


class _Full(JournalLane):
    """A lane that fails, as for want of memory."""

    def take(self, at: float, data: bytes, kind: int = DATA) -> None:
        raise MemoryError


class _Server:
    """What a stream asks of a server that has ended."""

    def interrupt(self, reader: int, _thread: int | None) -> None:
        os.set_blocking(reader, False)

    def waiting_bytes(self, _reader: int) -> int:
        return 5


def _in_thread(source: int, target: int, lane: JournalLane) -> Stream:
    return ThreadStream(cast("TappedServer", _Server()), source, target, lane)


def _in_loop(source: int, target: int, lane: JournalLane, loop: PollLoop | None = None) -> Stream:
    from mcp_progress_monitor.tap.posix import TappedServer

    end = TappedServer.nonblocking_end(source, target)
    assert end is not None
    server = cast("TappedServer", _Server())
    return PolledStream(server, source, target, lane, end, loop or PollLoop())


_both_ways = pytest.mark.parametrize(
    "make", [_in_thread, pytest.param(_in_loop, marks=linux_only)], ids=["thread", "loop"]
)


def _passing(
    lane: JournalLane, make: Callable[[int, int, JournalLane], Stream]
) -> tuple[Stream, int, int]:
    """A stream, where to write, and where its bytes come out."""
    source, writer = os.pipe()
    reader, target = os.pipe()
    return make(source, target, lane), writer, reader


@_both_ways
def test_bytes_pass_although_a_copy_cannot_be_made(
    make: Callable[[int, int, JournalLane], Stream],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    journal = Journal(about(tmp_path))
    stream, writer, reader = _passing(_Full(journal, ">"), make)
    stream.start()
    for piece in (b"one", b"two"):
        os.write(writer, piece)
        assert os.read(reader, 10) == piece
    os.close(writer)
    assert os.read(reader, 10) == b""
    assert stream.is_over_within(PATIENCE_S)
    assert stream.is_ended
    assert not stream.is_refused
    os.close(reader)
    assert capfd.readouterr().err.count("\n") == 1


@_both_ways
def test_at_the_servers_end_what_waits_passes_and_no_more(
    make: Callable[[int, int, JournalLane], Stream], tmp_path: Path
) -> None:
    stream, writer, reader = _passing(JournalLane(Journal(about(tmp_path)), "<"), make)
    os.write(writer, b"01234and what a grandchild says")
    stream.finish()
    stream.start()
    assert stream.is_over_within(PATIENCE_S)
    assert os.read(reader, 100) == b"01234"
    os.close(writer)
    os.close(reader)


@_both_ways
def test_a_reader_that_is_gone_closes_the_source(
    make: Callable[[int, int, JournalLane], Stream], tmp_path: Path
) -> None:
    stream, writer, reader = _passing(JournalLane(Journal(about(tmp_path)), "<"), make)
    os.close(reader)
    os.write(writer, b"lost")
    stream.start()
    assert stream.is_over_within(PATIENCE_S)
    assert stream.is_refused
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"more")
    os.close(writer)


@linux_only
def test_a_full_pipe_keeps_no_other_stream_of_the_loop_waiting(tmp_path: Path) -> None:
    journal = Journal(about(tmp_path))
    make = functools.partial(_in_loop, loop=PollLoop())
    slow, slow_writer, slow_reader = _passing(JournalLane(journal, "<"), make)
    fast, fast_writer, fast_reader = _passing(JournalLane(journal, ">"), make)
    slow.start()
    fast.start()
    much = bytes(range(256)) * 4096
    writing = threading.Thread(target=_write_all, args=(slow_writer, much), daemon=True)
    writing.start()
    for _ in range(3):
        os.write(fast_writer, b"meanwhile")
        assert os.read(fast_reader, 100) == b"meanwhile"
    found = b""
    while len(found) < len(much):
        found += os.read(slow_reader, 1 << 20)
    writing.join(PATIENCE_S)
    assert found == much
    os.write(slow_writer, b"and then little")
    assert os.read(slow_reader, 100) == b"and then little"
    for writer, stream in ((slow_writer, slow), (fast_writer, fast)):
        os.close(writer)
        assert stream.is_over_within(PATIENCE_S)
        assert not stream.is_refused
    assert os.read(slow_reader, 1) == os.read(fast_reader, 1) == b""
    os.close(slow_reader)
    os.close(fast_reader)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


@linux_only
def test_where_no_thread_can_be_started_all_bytes_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, writer, reader = _passing(JournalLane(Journal(about(tmp_path)), "<"), _in_loop)
    much = bytes(range(256)) * 4096
    writing = threading.Thread(target=_write_all, args=(writer, much), daemon=True)
    stream.start()
    os.write(writer, b"{}")
    assert os.read(reader, 10) == b"{}"
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", _refuse)
    start(writing)
    found = b""
    while len(found) < len(much):
        found += os.read(reader, 1 << 20)
    assert found == much
    os.close(writer)
    assert stream.is_over_within(PATIENCE_S)
    os.close(reader)


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


class _Late:
    """A poll that finds nothing without waiting for it; `tries` are those in a row that did not."""

    tries = 0

    def __init__(self) -> None:
        assert _POLL is not None
        self._poll = _POLL()
        self._is_trying = False
        self.register = self._poll.register
        self.unregister = self._poll.unregister

    def poll(self, timeout: int | None = None) -> list[tuple[int, int]]:
        type(self).tries += timeout == 0 and not self._is_trying
        self._is_trying = timeout == 0
        return [] if self._is_trying else self._poll.poll()


@linux_only
def test_it_hardly_stays_awake_for_messages_that_never_come_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("select.poll", _Late)
    stream, writer, reader = _passing(JournalLane(Journal(about(tmp_path)), "<"), _in_loop)
    stream.start()
    for _ in range(640):
        os.write(writer, b"{}")
        assert os.read(reader, 10) == b"{}"
    os.close(writer)
    assert stream.is_over_within(PATIENCE_S)
    os.close(reader)
    assert 10 <= _Late.tries <= 20


def _written(number: int) -> int:
    try:
        return os.write(number, b"x" * 30_000)
    except BlockingIOError:
        return 0


@linux_only
def test_what_waits_for_a_slow_reader_passes_after_the_servers_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_progress_monitor.tap.posix import TappedServer

    monkeypatch.setattr(_Server, "waiting_bytes", TappedServer.waiting_bytes)
    stream, writer, reader = _passing(JournalLane(Journal(about(tmp_path)), "<"), _in_loop)
    os.set_blocking(writer, False)
    stream.start()
    sent = 0
    while not stream.is_over_within(0.02) and (size := _written(writer)):
        sent += size
    os.close(writer)
    stream.finish()
    assert not stream.is_over_within(0.01)
    with open(reader, "rb") as file:  # noqa: PTH123  # a number
        assert file.read() == b"x" * sent
    assert stream.is_over_within(PATIENCE_S)
    assert not stream.is_refused


@linux_only
def test_sockets_pass_bytes_on_and_are_left_as_they_are(tmp_path: Path) -> None:
    """Node and what is built on it connect a server's streams by sockets."""
    client, own = socket.socketpair()
    with client, own:
        source, target = os.dup(own.fileno()), os.dup(own.fileno())
        stream = _in_loop(source, target, JournalLane(Journal(about(tmp_path)), "<"))
        stream.start()
        client.sendall(b"ping")
        assert client.recv(10) == b"ping"
        assert os.get_blocking(target)
        client.shutdown(socket.SHUT_WR)
        assert stream.is_over_within(PATIENCE_S)


@linux_only
def test_only_pipes_and_sockets_are_polled(tmp_path: Path) -> None:
    from mcp_progress_monitor.tap.posix import TappedServer

    source, writer = os.pipe()
    reader, target = os.pipe()
    with (tmp_path / "file").open("wb") as file:
        assert TappedServer.nonblocking_end(source, file.fileno()) is None
        assert TappedServer.nonblocking_end(file.fileno(), target) is None
    for number in (source, writer, reader, target):
        os.close(number)
