"""Standard output is written whole and in order, waits for slow readers and outlives their end."""

import contextlib
import errno
import io
import os
import sys
import threading
from collections.abc import Iterator

import pytest

from mcp_progress_monitor.cli.output.stdout import StandardOutput


@pytest.fixture
def pipe() -> Iterator[tuple[int, io.TextIOWrapper]]:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w", encoding="utf-8")
    yield reader, stream
    for end in (reader,):
        try:
            os.close(end)
        except OSError as error:
            assert error.errno == errno.EBADF  # noqa: PT017 - the test closed it already
    stream.close()


def fill(stream: io.TextIOWrapper) -> None:
    """Write to a pipe until it takes no more."""
    os.set_blocking(stream.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(stream.fileno(), bytes(4096))


def test_bytes_go_past_the_buffer(pipe: tuple[int, io.TextIOWrapper]) -> None:
    reader, stream = pipe
    StandardOutput(stream).write(b"now\n")
    assert os.read(reader, 100) == b"now\n"


@pytest.mark.parametrize("is_blocking", [True, False])
def test_a_slow_reader_gets_everything(
    pipe: tuple[int, io.TextIOWrapper], is_blocking: bool
) -> None:
    reader, stream = pipe
    os.set_blocking(stream.fileno(), is_blocking)
    data = bytes(range(256)) * 8192
    received: list[bytes] = []

    def read() -> None:
        while sum(map(len, received)) < len(data):
            received.append(os.read(reader, 5000))

    thread = threading.Thread(target=read)
    thread.start()
    StandardOutput(stream).write(data)
    thread.join()
    assert b"".join(received) == data


@pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be polled there")
def test_a_write_is_stuck_only_while_its_reader_takes_nothing(
    pipe: tuple[int, io.TextIOWrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, stream = pipe
    output = StandardOutput(stream)
    stuck: list[bool] = []

    def write(_descriptor: int, data: memoryview) -> int:
        stuck.append(output.is_stuck)
        return len(data)

    fill(stream)
    monkeypatch.setattr(os, "write", write)
    output.write(b"nobody reads")
    os.read(reader, 100_000)
    output.write(b"somebody reads")
    assert stuck == [True, False]
    assert not output.is_stuck


def test_a_reader_that_left_is_reported_once_and_is_no_failure(
    pipe: tuple[int, io.TextIOWrapper],
) -> None:
    reader, stream = pipe
    goodbyes: list[str] = []
    output = StandardOutput(stream)
    output.when_gone(lambda: goodbyes.append("gone"))
    os.close(reader)
    output.write(b"one\n")
    output.write(b"two\n")
    assert goodbyes == ["gone"]
    output.when_gone(lambda: goodbyes.append("late"))
    assert goodbyes == ["gone", "late"]
    assert output.is_gone
    assert output.failure is None


@pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be polled there")
def test_in_a_hurry_a_reader_that_takes_nothing_is_left_behind(
    pipe: tuple[int, io.TextIOWrapper],
) -> None:
    reader, stream = pipe
    output = StandardOutput(stream)
    output.hurry()
    output.write(b"taken")
    assert os.read(reader, 100) == b"taken"
    output.write(bytes(10_000_000))
    assert output.is_gone
    assert output.failure is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")  # noqa: PTH110
def test_a_full_disk_is_a_failure() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        output = StandardOutput(full)
        output.write(b"x")
        assert output.failure is not None
        assert output.failure.errno == errno.ENOSPC


def test_a_closed_standard_output_takes_everything_silently() -> None:
    output = StandardOutput(None)
    output.write(b"x")
    output.text("x")
    assert not output.is_gone
    assert not output.is_terminal


def test_a_stream_without_a_descriptor_is_written_through_its_buffer() -> None:
    raw = io.BytesIO()
    output = StandardOutput(io.TextIOWrapper(raw, encoding="utf-8"))
    output.text("ä\n")
    assert raw.getvalue() == "ä\n".encode()


def test_text_that_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    output = StandardOutput(io.TextIOWrapper(raw, encoding="ascii"))
    output.text("ä\ud800\n")
    assert raw.getvalue() == b"\\xe4\\ud800\n"
