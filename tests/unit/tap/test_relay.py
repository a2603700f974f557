"""One direction of a tap: bytes pass, whatever is wrong with the copies."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

import pytest

from mcp_progress_monitor.tap.journal import Journal, Lane
from mcp_progress_monitor.tap.relay import Stream
from tests.patience import PATIENCE_S
from tests.unit.tap.test_files import about

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_progress_monitor.tap.posix import Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")


class _Full(Lane):
    """A lane that fails, as for want of memory."""

    def take(self, at: float, data: bytes) -> None:
        raise MemoryError


class _Server:
    """What a stream asks of a server that has ended."""

    def interrupt(self, reader: int, _thread: int | None) -> None:
        os.set_blocking(reader, False)

    def waiting_bytes(self, _reader: int) -> int:
        return 5


def _passing(lane: Lane) -> tuple[Stream, int, int]:
    """A stream, where to write, and where its bytes come out."""
    source, writer = os.pipe()
    reader, target = os.pipe()
    return Stream(cast("Server", _Server()), source, target, lane), writer, reader


def test_bytes_pass_although_a_copy_cannot_be_made(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(about(tmp_path))
    stream, writer, reader = _passing(_Full(journal, ">"))
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


def test_at_the_servers_end_what_waits_passes_and_no_more(tmp_path: Path) -> None:
    stream, writer, reader = _passing(Lane(Journal(about(tmp_path)), "<"))
    os.write(writer, b"01234and what a grandchild says")
    stream.finish()
    stream.start()
    assert stream.is_over_within(PATIENCE_S)
    assert os.read(reader, 100) == b"01234"
    os.close(writer)
    os.close(reader)


def test_a_reader_that_is_gone_closes_the_source(tmp_path: Path) -> None:
    stream, writer, reader = _passing(Lane(Journal(about(tmp_path)), "<"))
    os.close(reader)
    os.write(writer, b"lost")
    stream.start()
    assert stream.is_over_within(PATIENCE_S)
    assert stream.is_refused
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"more")
    os.close(writer)
