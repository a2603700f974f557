"""Frames reach the pipe whole, in one piece, and exactly as asked."""

from __future__ import annotations

import io
import threading

import pytest

from mcp_progress_monitor.demo.wire import PeerGoneError, Wire
from tests.unit.demo.client import NoSource, Sink


class Sipper(Sink):
    """Takes three bytes at a time, as a full pipe may."""

    def write(self, data: memoryview, /) -> int:
        return super().write(data[:3])


class ClosedSink:
    def write(self, data: memoryview, /) -> int:
        raise BrokenPipeError


def test_lines_end_with_the_source() -> None:
    wire = Wire(io.BytesIO(b'{"a":1}\n\nlast'), Sink())
    assert list(wire.lines()) == [b'{"a":1}\n', b"\n", b"last"]


def test_partial_writes_are_carried_on() -> None:
    sink = Sipper()
    Wire(NoSource(), sink).send({"a": "ä"})
    assert sink.written == '{"a":"ä"}\n'.encode()


def test_bytes_are_written_exactly() -> None:
    sink = Sink()
    Wire(NoSource(), sink).send_bytes(b"\xff no newline")
    assert sink.written == b"\xff no newline"


def test_frames_of_concurrent_senders_never_mix() -> None:
    sink = Sipper()
    wire = Wire(NoSource(), sink)

    def send_twenty(number: int) -> None:
        for _ in range(20):
            wire.send([number] * 20)

    threads = [threading.Thread(target=send_twenty, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = {str([number] * 20).replace(" ", "").encode() for number in range(4)}
    assert set(sink.written.splitlines()) == whole
    assert len(sink.written.splitlines()) == 80


def test_a_client_that_stopped_reading_is_reported_as_gone() -> None:
    with pytest.raises(PeerGoneError):
        Wire(NoSource(), ClosedSink()).send({})


def test_a_lone_surrogate_is_escaped() -> None:
    sink = Sink()
    Wire(NoSource(), sink).send({"token": "\ud800", "text": "ä"})
    assert sink.written == b'{"token": "\\ud800", "text": "\\u00e4"}\n'.replace(b" ", b"")
